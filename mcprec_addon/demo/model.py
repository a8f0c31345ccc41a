"""The demo's model API: OpenAI chat completions with a scripted answer to each turn.

It reads nothing but the tool results in the conversation: without one it asks for
``search_issues``, with one for ``get_issue`` of the first issue found, with two it ends with a
text. Every answer carries fresh ids, as a real API's would. Run it with
``python -m mcprec_addon.demo.model``; its first line on stdout is ``{"port": N}``.
"""

import argparse
import re
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import JsonError, dumps, loads

PATH = "/v1/chat/completions"
QUERY = "label:bug state:open"
"""What the scripted model searches for."""

_SECONDS_PER_EVENT = 0.015
_NO_KEY = (
    "You didn't provide an API key. Provide it in an Authorization header using Bearer auth "
    "(i.e. Authorization: Bearer YOUR_KEY)."
)
_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A turn in which the model asks for a tool."""

    name: str
    arguments: dict[str, Json]


type Turn = ToolCall | str


def next_turn(messages: Json) -> Turn:
    """Return what the scripted model says to a conversation."""
    results = [_tool_result(one) for one in _objects(messages) if one.get("role") == "tool"]
    match results:
        case []:
            return ToolCall(name="search_issues", arguments={"query": QUERY})
        case [{"issues": [{"number": number}, *_]}]:
            return ToolCall(name="get_issue", arguments={"number": number})
        case [{"issues": found}, {"number": number, "title": title, "reporter": reporter}]:
            total = len(_objects(found))
            return f"{total} open bugs. The newest is #{number}, {title!r}; ask {reporter}."
        case _:
            return "No open bugs."


def _objects(value: Json) -> list[dict[str, Json]]:
    members = value if isinstance(value, list) else []
    return [member for member in members if isinstance(member, dict)]


def _tool_result(message: dict[str, Json]) -> Json:
    try:
        return loads(str(message.get("content")))
    except JsonError:
        return None


def completion(request: dict[str, Json]) -> dict[str, Json]:
    """Return the whole answer to a request, as one object."""
    message: dict[str, Json] = {"role": "assistant", "content": None}
    match next_turn(request.get("messages")):
        case ToolCall() as call:
            message["tool_calls"] = [_asked(call, dumps(call.arguments).decode())]
        case text:
            message["content"] = text
    reason = "tool_calls" if "tool_calls" in message else "stop"
    choice: Json = {"index": 0, "message": message, "finish_reason": reason}
    return {**_frame(request, "chat.completion"), "choices": [choice], "usage": _usage(request)}


def chunks(request: dict[str, Json]) -> Iterator[Json]:
    """Yield the answer to a request as the chunks of a stream, without the end marker."""
    frame = _frame(request, "chat.completion.chunk")
    for delta, reason in _deltas(next_turn(request.get("messages"))):
        choice: Json = {"index": 0, "delta": delta, "finish_reason": reason}
        yield {**frame, "choices": [choice]}
    match request.get("stream_options"):
        case {"include_usage": True}:
            yield {**frame, "choices": [], "usage": _usage(request)}
        case _:
            return


def _deltas(turn: Turn) -> Iterator[tuple[dict[str, Json], str | None]]:
    match turn:
        case ToolCall():
            asked: Json = {"index": 0, **_asked(turn, "")}
            yield {"role": "assistant", "content": None, "tool_calls": [asked]}, None
            for piece in _PIECE.findall(dumps(turn.arguments).decode()):
                yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}, None
            yield {}, "tool_calls"
        case text:
            yield {"role": "assistant", "content": ""}, None
            for piece in _PIECE.findall(text):
                yield {"content": piece}, None
            yield {}, "stop"


def _asked(call: ToolCall, arguments: str) -> dict[str, Json]:
    return {
        "id": f"call_{uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _frame(request: dict[str, Json], kind: str) -> dict[str, Json]:
    return {
        "id": f"chatcmpl-{uuid4().hex[:29]}",
        "object": kind,
        "created": int(datetime.now(UTC).timestamp()),
        "model": request.get("model"),
    }


def _usage(request: dict[str, Json]) -> Json:
    asked = len(dumps(request.get("messages"))) // 4  # four bytes make about one token
    return {"prompt_tokens": asked, "completion_tokens": 20, "total_tokens": asked + 20}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one request."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if not self.headers.get("authorization", "").startswith("Bearer "):
            self._refuse(401, _NO_KEY)
        elif self.path != PATH:
            self._refuse(404, f"Invalid URL (POST {self.path})")
        else:
            self._answer(body)

    def _answer(self, body: bytes) -> None:
        try:
            request = loads(body)
        except JsonError:
            request = None
        match request:
            case dict() if request.get("stream") is True:
                self._stream(request)
            case dict():
                self._whole(200, completion(request))
            case _:
                self._refuse(400, "We could not parse the JSON body of your request.")

    def _refuse(self, status: int, problem: str) -> None:
        error: Json = {
            "message": problem,
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }
        self._whole(status, {"error": error})

    def _whole(self, status: int, value: Json) -> None:
        body = dumps(value)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, request: dict[str, Json]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for event in (*map(dumps, chunks(request)), b"[DONE]"):
                time.sleep(_SECONDS_PER_EVENT)
                self._chunk(b"data: " + event + b"\n\n")
            self._chunk(b"")
        except ConnectionError:
            # Clients hang up at [DONE], some of them before.
            self.close_connection = True

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name of the base class)
        """Keep quiet: stderr belongs to what went wrong."""


def main(argv: list[str] | None = None) -> None:
    """Serve the stub model on a loopback port until the process is ended."""
    options = argparse.ArgumentParser(prog="python -m mcprec_addon.demo.model")
    options.add_argument("--port", type=int, default=0, help="0 takes a free one")
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(0))
    with ThreadingHTTPServer(("127.0.0.1", options.parse_args(argv).port), _Handler) as server:
        sys.stdout.write(f'{{"port": {server.server_address[1]}}}\n')
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()
