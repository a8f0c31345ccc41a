"""An agent of the standard library alone, so that it starts fast: a tool loop and nothing else.

Run it by its path with the name of a model, and what its last answer must hold. It reaches its
one MCP server at ``MCPREC_URL_TRACKER``, or at the address given third.
"""

import http.client
import json
import os
import sys
from typing import Any
from urllib.parse import urlsplit


def post(url: str, value: object, **headers: str) -> dict[str, Any]:
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.netloc, timeout=10)
    headers["content-type"] = "application/json"
    connection.request("POST", address.path, json.dumps(value), headers)
    answer: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def call_tool(function: dict[str, str]) -> str:
    params = {"name": function["name"], "arguments": json.loads(function["arguments"])}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = post(os.environ["MCPREC_URL_TRACKER"], body)
    if "error" in answer:
        sys.exit(answer["error"]["message"])
    return str(answer["result"]["content"][0]["text"])


def main(model: str, expected: str) -> int:
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    key = os.environ["OPENAI_API_KEY"]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Any bugs?"}]
    while True:
        asked = {"model": model, "messages": messages}
        answer = post(url, asked, authorization=f"Bearer {key}")
        message = answer["choices"][0]["message"]
        messages.append(message)
        for call in message.get("tool_calls", ()):
            text = call_tool(call["function"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        if not message.get("tool_calls"):
            sys.stdout.write(f"{message['content']}\n")
            return int(expected not in message["content"])


sys.exit(main(*sys.argv[1:]))
