"""A shim becomes a relay, the recorded server or the real program, and leaves no trace."""

import os
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mcprec_addon.doors.shim import Shim, led_command, real_program, write_shims
from mcprec_addon.errors import UsageError

pytestmark = pytest.mark.door

SYSTEM = "/usr/bin:/bin"
LONGEST_S = 20
FILES = Shim(label="files", command=("srv", "-y", "files"))
# What a relay gets, one argument a line; it is no relay, so that each test sees what it was told.
RELAY = "import sys\nprint('relay', *sys.argv[1:], sep='\\n')\n"

type Called = subprocess.CompletedProcess[bytes]
type WriteShims = Callable[..., Path]


@pytest.fixture
def relay(tmp_path: Path) -> Path:
    path = tmp_path / "relay.py"
    path.write_text(RELAY)
    return path


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Return a folder for real programs."""
    folder = tmp_path / "tools"
    folder.mkdir()
    return folder


@pytest.fixture
def write(tmp_path: Path, relay: Path, tools: Path) -> WriteShims:
    """Write shims into a run's folder and return theirs: ``write(*shims, recording=…, run=…)``."""

    def written(*shims: Shim, recording: bool = False, run: str = "run dir") -> Path:
        (tmp_path / run).mkdir(mode=0o700)
        return write_shims(
            tmp_path / run,
            shims,
            recording=recording,
            environment={"PATH": f"{tools}:{SYSTEM}"},
            relay=relay,
        )

    return written


def program(folder: Path, name: str, script: str, *, first: str = "#!/bin/sh\n") -> Path:
    """Put a shell script on PATH."""
    path = folder / name
    path.write_text(first + script)
    path.chmod(0o755)
    return path


def path_of(*folders: Path | str) -> dict[str, str]:
    return {"PATH": ":".join([*map(str, folders), SYSTEM])}


def call(
    *command: str | bytes, env: Mapping[str, str], stdin: bytes = b"", cwd: Path | None = None
) -> Called:
    """Call a program by its name, as an MCP SDK does."""
    return subprocess.run(
        command, env=env, input=stdin, cwd=cwd, capture_output=True, timeout=LONGEST_S, check=False
    )


def lines(called: Called) -> list[str]:
    assert called.returncode == 0, called.stderr
    return called.stdout.decode().splitlines()


def test_a_recorded_server_runs_behind_the_relay(write: WriteShims, tools: Path) -> None:
    """The relay is told the real program by its path, or it would start itself for ever."""
    real = program(tools, "srv", "echo real")
    folder = write(FILES, recording=True)

    called = call("srv", "-y", "files", env=path_of(folder, tools))

    run = str(folder.parent / "run")
    assert lines(called) == ["relay", run, "files", "--", str(real), "-y", "files"]


def test_a_replayed_server_need_not_be_installed(write: WriteShims) -> None:
    """A replay in CI has neither npx nor the network to fetch a server with."""
    folder = write(FILES)

    called = call("srv", "-y", "files", env=path_of(folder))

    assert lines(called) == ["relay", str(folder.parent / "run"), "files"]


def test_servers_of_one_program_are_told_apart_by_their_arguments(write: WriteShims) -> None:
    """Nearly all servers are started by npx or uvx; an empty argument and a line break count."""
    odd = ("srv", "", "two\nlines", "'\"$HOME")
    folder = write(
        FILES, Shim(label="odd", command=odd), Shim(label="other", command=("srv2", "-y", "files"))
    )
    env = path_of(folder)

    assert lines(call(*odd, env=env))[-1] == "odd"
    assert lines(call("srv", "-y", "files", env=env))[-1] == "files"
    assert lines(call("srv2", "-y", "files", env=env))[-1] == "other"


@pytest.mark.parametrize(
    "command",
    [
        ("sh", "-c", "srv -y files"),
        ("sh", "-c", "true; exec srv -y 'files'"),
        ("env", "-i", "PATH={path}", "srv", "-y", "files"),
        ("sh", "-c", '"$(command -v srv)" -y files'),
    ],
    ids=["sh -c", "exec", "env", "found first"],
)
def test_a_server_is_caught_behind_other_programs(
    command: tuple[str, ...], write: WriteShims
) -> None:
    """Frameworks start servers through a shell, through env, or look the program up first."""
    env = path_of(write(FILES))

    called = call(*[part.format(path=env["PATH"]) for part in command], env=env)

    assert lines(called)[-1] == "files"


