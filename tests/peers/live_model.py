"""A stub that plays a live model: it errs in its first tool call, and corrects itself when told.

What it does is chosen by the model's name: ``errs`` asks with a wrong argument first, ``changes``
reads, writes and reads again, ``stubborn`` errs however often it is told. It knows no recording.
"""

import json
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-live-key-of-the-model"

type Body = dict[str, Any]


def _call(name: str, **arguments: object) -> Body:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": "call_1", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _text(text: str) -> Body:
    return {"role": "assistant", "content": text}


def _errs(results: list[str]) -> Body:
    if not results:
        return _call("search", q="bugs")
    told = re.search(r"^{.*}$", results[-1], flags=re.MULTILINE)
    if told is not None and len(results) == 1:
        return _call("search", **json.loads(told[0]))
    return _text(results[-1])


def _changes(results: list[str]) -> Body:
    steps = [
        _call("list_issues", state="open"),
        _call("list_issues", state="open"),
        _call("create_issue", title="Login loops"),
        _call("list_issues", state="open"),
    ]
    return steps[len(results)] if len(results) < len(steps) else _text("; ".join(results))


def _stubborn(results: list[str]) -> Body:
    return _text("gave up") if len(results) == 2 else _call("search", q=f"bugs {len(results)}")


PLAYS = {"errs": _errs, "changes": _changes, "stubborn": _stubborn}


class _Model(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers["authorization"] != f"Bearer {KEY}":
            self._send(401, {"error": {"message": "no such key"}})
            return
        results = [each["content"] for each in body["messages"] if each["role"] == "tool"]
        message = PLAYS[body["model"]](results)
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._send(200, {"id": "x", "object": "chat.completion", "choices": [choice]})

    def do_GET(self) -> None:
        self._send(200, {"data": []})

    def _send(self, status: int, value: Body) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def live_model() -> Generator[str]:
    """Serve the stub in this process, and return its base URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Model) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
