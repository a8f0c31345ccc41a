"""One HTTP/1.1 connection of a replay: requests are read, answered in turn, and replies written.

uvicorn's protocol class parses. Requests are answered in the order they came. A reply that fits
one block and waits for nothing is one write; any other is written by a task of its own, which
stops while the client does not read.
"""

import asyncio
import os
import socket
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from logging import CRITICAL, Logger
from urllib.parse import urlsplit

from httptools import HttpRequestParser
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from mcprec_addon.doors.http_framing import (
    BLOCK_BYTES,
    Turn,
    blocks,
    chunk,
    closes,
    frames,
    head_bytes,
)
from mcprec_addon.doors.paced import Paced, write_aside
from mcprec_addon.exchange import Via
from mcprec_addon.long_events import LongEvents
from mcprec_addon.wire.http import HttpRequest, Piece, Reply, first_header

type Handler = Callable[[HttpRequest], Reply]

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HANDLER_FAILED = Reply(
    status=500,
    headers=(("content-type", "text/plain"), ("x-should-retry", "false")),
    pieces=(Piece(0, b"mcprec: this request could not be answered, the run's report says why\n"),),
)
# Linger on, for no time: closing then resets. Windows has shorts here.
_LINGER_ZERO = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
# uvicorn's own logger would write to the terminal of the child.
_SILENT = Logger("mcprec.http", level=CRITICAL + 1)


async def _no_application(_scope: object, _receive: object, _send: object) -> None:
    """Stand where uvicorn's configuration wants an application; it is never called."""


def _uvicorn_config() -> Config:
    return Config(
        _no_application,
        http=HttpToolsProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        proxy_headers=False,
        workers=1,
    )


