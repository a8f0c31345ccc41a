"""An agent's config is swapped for a run, and whatever ends the run, it comes back."""

import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcprec_addon.doors.config_backup import backup_of, is_as_written
from mcprec_addon.doors.in_place import InPlace, put_back_left, restore, swapped
from mcprec_addon.errors import UsageError

pytestmark = pytest.mark.door

ORIGINAL = '{"mcpServers": {"files": {"command": "npx", "args": ["files"]}}}\n'
COPY = '{\n  "mcpServers": {\n    "files": {\n      "command": "relay"\n    }\n  }\n}\n'
RUN = """
import sys
from pathlib import Path
from mcprec_addon.doors.in_place import swapped
config, copy = map(Path, sys.argv[1:])
with swapped({config: copy}, say=print):
    print("swapped", flush=True)
    sys.stdin.read()
"""
PUT_BACK = "put back, a run that was killed had left its copy there"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def config(folder: Path) -> Path:
    path = folder / "mcp.json"
    path.write_text(ORIGINAL)
    return path


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    path = tmp_path / "copy.json"
    path.write_text(COPY)
    return path


@pytest.fixture
def start_run() -> Iterator[Callable[[Path, Path], subprocess.Popen[str]]]:
    """Start a process that swaps a config and waits: ``start_run(config, copy)``."""
    runs: list[subprocess.Popen[str]] = []

    def start(config: Path, copy: Path) -> subprocess.Popen[str]:
        run = subprocess.Popen(
            [sys.executable, "-c", RUN, str(config), str(copy)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        runs.append(run)
        assert run.stdout is not None
        assert run.stdout.readline() == "swapped\n"
        return run

    yield start
    for run in runs:
        run.kill()
        run.communicate()


type StartRun = Callable[[Path, Path], subprocess.Popen[str]]


def killed(run: subprocess.Popen[str]) -> None:
    """End a run as nothing can be prepared for."""
    run.kill()
    run.wait(10)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def silent(_: str) -> None:
    """Take a line that nobody wants."""


def test_the_copy_stands_in_place_for_the_run(config: Path, copy: Path) -> None:
    """An agent that reads a fixed path reads the run's servers, and the user's file comes back."""
    said: list[str] = []

    with swapped({config: copy}, say=said.append):
        inside = config.read_text()
        kept = backup_of(config).read_text()

    assert '"command": "relay"' in inside
    assert "copy made by mcprec for one run" in inside
    assert kept == config.read_text() == ORIGINAL
    assert names_in(config.parent) == ["mcp.json"]
    assert said == []


def test_the_very_file_comes_back(config: Path, copy: Path) -> None:
    """Mode, time and inode are the user's; an editor must not ask whether to load it again."""
    config.chmod(0o640)
    os.utime(config, ns=(1, 2_000_000_000))
    before = config.stat()

    with swapped({config: copy}, say=silent):
        mode = stat.S_IMODE(config.stat().st_mode)
    after = config.stat()

    assert mode == 0o640
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (
        before.st_ino,
        before.st_mode,
        before.st_mtime_ns,
    )


def test_a_link_to_a_config_stays_a_link(config: Path, copy: Path, tmp_path: Path) -> None:
    """Dotfiles are links; what they lead to is swapped, whichever way the agent comes."""
    link = tmp_path / "linked.json"
    link.symlink_to(config)

    with swapped({link: copy}, say=silent):
        assert link.is_symlink()
        assert is_as_written(config.read_bytes())
        assert names_in(config.parent) == ["mcp.json", "mcp.json.mcprec-original"]

    assert link.is_symlink()
    assert config.read_text() == ORIGINAL


def test_an_error_in_the_run_puts_back(config: Path, copy: Path) -> None:
    """A run that fails is no reason to break the user's editor."""
    with pytest.raises(ZeroDivisionError), swapped({config: copy}, say=silent):
        _ = 1 / 0

    assert config.read_text() == ORIGINAL


def test_if_one_config_cannot_be_swapped_none_is(config: Path, copy: Path, folder: Path) -> None:
    """A run that never starts leaves nothing changed."""
    missing = folder / "none.json"

    with (
        pytest.raises(UsageError, match=r"none\.json: cannot be swapped, No such file"),
        swapped({config: copy, missing: copy}, say=silent),
    ):
        pytest.fail("the run must not start")

    assert config.read_text() == ORIGINAL
    assert names_in(folder) == ["mcp.json"]


def test_several_configs_are_swapped(config: Path, copy: Path, folder: Path) -> None:
    """An agent and its editor may each have one."""
    other = folder / "settings.json"
    other.write_text("{}")

    with swapped({config: copy, other: copy}, say=silent):
        assert is_as_written(config.read_bytes())
        assert b"settings.json.mcprec-original" in other.read_bytes()

    assert config.read_text() == ORIGINAL
    assert other.read_text() == "{}"


def test_a_second_run_in_place_refuses(config: Path, copy: Path, start_run: StartRun) -> None:
    """It would take the first run's copy for the original."""
    run = start_run(config, copy)
    message = f"{config}: another run has it swapped; wait for it to end"

    with pytest.raises(UsageError) as caught:
        InPlace(config, copy, say=silent).swap()
    assert str(caught.value) == message
    with pytest.raises(UsageError) as caught:
        put_back_left(config, say=silent)
    assert str(caught.value) == message
    assert restore([config], folders=[]) == [
        f"{config}: a run has it swapped, and puts it back when it ends"
    ]
    assert is_as_written(config.read_bytes())

    run.communicate("")
    assert config.read_text() == ORIGINAL
    with swapped({config: copy}, say=silent):
        pass


def test_the_next_run_puts_back_what_a_killed_one_left(
    config: Path, copy: Path, start_run: StartRun
) -> None:
    """Nothing runs after a SIGKILL, so the next start must find what it left."""
    killed(start_run(config, copy))
    assert is_as_written(config.read_bytes())
    said: list[str] = []

    with swapped({config: copy}, say=said.append):
        assert backup_of(config).read_text() == ORIGINAL

    assert said == [f"{config}: {PUT_BACK}"]
    assert config.read_text() == ORIGINAL
    assert names_in(config.parent) == ["mcp.json"]


def test_a_config_is_put_back_before_it_is_read(
    config: Path, copy: Path, start_run: StartRun
) -> None:
    """A run reads its servers from the config, and those of a dead run lead nowhere."""
    killed(start_run(config, copy))
    said: list[str] = []

    put_back_left(config, say=said.append)
    put_back_left(config, say=said.append)

    assert config.read_text() == ORIGINAL
    assert said == [f"{config}: {PUT_BACK}"]


def test_an_edit_after_a_kill_is_kept(config: Path, copy: Path, start_run: StartRun) -> None:
    """A user who does not know of the kill adds a server to our copy."""
    killed(start_run(config, copy))
    config.write_text(config.read_text() + "\n")
    edited = config.read_text()
    kept = config.with_name("mcp.json.mcprec-changed")
    said: list[str] = []

    put_back_left(config, say=said.append)

    assert config.read_text() == ORIGINAL
    assert kept.read_text() == edited
    assert said == [
        f"{config}: was changed during the run; that is kept as {kept}",
        f"{config}: {PUT_BACK}",
    ]


@pytest.mark.parametrize("way", ["config", "backup", "folder"])
def test_restore_puts_back_what_a_killed_run_left(
    config: Path, copy: Path, start_run: StartRun, way: str
) -> None:
    """Whoever finds the marked copy types the command that it names."""
    killed(start_run(config, copy))
    paths = {"config": [config], "backup": [backup_of(config)], "folder": []}[way]

    assert restore(paths, folders=[config.parent]) == [f"{config}: {PUT_BACK}"]
    assert config.read_text() == ORIGINAL
    assert names_in(config.parent) == ["mcp.json"]


@pytest.mark.parametrize("place", [".", ".cursor", ".config/opencode"])
def test_restore_looks_where_agents_keep_their_configs(
    folder: Path, copy: Path, start_run: StartRun, place: str
) -> None:
    """Nobody remembers which of an agent's folders a run had touched."""
    config = folder / place / "mcp.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(ORIGINAL)
    killed(start_run(config, copy))

    assert restore([], folders=[folder, folder]) == [f"{config}: {PUT_BACK}"]
    assert config.read_text() == ORIGINAL


def test_restore_follows_links(
    config: Path, copy: Path, start_run: StartRun, tmp_path: Path
) -> None:
    """The backup of a linked config is in a folder that nobody looks into."""
    home = tmp_path / "home"
    home.mkdir()
    link = home / ".claude.json"
    link.symlink_to(config)
    killed(start_run(link, copy))

    assert restore([], folders=[home]) == [f"{link}: {PUT_BACK}"]
    assert config.read_text() == ORIGINAL


def test_restore_says_that_there_is_nothing_to_do(config: Path, folder: Path) -> None:
    """An empty answer would leave the user wondering."""
    assert restore([], folders=[folder]) == [
        f"nothing to put back: no *.mcprec-original in {folder} or its dot-folders"
    ]
    assert restore([config], folders=[]) == [
        f"{config}: nothing to put back, there is no mcp.json.mcprec-original beside it"
    ]


def test_restore_tidies_a_backup_of_an_untouched_config(config: Path) -> None:
    """A user who copied the original back by hand is not warned for ever."""
    backup_of(config).write_text(ORIGINAL)

    assert restore([config], folders=[]) == [
        f"{config}: is the original already; the backup beside it was removed"
    ]
    assert names_in(config.parent) == ["mcp.json"]


def test_restore_does_the_others_where_one_fails(config: Path, folder: Path) -> None:
    """What can be put back is put back, and the line names what could not be."""
    broken, odd = folder / "broken.json", folder / "odd.json"
    for path in (config, broken):
        backup_of(path).write_text("{}")
    broken.mkdir()
    backup_of(odd).mkdir()

    with pytest.raises(UsageError) as caught:
        restore([broken, odd, config], folders=[])

    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{broken}: cannot be put back, ")
    assert first.endswith("; mend that, then run mcprec restore")
    assert second == f"{backup_of(odd)}: is no regular file; move it away first"
    assert config.read_text() == "{}"


def test_what_the_agent_wrote_is_kept(config: Path, copy: Path) -> None:
    """Agents keep their own state in that file."""
    said: list[str] = []
    kept = config.with_name("mcp.json.mcprec-changed")
    for text in ("first", "second"):
        with swapped({config: copy}, say=said.append):
            config.write_text(text)

    assert config.read_text() == ORIGINAL
    assert kept.read_text() == "first"
    assert kept.with_name(f"{kept.name}-2").read_text() == "second"
    assert said == [
        f"{config}: was changed during the run; that is kept as {path}"
        for path in (kept, f"{kept}-2")
    ]


def test_a_deleted_config_comes_back(config: Path, copy: Path) -> None:
    """Whatever the agent did to the copy was done to a copy."""
    said: list[str] = []
    with swapped({config: copy}, say=said.append):
        config.unlink()

    assert config.read_text() == ORIGINAL
    assert said == []


def test_a_config_that_cannot_be_put_back_is_named(config: Path, copy: Path) -> None:
    """The run's own end and status must not be lost over it."""
    said: list[str] = []
    with swapped({config: copy}, say=said.append):
        config.unlink()
        config.mkdir()

    assert len(said) == 1
    assert said[0].startswith(f"{config}: cannot be put back, ")
    assert said[0].endswith("; mend that, then run mcprec restore")
    config.rmdir()
    assert restore([config], folders=[]) == [f"{config}: {PUT_BACK}"]
    assert config.read_text() == ORIGINAL


def test_putting_back_twice_does_nothing(config: Path, copy: Path) -> None:
    """An end that comes in two ways at once, by signal and by itself, is one end."""
    said: list[str] = []
    place = InPlace(config, copy, say=said.append)
    place.put_back()
    place.swap()
    place.put_back()
    config.write_text("the user's")

    place.put_back()

    assert config.read_text() == "the user's"
    assert said == []


def test_a_copy_whose_original_was_deleted_is_refused(
    config: Path, copy: Path, start_run: StartRun
) -> None:
    """Swapping it would make a dead run's copy the user's config for good."""
    killed(start_run(config, copy))
    backup_of(config).unlink()

    with pytest.raises(UsageError, match=r"mcp\.json: is a copy made by mcprec, and its original"):
        InPlace(config, copy, say=silent).swap()

    assert names_in(config.parent) == ["mcp.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(config: Path, copy: Path) -> None:
    """One line before the run starts."""
    config.parent.chmod(0o500)
    try:
        with pytest.raises(UsageError, match="cannot be swapped, Permission denied; make its"):
            InPlace(config, copy, say=silent).swap()
    finally:
        config.parent.chmod(0o700)


def test_a_backup_that_cannot_be_made_is_refused(folder: Path, copy: Path) -> None:
    """Without a backup nothing is swapped, whatever the system's reason is."""
    config = folder / ("x" * 240)  # its backup's name is longer than a name may be
    config.write_text(ORIGINAL)

    with pytest.raises(UsageError) as caught:
        InPlace(config, copy, say=silent).swap()

    step = "make its folder writable, or run without --in-place"
    assert str(caught.value) == f"{config}: cannot be swapped, File name too long; {step}"
    assert names_in(folder) == [config.name]


def test_a_path_through_a_file_is_refused(config: Path, copy: Path) -> None:
    """One line, no traceback."""
    with pytest.raises(UsageError, match="cannot be swapped, Not a directory; make its folder"):
        InPlace(config / "mcp.json", copy, say=silent).swap()

    assert names_in(config.parent) == ["mcp.json"]


def test_a_copy_that_cannot_be_written_leaves_the_config_alone(config: Path, copy: Path) -> None:
    """A full disk is found when the backup is there already."""
    before = config.stat().st_ino
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(UsageError, match="cannot be swapped, File too large"):
            InPlace(config, copy, say=silent).swap()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert config.stat().st_ino == before
    assert names_in(config.parent) == ["mcp.json"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_puts_back(
    config: Path, copy: Path, start_run: StartRun, number: signal.Signals
) -> None:
    """A closed terminal or a supervisor's stop must not leave our copy in the user's place."""
    run = start_run(config, copy)

    run.send_signal(number)

    status = -number if number == signal.SIGINT else 128 + number
    assert run.wait(10) == status
    assert config.read_text() == ORIGINAL
    assert names_in(config.parent) == ["mcp.json"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_does_not_interrupt_putting_back(
    config: Path, copy: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Who presses Ctrl-C twice is in a hurry, not done with the config."""
    replace = Path.replace

    def replace_late(self: Path, target: Path) -> Path:
        signal.raise_signal(number)
        return replace(self, target)

    expected = KeyboardInterrupt if number == signal.SIGINT else SystemExit
    with pytest.raises(expected), swapped({config: copy}, say=silent):
        monkeypatch.setattr(Path, "replace", replace_late)

    assert config.read_text() == ORIGINAL
    assert names_in(config.parent) == ["mcp.json"]


def test_a_signal_during_the_swap_puts_back(
    config: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the backup and the swap there is no good moment to end."""
    replace = Path.replace

    def replace_late(self: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "replace", replace)
        signal.raise_signal(signal.SIGTERM)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", replace_late)
    with pytest.raises(SystemExit) as caught, swapped({config: copy}, say=silent):
        pytest.fail("the run must not start")

    assert caught.value.code == 128 + signal.SIGTERM
    assert config.read_text() == ORIGINAL
    assert names_in(config.parent) == ["mcp.json"]


def test_handlers_of_others_stay(config: Path, copy: Path) -> None:
    """A run under nohup ignores SIGHUP, and goes on doing so; ours are gone in the end."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with swapped({config: copy}, say=silent):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_a_handler_set_during_the_run_stays(config: Path, copy: Path) -> None:
    """What the run itself installed is not ours to take away."""
    try:
        with swapped({config: copy}, say=silent):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_another_thread_may_swap(config: Path, copy: Path) -> None:
    """Only the main thread may set handlers, and a test runner's thread is none."""
    seen: list[bool] = []

    def run() -> None:
        with swapped({config: copy}, say=silent):
            seen.append(is_as_written(config.read_bytes()))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)

    assert seen == [True]
    assert config.read_text() == ORIGINAL


def test_windows_is_refused(config: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no such locks, and would not rename over a file that an agent reads."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(signal, "SIGHUP")

    for attempt in (
        lambda: InPlace(config, copy, say=silent).swap(),
        lambda: put_back_left(config, say=silent),
        lambda: restore([config], folders=[]),
    ):
        with pytest.raises(UsageError, match=r"^--in-place is not supported on Windows$"):
            attempt()
    with (
        pytest.raises(UsageError, match=r"^--in-place is not supported on Windows$"),
        swapped({config: copy}, say=silent),
    ):
        pytest.fail("the run must not start")
