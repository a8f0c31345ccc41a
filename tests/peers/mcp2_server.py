"""A real MCP server of the 2.x SDK: it serves both protocol eras on one path.

Run it with ``python -m tests.peers.mcp2_server --port 0 [--json-response] [--stateless]``, or
from any folder with ``python …/mcp2_server.py --stdio``, which serves one client on its pipes.
"""

import sys
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, Image, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.peers.mcp_serving import serve

PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(range(64))
"""No whole PNG, but bytes that are no text."""
PEOPLE = {"ana": "ana@acme.com", "ben": "ben@acme.com"}
READS = ToolAnnotations(read_only_hint=True)

server: MCPServer[None] = MCPServer(
    "peer", version="2.0.1", instructions="Add, and do not subtract.", log_level="CRITICAL"
)
store: dict[str, str] = {}


class Who(BaseModel):
    """What `greet` asks the client for."""

    name: str


@server.tool(annotations=READS)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def slow(n: int, ctx: Context[None]) -> str:
    """Count to n, with progress and a log message at each step."""
    for step in range(1, n + 1):
        await ctx.report_progress(step, n, f"step {step}")
        await ctx.info(f"did step {step}")
    return f"counted to {n}"


@server.tool()
def boom(msg: str) -> str:
    """Fail with a message."""
    raise ToolError(msg)


@server.tool(annotations=READS)
def picture() -> Image:
    """Return an image."""
    return Image(data=PIXEL, format="png")


@server.tool(annotations=READS)
def whois(name: str) -> dict[str, str]:
    """Return a person's e-mail address."""
    return {"name": name, "email": PEOPLE.get(name, "nobody@acme.com")}


@server.tool()
def put(key: str, value: str) -> str:
    """Keep a value, or drop it where it is empty."""
    if value:
        store[key] = value
    else:
        store.pop(key, None)
    return "done"


@server.tool(annotations=READS)
def get(key: str) -> str:
    """Return what is kept under a key."""
    return store.get(key, "nothing")


def ask_name() -> Elicit[Who]:
    """Ask the client who it is."""
    return Elicit("Who are you?", Who)


@server.tool()
def greet(who: Annotated[Who, Resolve(ask_name)]) -> str:
    """Greet whoever the client says it is."""
    return f"Hello {who.name}"


@server.resource("note://today", mime_type="text/plain")
def today() -> str:
    """What is planned."""
    return "Call ana@acme.com back."


@server.resource("bytes://pixel", mime_type="image/png")
def pixel() -> bytes:
    """An image."""
    return PIXEL


@server.resource("person://{name}", mime_type="text/plain")
def person(name: str) -> str:
    """A person's address."""
    return PEOPLE.get(name, "unknown")


@server.prompt()
def ask(topic: str) -> str:
    """Ask about a topic."""
    return f"What is new about {topic}?"


if __name__ == "__main__":
    serve(server)
