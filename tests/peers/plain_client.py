"""A client without any SDK: the standard library's http.client, which knows no proxies."""

import http.client
import json
import os
from collections.abc import Sequence
from functools import partial
from urllib.parse import urlsplit

from tests.peers.transcript import Transcript

TOO_MANY = 429


def _ask(model: str, *, stream: bool) -> list[object]:
    """Ask, and once more where the answer is to come back later."""
    first = _post(model, stream=stream)
    return [first, _post(model, stream=stream)] if first["status"] == TOO_MANY else [first]


def _post(model: str, *, stream: bool) -> dict[str, object]:
    base = urlsplit(os.environ["OPENAI_BASE_URL"])
    body = {
        "model": model,
        "stream": stream,
        "messages": [{"role": "user", "content": f"What is {model}?"}],
    }
    headers = {
        "authorization": f"Bearer {os.environ['OPENAI_API_KEY']}",
        "content-type": "application/json",
    }
    connection = http.client.HTTPConnection(base.netloc, timeout=10)
    try:
        connection.request("POST", f"{base.path}/chat/completions", json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    return {"status": answer.status, "type": answer.headers["content-type"], "text": _said(text)}


def _said(text: str) -> object:
    """Return the text a body or stream carries, and whether the stream has its end marker."""
    if not text.startswith("data: "):
        choices = json.loads(text).get("choices")
        return choices[0]["message"]["content"] if choices else json.loads(text)
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    chunks = [json.loads(event) for event in events if event != "[DONE]"]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk.get("choices", ())]
    return ["".join(delta.get("content") or "" for delta in deltas), events[-1] == "[DONE]"]


def run(_kind: str, _url: str, models: Sequence[str]) -> Transcript:
    """Ask each model twice, whole and streamed, and return what came."""
    log = Transcript()
    for model in models:
        for stream in (False, True):
            name = f"{model}, {'streamed' if stream else 'whole'}"
            log.plain_step(name, partial(_ask, model, stream=stream))
    return log
