"""Runs between an agent and a child server, and shows the recorder every byte.

    python -I -S stdio_relay.py SOCKET LABEL -- CMD…
    python -I -S stdio_relay.py SOCKET LABEL

Without a command it stands for the recorded server of a replay: a pipe to the run. What is passed
on is untouched, and stderr, signals and exit status are the server's own. Each piece is shown
before it is passed on, so that no answer is seen before its call; where the recorder is gone the
conversation goes on. Agents give a server little time to start, so this file runs by
itself and imports the standard library alone.
"""

import os
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType

CLIENT, SERVER, CLIENT_CLOSED, EXITED, HELLO = b"C", b"S", b"c", b"E", b"H"
TOLD_TO_END, BY_ITSELF = b"told", b"itself"  # how a server came to exit, behind its status
ENVIRONMENT_FILE = "environment"

_CHUNK = 65536
_HEAD = struct.Struct(">cI")
HEAD_SIZE = _HEAD.size
_PID = struct.Struct(">i")
_ENDS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
_SIGNALS = (*_ENDS, "SIGUSR1", "SIGUSR2")
# 4 s after a signal that asks to end: SDKs wait for 2 s before they kill, nobody for more.
_GRACE_S = 4.0
_DRAIN_S = 1.0  # for output of a server whose own children hold its stdout open
_AFTER_US_S = 0.5  # between the two signals for a server that a killed relay leaves behind
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126  # as a shell says it
_STDIN, _STDOUT, _STDERR = 0, 1, 2
# 1 MiB of stderr that the agent does not read is kept, the rest dropped: nothing waits for it.
_MOST_UNREAD = 1 << 20
_TAIL = 2000  # bytes of stderr that tell why a server died


def frame(kind: bytes, payload: bytes = b"") -> bytes:
    """Return one frame for the recorder: a kind, a length, and the bytes themselves."""
    return _HEAD.pack(kind, len(payload)) + payload


def frame_head(head: bytes) -> tuple[bytes, int]:
    """Return kind and length from the five bytes a frame begins with."""
    kind, length = _HEAD.unpack(head)
    return kind, length


class Relay:
    """One child server; its life is this process."""

    def __init__(self, socket_path: str, label: str) -> None:
        self._lock = threading.Lock()
        self._recorder = _connected(socket_path)
        self._is_reading = False
        self._was_told_to_end = False
        self._show(HELLO, label.encode())

    def run(self, command: "Sequence[str]", environment: "Mapping[str, str]") -> int:
        """Run the server to its end; return its exit status, or minus the signal it ended by."""
        guard = _Guard()
        errors = _Errors() if _is_pipe(_STDERR) else None
        try:
            child = subprocess.Popen(  # noqa: S603 (the command is the user's own)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if errors else None,
                env=environment,
                process_group=0,  # so that a signal reaches what the server started, too
                bufsize=0,
            )
        except OSError as error:
            sys.stderr.write(f"mcprec: {command[0]}: cannot be started, {error.strerror}\n")
            missing = isinstance(error, FileNotFoundError)
            return self._ended(_NOT_FOUND if missing else _NOT_EXECUTABLE)
        guard.watch(child.pid)
        for name in _SIGNALS:
            self._pass_on(child, getattr(signal, name))
        threading.Thread(target=self._up, args=(child,), daemon=True).start()
        down = threading.Thread(target=self._down, args=(child,), daemon=True)
        down.start()
        if errors is not None and child.stderr is not None:
            errors.start(child.stderr.fileno())
        status = child.wait()
        while down.is_alive():
            down.join(_DRAIN_S)
            if self._is_reading:  # nothing is left to pass on
                break
        guard.dismiss()
        return self._ended(status, errors.finish() if errors else b"")

    def _ended(self, status: int, last: bytes = b"") -> int:
        why = TOLD_TO_END if self._was_told_to_end else BY_ITSELF
        self._show(EXITED, b"%d %s %s" % (status, why, last))
        return status

    def _pass_on(self, child: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
        """Pass a signal on to the server and what it started; end what does not heed it."""

        def handle(_: int, __: "FrameType | None") -> None:
            _kill_group(child.pid, number)
            if number.name in _ENDS:
                self._was_told_to_end = True
                late = threading.Timer(_GRACE_S, _kill_group, (child.pid, signal.SIGKILL))
                late.daemon = True
                late.start()

        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle)

    def _up(self, child: "subprocess.Popen[bytes]") -> None:
        if child.stdin is None:
            return
        while chunk := _read(_STDIN):
            self._show(CLIENT, chunk)
            if not _written(child.stdin.fileno(), chunk):
                os.close(_STDIN)  # the server reads no more: the agent's next write says so
                break
        else:
            self._show(CLIENT_CLOSED)
        with suppress(OSError):
            child.stdin.close()

    def _down(self, child: "subprocess.Popen[bytes]") -> None:
        if child.stdout is None:
            return
        self._is_reading = True
        while chunk := _read(child.stdout.fileno()):
            self._is_reading = False
            self._show(SERVER, chunk)
            if not _written(_STDOUT, chunk):
                break
            self._is_reading = True
        child.stdout.close()
        with suppress(OSError):
            os.close(_STDOUT)

    def _show(self, kind: bytes, payload: bytes = b"") -> None:
        with self._lock:
            if self._recorder is None:
                return
            try:
                self._recorder.sendall(frame(kind, payload))
            except OSError:
                self._recorder = None


