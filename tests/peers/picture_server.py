"""A real MCP server of the 2.x SDK whose tool answers with a picture of 30 kB."""

import argparse
import random
import socket
import sys

import uvicorn
from mcp.server.mcpserver import Image, MCPServer

server: MCPServer[None] = MCPServer("pictures", version="1.0", log_level="CRITICAL")


@server.tool()
def draw(seed: int) -> Image:
    """Return something that looks like a picture; the same for the same seed."""
    noise = random.Random(seed).randbytes(30_000)  # noqa: S311 - no secret
    return Image(data=b"\x89PNG\r\n\x1a\n" + noise, format="png")


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
