"""A scripted model provider: OpenAI chat and responses, Anthropic messages, whole or streamed.

Run it with ``python -m tests.peers.model_stub --port 0``. What it does with a request is
chosen by the header ``x-stub``, else by the model's name:

- ``ok``: echoes the question; ``email``: a text with addresses, split over deltas
- ``tool``: asks for the first tool offered, then answers with its result; ``think``: the same,
  with thoughts that are signed and sealed
- ``429-then-200``: refuses every odd request with the same body
- ``cut``: ends cleanly in the middle; ``reset``: closes in the middle of the body
- ``late-end``: 600 ms between the end marker and the end of the body
- ``error-event``: an error in the middle of a stream, status 400 where not streamed
- ``gzip``, ``br``, ``zstd``: that content-encoding, where the client accepts it

``GET /seen`` lists the requests so far.
"""

import argparse
import json
import signal
import socket
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from uuid import uuid4

import brotli  # type: ignore[import-untyped]  # it brings no types
import zstandard

from tests.peers.model_resources import Asked, Kept
from tests.peers.model_resources import answer as resource_answer
from tests.peers.model_shapes import (
    Body,
    Shape,
    anthropic_error,
    chat,
    messages,
    openai_error,
    responses,
)

_PER_EVENT_S = 0.002
_LATE_S = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API: how it answers, and how it says no."""

    answer: Callable[[Body, str], Shape]
    error: Callable[[str, str], Body]
    key_headers: tuple[str, ...]


_BEARER = ("authorization",)
APIS = {
    "/v1/chat/completions": Api(answer=chat, error=openai_error, key_headers=_BEARER),
    "/v1/responses": Api(answer=responses, error=openai_error, key_headers=_BEARER),
    "/v1/messages": Api(
        answer=messages, error=anthropic_error, key_headers=("x-api-key", *_BEARER)
    ),
}


@dataclass(slots=True, kw_only=True)
class Encoder:
    """A content-encoding, fed piece by piece; every piece can be read at once."""

    feed: Callable[[bytes], bytes]
    finish: Callable[[], bytes]


def encoder(name: str) -> Encoder:
    """Return an encoder; the one of any unknown name leaves bytes as they are."""
    match name:
        case "gzip":
            gzip = zlib.compressobj(wbits=31)
            return Encoder(
                feed=lambda data: gzip.compress(data) + gzip.flush(zlib.Z_SYNC_FLUSH),
                finish=gzip.flush,
            )
        case "br":
            br = brotli.Compressor()
            return Encoder(feed=lambda data: br.process(data) + br.flush(), finish=br.finish)
        case "zstd":
            zstd = zstandard.ZstdCompressor().compressobj()
            block = zstandard.COMPRESSOBJ_FLUSH_BLOCK
            return Encoder(
                feed=lambda data: zstd.compress(data) + zstd.flush(block),
                finish=zstd.flush,
            )
        case _:
            return Encoder(feed=bytes, finish=bytes)


class Seen:
    """The requests so far, from all threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._bodies: Counter[bytes] = Counter()
        self.requests: list[Body] = []

    def add(self, path: str, headers: dict[str, str], body: bytes) -> int:
        """Add a request and return how often this very body came."""
        with self._lock:
            text = body.decode("utf-8", "replace")
            self.requests.append({"path": path, "headers": headers, "body": text})
            self._bodies[body] += 1
            return self._bodies[body]


