"""The HTTP server of a replay: base URLs, plain proxy and CONNECT with TLS on one loopback port.

A front looks at the first bytes of each connection. CONNECT opens a tunnel, in which TLS ends
here with a leaf of our own authority; all else, and what is inside a tunnel, is HTTP/1.1. There
is no client code: a request is answered by the handler, and nothing is ever asked further.
"""

import asyncio
import errno
import os
import ssl
from typing import TYPE_CHECKING, Literal, cast

from mcprec_addon.doors.certificates import Authority
from mcprec_addon.doors.http_connection import Connection, Handler, Shared, Way
from mcprec_addon.errors import ListenError

if TYPE_CHECKING:
    from collections.abc import Callable

# 64 KiB: far beyond the header of any CONNECT.
_CONNECT_BYTES = 65536
_TLS_HANDSHAKE = 0x16
# 2 s for the client's part of a TLS close, where asyncio would wait for 30.
_TLS_CLOSE_S = 2.0
_OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")
_CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_REFUSED = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class HttpServer:
    """Answers HTTP on loopback ports with what a handler says.

    Attributes:
        failures: What the handler raised. Each such request was answered 500.
        distrusted: Host of each tunnel in which no TLS came about, as when the client does not
            trust our authority.
    """

    def __init__(
        self, handler: Handler, *, authority: Authority | None, pace: float | None = None
    ) -> None:
        """Prepare a server; `listen` opens its ports.

        Args:
            handler: Called once per request, in order of arrival.
            authority: Mints the leaves of TLS tunnels; None: such tunnels are closed.
            pace: How many times faster than recorded pieces are sent; None: without waiting.

        Raises:
            ValueError: `pace` is not above zero.
        """
        if pace is not None and not pace > 0:
            message = f"a pace is above zero, not {pace}"
            raise ValueError(message)
        self._shared = Shared(handler=handler, pace=pace)
        self._authority = authority
        self._listeners: list[asyncio.Server] = []
        self.failures = self._shared.failures
        self.distrusted: list[str] = []

    async def listen(
        self, host: str = "127.0.0.1", port: int = 0, *, label: str | None = None
    ) -> int:
        """Open one more port and return its number.

        Args:
            host: Address to listen on.
            port: The port; 0 for any free one.
            label: The MCP server this port stands for; its requests carry it.

        Raises:
            ListenError: The address cannot be had.
        """
        loop = asyncio.get_running_loop()
        try:
            listener = await loop.create_server(self._front, host, port)
        except OSError as error:
            address = f"{host}:{port}"
            raise ListenError(address, _listen_problem(error)) from error
        self._listeners.append(listener)
        bound = [int(listening.getsockname()[1]) for listening in listener.sockets]
        for number in bound:
            self._shared.labels[number] = label
            self._shared.own |= {f"{name}:{number}": number for name in (*_OWN_NAMES, host)}
        return bound[0]

    async def close(self) -> None:
        """Stop listening and end every connection, also those held open."""
        self._shared.closed = True
        for listener in self._listeners:
            listener.close()
        for transport in tuple(self._shared.transports):
            transport.abort()
        for task in tuple(self._shared.tasks):
            task.cancel()
        await asyncio.gather(*self._shared.tasks, return_exceptions=True)
        for listener in self._listeners:
            await listener.wait_closed()

    def _front(self) -> "_Front":
        return _Front(self._shared, authority=self._authority, distrusted=self.distrusted)


def _listen_problem(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the port is in use"
    # asyncio's own text repeats the address; the number of a failed look-up is negative.
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    return str(error.strerror).lower()


class _Front(asyncio.Protocol):
    """Looks at the first bytes of a connection and hands it to the protocol they belong to."""

    def __init__(
        self, shared: Shared, *, authority: Authority | None, distrusted: list[str]
    ) -> None:
        self._shared = shared
        self._authority = authority
        self._distrusted = distrusted
        self._buffer = b""
        self._host = ""
        self._target = ""
        self._look: Callable[[], None] = self._look_for_connect

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._shared.transports.add(self._transport)
        if self._shared.closed:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._shared.transports.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._look()

    def _look_for_connect(self) -> None:
        if self._buffer.startswith(b"CONNECT "):
            self._look = self._read_connect
            self._look()
        elif not b"CONNECT ".startswith(self._buffer):
            port = self._transport.get_extra_info("sockname")[1]
            self._hand_over(self._transport, Way(port=port))

    def _read_connect(self) -> None:
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end and len(head) < _CONNECT_BYTES:
            return
        target = head.split(b" ", 2)[1].decode("latin-1").lower()
        host, _, port = target.rpartition(":")
        if not end or not host or not port.isdecimal():
            self._transport.write(_REFUSED)
            self._transport.close()
            return
        # httpx leaves out the brackets of an IPv6 address.
        self._host = host.strip("[]")
        self._target = f"[{self._host}]:{port}" if ":" in host else target
        self._transport.write(_CONNECTED)
        self._buffer = rest
        self._look = self._look_for_tls
        if rest:
            self._look()

    def _look_for_tls(self) -> None:
        secure = self._buffer[0] == _TLS_HANDSHAKE
        way = self._tunnel_way("https" if secure else "http")
        if not secure:
            self._hand_over(self._transport, way)
            return
        self._look = lambda: None
        task = asyncio.get_running_loop().create_task(self._end_tls(way))
        self._shared.tasks.add(task)
        task.add_done_callback(self._shared.tasks.discard)

    def _tunnel_way(self, scheme: Literal["http", "https"]) -> Way:
        own = self._shared.own.get(self._target)
        if own is not None:
            return Way(port=own)
        default = ":443" if scheme == "https" else ":80"
        return Way(port=0, origin=f"{scheme}://{self._target.removesuffix(default)}")

    async def _end_tls(self, way: Way) -> None:
        """Shake hands, then hand over; until then `data_received` keeps what comes in."""
        if self._authority is None:
            self._distrusted.append(self._host)
            self._transport.abort()
            return
        try:
            context = self._authority.context_for(self._host)
        except ValueError as error:
            self._shared.failures.append(error)
            self._transport.abort()
            return
        try:
            secure = await self._shake_hands(context)
        except OSError:
            self._distrusted.append(self._host)
            return
        if secure is not None and not secure.is_closing():
            self._hand_over(secure, way)

    async def _shake_hands(self, context: ssl.SSLContext) -> asyncio.Transport | None:
        loop = asyncio.get_running_loop()
        starting = loop.create_task(
            loop.start_tls(
                self._transport, self, context, server_side=True, ssl_shutdown_timeout=_TLS_CLOSE_S
            )
        )
        # One turn of the loop to put the TLS protocol on the transport, one to connect the two.
        # Only then is the socket read again, so what was read before is passed on here.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        read, self._buffer = self._buffer, b""
        protocol = cast("asyncio.BufferedProtocol", self._transport.get_protocol())
        _pass_on(read, protocol)
        return await starting

    def _hand_over(self, transport: asyncio.Transport, way: Way) -> None:
        connection = Connection(self._shared, way, self.connection_lost)
        transport.set_protocol(connection)
        connection.connection_made(transport)
        data, self._buffer = self._buffer, b""
        if data:
            connection.data_received(data)


def _pass_on(data: bytes, protocol: asyncio.BufferedProtocol) -> None:
    """Give a protocol bytes that were read before it had the transport."""
    while data:
        buffer = memoryview(protocol.get_buffer(len(data)))
        count = min(len(buffer), len(data))
        buffer[:count] = data[:count]
        protocol.buffer_updated(count)
        data = data[count:]
