"""The clients of HTTP+SSE in a replay: one open stream each, on which all answers go out.

A client opens its stream with a GET, is told where to post, and posts each message there. What
it posts is answered 202; the answers go down the stream.

Source: MCP 2024-11-05, basic/transports, "HTTP with SSE".
"""

from collections.abc import Callable
from functools import partial
from urllib.parse import parse_qs, urlsplit

from mcprec_addon.replay.feed import Stream
from mcprec_addon.wire.endpoint import endpoint_event
from mcprec_addon.wire.http import Aside, HttpRequest, Piece, Reply
from mcprec_addon.wire.jsonrpc import Response, read_body
from mcprec_addon.wire.mcp_reply import STREAM_HEADERS, events_of, message_in

_PARAMETER = "session_id"
_PREFIX = "mcprec-channel-"


class Channel:
    """One client's stream, from its opening until the client has gone."""

    def __init__(self, stream: Stream, on_gone: Callable[[], None]) -> None:
        self._stream = stream
        self._on_gone = on_gone
        self._send: Callable[[bytes, int], None] | None = None
        self._close: Callable[[], None] | None = None

    def open(self, send: Callable[[bytes, int], None], close: Callable[[], None]) -> None:
        """Begin to answer, and to be fed with what the server sent on its own."""
        self._send, self._close = send, close
        self._stream.open(send, close)

    def gone(self) -> None:
        """Take note that the client has left."""
        self._send = self._close = None
        self._stream.gone()
        self._on_gone()

    def take(self, replies: list[Reply]) -> Reply:
        """Return what answers a POST, whose own answers go down the stream.

        Args:
            replies: What would answer each request in it over Streamable HTTP. One that is no
                message answers the POST itself.
        """
        for reply in replies:
            if not reply.streamed and read_body(reply.body) is None:
                return reply
        pieces = tuple(piece for reply in replies for piece in events_of(reply))
        sent = partial(self._sent, replies)
        return Reply(status=202, aside=Aside(pieces=pieces, write=self._write, sent=sent))

    def _write(self, data: bytes) -> None:
        if self._send is not None:
            self._send(data, 0)

    def _sent(self, replies: list[Reply]) -> None:
        for reply in replies:
            if reply.sent is not None:
                reply.sent()
        # One answer that broke breaks the stream for all of them, as it did.
        if self._close is not None and any(_is_broken(reply) for reply in replies):
            self._close()


class Channels:
    """The open streams of all HTTP+SSE clients."""

    def __init__(self) -> None:
        self._open: dict[str, Channel] = {}
        self._opened = 0

    def open(self, request: HttpRequest, stream: Stream) -> Reply:
        """Return the stream that answers a client's GET, fed by `stream`."""
        self._opened += 1
        name = f"{_PREFIX}{self._opened}"
        self._open[name] = channel = Channel(stream, lambda: self._forget(name))
        # The stream's own path: a client that knows the server's address reaches it again.
        told = endpoint_event(f"{urlsplit(request.url).path or '/'}?{_PARAMETER}={name}")
        return Reply(
            status=200,
            headers=STREAM_HEADERS,
            pieces=(Piece(0, told),),
            end="hold",
            streamed=True,
            live=channel,
        )

    def _forget(self, name: str) -> None:
        self._open.pop(name, None)

    @staticmethod
    def is_post(request: HttpRequest) -> bool:
        """Whether a request was posted where a stream told its client to."""
        return _name(request).startswith(_PREFIX)

    def of(self, request: HttpRequest) -> Channel | None:
        """Return the stream that answers to what was posted; None where it is gone."""
        return self._open.get(_name(request))


def _name(request: HttpRequest) -> str:
    return parse_qs(urlsplit(request.url).query).get(_PARAMETER, [""])[0]


def _is_broken(reply: Reply) -> bool:
    """Whether a reply ends without an answer, and not because the client left."""
    if reply.end == "hold" or not reply.streamed:
        return False
    last = message_in(reply.pieces[-1].data) if reply.pieces else b""
    return not any(isinstance(each, Response) for each in read_body(last) or ())
