"""A client of the 2.x MCP SDK that listens while it works; prints what it saw as JSON.

``listening_client.py URL`` takes an address, ``stdio:CMD`` or ``config:FILE``.
"""

import json
import sys
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.peers.started_server import address, parameters

LONGEST_S = 10


async def main(url: str) -> None:
    """Listen, change the tools, and ask for them only once the change was told."""
    found = parameters(url)
    place = address(url) if found is None else StdioServerParameters(**found)
    seen: list[object] = []
    with anyio.fail_after(LONGEST_S):
        async with Client(place) as client:
            options = {"tools_list_changed": True, "resource_subscriptions": ["note://a"]}
            async with client.listen(**options) as subscription:  # type: ignore[arg-type]
                for name in ("one", "two"):
                    await client.call_tool("add_tool", {"name": name})
                    seen.append(repr(await anext(subscription)))
                    seen.append(sorted(tool.name for tool in (await client.list_tools()).tools))
                await client.call_tool("touch", {"uri": "note://a"})
                seen.append(repr(await anext(subscription)))
            seen.append((await client.call_tool("touch", {"uri": "note://b"})).content[0].text)  # type: ignore[union-attr]
    sys.stdout.write(json.dumps(seen) + "\n")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
