"""A pipe gets the answers of its recorded server, whatever becomes of either end."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from mcprec_addon.doors import stdio_relay
from mcprec_addon.doors.played_lines import replaying_lines
from mcprec_addon.doors.run_socket import Serve
from mcprec_addon.replay.line_responder import LineResponder
from tests.doors.test_run_socket import LONGEST_S, PYTHON, listening, started, talk
from tests.replay.test_line_responder import ask, responder, tool

pytestmark = [pytest.mark.door, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def answering(made: LineResponder | None) -> Callable[[Path], Serve]:
    return lambda _: replaying_lines(lambda _: made)


@pytest.mark.parametrize("ends", ["pipes", "files"])
async def test_a_recorded_server_answers(ends: str, tmp_path: Path) -> None:
    """The agent's own ends are taken over where they are pipes; else bytes are passed on."""
    made = responder(tool(1, "a"), tool(2, "b"))
    data = ask("a") + b"\r\n" + b"noise\n" + ask("b") + b"\n"
    async with listening(answering(made)) as run:
        if ends == "pipes":
            out = await talk(await started(run, "tracker"), data)
        else:
            (tmp_path / "in").write_bytes(data)
            with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
                process = await asyncio.create_subprocess_exec(
                    *PYTHON, stdio_relay.__file__, str(run.path), "tracker",
                    stdin=source, stdout=sink,
                )  # fmt: skip
                assert await asyncio.wait_for(process.wait(), LONGEST_S) == 0
            out = (tmp_path / "out").read_bytes()

    assert [json.loads(line)["id"] for line in out.splitlines()] == [1, 1]
    assert run.failures == []


async def test_a_server_that_died_in_the_recording_ends_again(tmp_path: Path) -> None:
    """The agent sees the end of stdout and of the process."""
    async with listening(answering(responder(tool(1, "a", end="reset")))) as run:
        process = await started(run, "tracker")
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(ask("a") + b"\n")
        assert await asyncio.wait_for(process.stdout.read(), LONGEST_S) == b""
        assert await asyncio.wait_for(process.wait(), LONGEST_S) == 0
    del tmp_path


async def test_a_killed_pipe_lets_go_of_the_agents_ends() -> None:
    """An agent that kills its server waits for the end of its stdout."""
    async with listening(answering(responder(tool(1, "a")))) as run:
        process = await started(run, "tracker")
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(ask("a") + b"\n")
        await process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        assert await asyncio.wait_for(process.stdout.read(), LONGEST_S) == b""
        await process.wait()

    assert run.failures == []


async def test_a_server_that_is_not_replayed_ends_at_once() -> None:
    """Its half is off: nothing is answered and nothing goes live."""
    async with listening(answering(None)) as run:
        assert await talk(await started(run, "tracker"), b"") == b""


async def test_a_bug_in_the_player_is_told() -> None:
    """It ends that server and is named in the report, as one at an HTTP door is."""

    def broken(_: str) -> LineResponder:
        raise ZeroDivisionError

    async with listening(lambda _: replaying_lines(broken)) as run:
        await talk(await started(run, "tracker"), b"")

    assert [type(each) for each in run.failures] == [ZeroDivisionError]
