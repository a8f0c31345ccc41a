"""Long streams through the recorder and out of the cassette, and the memory that takes."""

import http.client
import os
import re
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from bench_parts import CHAT_PATH, Served, recorder, replayer

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import dumps

MEGABYTES = 200
_EVENT_BYTES = 1000
_WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india")
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
_CALL: dict[str, Json] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
_CHAT: dict[str, Json] = {"model": "m", "stream": True}


@dataclass(frozen=True, slots=True)
class Weighed:
    """What one direction took.

    Attributes:
        grew_mib: Most memory held, less that of the idle process.
        rate: Megabytes a second through it.
    """

    grew_mib: float
    rate: float


def _text(number: int) -> str:
    words = [_WORDS[(number + step) % len(_WORDS)] for step in range(_EVENT_BYTES // 6)]
    return " ".join([str(number), *words])


def _told(number: int) -> bytes:
    params: Json = {"level": "info", "data": _text(number)}
    message: Json = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
    return b"event: message\ndata: " + dumps(message) + b"\n\n"


def _said(number: int) -> bytes:
    delta: Json = {"choices": [{"index": 0, "delta": {"content": _text(number)}}]}
    return b"data: " + dumps(delta) + b"\n\n"


def _stream(connection: socket.socket, megabytes: int) -> None:
    with connection:
        is_chat = b"/chat/" in connection.recv(65536).partition(b"\r\n")[0]
        connection.sendall(_HEAD)
        make = _said if is_chat else _told
        block = [make(number) for number in range(1000)]
        for _ in range(megabytes):  # a block is about a megabyte
            connection.sendall(b"".join(block))
        final: Json = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
        connection.sendall(b"data: " + (b"[DONE]" if is_chat else dumps(final)) + b"\n\n")


@contextmanager
def _upstream(*megabytes: int) -> Generator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for size in megabytes:
                connection, _ = server.accept()
                _stream(connection, size)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def _drain(served: Served, path: str, number: int, *, recording: bool) -> int:
    port = served.port_for(path)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    params: Json = {"name": "t", "arguments": {"number": number}}
    messages: Json = [{"role": "user", "content": str(number)}]
    body = _CALL | {"params": params} if path == "/mcp" else _CHAT | {"messages": messages}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    where = served.path_for(path) if recording else path
    connection.request("POST", where, dumps(body), headers)
    answer = connection.getresponse()
    total = 0
    while chunk := answer.read(1 << 16):
        total += len(chunk)
    connection.close()
    return total


def _memory(pid: int, name: str) -> float:
    """Return a figure of a living process in MiB, 0 once it has ended."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0


def _most_at_end(pid: int) -> float:
    """End a process as Ctrl-C does and return the most memory it held until then."""
    os.kill(pid, signal.SIGINT)
    most = 0.0
    while (now := _memory(pid, "VmHWM")) > 0:  # a zombie has no figures any more
        most = now
    return most


def weigh(out: Path, path: str, streams: int) -> tuple[Weighed, Weighed]:
    """Record and replay so many streams, together of `MEGABYTES`; return both."""
    other = "/mcp" if path == CHAT_PATH else CHAT_PATH  # a replay opens doors for what it has
    with _upstream(1, *[MEGABYTES // streams] * streams) as port, recorder(out, port) as served:
        _drain(served, other, 0, recording=True)
        idle, began = _memory(served.pid, "VmRSS"), perf_counter()
        sizes = [_drain(served, path, number, recording=True) for number in range(streams)]
        took = perf_counter() - began
        recorded = Weighed(_most_at_end(served.pid) - idle, sum(sizes) / 1e6 / took)
    with replayer(out) as served:
        idle, began = _memory(served.pid, "VmRSS"), perf_counter()
        sizes = [_drain(served, path, number, recording=False) for number in range(streams)]
        took = perf_counter() - began
        grew = _memory(served.pid, "VmHWM") - idle
        return recorded, Weighed(grew, sum(sizes) / 1e6 / took)
