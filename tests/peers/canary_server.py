"""A real MCP server of the 2.x SDK that says what it is told in every way there is.

Run it with ``python -m tests.peers.canary_server --port 0``, or from any folder with
``python …/canary_server.py --stdio``.
"""

import os
import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.peers.mcp_serving import serve

server: MCPServer[None] = MCPServer("canary", version="1.0", log_level="CRITICAL")


@server.tool()
async def echo(text: str, deep: dict[str, Any], ctx: Context[None]) -> dict[str, Any]:
    """Say it in progress, in the log, as text and as structured content."""
    await ctx.report_progress(1, 2, f"seen {text}")
    await ctx.info(f"logged {text}")
    return {"said": text, "deep": deep}


@server.tool()
def fail(text: str) -> str:
    """Say it in an error."""
    problem = f"no {text} here"
    raise ToolError(problem)


@server.tool()
def own() -> str:
    """Say what only this process was told."""
    return f"{os.environ.get('CANARY_TOKEN', '-')} and {' '.join(sys.argv[2:])}"


@server.tool()
def picture(text: str) -> Image:
    """Hide it in a picture."""
    return Image(data=b"\x89PNG\r\n\x1a\n" + text.encode(), format="png")


@server.prompt()
def about(text: str) -> str:
    """Ask about it."""
    return f"What is {text}?"


if __name__ == "__main__":
    serve(server)
