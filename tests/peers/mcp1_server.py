"""A real MCP server of the 1.x SDK, run by an interpreter that has it.

Run it with ``python -m tests.peers.mcp1_server --port 0 [--json-response] [--stateless]
[--sse]``, or from any folder with ``python …/mcp1_server.py --stdio``, which serves one client on
its pipes.
"""

import argparse
import socket
import sys
from typing import Any

import uvicorn
from mcp.server.fastmcp import Context, FastMCP, Image
from mcp.types import ToolAnnotations
from pydantic import BaseModel

PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(range(64))
PEOPLE = {"ana": "ana@acme.com", "ben": "ben@acme.com"}
READS: Any = ToolAnnotations(readOnlyHint=True)
store: dict[str, str] = {}


class Who(BaseModel):
    """What `greet` asks the client for."""

    name: str


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def slow(n: int, ctx: Context) -> str:
    """Count to n, with progress and a log message at each step."""
    for step in range(1, n + 1):
        await ctx.report_progress(step, n, f"step {step}")
        await ctx.info(f"did step {step}")
    return f"counted to {n}"


def boom(msg: str) -> str:
    """Fail with a message."""
    raise RuntimeError(msg)


def picture() -> Image:
    """Return an image."""
    return Image(data=PIXEL, format="png")


def whois(name: str) -> dict[str, str]:
    """Return a person's e-mail address."""
    return {"name": name, "email": PEOPLE.get(name, "nobody@acme.com")}


def put(key: str, value: str) -> str:
    """Keep a value, or drop it where it is empty."""
    if value:
        store[key] = value
    else:
        store.pop(key, None)
    return "done"


def get(key: str) -> str:
    """Return what is kept under a key."""
    return store.get(key, "nothing")


async def greet(ctx: Context) -> str:
    """Greet whoever the client says it is."""
    asked = await ctx.elicit("Who are you?", Who)
    return f"Hello {asked.data.name}"


def today() -> str:
    """What is planned."""
    return "Call ana@acme.com back."


def pixel() -> bytes:
    """An image."""
    return PIXEL


def person(name: str) -> str:
    """A person's address."""
    return PEOPLE.get(name, "unknown")


def ask(topic: str) -> str:
    """Ask about a topic."""
    return f"What is new about {topic}?"


def peer(*, json_response: bool, stateless: bool) -> FastMCP:
    """Return the server with its tools, resources and prompts."""
    server = FastMCP(
        "peer",
        instructions="Add, and do not subtract.",
        log_level="CRITICAL",
        json_response=json_response,
        stateless_http=stateless,
    )
    for reading in (add, picture, whois, get):
        server.tool(annotations=READS)(reading)
    for other in (slow, boom, put, greet):
        server.tool()(other)
    server.resource("note://today", mime_type="text/plain")(today)
    server.resource("bytes://pixel", mime_type="image/png")(pixel)
    server.resource("person://{name}", mime_type="text/plain")(person)
    server.prompt()(ask)
    return server


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--json-response", action="store_true")
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--sse", action="store_true", help="HTTP+SSE at /sse")
    parser.add_argument("--stdio", action="store_true")
    options = parser.parse_args()
    server = peer(json_response=options.json_response, stateless=options.stateless)
    if options.stdio:
        server.run("stdio")
        return
    app = server.sse_app() if options.sse else server.streamable_http_app()
    listener = socket.create_server(("127.0.0.1", options.port))
    sys.stdout.write(f'{{"port": {listener.getsockname()[1]}}}\n')
    sys.stdout.flush()
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
