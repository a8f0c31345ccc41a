"""The original of a swapped config is never lost, and the copy says what it is."""

import json
import os
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from mcprec_addon.doors.config_backup import (
    Original,
    backup_of,
    is_as_written,
    lock,
    make_or_lock,
    marked,
    real_path,
)
from mcprec_addon.errors import UsageError

ORIGINAL = b'{"mcpServers": {}}\n'
COPY = marked('{\n  "mcpServers": {"a": {"command": "relay"}}\n}\n', "mcp.json").encode()
LINE = (
    "copy made by mcprec for one run; the original is mcp.json.mcprec-original beside it,"
    " `mcprec restore` puts it back"
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "mcp.json"
    path.write_bytes(ORIGINAL)
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def silent(_: str) -> None:
    """Take a line that nobody wants."""


def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behave like a file system without hard links, such as FAT."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


def start(config: Path, say: Callable[[str], None] = silent) -> Original:
    """Do what a run does that swaps a config."""
    original = make_or_lock(config, say)
    original.fill()
    original.cover(COPY)
    return original


def test_a_copy_in_strict_json_says_so_in_a_first_member() -> None:
    """Strict JSON has no comments, and agents ignore members they do not know."""
    text = '{\n  "mcpServers": {\n    "a": {"command": "x"}\n  },\n  "mcp": {}\n}\n'

    value = json.loads(marked(text, "mcp.json"))

    assert list(value) == ["//mcprec", "mcpServers", "mcp"]
    assert value.pop("//mcprec").startswith(LINE)
    assert value == json.loads(text)


@pytest.mark.parametrize("text", ["{}", "{ }\n", '{"mcpServers":{}}', '{"a":1,"a":2}'])
def test_a_marked_copy_stays_json(text: str) -> None:
    """Whatever an agent's config holds, its copy can be read."""
    value = json.loads(marked(text, "mcp.json"))

    assert {**json.loads(text), "//mcprec": value["//mcprec"]} == value


@pytest.mark.parametrize("key", ["servers", "mcp"])
def test_a_copy_in_json_with_comments_says_so_in_a_comment(key: str) -> None:
    """VS Code and opencode underline a member that their schema does not have."""
    text = f'{{\n  "{key}": {{}}\n}}\n'

    first, _, rest = marked(text, "mcp.json").partition("\n")

    assert first.startswith(f"// {LINE}")
    assert rest == text


def test_a_copy_in_toml_says_so_in_a_comment() -> None:
    """Codex's config has comments."""
    text = '[mcp_servers.a]\ncommand = "x"\n'

    copy = marked(text, "config.toml")

    assert copy.startswith("# copy made by mcprec for one run; the original is config.toml.mcprec-")
    assert tomllib.loads(copy) == tomllib.loads(text)


def test_a_mark_from_an_earlier_copy_is_replaced() -> None:
    """A copy that was kept and then edited may have become the config."""
    copy = marked(marked('{"mcpServers":{}}', "old.json"), "mcp.json")

    assert copy.count("//mcprec") == 1
    assert "old.json" not in copy
    assert is_as_written(copy.encode())


def test_a_name_may_hold_anything() -> None:
    """A file name is the user's, and the copy still must be read."""
    copy = marked("{}", 'a "b" \\ ü\n.json')

    assert 'a "b" \\ ü\\n.json.mcprec-original' in json.loads(copy)["//mcprec"]
    assert is_as_written(copy.encode())


@pytest.mark.parametrize(
    ("text", "name"),
    [('{"mcpServers":{}}', "mcp.json"), ('{"mcp":{}}', "mcp.json"), ("a = 1\n", "config.toml")],
)
def test_a_changed_copy_is_told_from_an_unchanged_one(text: str, name: str) -> None:
    """After a kill nobody remembers what was written, so the copy itself must tell."""
    copy = marked(text, name).encode()

    assert is_as_written(copy)
    assert not is_as_written(copy + b"\n")
    assert not is_as_written(text.encode())


def test_a_file_system_without_links_gets_a_copy(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project on a USB stick or a network share can be swapped too."""
    no_links(monkeypatch)
    config.chmod(0o640)
    os.utime(config, ns=(1, 2_000_000_000))

    original = start(config)
    assert backup_of(config).read_bytes() == ORIGINAL
    with pytest.raises(BlockingIOError):
        lock(config, silent)
    original.put_back()

    assert config.read_bytes() == ORIGINAL
    assert config.stat().st_mode & 0o777 == 0o640
    assert config.stat().st_mtime_ns == 2_000_000_000
    assert names_in(config.parent) == ["mcp.json"]


def test_a_copied_backup_is_never_half_written(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was killed while it copied left an empty name, and an untouched config."""
    no_links(monkeypatch)
    make_or_lock(config, silent).release()
    assert backup_of(config).read_bytes() == b""

    again = start(config)
    again.put_back()
    assert config.read_bytes() == ORIGINAL

    claimed = make_or_lock(config, silent)
    assert not claimed.is_swapped()
    claimed.put_back()
    assert config.read_bytes() == ORIGINAL
    assert names_in(config.parent) == ["mcp.json"]


def test_what_changed_is_kept_without_links_too(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent's edit is not lost for want of a hard link."""
    no_links(monkeypatch)
    said: list[str] = []
    original = start(config, said.append)
    config.write_text("changed")

    original.put_back()

    kept = config.with_name("mcp.json.mcprec-changed")
    assert kept.read_text() == "changed"
    assert said == [f"{config}: was changed during the run; that is kept as {kept}"]


def test_an_edit_between_backup_and_swap_is_kept(config: Path) -> None:
    """An editor may save at the very moment a run starts."""
    said: list[str] = []
    original = make_or_lock(config, said.append)
    edited = config.with_name("edited")
    edited.write_text("edited")
    edited.replace(config)

    original.cover(COPY)

    assert config.with_name("mcp.json.mcprec-changed").read_text() == "edited"
    assert len(said) == 1
    original.put_back()


def test_a_run_killed_before_its_swap_leaves_nothing_to_put_back(config: Path) -> None:
    """Then both names lead to one file, and renaming one to the other would do nothing."""
    make_or_lock(config, silent).release()

    original = lock(config, silent)
    assert original is not None
    assert not original.is_swapped()
    original.put_back()

    assert names_in(config.parent) == ["mcp.json"]
    assert config.read_bytes() == ORIGINAL


def test_one_of_many_starts_has_the_lock(config: Path) -> None:
    """Two runs with one config would each record half."""
    before = config.stat().st_ino
    for _ in range(20):
        barrier = Barrier(8)

        def attempt(_: int, barrier: Barrier = barrier) -> Original | None:
            barrier.wait()
            try:
                return start(config)
            except BlockingIOError:
                return None

        with ThreadPoolExecutor(8) as pool:
            winners = [found for found in pool.map(attempt, range(8)) if found is not None]

        assert len(winners) == 1
        assert is_as_written(config.read_bytes())
        winners[0].put_back()
        assert config.stat().st_ino == before
        assert names_in(config.parent) == ["mcp.json"]


def test_a_start_does_not_wait_for_a_run(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start waits for another one's first or last moment, not for what may take hours."""
    original = start(config)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waited"))

    with pytest.raises(BlockingIOError):
        make_or_lock(config, silent)

    original.put_back()


def test_starts_and_ends_at_once_lose_nothing(config: Path) -> None:
    """A start that meets an end must neither take its backup away nor leave one behind."""
    before = config.stat().st_ino

    def churn(_: int) -> int:
        wins = 0
        for _ in range(100):
            try:
                original = start(config)
            except BlockingIOError:
                continue
            wins += 1
            original.put_back()
        return wins

    with ThreadPoolExecutor(4) as pool:
        wins = sum(pool.map(churn, range(4)))

    assert wins > 0
    assert config.stat().st_ino == before
    assert names_in(config.parent) == ["mcp.json"]


def test_a_lock_on_a_file_that_was_put_back_is_none(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening the backup and locking it, the other run may have ended."""
    other = start(config)
    real_open = os.open

    def open_then_end(path: Path, flags: int, *rest: int) -> int:
        monkeypatch.setattr(os, "open", real_open)
        descriptor = real_open(path, flags, *rest)
        other.put_back()
        return descriptor

    monkeypatch.setattr(os, "open", open_then_end)

    assert lock(config, silent) is None
    assert names_in(config.parent) == ["mcp.json"]


def test_a_deleted_backup_is_written_anew(config: Path) -> None:
    """A run still has the original open when somebody tidies the folder."""
    os.utime(config, ns=(1, 2_000_000_000))
    said: list[str] = []
    original = start(config, said.append)
    backup = backup_of(config)
    backup.unlink()

    original.put_back()

    assert config.read_bytes() == ORIGINAL
    assert config.stat().st_mtime_ns == 2_000_000_000
    assert said == [f"{config}: put back, though {backup} was deleted meanwhile"]


def test_a_replaced_backup_is_left_alone(config: Path) -> None:
    """It may be another run's by now, or the only place where something stands."""
    said: list[str] = []
    original = start(config, said.append)
    backup = backup_of(config)
    backup.unlink()
    backup.write_text("someone's")

    original.put_back()

    assert backup.read_text() == "someone's"
    assert config.read_bytes() == COPY
    assert said[0].startswith(f"{config}: not put back, {backup} was replaced during the run;")


def test_a_copy_without_its_original_is_no_original(config: Path) -> None:
    """After a kill and a deleted backup a run would keep our own relay for the agent's server."""
    start(config).release()
    backup_of(config).unlink()

    original = make_or_lock(config, silent)
    with pytest.raises(UsageError, match=r"mcp\.json: is a copy made by mcprec, and its original"):
        original.check()
    original.put_back()

    assert config.read_bytes() == COPY
    assert names_in(config.parent) == ["mcp.json"]


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_only_a_file_is_a_backup(config: Path, kind: str) -> None:
    """A pipe must not hang a start, and a folder must not be renamed over the config."""
    make: Callable[[Path], None] = Path.mkdir if kind == "folder" else os.mkfifo
    make(backup_of(config))

    with pytest.raises(UsageError, match=r"mcprec-original: is no regular file; move it away"):
        lock(config, silent)


def test_a_config_that_is_a_folder_gets_no_backup(tmp_path: Path) -> None:
    """A wrong path leaves nothing behind."""
    folder = tmp_path / "mcp"
    folder.mkdir()

    with pytest.raises(UsageError, match=r"mcp: is no regular file; give the agent's MCP config"):
        make_or_lock(folder, silent)

    assert names_in(tmp_path) == ["mcp"]


def test_a_backup_stands_beside_what_a_link_leads_to(tmp_path: Path) -> None:
    """Dotfiles are links into a repository, and a rename must not cross file systems."""
    (tmp_path / "dotfiles").mkdir()
    link = tmp_path / "mcp.json"
    link.symlink_to("dotfiles/real.json")

    assert real_path(link) == tmp_path.resolve() / "dotfiles" / "real.json"
    assert backup_of(link) == tmp_path.resolve() / "dotfiles" / "real.json.mcprec-original"
