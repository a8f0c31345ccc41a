"""A client of the 1.x MCP SDK that resumes streams and tells its roots."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import anyio
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ListRootsResult, Root

from tests.peers.mcp_session import Notices
from tests.peers.started_server import address
from tests.peers.transcript import Transcript

type Sdk = Any
"""An object of the SDK, whose attributes are read as a user would."""


async def _tell_roots(_context: Sdk) -> ListRootsResult:
    return ListRootsResult(roots=[Root.model_validate({"uri": "file:///home/robin"})])


async def _session(kind: str, url: str, log: Transcript) -> None:
    notices = Notices()
    streams: Any = sse_client if kind == "resuming-sse" else streamable_http_client
    async with (
        streams(address(url)) as (reader, writer, *_),
        ClientSession(
            reader,
            writer,
            read_timeout_seconds=timedelta(seconds=10),
            logging_callback=notices.on_log,
            list_roots_callback=_tell_roots,
        ) as client,
    ):
        await log.step("initialize", client.initialize())
        await log.step("polled", client.call_tool("polled", {}))
        await log.step("roots", client.call_tool("roots", {}))
        log.saw("logs", notices.logs)


def run(kind: str, url: str, _models: Sequence[str]) -> Transcript:
    """Run the client against a server and return what it saw."""
    log = Transcript()

    async def session() -> None:
        await log.step("session", _session(kind, url, log))

    anyio.run(session)
    return log
