"""A program name on PATH that leads to a relay or the recorded server.

    PYTHON -I -S shim.py RUN_DIR NAME argv…

A command that equals a declared one, name and arguments, becomes a relay (recording) or a pipe to
the run (replaying). Any other becomes the real program, the first of its name on PATH behind our
folder. The process itself becomes it, so stdin, signals, status and process id need no care.

Comparison is exact: ``npx -y server .`` is not ``npx --yes server .``. The real program is started
by its whole path, because Python looks for its virtual environment on PATH where argv[0] is a bare
name, and would find us there.

MCP SDKs hand servers six variables, so a shim finds its run by its own text. Agents give a server
little time to start, so the program, which is the first half of this file, imports next to nothing.
"""
# pathlib takes longer to load than Python itself, and what is heavy comes after the program.
# ruff: noqa: E402, PTH113, PTH118, PTH123

import errno
import os
import signal
import sys

_FOLDER, _TABLE, _SOCKET = "bin", "shims", "run"
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127


def main() -> None:
    """Become what the command line asks for; return never."""
    run_dir, *command = sys.argv[1:]
    _undo_start()
    try:
        _become(led_command(run_dir, command, os.environ.get("PATH", os.defpath)))
    except OSError as error:
        sys.stderr.write(f"mcprec: {_problem(run_dir, command, error)}\n")
        sys.exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE)


def led_command(run_dir: str, command: list[str], path: str) -> list[str]:
    """Return what a command becomes: a relay, a pipe to the run, or the real program.

    Args:
        run_dir: The run's private folder.
        command: The program's name and its arguments.
        path: The caller's PATH.

    Raises:
        FileNotFoundError: There is no such program behind our folder.
        PermissionError: There is one, and it is not executable.
    """
    relay, recording, labels = _read_table(run_dir)
    label = labels.get(tuple(command))
    to_run = [sys.executable, "-I", "-S", relay, os.path.join(run_dir, _SOCKET)]
    if label is not None and not recording:
        return [*to_run, label]
    name, *arguments = command
    real = [real_program(name, path, behind=os.path.join(run_dir, _FOLDER)), *arguments]
    return real if label is None else [*to_run, label, "--", *real]


def real_program(name: str, path: str, *, behind: str) -> str:
    """Return the first program of a name on a PATH, behind the last mention of our folder.

    Folders of other runs count like any other, so runs inside a run pass on to each other, and
    never in a circle: each looks only further behind.

    Raises:
        FileNotFoundError: There is none.
        PermissionError: There is one, and it is not executable.
    """
    folders = path.split(os.pathsep)
    ours = os.path.realpath(behind)
    mentions = [at for at, folder in enumerate(folders) if os.path.realpath(folder) == ours]
    is_there = False
    for folder in folders[mentions[-1] + 1 if mentions else 0 :]:
        program = os.path.join(folder or os.curdir, name)
        if not os.path.isfile(program):
            continue
        if os.access(program, os.X_OK):
            return program
        is_there = True
    if is_there:
        raise PermissionError(errno.EACCES, "permission denied")
    raise FileNotFoundError(errno.ENOENT, "not found")


def _read_table(run_dir: str) -> tuple[str, bool, dict[tuple[str, ...], str]]:
    """Return the relay, whether it records, and label by declared command."""
    with open(os.path.join(run_dir, _TABLE), "rb") as table:
        relay, recording, *fields = os.fsdecode(table.read()).split("\0")
    labels: dict[tuple[str, ...], str] = {}
    while fields:
        label, size, *fields = fields
        labels[tuple(fields[: int(size)])] = label
        fields = fields[int(size) :]
    return relay, bool(recording), labels


def _undo_start() -> None:
    """Undo what Python's own start changed and another program would inherit.

    Python ignores two signals, and in the C locale, which is what six variables amount to, it sets
    LC_CTYPE. Where the system does not tell how a process was started, that variable stays.
    """
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback for an agent that hurries
    try:
        with open("/proc/self/environ", "rb") as given:
            names = [variable.partition(b"=")[0] for variable in given.read().split(b"\0")]
    except OSError:
        return
    if b"LC_CTYPE" not in names:
        os.environ.pop("LC_CTYPE", None)


def _become(command: list[str]) -> None:
    try:
        os.execv(command[0], command)  # noqa: S606 (it is what the caller asked for)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    os.execv("/bin/sh", ["/bin/sh", *command])  # noqa: S606 (a script without #!, as in a shell)