@pytest.mark.parametrize("recording", [True, False])
def test_other_arguments_reach_the_real_program_as_they_are(
    write: WriteShims, tools: Path, *, recording: bool
) -> None:
    """`npx` is more than a server's starter, and agents call it for other things too."""
    program(tools, "srv", 'printf \'%s|\' "$0" "$@"; cat; echo oops >&2; exit 7')
    folder = write(FILES, recording=recording)
    env = path_of(folder, tools)

    called = call("srv", "", "a b", "two\nlines", "'\"$X", b"\xff", env=env, stdin=b"in\x00put")

    expected = f"{tools}/srv||a b|two\nlines|'\"$X|".encode() + b"\xff|in\x00put"
    assert (called.stdout, called.stderr, called.returncode) == (expected, b"oops\n", 7)


def test_the_real_program_gets_the_environment_to_the_byte(write: WriteShims, tools: Path) -> None:
    """A shell on the way drops `a.b`, and Python sets LC_CTYPE where six variables are all."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("the system does not tell how a process was started")
    program(tools, "srv", "cat /proc/$$/environ")
    env = path_of(write(FILES), tools) | {"a.b": "1", "c-d": "", "PYTHONHOME": "/x", "E": "\udcff"}

    called = call("srv", env=env)

    variables = {f"{name}={value}" for name, value in env.items()}
    assert set(os.fsdecode(called.stdout).split("\0")[:-1]) == variables


def test_a_locale_that_was_asked_for_stays(write: WriteShims, tools: Path) -> None:
    """Only what Python set by itself is taken back."""
    program(tools, "srv", 'echo "$LC_CTYPE"')
    env = path_of(write(FILES), tools) | {"LC_CTYPE": "C.UTF-8"}

    assert lines(call("srv", env=env)) == ["C.UTF-8"]


@pytest.mark.parametrize("number", [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_real_program(
    number: signal.Signals, write: WriteShims, tools: Path
) -> None:
    """Python ignores two of them for itself; `srv | head` would never end."""
    program(tools, "srv", "kill -$1 $$; echo still here")
    env = path_of(write(FILES), tools)

    called = call("srv", number.name.removeprefix("SIG"), env=env)

    assert (called.returncode, called.stdout) == (-number, b"")


def test_an_ignored_interrupt_stays_ignored(write: WriteShims, tools: Path) -> None:
    """A shell starts background jobs like this."""
    program(tools, "srv", "kill -INT $$; echo still here")
    env = path_of(write(FILES), tools)

    assert lines(call("sh", "-c", "trap '' INT; exec srv", env=env)) == ["still here"]


def test_the_real_program_keeps_the_process(write: WriteShims, tools: Path) -> None:
    """An agent stops its servers by process id; one process in between would be an orphan."""
    program(tools, "srv", "echo $$; exec sleep 60")
    command = ["srv"]
    env = path_of(write(FILES), tools)

    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == process.pid
        process.terminate()

        assert process.wait(LONGEST_S) == -signal.SIGTERM


def test_a_shimmed_python_stays_in_its_virtual_environment(
    write: WriteShims, tmp_path: Path
) -> None:
    """Python looks for itself on PATH where argv[0] is a bare name, and would find the shim."""
    home = tmp_path / "venv"
    venv.create(home, symlinks=True)
    folder = write(Shim(label="own", command=("python", "server.py")))
    env = path_of(folder, home / "bin")

    prefix = call("python", "-c", "import sys; print(sys.prefix)", env=env)
    caught = call("python", "server.py", env=env)

    assert lines(prefix) == [str(home)]
    assert lines(caught) == ["relay", str(folder.parent / "run"), "own"]


def test_runs_inside_a_run_pass_on_to_each_other(write: WriteShims, tools: Path) -> None:
    """Each looks behind itself alone, so neither starts the other in a circle."""
    program(tools, "srv", "echo real")
    inner = write(Shim(label="inner", command=("srv", "1")), run="inner")
    outer = write(Shim(label="outer", command=("srv", "2")), run="outer")

    for folders in [(inner, outer), (outer, inner)]:
        env = path_of(*folders, tools)
        assert lines(call("srv", "1", env=env))[-1] == "inner"
        assert lines(call("srv", "2", env=env))[-1] == "outer"
        assert lines(call("srv", "3", env=env)) == ["real"]


def test_a_path_that_names_runs_twice_ends(write: WriteShims, tools: Path) -> None:
    """Start-up files of shells put PATH together from pieces; a circle would never end."""
    program(tools, "srv", "echo real")
    one, two = write(FILES, run="one"), write(FILES, run="two")

    for folders in [(one, two, one), (two, one, two), (one, two, one, two)]:
        assert lines(call("srv", env=path_of(*folders, tools))) == ["real"]


def test_our_folder_is_known_under_every_name(
    write: WriteShims, tools: Path, tmp_path: Path
) -> None:
    """A temporary folder is often reached through a link, and PATH may name it with a slash."""
    program(tools, "srv", "echo real")
    folder = write(FILES)
    link = tmp_path / "link"
    link.symlink_to(folder)

    assert lines(call("srv", env=path_of(f"{folder}/", link, tools))) == ["real"]


def test_a_program_is_found_anew_each_time(write: WriteShims, tools: Path, tmp_path: Path) -> None:
    """An agent may change PATH while it runs; an empty entry is the current folder."""
    program(tools, "srv", "echo late")
    folder = write(FILES)
    (tmp_path / "srv").mkdir()

    assert lines(call("srv", env=path_of(folder, tmp_path, tools))) == ["late"]
    assert lines(call("srv", env=path_of(folder, ""), cwd=tools)) == ["late"]


def test_a_program_called_by_the_shims_path_is_found(write: WriteShims, tools: Path) -> None:
    """An agent may look programs up first and start them with another PATH."""
    program(tools, "srv", "echo real")
    folder = write(FILES)

    assert lines(call(str(folder / "srv"), env=path_of(tools))) == ["real"]


def test_a_script_without_an_interpreter_runs_as_in_a_shell(write: WriteShims, tools: Path) -> None:
    """The system refuses such a script, and every shell runs it all the same."""
    program(tools, "srv", 'echo "real $1"', first="")

    assert lines(call("srv", "a", env=path_of(write(FILES), tools))) == ["real a"]


def test_a_program_that_is_nowhere_is_named(write: WriteShims) -> None:
    """One line tells a mistyped declaration from a server that is missing."""
    folder = write(FILES, Shim(label="two", command=("srv", "x\ny")))

    called = call("srv", "-y", "flies", env=path_of(folder))

    assert called.returncode == 127
    assert called.stderr.decode() == (
        "mcprec: srv: not found; asked for 'srv -y flies', "
        "declared is files='srv -y files', two=\"srv 'x\\ny'\"\n"
    )


@pytest.mark.parametrize(
    ("first", "status", "problem"),
    [
        ("", 126, "permission denied"),
        ("#!/nowhere/interpreter\n", 127, "No such file or directory"),
    ],
    ids=["not executable", "no interpreter"],
)
def test_a_program_that_cannot_be_started_is_named(
    first: str, status: int, problem: str, write: WriteShims, tools: Path
) -> None:
    """The statuses are a shell's."""
    path = program(tools, "srv", "", first=first)
    if not first:
        path.chmod(0o644)

    called = call("srv", env=path_of(write(FILES), tools))

    assert called.returncode == status
    assert f"mcprec: srv: {problem}; asked for 'srv'".encode() in called.stderr


