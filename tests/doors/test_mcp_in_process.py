"""Recorded servers for the MCP SDK's client, in this process."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters

from mcprec_addon import Cassette, CassetteMiss, LiveTrafficError, UsageError, use_cassette
from tests.in_process_cassette import write_cassette

type Use = Callable[[Client], Awaitable[object]]


def run(target: object, use: Use, **options: str) -> object:
    async def session() -> object:
        async with Client(target, **options) as client:  # type: ignore[arg-type]
            return await use(client)

    return asyncio.run(session())


async def read(client: Client) -> str:
    result = await client.call_tool("read", {"path": "a.txt"})
    return str(result.content[0].model_dump()["text"])


async def search(client: Client) -> str:
    result = await client.call_tool("search", {"q": "bug"})
    return str(result.content[0].model_dump()["text"])


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_transport_of_any_recorded_server(mode: str, tmp_path: Path) -> None:
    """Dependency injection beats patching where the agent takes a transport."""
    cassette = Cassette.load(write_cassette(tmp_path))

    assert run(cassette.mcp_transport("files"), read, mode=mode) == "text of a"
    assert run(cassette.mcp_transport("tracker"), search, mode="auto") == "three bugs"
    assert [call.server for call in cassette.calls()] == ["files", "tracker"]


def test_no_process_is_started_for_a_stdio_server(tmp_path: Path) -> None:
    """The recorded program is on no machine but the one it was recorded on."""
    gone = StdioServerParameters(command="/nowhere/files-server", args=["--root", "."])
    other = StdioServerParameters(command=sys.executable, args=["server.py"])

    with use_cassette(write_cassette(tmp_path)):
        assert run(gone, read) == "text of a"
        assert run(other, read) == "text of a"


def test_a_program_that_may_be_several_servers_is_asked_for(tmp_path: Path) -> None:
    """Many servers are started by one program, npx, and a guess would give wrong answers."""
    path = write_cassette(tmp_path)
    text = path.read_text().replace(
        '"files":{', '"notes":{"transport":"stdio","command":"files-server"},"files":{'
    )
    path.write_text(text)
    server = StdioServerParameters(command="files-server", args=["a b"])

    with (
        pytest.raises(UsageError, match=r"may be any of notes, files; say which: servers="),
        use_cassette(path),
    ):
        run(server, read)
    with use_cassette(path, servers={"files": "files-server 'a b'"}):
        assert run(server, read) == "text of a"


def test_a_miss_is_the_callers_error_and_the_blocks(tmp_path: Path) -> None:
    """An agent that catches errors of its tools hides what is not recorded."""

    async def ask(client: Client) -> str:
        with pytest.raises(MCPError, match="no recorded answer"):
            await client.call_tool("read", {"path": "b.txt"})
        return await read(client)

    with (
        pytest.raises(CassetteMiss, match=r'"b" for "a"|/args/path'),
        use_cassette(write_cassette(tmp_path)) as cassette,
    ):
        assert run(cassette.mcp_transport("files"), ask) == "text of a"


def test_a_server_that_is_not_there_or_not_replayed_is_named(tmp_path: Path) -> None:
    """A typo in a label is no reason for a hang."""
    path = write_cassette(tmp_path)

    with pytest.raises(UsageError, match="no server 'file'; it has tracker, files"):
        Cassette.load(path).mcp_transport("file")
    with pytest.raises(LiveTrafficError, match="mcp half is not replayed"):
        Cassette.load(path, half="model").mcp_transport("files")
