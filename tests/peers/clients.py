"""Runs one client through a fixed small session and prints one line: what it saw, as JSON.

``clients.py KIND [--url URL] [--models A,B]``: MCP clients take their URL from ``--url`` or
``MCP_URL`` (``stdio:CMD`` and ``config:FILE`` start a server), model clients from their SDK's
own variables. Works from any folder.
"""

import argparse
import importlib
import os
import sys
from pathlib import Path

CLIENTS = {
    "mcp1": "mcp1_client",
    "mcp1-sse": "mcp1_client",
    "resuming": "mcp1_resuming_client",
    "resuming-sse": "mcp1_resuming_client",
    "mcp2-auto": "mcp2_client",
    "mcp2-sse": "mcp2_client",
    "mcp2-stateless": "mcp2_client",
    "mcp2-classic": "mcp2_client",
    "openai": "openai_client",
    "openai-stream": "openai_client",
    "openai-async": "openai_client",
    "openai-async-stream": "openai_client",
    "responses": "openai_client",
    "responses-stream": "openai_client",
    "anthropic": "anthropic_client",
    "anthropic-stream": "anthropic_client",
    "anthropic-async": "anthropic_client",
    "anthropic-async-stream": "anthropic_client",
    "openai-resources": "resources_client",
    "anthropic-resources": "resources_client",
    "http-client": "plain_client",
}
MODELS = "ok,tool,email,429-then-200"


def main() -> None:
    """Run the client that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=CLIENTS)
    parser.add_argument("--url", default=os.environ.get("MCP_URL", ""))
    parser.add_argument("--no-questions", action="store_true", help="for servers that cannot ask")
    parser.add_argument("--models", help="behaviours of the stub, in order")
    options = parser.parse_args()
    thinks = options.kind.startswith(("anthropic", "responses"))
    models = options.models or MODELS + (",think" if thinks else "")
    sys.path.insert(0, str(Path(__file__).parents[2]))
    if options.no_questions:
        os.environ["PEER_ASKS"] = "no"
    client = importlib.import_module(f"tests.peers.{CLIENTS[options.kind]}")
    client.run(options.kind, options.url, models.split(",")).write()


if __name__ == "__main__":
    main()
