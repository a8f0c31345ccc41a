"""Requests of httpx and httpx2 clients answered in this process: no socket, no thread, no loop.

Both libraries have the same classes under the same names; which of them a request belongs to is
told by its class. A reply arrives piece by piece and ends as it says: whole, cut, reset, or not.
"""

import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, Self

from mcprec_addon.doors.mailbox import Mailbox
from mcprec_addon.wire.http import HttpRequest, Reply, has_content

if TYPE_CHECKING:
    from types import ModuleType

    import httpx
    import httpx2

    type Request = httpx.Request | httpx2.Request
    type Response = httpx.Response | httpx2.Response

_FRAMING_HEADERS = ("content-length", "transfer-encoding")
# What httpcore says.
_TIMED_OUT = "timed out"
_BROKEN = "[Errno 104] Connection reset by peer"
_CUT = "peer closed connection without sending complete message body (incomplete chunked read)"


@dataclass(frozen=True, slots=True)
class Core:
    """What answers; threads take turns at it.

    Attributes:
        respond: Returns the reply to a request.
    """

    respond: Callable[[HttpRequest], Reply]
    lock: "threading.RLock" = field(default_factory=threading.RLock)

    def ask(self, request: HttpRequest) -> Reply:
        """Return the reply to a request."""
        with self.lock:
            return self.respond(request)


class RecordedTransport:
    """Stands in a client of either library, sync or async, in place of its own transport."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def handle_request(self, request: "Request") -> "Response":
        """Answer a request of a sync client."""
        return answer(self._core, request)

    async def handle_async_request(self, request: "Request") -> "Response":
        """Answer a request of an async client."""
        return await answer_async(self._core, request)

    def close(self) -> None:
        """Do nothing: there is nothing open."""

    async def aclose(self) -> None:
        """Do nothing: there is nothing open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def answer(core: Core, request: "Request") -> "Response":
    """Return the response to a request of a sync client."""
    request.read()
    reply = core.ask(http_request(request))
    if reply.end == "hang":
        _hang(request)
    return _response(core, request, reply)


async def answer_async(core: Core, request: "Request") -> "Response":
    """Return the response to a request of an async client."""
    await request.aread()
    reply = core.ask(http_request(request))
    if reply.end == "hang":
        await _hang_async(request)
    return _response(core, request, reply)


def http_request(request: "Request") -> HttpRequest:
    """Return a request whose body has been read as a value."""
    return HttpRequest(
        method=request.method.upper(),
        url=str(request.url),
        headers=tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in request.headers.raw
        ),
        body=request.content,
        via=None,
    )


def library_of(request: "Request") -> "ModuleType":
    """Return the library that a request belongs to."""
    return sys.modules[type(request).__module__.partition(".")[0]]


def _response(core: Core, request: "Request", reply: Reply) -> "Response":
    library = library_of(request)
    headers = [(name, value) for name, value in reply.headers if name not in _FRAMING_HEADERS]
    if request.method == "HEAD" or not has_content(reply.status):
        _tell_sent(core, reply)
        response = library.Response(reply.status, headers=headers, request=request)
    elif reply.whole:
        _tell_sent(core, reply)
        response = library.Response(
            reply.status, headers=headers, content=reply.body, request=request
        )
    else:
        stream = _stream_class(library)(core, request, reply)
        response = library.Response(reply.status, headers=headers, stream=stream, request=request)
    return response  # type: ignore[no-any-return] # a module's members have no types


def _tell_sent(core: Core, reply: Reply) -> None:
    with core.lock:
        if reply.sent is not None:
            reply.sent()
        if reply.aside is not None:
            for piece in reply.aside.pieces:
                reply.aside.write(piece.data)
            reply.aside.sent()


def _read_timeout(request: "Request") -> float | None:
    """Return how many seconds the client waits for the next bytes, or None for ever."""
    timeout: float | None = request.extensions.get("timeout", {}).get("read")
    return timeout


def _hang(request: "Request") -> NoReturn:
    threading.Event().wait(_read_timeout(request))
    raise library_of(request).ReadTimeout(_TIMED_OUT, request=request)


async def _hang_async(request: "Request") -> NoReturn:
    import anyio  # noqa: PLC0415 - it comes with either library

    timeout = _read_timeout(request)
    await (anyio.sleep_forever() if timeout is None else anyio.sleep(timeout))
    raise library_of(request).ReadTimeout(_TIMED_OUT, request=request)


class _Stream:
    """The body of a reply, piece by piece, and its end."""

    def __init__(self, core: Core, request: "Request", reply: Reply) -> None:
        self._core = core
        self._reply = reply
        self._library = library_of(request)
        self._timeout = _read_timeout(request)
        self._mailbox: Mailbox | None = None
        self._until = 0.0

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces()
        if self._reply.end == "hold":
            mailbox = self._hold()
            try:
                while (data := mailbox.get(self._wait())) is not None:
                    yield data
            except TimeoutError as error:
                raise self._silent() from error
            finally:
                self.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for data in self._pieces():
            yield data
        if self._reply.end == "hold":
            mailbox = self._hold()
            try:
                while (fed := await mailbox.get_async(self._wait())) is not None:
                    yield fed
            except TimeoutError as error:
                raise self._silent() from error
            finally:
                self.close()

    def close(self) -> None:
        """End a stream that is still fed."""
        mailbox, self._mailbox = self._mailbox, None
        if mailbox is not None and self._reply.live is not None:
            with self._core.lock:
                self._reply.live.gone()

    async def aclose(self) -> None:
        """End a stream that is still fed."""
        self.close()

    def _pieces(self) -> Iterator[bytes]:
        for piece in self._reply.pieces:
            if piece.data:
                yield piece.data
        _tell_sent(self._core, self._reply)
        if self._reply.end == "reset":
            raise self._library.RemoteProtocolError(_CUT)
        if self._reply.end == "rst":
            raise self._library.ReadError(_BROKEN)

    def _hold(self) -> Mailbox:
        """Begin to be fed, once all pieces are out."""
        mailbox = self._mailbox = Mailbox()
        seconds = self._reply.hold_ms
        self._until = float("inf") if seconds is None else time.monotonic() + seconds / 1000
        if self._reply.live is not None:
            with self._core.lock:
                self._reply.live.open(mailbox.put, mailbox.close)
        return mailbox

    def _wait(self) -> float | None:
        """Return how many seconds to wait for the next piece, or None for ever."""
        left = max(0.0, self._until - time.monotonic())
        wait = left if self._timeout is None else min(left, self._timeout)
        return None if wait == float("inf") else wait

    def _silent(self) -> Exception:
        """Return what a client raises where nothing came: it gave up, or was closed."""
        over = time.monotonic() >= self._until
        error: Exception = (
            self._library.RemoteProtocolError(_CUT)
            if over
            else self._library.ReadTimeout(_TIMED_OUT)
        )
        return error


@cache
def _stream_class(library: "ModuleType") -> "type[Any]":
    """Return the class of streams that a library's client takes."""
    bases = (_Stream, library.SyncByteStream, library.AsyncByteStream)
    return type("RecordedStream", bases, {})
