"""Where clients are caught: libraries that come later, and blocks that are open side by side."""

import subprocess
import sys
from pathlib import Path

from tests.in_process_cassette import write_cassette

LATER = """
import sys
from mcprec_addon import LiveTrafficError, use_cassette
assert not {"aiohttp", "urllib3", "mcp", "httpx", "httpx2"} & sys.modules.keys()
with use_cassette(sys.argv[1]):
    import requests
    try:
        requests.get("https://api.example.com/")
    except LiveTrafficError as error:
        print(error.host)
    import asyncio, aiohttp
    async def ask():
        async with aiohttp.ClientSession() as session:
            await session.get("https://other.example.com/")
    try:
        asyncio.run(ask())
    except LiveTrafficError as error:
        print(error.host)
    import httpx, mcp
    from mcp import Client, StdioServerParameters
    async def read():
        async with Client(StdioServerParameters(command="files-server")) as client:
            print((await client.call_tool("read", {"path": "a.txt"})).content[0].text)
    asyncio.run(read())
print([each for each in sys.meta_path if "mcprec" in type(each).__module__])
"""


def test_what_is_imported_in_the_block_is_caught_too(tmp_path: Path) -> None:
    """Agents import SDKs where they use them, and what is not caught goes live."""
    ended = subprocess.run(
        [sys.executable, "-c", LATER, str(write_cassette(tmp_path))],
        capture_output=True,
        text=True,
        check=True,
    )

    assert ended.stdout.splitlines() == [
        "api.example.com",
        "other.example.com",
        "text of a",
        "[]",
    ]