seen = Seen()
kept = Kept()


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer ``/seen``."""
        if self.path == "/seen":
            self._whole(200, seen.requests)
        elif not self._resource(b""):
            self._whole(404, openai_error("invalid_request_error", "not here"))

    def do_DELETE(self) -> None:
        """Delete something that is kept."""
        if not self._resource(b""):
            self._whole(404, openai_error("invalid_request_error", "not here"))

    def _resource(self, body: bytes) -> bool:
        """Answer for what is kept beside conversations; return whether the path is for that."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.partition("?")[0]
        asked = Asked(method=self.command, path=path, headers=headers, body=body)
        answered = resource_answer(asked, kept)
        if answered is None:
            return False
        self._send(answered.status, answered.body, kind=answered.kind)
        return True

    def do_POST(self) -> None:
        """Answer a model call."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        path = self.path.partition("?")[0]
        times = seen.add(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        api = APIS.get(path)
        if api is None and self._resource(body):
            return
        if api is None:
            self._whole(404, openai_error("invalid_request_error", f"no {path} here"))
        elif not any(self.headers.get(name) for name in api.key_headers):
            self._whole(401, api.error("authentication_error", "no key"))
        else:
            self._behave(api, json.loads(body), times)

    def _behave(self, api: Api, request: Body, times: int) -> None:
        behaviour = self.headers.get("x-stub") or str(request.get("model"))
        if behaviour == "429-then-200" and times % 2:
            late = {"retry-after-ms": "5", "retry-after": "1"}
            self._whole(429, api.error("rate_limit_error", "too fast"), late)
            return
        shape = api.answer(request, behaviour)
        try:
            if request.get("stream"):
                self._stream(shape, behaviour)
            elif behaviour == "error-event":
                self._whole(400, api.error("invalid_request_error", "The stub says no."))
            else:
                self._body(shape, behaviour)
        except ConnectionError:
            # Clients hang up at the end marker.
            self.close_connection = True

    def _body(self, shape: Shape, behaviour: str) -> None:
        data = json.dumps(shape.whole).encode()
        half = data[: len(data) // 2]
        match behaviour:
            case "cut":
                self._send(200, half)
            case "reset":
                self._send(200, half, length=len(data))
                self.close_connection = True
            case _:
                encoding = self._encoding(behaviour)
                coder = encoder(encoding)
                named = {"content-encoding": encoding} if encoding else {}
                self._send(200, coder.feed(data) + coder.finish(), named)

    def _stream(self, shape: Shape, behaviour: str) -> None:
        encoding = self._encoding(behaviour)
        self._head(200, "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        if encoding:
            self.send_header("content-encoding", encoding)
        self.end_headers()
        coder = encoder(encoding)
        for frame in _frames(shape, behaviour):
            self._chunk(coder.feed(frame))
            time.sleep(_PER_EVENT_S)
        if behaviour == "reset":
            self.close_connection = True
            return
        if behaviour == "late-end":
            time.sleep(_LATE_S)
        rest = coder.finish()
        if rest:
            self._chunk(rest)
        self._chunk(b"")

    def _encoding(self, behaviour: str) -> str:
        accepted = self.headers.get("accept-encoding", "")
        names = {part.partition(";")[0].strip() for part in accepted.split(",")}
        return behaviour if behaviour in {"gzip", "br", "zstd"} & names else ""

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _whole(self, status: int, value: object, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(value).encode(), headers)

    def _send(
        self,
        status: int,
        data: bytes,
        headers: dict[str, str] | None = None,
        *,
        length: int | None = None,
        kind: str = "application/json",
    ) -> None:
        self._head(status, kind)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)

    def _head(self, status: int, content_type: str) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        name = "request-id" if self.path.startswith("/v1/messages") else "x-request-id"
        self.send_header(name, f"req_{uuid4().hex}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """Keep quiet."""


def _frames(shape: Shape, behaviour: str) -> Iterator[bytes]:
    half = shape.frames[: len(shape.frames) // 2]
    match behaviour:
        case "cut" | "reset":
            yield from half
        case "error-event":
            yield from half
            yield shape.error_frame
        case _:
            yield from shape.frames


type Request = socket.socket | tuple[bytes, socket.socket]


class Server(ThreadingHTTPServer):
    """The stub's server; a client that hangs up is no news."""

    daemon_threads = True

    def handle_error(self, request: Request, client_address: tuple[str, int]) -> None:
        """Show what is not a client's hanging up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(0))
    with Server(("127.0.0.1", options.port), Handler) as server:
        sys.stdout.write(f'{{"port": {server.server_address[1]}}}\n')
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()
