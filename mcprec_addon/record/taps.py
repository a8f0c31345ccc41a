"""What takes the answers to HTTP requests as they pass, and makes exchanges of them.

A door passes each tap the head and the bytes of one answer. Taps are pure: time comes in as
milliseconds since the recording began.
"""

from http import HTTPStatus
from typing import Protocol

from mcprec_addon.exchange import Json, McpAnswer, McpCall, Via
from mcprec_addon.record.recorder import Pending, Recorder
from mcprec_addon.wire import mcp, model
from mcprec_addon.wire.coding import Decoder
from mcprec_addon.wire.http import Ending, HttpRequest, first_header
from mcprec_addon.wire.jsonrpc import Notification, Request
from mcprec_addon.wire.mcp_answer import McpAnswerReader

_REFUSALS = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


class Tap(Protocol):
    """Takes the answer to one request as it passes."""

    def head(self, status: int, lines: list[tuple[str, str]]) -> None:
        """Take status and header lines (names in lower case)."""

    def data(self, chunk: bytes, at_ms: int) -> None:
        """Take bytes of the body as they came, content coding included."""

    def finish(self, ending: Ending, at_ms: int) -> None:
        """End the exchange; only the first call counts."""

    def drop(self) -> None:
        """Forget the request: there was nobody to answer it."""


class Owner(Protocol):
    """Who is told what a tap of the MCP half comes to."""

    def done(self, tap: "McpTap") -> None:
        """Let go of a tap that has finished."""

    def asked_for_oauth(self, label: str) -> None:
        """Take note of a server that asks its client to sign in."""


class ModelTap:
    """Takes the answer to one model call."""

    def __init__(self, recorder: Recorder, pending: Pending) -> None:
        if isinstance(pending.call, McpCall):
            message = "a model tap takes a model call"
            raise TypeError(message)
        self._recorder = recorder
        self._pending = pending
        self._reader = model.ModelAnswerReader(pending.call)
        self._decoder = Decoder(None)

    def head(self, status: int, lines: list[tuple[str, str]]) -> None:
        """Take status and header lines."""
        self._decoder = Decoder(first_header(lines, "content-encoding"))
        self._reader.head(status, lines)

    def data(self, chunk: bytes, at_ms: int) -> None:
        """Take bytes of the body."""
        self._reader.feed(self._decoder.feed(chunk), at_ms - self._pending.at_ms)

    def finish(self, ending: Ending, at_ms: int) -> None:
        """End the exchange."""
        undecoded = bytes(self._decoder.raw) if self._decoder.failed else None
        answer = self._reader.finish(ending, undecoded=undecoded)
        self._recorder.finish(self._pending, answer, at_ms=at_ms)

    def drop(self) -> None:
        """Forget the call."""
        self._recorder.drop(self._pending)


