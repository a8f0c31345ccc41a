"""Says secrets to two MCP servers and a model with the real SDKs, and prints what came back.

``canary_client.py CONFIG SECRETS``: the servers ``web`` and ``pipe`` of an MCP config, and a JSON
file with the texts to say.
"""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from openai import OpenAI


def say(*words: object) -> None:
    """Print one line of what came back."""
    sys.stdout.write(json.dumps(words) + "\n")


async def session(client: Client, texts: list[str]) -> None:
    """Say every text in every place of a call."""
    for text in texts:
        deep = {"list": [f"({text})"], f"key {text}": 1, "json": json.dumps({"in": text})}
        echoed = await client.call_tool("echo", {"text": f"use {text} now", "deep": deep})
        failed = await client.call_tool("fail", {"text": text})
        asked = await client.get_prompt("about", {"text": text})
        say(echoed.structured_content, failed.content[0].model_dump()["text"])
        say(asked.messages[0].model_dump(mode="json")["content"]["text"])
    own: Any = (await client.call_tool("own", {})).content[0]
    (drawn,) = (await client.call_tool("picture", {"text": "no secret"})).content
    say(own.text, hashlib.sha256(drawn.model_dump_json().encode()).hexdigest())


async def servers(config: dict[str, Any], texts: list[str]) -> None:
    """Speak to both servers."""
    web, pipe = config["web"], config["pipe"]
    async with httpx2.AsyncClient(headers=web["headers"]) as http:
        transport = streamable_http_client(web["url"], http_client=http)
        async with Client(transport) as client:
            await session(client, texts)
    started = StdioServerParameters(
        command=pipe["command"], args=pipe["args"], env=os.environ | pipe["env"]
    )
    async with Client(started) as client:
        await session(client, texts)


def models(texts: list[str]) -> None:
    """Ask a model that echoes what it is asked, a few characters at a time."""
    with OpenAI(api_key=os.environ.get("OPENAI_API_KEY", "sk-none")) as client:
        for text in [*texts, client.api_key]:
            stream = client.chat.completions.create(
                model="ok", messages=[{"role": "user", "content": f"What is {text}?"}], stream=True
            )
            say("".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices))


def main(config: str, secrets: str) -> None:
    """Say everything everywhere."""
    texts = json.loads(Path(secrets).read_text())
    anyio.run(servers, json.loads(Path(config).read_text())["mcpServers"], texts)
    models(texts)


if __name__ == "__main__":
    main(*sys.argv[1:])
