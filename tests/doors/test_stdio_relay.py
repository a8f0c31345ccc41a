"""A server behind the relay behaves as without it, and the recorder is shown what is said."""

import json
import os
import random
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcprec_addon.doors import stdio_relay
from mcprec_addon.doors.run_folder import run_folder, write_environment
from mcprec_addon.doors.run_socket import Frames
from mcprec_addon.doors.stdio_relay import CLIENT, CLIENT_CLOSED, EXITED, HELLO, SERVER

pytestmark = pytest.mark.door

PYTHON = [sys.executable, "-I", "-S"]
ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()"
LONGEST_S = 20


@dataclass
class Recorder:
    """What relays have shown, a list of frames for each."""

    path: Path
    shown: list[list[tuple[bytes, bytes]]] = field(default_factory=list[list[tuple[bytes, bytes]]])
    threads: list[threading.Thread] = field(default_factory=list[threading.Thread])

    def frames(self) -> list[tuple[bytes, bytes]]:
        """Return the frames of the only relay, once it has ended."""
        for thread in self.threads:
            thread.join(LONGEST_S)
        assert len(self.shown) == 1
        return self.shown[0]

    def bytes_of(self, kind: bytes) -> bytes:
        """Return all that was shown of one kind."""
        return b"".join(payload for each, payload in self.frames() if each == kind)


@pytest.fixture
def recorder() -> Generator[Recorder]:
    """Listen as the recording process does."""
    with run_folder() as folder, socket.socket(socket.AF_UNIX) as listener:
        made = Recorder(folder / "run")
        listener.bind(str(made.path))
        listener.listen()

        def take(connection: socket.socket, shown: list[tuple[bytes, bytes]]) -> None:
            frames = Frames()
            with connection, suppress(OSError):
                while chunk := connection.recv(65536):
                    shown.extend(frames.feed(chunk))

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    made.shown.append([])
                    thread = threading.Thread(target=take, args=(connection, made.shown[-1]))
                    thread.start()
                    made.threads.append(thread)

        threading.Thread(target=accept, daemon=True).start()
        yield made
        listener.shutdown(socket.SHUT_RDWR)


def relayed(recorder: Recorder, *command: str) -> list[str]:
    return [*PYTHON, stdio_relay.__file__, str(recorder.path), "tracker", "--", *command]


@contextmanager
def process(command: list[str], **how: int) -> Iterator[subprocess.Popen[bytes]]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE} | how
    with subprocess.Popen(command, **pipes) as made:  # type: ignore[call-overload] # by names
        try:
            yield made
        finally:
            if made.poll() is None:
                made.kill()


def talk(command: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=data, capture_output=True, timeout=LONGEST_S, check=False)