def _problem(run_dir: str, command: list[str], error: OSError) -> str:
    import shlex  # noqa: PLC0415 (only here: it takes as long to load as Python itself)

    try:
        _, _, labels = _read_table(run_dir)
    except OSError:
        return f"{command[0]}: the run that caught it is over; start it again without mcprec"
    declared = ", ".join(f"{label}={shlex.join(known)!r}" for known, label in labels.items())
    asked = shlex.join(command)
    return f"{command[0]}: {error.strerror}; asked for {asked!r}, declared is {declared}"


if __name__ == "__main__":
    main()

# The program has left by now. What follows is for the run, and takes longer to load.

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcprec_addon.errors import UsageError

_RELAY = Path(__file__).with_name("stdio_relay.py")
# What every kernel takes as a `#!` line: 127 characters with `#!` and ` -IS`, and no space.
_PLAIN_PATH = re.compile(r"/[!-~]{1,119}")
# A Python script where that is possible: a shell on the way drops variables such as `a.b`.
_SCRIPT = """\
#!{python} -IS
import sys
sys.argv[:1] = {start!a}
with open({program!a}, "rb") as program:
    exec(compile(program.read(), {program!a}, "exec"))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shim:
    """A server that an agent starts by a program's name.

    Attributes:
        label: The server's name.
        command: Program and arguments, as the agent gives them.
    """

    label: str
    command: tuple[str, ...]


def write_shims(
    run_dir: Path,
    shims: Sequence[Shim],
    *,
    recording: bool,
    environment: Mapping[str, str],
    relay: Path = _RELAY,
) -> Path:
    """Write an executable for each program, and the table they read.

    Args:
        run_dir: The run's private folder, whose socket relays and pipes speak with.
        shims: The declared servers.
        recording: The real servers run, behind a relay; else they are replayed.
        environment: What mcprec was started with.
        relay: What is started for a declared command.

    Returns:
        The folder to put first on PATH.

    Raises:
        UsageError: A program cannot be caught or, while recording, is not there; or two servers
            are started by one command.
    """
    labels = _labels(shims)
    run_dir = run_dir.absolute()  # an agent may change folders
    folder = run_dir / _FOLDER
    if recording:
        for shim in shims:
            _find(shim, environment, folder)
    fields = [str(relay.absolute()), "recording" if recording else ""]
    for command, label in labels.items():
        fields += [label, str(len(command)), *command]
    (run_dir / _TABLE).write_bytes(os.fsencode("\0".join(fields)))
    folder.mkdir(mode=0o700)
    for name in {command[0] for command in labels}:
        _write_executable(folder / name, run_dir)
    return folder


def _labels(shims: Sequence[Shim]) -> dict[tuple[str, ...], str]:
    """Return label by command."""
    labels: dict[tuple[str, ...], str] = {}
    for shim in shims:
        program = shim.command[0]
        if "/" in program or program in {"", os.curdir, os.pardir}:
            message = (
                f"--stdio {shim.label}: a program called by its path, {program}, cannot be caught; "
                "call it by its name, or put the server into a config and use --config"
            )
            raise UsageError(message)
        other = labels.setdefault(shim.command, shim.label)
        if other != shim.label:
            message = (
                f"--stdio {shim.label}: server {other} is started by the same command; "
                "declare it once, or let their arguments differ"
            )
            raise UsageError(message)
    return labels


def _find(shim: Shim, environment: Mapping[str, str], folder: Path) -> None:
    path = environment.get("PATH", os.defpath)
    try:
        real_program(shim.command[0], path, behind=str(folder))
    except OSError as error:
        message = (
            f"--stdio {shim.label}: {shim.command[0]}: {error.strerror}; "
            "install it, or give a program that is on PATH"
        )
        raise UsageError(message) from error


def _write_executable(path: Path, run_dir: Path) -> None:
    start = [__file__, str(run_dir), path.name]
    if _PLAIN_PATH.fullmatch(sys.executable):
        text = _SCRIPT.format(python=sys.executable, start=start, program=__file__)
    else:
        text = f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-S", *start])} "$@"\n'
    path.write_bytes(os.fsencode(text))
    path.chmod(0o700)
    if not os.access(path, os.X_OK):
        # A replay would start the real server, and a recording miss it, both in silence.
        message = f"{path.parent}: programs cannot be started there; set TMPDIR to another folder"
        raise UsageError(message)
