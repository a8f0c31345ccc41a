"""A real MCP server of the 2.x SDK whose list of tools changes while clients listen.

Run it with ``python -m tests.peers.changing_server --port 0``, or from any folder with
``python …/changing_server.py --stdio``.
"""

import argparse
import socket
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

server: MCPServer[None] = MCPServer("changing", version="1.0", log_level="CRITICAL")


@server.tool()
async def add_tool(name: str, ctx: Context[None]) -> str:
    """Add a tool of this name, and say that the list has changed."""

    def added() -> str:
        return name

    server.add_tool(added, name=name, description="Return its name.")
    await ctx.notify_tools_changed()
    return f"added {name}"


@server.tool()
async def touch(uri: str, ctx: Context[None]) -> str:
    """Say that a resource has changed."""
    await ctx.notify_resource_updated(uri)
    return "touched"


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--stdio", action="store_true")
    options = parser.parse_args()
    if options.stdio:
        server.run("stdio")
        return
    listener = socket.create_server(("127.0.0.1", options.port))
    sys.stdout.write(f'{{"port": {listener.getsockname()[1]}}}\n')
    sys.stdout.flush()
    config = uvicorn.Config(
        server.streamable_http_app(), log_level="critical", timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