def gone(pid: int, within_s: float = 5) -> bool:
    """Whether a process has ended, or does so in time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with os.fdopen(handle):
        return bool(select.select([handle], [], [], within_s)[0])


def until(holds: Callable[[], bool], within_s: float = 5) -> None:
    """Wait on a condition that nothing can be waited on for."""
    waiting = threading.Event()
    for _ in range(int(within_s / 0.02)):
        if holds():
            return
        waiting.wait(0.02)
    pytest.fail("it never came about")


ODD = [
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n',
    b"\xff\xfe not UTF-8 \x00\n",
    b"\n",
    b'{"big":"' + b"x" * 5_000_000 + b'"}\n',
    b"no end of line",
]


def test_every_byte_passes_both_ways(recorder: Recorder) -> None:
    """CRLF, lines of many MB, bytes that are no text and a last line without an end."""
    data = b"".join(ODD)

    done = talk(relayed(recorder, *PYTHON, "-c", ECHO), data)

    assert done.stdout == data
    assert recorder.bytes_of(CLIENT) == data
    assert recorder.bytes_of(SERVER) == data
    assert recorder.frames()[0] == (HELLO, b"tracker")
    assert [kind for kind, _ in recorder.frames()[-2:]] == [CLIENT_CLOSED, EXITED] or (
        CLIENT_CLOSED,
        b"",
    ) in recorder.frames()


@pytest.mark.parametrize("seed", range(5))
def test_any_split_of_the_bytes_passes(recorder: Recorder, seed: int) -> None:
    """A pipe hands over what it has; what is shown is in the order it was said."""
    chance = random.Random(seed)  # noqa: S311 (any splits do)
    lines = [b"%d %s\n" % (n, b"y" * chance.randrange(3000)) for n in range(60)]
    data = b"".join(lines)

    with process(relayed(recorder, *PYTHON, "-c", ECHO)) as relay:
        assert relay.stdin is not None
        assert relay.stdout is not None
        reading = threading.Thread(target=lambda out=relay.stdout: read.append(out.read()))
        read: list[bytes] = []
        reading.start()
        start = 0
        while start < len(data):
            size = chance.randrange(1, 5000)
            relay.stdin.write(data[start : start + size])
            relay.stdin.flush()
            start += size
        relay.stdin.close()
        reading.join(LONGEST_S)

    assert read == [data]
    assert recorder.bytes_of(SERVER) == data


def test_a_call_is_shown_before_its_answer(recorder: Recorder) -> None:
    """Else an answer would find no call that it answers."""
    with process(relayed(recorder, *PYTHON, "-c", ECHO)) as relay:
        assert relay.stdin is not None
        assert relay.stdout is not None
        for number in range(500):
            relay.stdin.write(b"%d\n" % number)
            relay.stdin.flush()
            assert relay.stdout.readline() == b"%d\n" % number
        relay.stdin.close()

    said = [(kind, payload) for kind, payload in recorder.frames() if kind in (CLIENT, SERVER)]
    assert said == [
        each for n in range(500) for each in ((CLIENT, b"%d\n" % n), (SERVER, b"%d\n" % n))
    ]


@pytest.mark.parametrize("status", [0, 7])
def test_the_exit_status_is_the_servers(recorder: Recorder, status: int) -> None:
    """Clients tell a crash from a clean end by it."""
    code = f"import sys; sys.stdin.read(); sys.exit({status})"

    done = talk(relayed(recorder, *PYTHON, "-c", code), b"")

    assert done.returncode == status
    assert recorder.bytes_of(EXITED).split()[0] == b"%d" % status


def test_a_server_that_dies_first_ends_the_relay(recorder: Recorder) -> None:
    """The agent sees the end of stdout and the status though it still writes."""
    with process(
        relayed(recorder, *PYTHON, "-c", "import sys; print('last'); sys.exit(3)")
    ) as relay:
        assert relay.stdout is not None
        assert relay.stdout.read() == b"last\n"
        assert relay.wait(LONGEST_S) == 3

    assert recorder.bytes_of(EXITED).startswith(b"3 itself ")


FAMILY = """
import os, subprocess, sys
kid = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(os.getpid(), kid.pid, flush=True)
sys.stdin.read()
kid.terminate(); kid.wait(); sys.exit(7)
"""
DEAF = "import signal\nfor n in (15, 2, 1): signal.signal(n, signal.SIG_IGN)\n"


def pids(relay: subprocess.Popen[bytes]) -> list[int]:
    assert relay.stdout is not None
    return [int(text) for text in relay.stdout.readline().split()]


def test_a_closed_stdin_reaches_the_server(recorder: Recorder) -> None:
    """That is how SDKs end a server first."""
    with process(relayed(recorder, *PYTHON, "-c", FAMILY)) as relay:
        family = pids(relay)
        assert relay.stdin is not None
        relay.stdin.close()
        assert relay.wait(LONGEST_S) == 7

    assert all(map(gone, family))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("server", [FAMILY, DEAF + FAMILY], ids=["heeds", "deaf"])
def test_a_signal_reaches_the_server_and_its_children(
    recorder: Recorder, number: signal.Signals, server: str
) -> None:
    """Nobody is left behind, also of a server that does not heed the signal."""
    with process(relayed(recorder, *PYTHON, "-c", server)) as relay:
        family = pids(relay)
        relay.send_signal(number)
        status = relay.wait(LONGEST_S)
        assert all(map(gone, family))

    assert status == -(signal.SIGKILL if server.startswith(DEAF) else number)
    assert recorder.bytes_of(EXITED).split()[1] == b"told"


def test_a_shell_sees_128_and_the_signal(recorder: Recorder) -> None:
    """As it does for the server alone."""
    command = shlex.join(relayed(recorder, *PYTHON, "-c", "import os; os.kill(os.getpid(), 15)"))

    done = talk(["/bin/sh", "-c", f"{command}; echo $?"], b"")

    assert done.stdout == b"143\n"


@pytest.mark.parametrize("server", [FAMILY, DEAF + FAMILY], ids=["heeds", "deaf"])
def test_a_killed_relay_leaves_nobody_behind(recorder: Recorder, server: str) -> None:
    """Some agents kill within a tenth of a second, and then the server must be gone, too."""
    with process(relayed(recorder, *PYTHON, "-c", server), start_new_session=1) as relay:
        family = pids(relay)
        os.killpg(relay.pid, signal.SIGKILL)
        relay.wait(LONGEST_S)

        assert all(map(gone, family))


def test_a_flood_on_stderr_holds_nothing_up(recorder: Recorder) -> None:
    """A full pipe that nobody reads must not stop the conversation more than without us."""
    code = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    sys.stderr.write("log " * 70000 + "\\n")
    sys.stderr.buffer.write(b"\\xff\\xfe no newline"); sys.stderr.flush()
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"content": []}}), flush=True)
"""
    calls = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 3

    done = talk(relayed(recorder, *PYTHON, "-c", code), calls)

    assert done.stdout.count(b"\n") == 3
    assert len(done.stderr) > 3 * 280000
    assert b"\xff\xfe no newline" in done.stderr
    assert recorder.bytes_of(SERVER) == done.stdout