def test_a_run_that_is_over_is_named(write: WriteShims) -> None:
    """A process that outlives its run finds half of it."""
    folder = write(FILES)
    (folder.parent / "shims").unlink()

    called = call("srv", env=path_of(folder))

    assert (called.returncode, called.stderr.count(b"\n")) == (127, 1)
    assert b"srv: the run that caught it is over" in called.stderr


def test_an_interpreter_with_a_space_in_its_path(
    write: WriteShims, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `#!` line cannot name it, and on macOS tools live in such folders."""
    home = tmp_path / "Application Support's"
    venv.create(home, symlinks=True)
    monkeypatch.setattr(sys, "executable", str(home / "bin" / "python"))
    program(tools, "srv", "printf '%s|' \"$@\"")
    folder = write(FILES)

    assert (folder / "srv").read_text().startswith("#!/bin/sh\n")
    assert lines(call("srv", "-y", "files", env=path_of(folder)))[-1] == "files"
    assert call("srv", "", "a 'b", env=path_of(folder, tools)).stdout == b"|a 'b|"


def test_a_shim_loads_next_to_nothing(write: WriteShims, tools: Path) -> None:
    """Some agents give a server one second in all, and slow machines are slow."""
    program(tools, "srv", "")
    folder = write(FILES)
    shim = str(folder / "srv")

    called = call(sys.executable, "-ISX", "importtime", shim, env=path_of(folder, tools))

    loaded = {line.rsplit(b"|", 1)[-1].strip().decode() for line in called.stderr.splitlines()}
    assert {"os", "signal"} <= loaded
    assert loaded.isdisjoint({"dataclasses", "json", "pathlib", "re", "shlex", "typing"})


def test_nobody_else_may_read_the_shims(write: WriteShims) -> None:
    """Arguments of a server may hold what is private, and its folder comes first on PATH."""
    folder = write(FILES)

    assert [path.stat().st_mode & 0o777 for path in (folder, folder / "srv")] == [0o700, 0o700]
    assert [path.name for path in folder.iterdir()] == ["srv"]


def test_a_run_in_a_relative_folder(
    tmp_path: Path, relay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may start its servers in another folder than its own."""
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()

    folder = write_shims(
        Path("run"), [FILES], recording=False, environment={}, relay=Path(relay.name)
    )

    called = call("srv", "-y", "files", env=path_of(folder), cwd=Path("/"))
    assert lines(called) == ["relay", str(tmp_path / "run" / "run"), "files"]


@pytest.mark.parametrize("name", ["/opt/srv", "./srv", "bin/srv", "..", ""])
def test_a_program_called_by_its_path_is_refused(name: str, write: WriteShims) -> None:
    """It would never be asked, and the real server would run during a replay."""
    expected = (
        f"--stdio files: a program called by its path, {name}, cannot be caught; "
        "call it by its name, or put the server into a config and use --config"
    )

    with pytest.raises(UsageError) as error:
        write(Shim(label="files", command=(name, "x")))

    assert str(error.value) == expected


def test_a_recording_needs_the_program(write: WriteShims, tools: Path) -> None:
    """Named before the agent starts; a replay does without."""
    with pytest.raises(UsageError, match=r"^--stdio files: srv: not found; install it"):
        write(FILES, recording=True, run="a")
    (tools / "srv").touch()
    with pytest.raises(UsageError, match=r"^--stdio files: srv: permission denied; "):
        write(FILES, recording=True, run="b")


def test_one_command_is_one_server(write: WriteShims) -> None:
    """Which of the two an agent means could not be told."""
    with pytest.raises(
        UsageError, match=r"^--stdio b: server files is started by the same command"
    ):
        write(FILES, Shim(label="b", command=FILES.command))

    assert write(FILES, FILES, run="again").is_dir()


def test_a_folder_where_nothing_can_be_started_is_refused(
    write: WriteShims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shells pass over such a shim in silence, and the real server would run during a replay."""
    monkeypatch.setattr(os, "access", lambda *_: False)

    with pytest.raises(UsageError, match="bin: programs cannot be started there; set TMPDIR"):
        write(FILES)


def test_what_a_command_becomes(write: WriteShims, tools: Path, relay: Path) -> None:
    """The rule in values, without a process."""
    real = str(program(tools, "srv", ""))
    folder = write(FILES, recording=True)
    run_dir, path = str(folder.parent), path_of(folder, tools)["PATH"]
    started = [sys.executable, "-I", "-S", str(relay), f"{run_dir}/run", "files", "--", real]

    assert led_command(run_dir, [*FILES.command], path) == [*started, "-y", "files"]
    assert led_command(run_dir, ["srv", "-h"], path) == [real, "-h"]


def test_without_our_folder_on_path_all_of_it_is_searched(tools: Path) -> None:
    """A shell finds the same program."""
    program(tools, "ls", "")

    assert real_program("ls", f"{SYSTEM}:{tools}", behind="/nowhere") == shutil.which(
        "ls", path=SYSTEM
    )
    assert real_program("ls", f"{tools}:{SYSTEM}", behind="/nowhere") == str(tools / "ls")
