"""Draws two pictures, one of them twice, and prints their digests: ``picture_client.py URL``."""

import hashlib
import sys
from pathlib import Path

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.peers.started_server import address, parameters


async def main(url: str) -> None:
    """Draw, and print a line for each."""
    found = parameters(url)
    server = address(url) if found is None else StdioServerParameters(**found)
    async with Client(server) as client:
        for seed in (1, 2, 1):
            (picture,) = (await client.call_tool("draw", {"seed": seed})).content
            digest = hashlib.sha256(picture.model_dump_json().encode()).hexdigest()
            sys.stdout.write(f"{seed} {digest}\n")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