@dataclass(slots=True, kw_only=True)
class Shared:
    """What a server and its connections have in common.

    Attributes:
        pace: How many times faster than recorded pieces are sent; None: without waiting.
        failures: What the handler raised.
        labels: Label of each port listened on.
        own: Those ports by ``host:port``, under every name a client may use for them.
        tasks: Replies and handshakes under way.
        closed: Whether the server has ended; a connection that still comes in ends at once.
    """

    handler: Handler
    pace: float | None = None
    failures: list[BaseException] = field(default_factory=list[BaseException])
    labels: dict[int, str | None] = field(default_factory=dict[int, str | None])
    own: dict[str, int] = field(default_factory=dict[str, int])
    transports: set[asyncio.Transport] = field(default_factory=set[asyncio.Transport])
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    closed: bool = False
    config: Config = field(default_factory=_uvicorn_config)
    state: ServerState = field(default_factory=ServerState)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a connection came in: by one of our ports, or in a tunnel to an origin.

    Attributes:
        port: The port; 0 in a tunnel.
        origin: Scheme, host and port the tunnel leads to, or None.
    """

    port: int = 0
    origin: str | None = None


class Connection(HttpToolsProtocol):
    """Parses the requests of one connection and writes the replies."""

    parser: HttpRequestParser

    def __init__(self, shared: Shared, way: Way, lost: Callable[[Exception | None], None]) -> None:
        """Serve a connection that came in by `way`; `lost` is called when it has ended."""
        super().__init__(shared.config, shared.state, {}, asyncio.get_running_loop())
        self.logger = _SILENT
        self._shared = shared
        self._way = way
        self._lost = lost
        self._turns: deque[Turn] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._body = bytearray()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the reply under way: there is nobody left to read it."""
        super().connection_lost(exc)
        self._turns.clear()
        if self._sending is not None:
            self._sending.cancel()
        self._lost(exc)

    def on_message_begin(self) -> None:
        """Start a request; uvicorn's own method would build an ASGI scope as well."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._body = bytearray()

    def on_headers_complete(self) -> None:
        """Ask for a body that the client holds back."""
        self._ask_for_body()

    def on_body(self, body: bytes) -> None:
        """Collect the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """Answer the request, or let it wait for the replies before it."""
        if self.transport.is_closing():
            return
        if self.parser.get_method() == b"CONNECT":
            self.send_400_response("CONNECT must be the first request of a connection")
            return
        chunked = self.parser.get_http_version() != "1.0"
        turn = Turn(
            request=self._request(),
            arrived=self.loop.time(),
            keep_alive=chunked and self.parser.should_keep_alive(),
            chunked=chunked,
        )
        self._turns.append(turn)
        self.expect_100_continue = False
        if self._sending is None:
            self._answer()
        else:
            self.flow.pause_reading()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: an upgrade is a request like any other, the handler refuses it."""

    def _ask_for_body(self) -> None:
        if self.expect_100_continue and self._sending is None:
            self.expect_100_continue = False
            self.transport.write(_CONTINUE)

    def _request(self) -> HttpRequest:
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in self.headers
        )
        url, label, via = self._locate(self.url.decode("latin-1"), first_header(headers, "host"))
        return HttpRequest(
            method=self.parser.get_method().decode("ascii"),
            url=url,
            headers=headers,
            body=bytes(self._body),
            label=label,
            via=via,
        )

    def _locate(self, target: str, host: str | None) -> tuple[str, str | None, Via]:
        """Return the absolute URL of a request target, the label of its port, and the way in."""
        origin, port = self._way.origin, self._way.port
        if not target.startswith(("/", "*")):
            parts = urlsplit(target)
            own = self._shared.own.get(parts.netloc.lower())
            if own is None:
                return target, None, "proxy"
            origin, port, host = None, own, parts.netloc
            target = target.removeprefix(f"{parts.scheme}://{host}") or "/"
        path = target.removeprefix("*")
        if origin is not None:
            return origin + path, None, "proxy"
        return f"http://{host or f'127.0.0.1:{port}'}{path}", self._shared.labels[port], "base-url"

    def _answer(self) -> None:
        """Reply to the waiting requests, until a reply takes time or the connection ends."""
        while self._turns and self._sending is None and not self.transport.is_closing():
            turn = self._turns.popleft()
            reply, head = self._reply(turn)
            if self._fits_one_write(reply):
                body = (frame for _, frame in frames(turn, reply))
                self.transport.write(b"".join((head, *body)))
                self._end(turn, reply)
                self._tell_sent(reply)
            else:
                self._sending = self.loop.create_task(self._send(turn, reply, head))
                self._shared.tasks.add(self._sending)
                self._sending.add_done_callback(self._sent)

    def _reply(self, turn: Turn) -> tuple[Reply, bytes]:
        try:
            reply = self._shared.handler(turn.request)
            return reply, head_bytes(turn, reply)
        except Exception as error:  # noqa: BLE001 - the client is answered, the run names the bug
            self._shared.failures.append(error)
            return _HANDLER_FAILED, head_bytes(turn, _HANDLER_FAILED)

    def _fits_one_write(self, reply: Reply) -> bool:
        return (
            self._shared.pace is None
            and reply.end in ("complete", "reset")
            and not self.flow.write_paused
            and not isinstance(reply.pieces, LongEvents)
            and sum(len(piece.data) for piece in reply.pieces) <= BLOCK_BYTES
        )

    async def _send(self, turn: Turn, reply: Reply, head: bytes) -> None:
        pace = self._shared.pace
        if reply.end == "hang":
            await self.loop.create_future()  # until the client goes, which ends this task
        for at_ms, block in blocks(turn, reply, head, timed=pace is not None):
            if pace is not None:
                await asyncio.sleep(turn.arrived + at_ms / 1000 / pace - self.loop.time())
            await self.flow.drain()
            if self.transport.is_closing():
                return
            self.transport.write(block)
        self._tell_sent(reply)
        if reply.end == "rst":
            # A reset throws the buffer away, so it is emptied first; with 0, TLS never resumes.
            self.transport.set_write_buffer_limits(1)
            await self.flow.drain()
        elif reply.end == "hold" and await self._was_ended(turn, reply):
            self.transport.write(b"0\r\n\r\n" if turn.chunked else b"")
            reply = replace(reply, end="complete")
        self._end(turn, reply)

    async def _was_ended(self, turn: Turn, reply: Reply) -> bool:
        """Hold a reply open, fed where something feeds it; return whether that ended it."""
        ended = self.loop.create_future()
        paced = Paced(lambda data: self.transport.write(chunk(turn, data)), pace=self._shared.pace)

        def close() -> None:
            if not ended.done():
                ended.set_result(None)

        if reply.live is not None:
            reply.live.open(paced.send, lambda: paced.then(close))
        try:
            seconds = None if reply.hold_ms is None else reply.hold_ms / 1000
            await asyncio.wait([ended], timeout=seconds)
        finally:
            paced.stop()
            if reply.live is not None:
                reply.live.gone()
        return ended.done()

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._shared.tasks.discard(task)
        self._sending = None
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            self._shared.failures.append(error)
            self.transport.abort()
        if not self.transport.is_closing():
            self.flow.resume_reading()
            self._answer()
            self._ask_for_body()

    def _end(self, turn: Turn, reply: Reply) -> None:
        """Keep, close or break the connection, as the reply says."""
        # Without chunked coding a plain close would read as a complete body.
        if reply.end == "rst" or (reply.end == "reset" and not turn.chunked):
            raw = self.transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
            self.transport.abort()
        elif reply.end != "complete" or not turn.keep_alive or closes(reply):
            self.transport.close()

    def _tell_sent(self, reply: Reply) -> None:
        if reply.sent is not None:
            reply.sent()
        if reply.aside is not None:
            write_aside(reply.aside, pace=self._shared.pace)
