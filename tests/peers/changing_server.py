"""A real MCP server of the 2.x SDK whose list of tools changes while clients listen.

Run it with ``python -m tests.peers.changing_server --port 0``, or from any folder with
``python …/changing_server.py --stdio``.
"""

import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.peers.mcp_serving import serve

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


if __name__ == "__main__":
    serve(server)
