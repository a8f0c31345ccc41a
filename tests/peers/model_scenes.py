"""A model API in this process that ends its answers in every way there is, chosen by the model.

A scene is what the API does with each attempt at one call: attempt 0, its retry, and so on. Ids
count up, so that two runs of one client can be compared to the character.
"""

import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.peers.model_shapes import Body, Shape, anthropic_error, openai_error
from tests.peers.model_stub import APIS

_LATE_S = 0.6
_SILENT_S = 20.0  # longer than any client here waits

LIMITS = {
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-remaining-requests": "42",
    "x-ratelimit-reset-tokens": "6m0s",
    "anthropic-ratelimit-requests-remaining": "7",
    "anthropic-organization-id": "",
    "openai-processing-ms": "81",
    "openai-version": "2020-10-01",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What happens to one attempt.

    Attributes:
        status: HTTP status; above 200 the body is an error.
        kind: Type of the error.
        headers: Beside those that every answer has.
        body: In place of the API's own body.
        end: How the answer ends. `refused` closes the connection before a head, `silent` sends
            nothing at all, `stalled` no more than half of it.
    """

    status: int = 200
    kind: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    end: str = "whole"


_SOON = {"retry-after-ms": "2"}
_OK = Scene()
_TOO_FAST = Scene(
    status=429, kind="rate_limit_error", headers={"retry-after-ms": "30", "retry-after": "60"}
)
_BROKEN = Scene(status=500, kind="server_error", headers=_SOON)
_GATEWAY = Scene(
    status=502,
    headers={"content-type": "text/html", **_SOON},
    body=b"<html><h1>502 Bad Gateway</h1></html>",
)
_EMPTY = Scene(status=503, headers=_SOON, body=b"")

SCENES: dict[str, list[Scene]] = {
    "ok": [_OK],
    "429-200": [_TOO_FAST, _OK],
    "500-500-200": [_BROKEN, _BROKEN, _OK],
    "500-500-500": [_BROKEN] * 3,
    "html": [_GATEWAY] * 3,
    "empty": [_EMPTY] * 3,
    "401": [Scene(status=401, kind="authentication_error")],
    "404": [Scene(status=404, kind="not_found_error")],
    "422": [Scene(status=422, kind="invalid_request_error")],
    "no-retry": [Scene(status=500, kind="server_error", headers={"x-should-retry": "false"})],
    "do-retry": [Scene(status=400, headers={"x-should-retry": "true", **_SOON}), _OK],
    "no-json": [Scene(headers={"content-type": "text/plain"}, body=b"All is well.")],
    "error-event": [Scene(end="error-event")],
    "cut": [Scene(end="cut")],
    "reset": [Scene(end="reset")],
    "late-end": [Scene(end="late")],
    "refused": [Scene(end="refused")],
    "silent": [Scene(end="silent")],
    "stalled": [Scene(end="stalled")],
}


class Scenes:
    """The API; it serves from its threads until `close`."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._asked: Counter[str] = Counter()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.port}"

    def again(self) -> None:
        """Begin every scene anew."""
        self._asked.clear()

    def close(self) -> None:
        """End every connection."""
        self._listener.close()
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)
        with suppress(OSError), connection:
            while (request := _read(connection)) is not None:
                if not self._answer(connection, *request):
                    return

    def _answer(self, connection: socket.socket, path: str, request: Body) -> bool:
        """Answer one request; return whether the connection goes on."""
        name = str(request["model"])
        whose = f"{path} {json.dumps(request, sort_keys=True)}"
        scenes = SCENES[name]
        attempt = self._asked[whose]
        self._asked[whose] += 1
        scene = scenes[min(attempt, len(scenes) - 1)]
        shape = APIS[path].answer(request, "ok")
        streams = bool(request.get("stream")) and scene.status == 200 and scene.body is None
        if scene.end == "refused":
            return False
        if scene.end == "silent":
            time.sleep(_SILENT_S)
            return False
        head = _head(scene, f"req_{name}_{attempt}", path, streams=streams)
        if streams:
            return _stream(connection, head, scene, shape)
        return _body(connection, head, scene, _said(scene, shape, path))


def _read(connection: socket.socket) -> tuple[str, Body] | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int((re.search(rb"(?i)content-length: *(\d+)", head) or [b"", b"0"])[1])
    while len(body) < length:
        body += connection.recv(65536)
    return head.split()[1].decode().partition("?")[0], json.loads(body)


def _head(scene: Scene, request_id: str, path: str, *, streams: bool) -> bytes:
    name = "request-id" if path == "/v1/messages" else "x-request-id"
    usual = "text/event-stream; charset=utf-8" if streams else "application/json"
    headers = {"content-type": usual, name: request_id, **LIMITS, **scene.headers}
    lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
    return f"HTTP/1.1 {scene.status} Whatever\r\n{lines}".encode()


def _said(scene: Scene, shape: Shape, path: str) -> bytes:
    if scene.body is not None:
        return scene.body
    if scene.status == 200:
        return json.dumps(shape.whole).encode()
    error = anthropic_error if path == "/v1/messages" else openai_error
    return json.dumps(error(scene.kind or "invalid_request_error", "The scene says so.")).encode()


def _body(connection: socket.socket, head: bytes, scene: Scene, body: bytes) -> bool:
    head += b"content-length: %d\r\n\r\n" % len(body)
    match scene.end:
        case "reset":
            connection.sendall(head + body[: len(body) // 2])
            return False
        case "cut":
            half = body[: len(body) // 2]
            connection.sendall(head.replace(b"length: %d" % len(body), b"length: %d" % len(half)))
            connection.sendall(half)
        case "stalled":
            connection.sendall(head + body[: len(body) // 2])
            time.sleep(_SILENT_S)
        case _:
            connection.sendall(head + body)
    return True


def _stream(connection: socket.socket, head: bytes, scene: Scene, shape: Shape) -> bool:
    connection.sendall(head + b"transfer-encoding: chunked\r\n\r\n")
    for frame in _frames(scene, shape):
        connection.sendall(b"%x\r\n%s\r\n" % (len(frame), frame))
    if scene.end == "reset":
        return False
    if scene.end == "stalled":
        time.sleep(_SILENT_S)
    if scene.end == "late":
        time.sleep(_LATE_S)
    connection.sendall(b"0\r\n\r\n")
    return True


def _frames(scene: Scene, shape: Shape) -> Iterator[bytes]:
    half = shape.frames[: len(shape.frames) // 2]
    match scene.end:
        case "cut" | "reset" | "stalled":
            yield from half
        case "error-event":
            yield from half
            yield shape.error_frame
        case _:
            yield from shape.frames


@contextmanager
def serving_scenes() -> Generator[Scenes]:
    """Serve until the block ends."""
    scenes = Scenes()
    try:
        yield scenes
    finally:
        scenes.close()
