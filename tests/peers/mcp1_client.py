"""A client of the 1.x MCP SDK, run by an interpreter that has it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
from pydantic import AnyUrl

from tests.peers.mcp_session import Notices, run_session
from tests.peers.started_server import address, parameters
from tests.peers.transcript import Transcript

type Sdk = Any
"""An object of the SDK, whose attributes are read as a user would."""


async def _say_name(_context: Sdk, _params: Sdk) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Robin"})


async def _session(kind: str, url: str, log: Transcript) -> None:
    notices = Notices()
    found = parameters(url)
    over_http = sse_client if kind == "mcp1-sse" else streamable_http_client
    streams: Any = (
        over_http(address(url)) if found is None else stdio_client(StdioServerParameters(**found))
    )
    async with (
        streams as (reader, writer, *_),
        ClientSession(
            reader,
            writer,
            read_timeout_seconds=timedelta(seconds=5),
            logging_callback=notices.on_log,
            elicitation_callback=_say_name,
        ) as client,
    ):
        await log.step("initialize", client.initialize())
        await run_session(client, notices, log, uri=AnyUrl)


def run(kind: str, url: str, _models: Sequence[str]) -> Transcript:
    """Run the client against a server and return what it saw."""
    log = Transcript()

    async def session() -> None:
        await log.step("session", _session(kind, url, log))

    anyio.run(session)
    return log