def test_stderr_that_nobody_reads_holds_nothing_up(recorder: Recorder) -> None:
    """Some clients open a pipe for it and never look; without us the server would block."""
    code = """
import sys
for line in sys.stdin.buffer:
    sys.stderr.write("log " * 70000 + "\\n"); sys.stderr.flush()
    sys.stdout.buffer.write(line); sys.stdout.flush()
"""
    with process(relayed(recorder, *PYTHON, "-c", code), stderr=subprocess.PIPE) as relay:
        assert relay.stdin is not None
        assert relay.stdout is not None
        for _ in range(20):
            relay.stdin.write(b"ping\n")
            relay.stdin.flush()
            assert relay.stdout.readline() == b"ping\n"
        relay.stdin.close()
        assert relay.wait(LONGEST_S) == 0


def test_the_last_words_of_a_server_are_shown(recorder: Recorder) -> None:
    """An agent may hide the very line that tells why its server died."""
    code = "import sys; sys.stderr.write('x' * 9999 + '\\nno such port: 70000\\n'); sys.exit(2)"

    done = talk(relayed(recorder, *PYTHON, "-c", code), b"")

    assert done.stderr.endswith(b"\nno such port: 70000\n")
    status, told, last = recorder.bytes_of(EXITED).split(b" ", 2)
    assert (status, told) == (b"2", b"itself")
    assert last.endswith(b"\nno such port: 70000\n")
    assert len(last) == 2000