class _Errors:
    """Passes the server's stderr on, and lets go of what the agent does not read."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._unread: deque[bytes] = deque()
        self._size = 0
        self._is_over = False
        self._tail = b""
        self._writing = threading.Thread(target=self._write, daemon=True)

    def start(self, descriptor: int) -> None:
        """Begin with what the server writes."""
        self._reading = threading.Thread(target=self._read, args=(descriptor,), daemon=True)
        self._reading.start()
        self._writing.start()

    def finish(self) -> bytes:
        """Wait for the rest as long as somebody reads it, and return the end of it."""
        self._reading.join(_DRAIN_S)
        with self._changed:
            self._is_over = True
            self._changed.notify()
            left = self._size + 1
        while self._writing.is_alive() and self._size < left:
            left = self._size
            self._writing.join(_DRAIN_S)
        return self._tail

    def _read(self, descriptor: int) -> None:
        while chunk := _read(descriptor):
            with self._changed:
                self._tail = (self._tail + chunk)[-_TAIL:]
                if self._size < _MOST_UNREAD:
                    self._unread.append(chunk)
                    self._size += len(chunk)
                    self._changed.notify()

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._unread or self._is_over)
                if not self._unread:
                    return
                chunk = self._unread.popleft()
            if not _written(_STDERR, chunk):
                return
            with self._changed:
                self._size -= len(chunk)


class _Guard:
    """A process of its own that outlives a killed relay and ends the server it leaves behind."""

    def __init__(self) -> None:
        reading, self._pipe = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._pipe)
            _guard(reading)
            os._exit(0)
        os.close(reading)

    def watch(self, pid: int) -> None:
        """Tell which process group to end."""
        os.write(self._pipe, _PID.pack(pid))

    def dismiss(self) -> None:
        """Tell that the server has ended."""
        os.write(self._pipe, b".")
        os.waitpid(self._pid, 0)


def _guard(pipe: int) -> None:
    os.setsid()  # whoever ends the relay's process group does not end this
    for name in _SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    os.dup2(pipe, 0)
    os.closerange(1, 65536)  # the agent must see the end of our stdout
    told = os.read(0, _PID.size)
    if not told or os.read(0, 1):
        return
    (server,) = _PID.unpack(told)
    _kill_group(server, signal.SIGTERM)
    select.select([], [], [], _AFTER_US_S)
    _kill_group(server, signal.SIGKILL)


def pipe(socket_path: str, label: str) -> int:
    """Be a pipe between the agent and the run that replays the server.

    Where the agent's ends are pipes the run takes them over, and this process only waits for the
    end: an answer is then one hop away and not three.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    run = _connected(socket_path)
    if run is None:
        sys.stderr.write("mcprec: the replay that started this server has ended\n")
        return 1
    ends = [_STDIN, _STDOUT]
    hello = frame(HELLO, label.encode())
    if all(map(_is_pipe, ends)):
        socket.send_fds(run, [hello], ends)
        nothing = os.open(os.devnull, os.O_RDWR)
        for end in ends:
            os.dup2(nothing, end)
    else:
        run.sendall(hello)
        threading.Thread(target=_pump, args=(run,), daemon=True).start()
    with suppress(OSError):
        while (chunk := run.recv(_CHUNK)) and _written(_STDOUT, chunk):
            pass
    return 0


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _pump(run: socket.socket) -> None:
    with suppress(OSError):
        while chunk := _read(_STDIN):
            run.sendall(chunk)
        run.shutdown(socket.SHUT_WR)


def _connected(path: str) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
    except OSError:
        return None
    return connection


def _read(descriptor: int) -> bytes:
    """Return what there is to read; nothing at the end, or where the other side is gone."""
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""


def _written(descriptor: int, data: bytes) -> bool:
    """Write all of it; return whether there is still somebody to read."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        return False
    return True


def _kill_group(pid: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(pid, number)


def server_environment(run_dir: str, environment: "Mapping[str, str]") -> dict[str, str]:
    """Return the environment of the real server: as it was before the run.

    Args:
        run_dir: Holds the file that says, NUL by NUL: name, our value, ``=`` and what was there
            before, or nothing.
        environment: Ours.
    """
    restored = dict(environment)
    if not _was_given("LC_CTYPE"):
        restored.pop("LC_CTYPE", None)
    try:
        with open(f"{run_dir}/{ENVIRONMENT_FILE}", "rb") as file:  # noqa: PTH123 (pathlib is slow to import)
            told = [os.fsdecode(field) for field in file.read().split(b"\0")]
    except OSError:
        return restored
    for name, ours, before in zip(told[::3], told[1::3], told[2::3], strict=False):
        if restored.get(name) != ours:
            continue  # the entry's own, or none
        if before:
            restored[name] = before[1:]
        else:
            del restored[name]
    return restored


def _was_given(name: str) -> bool:
    """Return whether a variable was there at our start: Python itself sets one in the C locale."""
    try:
        with open("/proc/self/environ", "rb") as given:  # noqa: PTH123 (pathlib is slow to import)
            return any(line.startswith(f"{name}=".encode()) for line in given.read().split(b"\0"))
    except OSError:
        return True  # only Linux tells


def _end_as(status: int) -> None:
    """End as the server did, by the same signal where one ended it."""
    if status >= 0:
        os._exit(status)  # the thread that reads stdin may be waiting for ever
    number = -status
    if number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE):
        import resource  # noqa: PLC0415 (rarely needed)

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the server's own core is enough
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def main() -> None:
    """Run the relay that the command line describes and end as its server does."""
    socket_path, label, *rest = sys.argv[1:]
    if not rest:
        os._exit(pipe(socket_path, label))
    environment = server_environment(os.path.dirname(socket_path), os.environ)  # noqa: PTH120
    _end_as(Relay(socket_path, label).run(rest[1:], environment))


if __name__ == "__main__":
    main()
