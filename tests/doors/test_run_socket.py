"""Relays report to the recorder of a run, pipes ask its player, whatever becomes of either."""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.doors import stdio_relay
from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.recording import Recording
from mcprec_addon.doors.run_folder import run_folder
from mcprec_addon.doors.run_socket import Frames, RunSocket, Serve, recording_lines
from mcprec_addon.doors.stdio_relay import CLIENT, frame
from mcprec_addon.exchange import McpExchange
from mcprec_addon.record.summary import Recorded

pytestmark = [pytest.mark.door, pytest.mark.anyio]

PYTHON = (sys.executable, "-I", "-S")
PING = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n'
LONGEST_S = 20


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def listening(make: Callable[[Path], Serve]) -> AsyncGenerator[RunSocket]:
    with run_folder() as folder:
        made = RunSocket(folder, make(folder))
        await made.start()
        try:
            yield made
        finally:
            await made.stop()


async def started(run: RunSocket, label: str, *command: str) -> asyncio.subprocess.Process:
    behind = ("--", *command) if command else ()
    return await asyncio.create_subprocess_exec(
        *PYTHON, stdio_relay.__file__, str(run.path), label, *behind,
        stdin=PIPE, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip


async def talk(process: asyncio.subprocess.Process, data: bytes) -> bytes:
    out, _ = await asyncio.wait_for(process.communicate(data), LONGEST_S)
    return out


def server(*, before: str = "", after: str = "") -> tuple[str, ...]:
    """Return a server that answers every request with its own id."""
    lines = f"""
import json, sys, os
{before}
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": {{}}}}), flush=True)
    {after or "pass"}
"""
    return (*PYTHON, "-c", lines)


@asynccontextmanager
async def recording(
    tmp_path: Path, **commands: str
) -> AsyncGenerator[tuple[RunSocket, Callable[[], Recorded]]]:
    made = Recording(tmp_path / "a.mcp", urls={}, commands=commands)
    async with listening(lambda _: recording_lines(made)) as run:
        yield run, made.close


def exchanges(tmp_path: Path) -> list[McpExchange]:
    found = load_cassette(tmp_path / "a.mcp").exchanges
    return [each for each in found if isinstance(each, McpExchange)]


@given(cuts=st.lists(st.integers(0, 60), max_size=6))
def test_frames_come_whole_however_they_are_cut(cuts: list[int]) -> None:
    """A socket hands over what it has."""
    sent = [(CLIENT, b"one\n"), (CLIENT, b""), (CLIENT, b"three" * 5)]
    data = b"".join(frame(kind, payload) for kind, payload in sent)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    frames = Frames()

    got = [each for start, end in pairwise(edges) for each in frames.feed(data[start:end])]

    assert got == sent


async def test_two_processes_of_one_server_are_one_server(tmp_path: Path) -> None:
    """Some SDKs start a copy to probe, others one for each call; ids begin anew in each."""
    async with recording(tmp_path, tracker="python") as (run, close):
        for _ in range(2):
            process = await started(run, "tracker", *server())
            assert len((await talk(process, PING % 1 + PING % 2)).splitlines()) == 2
    recorded = close()

    assert recorded.servers == ("tracker",)
    assert [each.answer.kind for each in exchanges(tmp_path)] == ["result"] * 4
    assert load_cassette(tmp_path / "a.mcp").header.servers["tracker"].command == "python"


async def test_a_server_that_died_in_a_call_broke_it(tmp_path: Path) -> None:
    """It is a broken connection, not an agent that left; and the summary says how it died."""
    dying = server(before="sys.stdin.readline(); sys.stderr.write('no database'); sys.exit(3)")
    async with recording(tmp_path, tracker="python") as (run, close):
        process = await started(run, "tracker", *dying)
        assert process.stdin is not None
        process.stdin.write(PING % 1)
        assert await asyncio.wait_for(process.wait(), LONGEST_S) == 3
    recorded = close()

    assert [each.answer.end for each in exchanges(tmp_path)] == ["reset"]
    assert (
        "tracker: the server ended before it answered anything, with status 3: no database"
        in recorded.notices()
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_an_agent_that_ends_its_server_left(tmp_path: Path, number: signal.Signals) -> None:
    """A signal from the agent in the middle of a call is the agent's doing."""
    silent = (*PYTHON, "-c", "import sys; print('up', flush=True); sys.stdin.read()")
    async with recording(tmp_path, tracker="python") as (run, close):
        process = await started(run, "tracker", *silent)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(PING % 1)
        await process.stdout.readline()
        process.send_signal(number)
        assert await asyncio.wait_for(process.wait(), LONGEST_S) == -number
    recorded = close()

    assert [each.answer.end for each in exchanges(tmp_path)] == ["left"]
    assert recorded.noise == {"tracker": 1}


async def test_a_recorder_that_stops_first_leaves_the_call_stopped(tmp_path: Path) -> None:
    """Such an answer is never handed out, and the server goes on."""
    async with recording(tmp_path, tracker="python") as (run, close):
        process = await started(run, "tracker", *server(before="sys.stdin.readline()"))
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(PING % 1 + PING % 2)
        await process.stdout.readline()
    close()
    process.stdin.write(PING % 3)
    assert json.loads(await process.stdout.readline())["id"] == 3
    await talk(process, b"")

    assert [each.answer.end for each in exchanges(tmp_path)] == ["stopped", None]


BANNER = [
    "tracker-mcp 2.1 listening",
    "",
    "+ export X=1",
    '{"status":200,"message":"Success"}',
    "[1,2]",
    "42",
    "null",
    '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}',
    'npm notice New version {"jsonrpc":"2.0"',
    '{"jsonrpc":"2.0","id":2,"result":{}}',
    '{"jsonrpc":"2.0","id":99,"result":{"stray":true}}',
    '[{"jsonrpc":"2.0","id":3,"result":{}},{"jsonrpc":"2.0","method":"notifications/message"}]',
]


async def test_a_banner_on_stdout_is_passed_on_kept_and_counted(tmp_path: Path) -> None:
    """Start-up text and strays are what a client's parse errors come from."""
    code = f"import sys; sys.stdin.readline(); print({chr(10).join(BANNER)!r}); sys.stdin.read()"
    calls = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' + PING % 2 + PING % 3
    async with recording(tmp_path, tracker="python") as (run, close):
        # All calls in one write, so that the server's one read finds them shown.
        process = await started(run, "tracker", *PYTHON, "-c", code)
        out = await talk(process, calls)
    recorded = close()
    noise = load_cassette(tmp_path / "a.mcp").noise

    assert out.decode().splitlines() == BANNER
    assert [each.answer.kind for each in exchanges(tmp_path)] == ["result"] * 3
    assert [each.text for each in noise] == [BANNER[n] for n in (0, 2, 3, 4, 5, 6, 8, 10)]
    assert "tracker: 8 lines on stdout were not MCP messages" in recorded.notices()


async def test_a_bug_in_the_recorder_ends_the_recording_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent's conversation goes on, and the recording says that it is incomplete."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("mcprec_addon.record.lines.message_of", broken)
    async with recording(tmp_path, tracker="python") as (run, close):
        process = await started(run, "tracker", *server())
        assert len((await talk(process, PING % 1 + PING % 2)).splitlines()) == 2
    recorded = close()

    assert "ZeroDivisionError" in str(recorded.failure)


async def test_a_stranger_on_the_socket_is_let_go(tmp_path: Path) -> None:
    """A process that says nothing, or half a word, holds nothing up."""
    made = Recording(tmp_path / "a.mcp", urls={})
    async with listening(lambda _: recording_lines(made)) as run:
        for said in (b"", b"H\0"):
            _, writer = await asyncio.open_unix_connection(str(run.path))
            writer.write(said)
            writer.close()
            await writer.wait_closed()

    assert run.failures == []
    made.close()
