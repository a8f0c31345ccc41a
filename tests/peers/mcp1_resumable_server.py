"""A real MCP server of the 1.x SDK whose streams can be resumed, run by an interpreter that has it.

Run it with ``python -m tests.peers.mcp1_resumable_server --port 0``.
"""

import argparse
import socket
import sys
from itertools import count

import anyio
import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import JSONRPCMessage

_RETRY_MS = 50
_AWAY_S = 0.2  # longer than a client waits before it resumes
_PATIENCE_S = 0.5  # until the client's listening stream is surely open


class Events(EventStore):
    """Every event of every stream, by its id."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._events: dict[str, tuple[str, JSONRPCMessage | None]] = {}

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event and return its id."""
        event_id = f"ev-{next(self._numbers)}"
        self._events[event_id] = stream_id, message
        return event_id

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send what came behind an event of the same stream."""
        found = self._events.get(last_event_id)
        if found is None:
            return None
        behind = list(self._events)[list(self._events).index(last_event_id) + 1 :]
        for event_id in behind:
            stream_id, message = self._events[event_id]
            if stream_id == found[0] and message is not None:
                await send_callback(EventMessage(message, event_id))
        return found[0]


async def polled(ctx: Context) -> str:
    """Hang up in the middle, and answer those who come back."""
    await ctx.info("before")
    await ctx.close_sse_stream()
    await ctx.info("meanwhile")
    await anyio.sleep(_AWAY_S)
    await ctx.info("after")
    return "polled"


async def roots(ctx: Context) -> list[str]:
    """Ask for the client's roots, which this SDK does on the listening stream."""
    while True:
        with anyio.move_on_after(_PATIENCE_S):
            found = await ctx.session.list_roots()
            return [str(root.uri) for root in found.roots]


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    server = FastMCP(
        "resumable", log_level="CRITICAL", event_store=Events(), retry_interval=_RETRY_MS
    )
    for tool in (polled, roots):
        server.tool()(tool)
    listener = socket.create_server(("127.0.0.1", options.port))
    sys.stdout.write(f'{{"port": {listener.getsockname()[1]}}}\n')
    sys.stdout.flush()
    config = uvicorn.Config(
        server.streamable_http_app(), log_level="critical", timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