def test_a_slow_reader_holds_the_server_back(recorder: Recorder) -> None:
    """What is written and not read stays in pipes, not in our memory."""
    code = """
import sys
for n in range(4000):
    sys.stdout.buffer.write(b"z" * 9999 + b"\\n"); sys.stdout.flush()
    sys.stderr.write("."); sys.stderr.flush()
"""
    with process(relayed(recorder, *PYTHON, "-c", code), stderr=subprocess.PIPE) as relay:
        assert relay.stderr is not None
        assert relay.stdout is not None
        seen = 0
        while select.select([relay.stderr], [], [], 1)[0]:
            seen += len(os.read(relay.stderr.fileno(), 65536))
        assert seen < 100  # about 1 MB of 40: two pipes and a chunk
        assert len(relay.stdout.read()) == 4000 * 10_000
        assert relay.wait(LONGEST_S) == 0


def test_the_last_output_is_not_lost_to_a_slow_reader(recorder: Recorder) -> None:
    """The server has exited, and its last words are still in pipes."""
    code = "import sys; sys.stdout.write('w' * 120000); sys.stdout.flush()"
    with process(relayed(recorder, *PYTHON, "-c", code)) as relay:
        until(lambda: bool(recorder.shown) and any(k == SERVER for k, _ in recorder.shown[0]))
        threading.Event().wait(1.5)  # longer than output of a server's children is waited for
        assert relay.stdout is not None
        assert len(relay.stdout.read()) == 120_000


def test_the_conversation_outlives_the_recorder() -> None:
    """Whatever becomes of the recording, the agent's run goes on."""
    with run_folder() as folder:
        path = folder / "run"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            command = [*PYTHON, stdio_relay.__file__, str(path), "x", "--", *PYTHON, "-c", ECHO]
            with process(command) as relay:
                assert relay.stdin is not None
                assert relay.stdout is not None
                listener.accept()[0].close()
                for _ in range(3):
                    relay.stdin.write(b"still here\n")
                    relay.stdin.flush()
                    assert relay.stdout.readline() == b"still here\n"
        again = talk(command, b"nobody listens\n")

    assert again.stdout == b"nobody listens\n"


def test_a_command_that_is_not_there_is_told(recorder: Recorder) -> None:
    """One line, and the status a shell would have."""
    done = talk(relayed(recorder, "no-such-server"), b"")

    assert done.returncode == 127
    assert done.stderr.decode().splitlines() == [
        "mcprec: no-such-server: cannot be started, No such file or directory"
    ]


def test_the_server_has_the_environment_from_before_the_run(recorder: Recorder) -> None:
    """Our proxy is not for servers; what the entry sets itself is."""
    before = {"HTTPS_PROXY": "http://office:8080", "KEPT": "1"}
    ours = {**before, "HTTPS_PROXY": "http://ours:1", "OPENAI_BASE_URL": "http://ours:2"}
    write_environment(recorder.path.parent, before=before, ours=ours)
    entry = {"NO_PROXY": "entry's own", "KEPT": "2"}

    done = subprocess.run(
        relayed(recorder, shutil.which("env") or ""),
        env={**ours, **entry},
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=True,
    )

    told = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert told == {"HTTPS_PROXY": "http://office:8080", "KEPT": "2", "NO_PROXY": "entry's own"}


def test_only_the_standard_library_is_loaded() -> None:
    """Some agents give a server a second to start."""
    code = f"import runpy, sys; runpy.run_path({stdio_relay.__file__!r}); print(*sys.modules)"

    done = talk([*PYTHON, "-c", code], b"")

    loaded = {name.partition(".")[0] for name in done.stdout.decode().split()}
    assert loaded - sys.stdlib_module_names - {"__main__", "_sysconfigdata"} == set()


def test_without_a_run_a_pipe_says_so(recorder: Recorder) -> None:
    """A config copy that outlived its run names the cause."""
    command = [*PYTHON, stdio_relay.__file__, f"{recorder.path}-gone", "tracker"]

    done = talk(command, json.dumps({"id": 1}).encode())

    assert done.returncode == 1
    assert done.stderr == b"mcprec: the replay that started this server has ended\n"
