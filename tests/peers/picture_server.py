"""A real MCP server of the 2.x SDK whose tool answers with a picture of 30 kB."""

import random
import sys
from pathlib import Path

from mcp.server.mcpserver import Image, MCPServer

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.peers.mcp_serving import serve

server: MCPServer[None] = MCPServer("pictures", version="1.0", log_level="CRITICAL")


@server.tool()
def draw(seed: int) -> Image:
    """Return something that looks like a picture; the same for the same seed."""
    noise = random.Random(seed).randbytes(30_000)  # noqa: S311 - no secret
    return Image(data=b"\x89PNG\r\n\x1a\n" + noise, format="png")


if __name__ == "__main__":
    serve(server)
