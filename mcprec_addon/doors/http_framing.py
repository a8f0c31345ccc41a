"""How a reply goes on the wire of HTTP/1.1: its head, its chunks, and blocks of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from mcprec_addon.wire.http import HttpRequest, Reply, first_header, has_content

# 64 KiB: what asyncio buffers by itself before it asks a writer to pause.
BLOCK_BYTES = 65536
_FRAMING_HEADERS = ("content-length", "transfer-encoding")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A request that waits for its reply, and what its client understands.

    Attributes:
        arrived: Loop time at which the request was complete.
        keep_alive: Whether the connection outlives the reply.
        chunked: Whether the client knows chunked coding; one of HTTP/1.0 does not.
    """

    request: HttpRequest
    arrived: float
    keep_alive: bool
    chunked: bool


def chunk(turn: Turn, data: bytes) -> bytes:
    """Return one piece of a body as it goes to this client: an HTTP chunk, or plain bytes."""
    return b"%x\r\n%b\r\n" % (len(data), data) if turn.chunked else data


def closes(reply: Reply) -> bool:
    """Tell whether a reply ends its connection."""
    return "close" in (first_header(reply.headers, "connection") or "").lower()


def head_bytes(turn: Turn, reply: Reply) -> bytes:
    """Return status line and headers, framing included; nothing where there is to be no head.

    Raises:
        ValueError: A header holds a line break or a character beyond latin-1.
    """
    if reply.headless:
        return b""
    headers = [(name, value) for name, value in reply.headers if name not in _FRAMING_HEADERS]
    if has_content(reply.status):
        if reply.whole:
            headers.append(("content-length", str(len(reply.body))))
        elif turn.chunked:
            headers.append(("transfer-encoding", "chunked"))
    if not turn.keep_alive and not closes(reply):
        headers.append(("connection", "close"))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    if not lines.count("\r") == lines.count("\n") == len(headers):
        message = f"a header of a reply with status {reply.status} holds a line break"
        raise ValueError(message)
    status_line = STATUS_LINE.get(reply.status, b"HTTP/1.1 %d \r\n" % reply.status)
    return status_line + lines.encode("latin-1") + b"\r\n"


def frames(turn: Turn, reply: Reply) -> Iterator[tuple[int, bytes | memoryview]]:
    """Yield the body as it goes on the wire, with the time of each part; none above one block.

    Each piece is an HTTP chunk of its own, except an empty one, which would end the body.
    """
    if turn.request.method == "HEAD" or not has_content(reply.status):
        return
    chunked = turn.chunked and not reply.whole
    last = 0
    for at_ms, data in ((piece.at_ms, piece.data) for piece in reply.pieces if piece.data):
        last = at_ms
        if chunked and len(data) <= BLOCK_BYTES:
            yield at_ms, chunk(turn, data)
            continue
        if chunked:
            yield at_ms, b"%x\r\n" % len(data)
        for start in range(0, len(data), BLOCK_BYTES):
            yield at_ms, memoryview(data)[start : start + BLOCK_BYTES]
        if chunked:
            yield at_ms, b"\r\n"
    if chunked and reply.end == "complete":
        yield last, b"0\r\n\r\n"


def blocks(turn: Turn, reply: Reply, head: bytes, *, timed: bool) -> Iterator[tuple[int, bytes]]:
    """Join head and frames to blocks, as few as may be: those of one moment, if `timed`."""
    # Nothing of an answer that came whole came before its body.
    due = reply.pieces[0].at_ms if reply.whole and reply.pieces else 0
    parts: list[bytes | memoryview] = [head]
    size = len(head)
    for at_ms, frame in frames(turn, reply):
        if (timed and at_ms != due) or size >= BLOCK_BYTES:
            yield due, b"".join(parts)
            parts, size = [], 0
        due = at_ms
        parts.append(frame)
        size += len(frame)
    yield due, b"".join(parts)
