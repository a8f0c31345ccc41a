"""How the test's MCP servers of the 2.x SDK are served: over HTTP on a free port, or on pipes."""

import argparse
import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer


def serve(server: MCPServer[None]) -> None:
    """Serve until the process is ended, as its command line says.

    With ``--stdio`` one client on the process's own pipes; else over HTTP, at ``/mcp`` of a port
    that is printed as ``{"port": N}``. Other arguments are the server's own.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--json-response", action="store_true")
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--stdio", action="store_true")
    options, _ = parser.parse_known_args()
    if options.stdio:
        server.run("stdio")
        return
    app = server.streamable_http_app(
        json_response=options.json_response, stateless_http=options.stateless
    )
    listener = socket.create_server(("127.0.0.1", options.port))
    sys.stdout.write(f'{{"port": {listener.getsockname()[1]}}}\n')
    sys.stdout.flush()
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])
