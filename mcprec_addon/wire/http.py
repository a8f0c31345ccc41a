"""One HTTP request and one HTTP reply as values: what a door reads, and what it writes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol
from urllib.parse import urlsplit

from mcprec_addon.exchange import Json, Opaque, Via

Ending = Literal["complete", "reset", "left", "stopped"]
"""How a connection ended, as a door sees it: body whole, broken by the server, given up by the
client, or ended by the recorder."""

ReplyEnd = Literal["complete", "reset", "rst", "hold", "hang"]
"""How a door ends a reply: whole; by closing in the middle of the body; by a TCP reset; not at all,
the connection is left open until the client goes; or without having sent anything of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request, whole.

    Attributes:
        method: HTTP method, upper case.
        url: Absolute URL as the agent meant it: scheme, host, port, path, query.
        headers: Names in lower case, values as sent, in order; repeated names stay repeated.
        body: The body, transfer coding undone, content coding not.
        label: Label of the MCP server whose own port the request came in on, or None.
        via: ``base-url`` for a request in origin form, ``proxy`` for one through the proxy, None
            for one that was answered in the process that made it.
        provider: Name of the provider whose base-URL door the request came by, or None.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    label: str | None = None
    via: Via | None = "base-url"
    provider: str | None = None

    def header(self, name: str) -> str | None:
        """Return the first value of a header, by its lower-case name, or None."""
        return first_header(self.headers, name)

    @property
    def path(self) -> str:
        """The path and query, as in a request line in origin form."""
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    @property
    def origin(self) -> str:
        """Scheme, host and port, such as ``https://api.openai.com``."""
        return origin_of(self.url)


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a reply's body that belong together, and when they came (ms since the call)."""

    at_ms: int
    data: bytes


class Live(Protocol):
    """What feeds a reply that stays open."""

    def open(self, send: Callable[[bytes, int], None], close: Callable[[], None]) -> None:
        """Begin, once the reply's head and pieces are written.

        Args:
            send: Writes one more piece, given how many milliseconds after the call it came.
            close: Ends the reply as complete.
        """

    def gone(self) -> None:
        """Take note that the client has left, or that the reply was ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """What a request leads to on another stream of its client, which stays open.

    Attributes:
        pieces: What goes out there, with times since the request.
        write: Writes to that stream.
        sent: Called once the last piece is written.
    """

    pieces: tuple[Piece, ...]
    write: Callable[[bytes], None]
    sent: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply, ready to be written.

    Attributes:
        status: HTTP status.
        headers: Without content-length, transfer-encoding and date, which the door adds.
        pieces: The body; `LongEvents` where it is too long to be held. A reply of one piece at
            most that ends ``complete`` is sent with its length, any other piece by piece, one
            HTTP chunk each.
        end: How to end it.
        hold_ms: With ``hold``: after how long the door closes the connection by itself; None
            for never.
        headless: It ends, as `end` says, before anything of it was sent.
        live: With ``hold``: feeds the reply until it ends.
        sent: Called once the last piece is written, and nothing of it waits any more.
        aside: What goes out on another stream, behind this reply.
    """

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    pieces: Sequence[Piece] = ()
    end: ReplyEnd = "complete"
    hold_ms: int | None = None
    streamed: bool = field(default=False)
    headless: bool = False
    live: Live | None = None
    sent: Callable[[], None] | None = None
    aside: Aside | None = None

    @property
    def whole(self) -> bool:
        """Whether it can go out in one write, with its length."""
        return self.end == "complete" and not self.streamed and len(self.pieces) <= 1

    @property
    def body(self) -> bytes:
        """All pieces joined."""
        return b"".join(piece.data for piece in self.pieces)


def has_content(status: int) -> bool:
    """Tell whether replies of this status have a body at all; RFC 9110, 6.4.1."""
    return status // 100 != 1 and status not in (204, 304)


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def server_address(url: str) -> str:
    """Return an address as servers are told apart by it.

    Without credentials, query, fragment, closing slash and default port; host in lower case.
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    default = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return f"{parts.scheme}://{host.removesuffix(default)}{parts.path.rstrip('/')}"


def first_header(headers: Iterable[tuple[str, str]], name: str) -> str | None:
    """Return the first value of a header by its lower-case name, or None."""
    return next((value for key, value in headers if key == name), None)


def body_bytes(value: Json) -> bytes:
    """Return a body that is no JSON as it came."""
    content = value.content if isinstance(value, Opaque) else value
    if isinstance(content, bytes):
        return content
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else b""


def text_or_bytes(body: bytes) -> Json:
    """Return a body that is no JSON: its text, or its bytes where they are not UTF-8."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return Opaque(body)
