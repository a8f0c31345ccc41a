"""Clients of the 2.x MCP SDK: negotiating, pinned to the stateless era, or classic."""

from collections.abc import Sequence

import anyio
from mcp import Client
from mcp.client import ClientRequestContext, Transport
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.types import ElicitRequestParams, ElicitResult

from tests.peers.mcp_session import Notices, run_session
from tests.peers.started_server import address, parameters
from tests.peers.transcript import Transcript

MODES = {
    "mcp2-auto": "auto",
    "mcp2-sse": "auto",
    "mcp2-stateless": "2026-07-28",
    "mcp2-classic": "legacy",
}


async def _say_name(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG001 (the SDK names them)
    return ElicitResult(action="accept", content={"name": "Robin"})


def _server(kind: str, url: str) -> str | StdioServerParameters | Transport:
    """Return what the client connects to: an address, a command to start, or HTTP+SSE."""
    found = parameters(url)
    if kind == "mcp2-sse":
        return sse_client(address(url))
    return address(url) if found is None else StdioServerParameters(**found)


async def _session(kind: str, url: str, log: Transcript) -> None:
    notices = Notices()
    async with Client(
        _server(kind, url),
        mode=MODES[kind],
        log_level="info",
        logging_callback=notices.on_log,
        elicitation_callback=_say_name,
        read_timeout_seconds=5,
    ) as client:
        log.saw("connect", [client.protocol_version, client.server_info, client.instructions])
        await run_session(client, notices, log, uri=str)


def run(kind: str, url: str, _models: Sequence[str]) -> Transcript:
    """Run one client against a server and return what it saw."""
    log = Transcript()

    async def session() -> None:
        await log.step("session", _session(kind, url, log))

    anyio.run(session)
    return log