class McpTap:
    """Takes the answer to one or more MCP requests of one POST, or to one GET."""

    def __init__(
        self,
        owner: Owner,
        recorder: Recorder,
        label: str,
        asked: list[Request],
        pending: list[Pending],
    ) -> None:
        self.label = label
        callers = [mcp.caller_of(one) for one in asked] or [mcp.Caller(id=None)]
        self.reader = McpAnswerReader(callers)
        self._owner = owner
        self._recorder = recorder
        self._asked = asked
        self._pending = pending
        self._decoder = Decoder(None)
        self._refuses = False
        self._is_open = not asked or asked[0].method == mcp.LISTEN

    def head(self, status: int, lines: list[tuple[str, str]]) -> None:
        """Take status and header lines."""
        if status in _REFUSALS and first_header(lines, "www-authenticate") is not None:
            self._refuses = True
            # Through the proxy a client signs in by itself; a loopback address cannot carry it.
            if self._pending[0].via == "base-url" and mcp.asks_for_oauth(status, lines):
                self._owner.asked_for_oauth(self.label)
        self._refuses |= not self._asked and status != HTTPStatus.OK
        self._decoder = Decoder(first_header(lines, "content-encoding"))
        self.reader.head(status, lines)
        session = first_header(lines, mcp.SESSION_HEADER)
        # Servers put an id on refusals too, and forget it.
        if session is not None and self._is_handshake() and status == HTTPStatus.OK:
            self.reader.mint_session()

    def _is_handshake(self) -> bool:
        return bool(self._asked) and self._asked[0].method == "initialize"

    def data(self, chunk: bytes, at_ms: int) -> None:
        """Take bytes of the body."""
        since = at_ms - self._pending[0].at_ms
        events = self.reader.feed(self._decoder.feed(chunk), since)
        if not self._is_open:
            return
        for event in events:
            self._recorder.message(
                self.label, "server", event.message, on=self._pending[0], at_ms=since
            )

    def finish(self, ending: Ending, at_ms: int) -> None:
        """End the exchanges."""
        if self._refuses:
            self.drop()
            return
        self._owner.done(self)
        undecoded = bytes(self._decoder.raw) if self._decoder.failed else None
        answers = self.reader.finish(ending, without_events=self._is_open, undecoded=undecoded)
        for pending, answer in zip(self._pending, answers, strict=True):
            self._learn(pending, answer)
            self._recorder.finish(pending, self._settled(answer), at_ms=at_ms)

    def drop(self) -> None:
        """Forget the calls."""
        self._owner.done(self)
        for pending in self._pending:
            self._recorder.drop(pending)

    def _settled(self, answer: McpAnswer) -> McpAnswer:
        # A stream that the client listens on has no end of its own: leaving completes it.
        complete = ("left",) if self._asked else ("left", "cut")
        if self._is_open and answer.end in complete:
            return mcp.without_end(answer)
        return answer

    def _learn(self, pending: Pending, answer: McpAnswer) -> None:
        call = pending.call
        request = next((one for one in self._asked if one.method == _method(call)), None)
        if request is None or answer.kind != "result":
            return
        version = mcp.protocol_version(request, answer.value)
        if version is not None:
            self._recorder.spoke(version)
        if request.method in mcp.HANDSHAKES:
            name, number = mcp.identity(answer.value)
            self._recorder.handshake(self.label, name=name, version=number)


class NotificationTap:
    """Takes the acknowledgement of notifications: 202 as the protocol says, or what else came."""

    def __init__(
        self,
        recorder: Recorder,
        label: str,
        sent: list[Notification],
        at_ms: int,
        request: HttpRequest,
    ) -> None:
        self._recorder = recorder
        self._label = label
        self._sent = sent
        self._at_ms = at_ms
        self._via: Via = request.via
        self._reader = McpAnswerReader([mcp.Caller(id=None)])
        self._decoder = Decoder(None)
        self._status = 202
        self._size = 0
        self._is_finished = False

    def head(self, status: int, lines: list[tuple[str, str]]) -> None:
        """Take status and header lines."""
        self._status = status
        self._decoder = Decoder(first_header(lines, "content-encoding"))
        self._reader.head(status, lines)

    def data(self, chunk: bytes, at_ms: int) -> None:
        """Take bytes of the body."""
        self._size += len(chunk)
        self._reader.feed(self._decoder.feed(chunk), at_ms - self._at_ms)

    def finish(self, ending: Ending, at_ms: int) -> None:
        """End it: a message, or an exchange where the server answered outside the protocol."""
        if self._is_finished:
            return
        self._is_finished = True
        is_usual = self._status == HTTPStatus.ACCEPTED and not self._size
        if is_usual or self._status in _REFUSALS or len(self._sent) > 1 or ending != "complete":
            for note in self._sent:
                self._recorder.message(self._label, "client", plain(note))
            return
        call = McpCall(server=self._label, method=self._sent[0].method)
        pending = self._recorder.begin(call, at_ms=self._at_ms, via=self._via, era=None)
        self._recorder.finish(pending, self._reader.finish(ending)[0], at_ms=at_ms)

    def drop(self) -> None:
        """Forget the notifications."""
        self._is_finished = True


def _method(call: object) -> str:
    return call.method if isinstance(call, McpCall) else ""


def plain(note: Notification) -> dict[str, Json]:
    """Return a notification as a message of its own."""
    return {"method": note.method, "params": note.params}
