"""What takes the answers to HTTP requests as they pass, and makes exchanges of them.

A door passes each tap the head and the bytes of one answer. Taps are pure: time comes in as
milliseconds since the recording began.
"""

from http import HTTPStatus
from typing import Protocol

from mcprec_addon.exchange import Json, McpAnswer, McpCall, Via
from mcprec_addon.record.conversation import Conversation
from mcprec_addon.record.recorder import Pending, Recorder
from mcprec_addon.wire import mcp
from mcprec_addon.wire.coding import Decoder
from mcprec_addon.wire.http import Ending, HttpRequest, first_header
from mcprec_addon.wire.jsonrpc import Notification, Request, Response
from mcprec_addon.wire.mcp_answer import McpAnswerReader
from mcprec_addon.wire.model_answer import ModelAnswerReader

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


class ModelTap:
    """Takes the answer to one model call."""

    def __init__(self, recorder: Recorder, pending: Pending) -> None:
        if isinstance(pending.call, McpCall):
            message = "a model tap takes a model call"
            raise TypeError(message)
        self._recorder = recorder
        self._pending = pending
        self._reader = ModelAnswerReader(pending.call)
        self._decoder = Decoder(None)

    def head(self, status: int, lines: list[tuple[str, str]]) -> None:
        """Take status and header lines."""
        self._decoder = Decoder(first_header(lines, "content-encoding"))
        self._reader.head(status, lines)

    def data(self, chunk: bytes, at_ms: int) -> None:
        """Take bytes of the body."""
        self._reader.feed(self._decoder.feed(chunk), at_ms - self._pending.at_ms)
        early = self._reader.take_many()
        if early:
            self._decoder.let_go()
            self._recorder.early(self._pending, early)

    def finish(self, ending: Ending, at_ms: int) -> None:
        """End the exchange."""
        answer = self._reader.finish(ending, undecoded=self._decoder.undecoded)
        self._recorder.finish(self._pending, answer, at_ms=at_ms)

    def drop(self) -> None:
        """Forget the call."""
        self._recorder.drop(self._pending)


class McpTap:
    """Takes the answer to one or more MCP requests of one POST.

    Where it does not come whole as the answer to the POST it may come later, on another stream:
    the tap stays with its conversation until it has.
    """

    def __init__(
        self,
        conversation: Conversation,
        recorder: Recorder,
        asked: list[Request],
        pending: list[Pending],
    ) -> None:
        self._conversation = conversation
        self._recorder = recorder
        self._asked = asked
        self._pending = pending
        self._reader = McpAnswerReader([mcp.caller_of(one) for one in asked])
        self._decoder = Decoder(None)
        self._refuses = False
        self._is_open = asked[0].method == mcp.LISTEN
        self._is_elsewhere = conversation.is_shared
        self._ended: tuple[Ending, int] | None = None
        self._is_done = False
        if conversation.is_shared:
            self._reader.resume()  # the answer is to be found on the shared stream
        conversation.add(self)

    @property
    def event_ids(self) -> set[str]:
        """Ids of the events of its stream so far, by which the client may resume it."""
        return self._reader.event_ids

    @property
    def waits(self) -> bool:
        """Whether its answer is still to come; a listen has none to wait for."""
        return not self._is_open and self._reader.waits

    @property
    def is_cut(self) -> bool:
        """Whether its own stream has ended before its answer."""
        return self._ended is not None and not self._is_elsewhere

    def head(self, status: int, lines: list[tuple[str, str]]) -> None:
        """Take status and header lines."""
        self._is_elsewhere &= status == HTTPStatus.ACCEPTED
        if self._is_elsewhere:
            return
        if status in _REFUSALS and first_header(lines, "www-authenticate") is not None:
            self._refuses = True
            # Through the proxy a client signs in by itself; a loopback address cannot carry it.
            if self._pending[0].via == "base-url" and mcp.asks_for_oauth(status, lines):
                self._conversation.asked_for_oauth = True
        self._decoder = Decoder(first_header(lines, "content-encoding"))
        self._reader.head(status, lines)
        session = first_header(lines, mcp.SESSION_HEADER)
        # Servers put an id on refusals too, and forget it.
        if session is not None and self._is_handshake() and status == HTTPStatus.OK:
            self._reader.mint_session()

    def _is_handshake(self) -> bool:
        return self._asked[0].method == "initialize"

    def resume(self, lines: list[tuple[str, str]]) -> None:
        """Go on with the stream of a GET, given its header lines."""
        self._ended = None
        self._decoder = Decoder(first_header(lines, "content-encoding"))
        self._reader.resume()

    def data(self, chunk: bytes, at_ms: int) -> None:
        """Take bytes of the body."""
        if self._is_elsewhere:
            return
        since = at_ms - self._pending[0].at_ms
        events = self._reader.feed(self._decoder.feed(chunk), since)
        early = self._reader.take_many()
        if early:
            self._decoder.let_go()
        if not self._is_open:
            for pending, taken in zip(self._pending, early, strict=False):
                self._recorder.early(pending, taken)
            return
        for event in events:
            self._recorder.message(
                self._conversation.label,
                "server",
                event.message,
                on=self._pending[0],
                at_ms=since,
            )

    def is_named(self, value: dict[str, Json]) -> bool:
        """Whether a message of the server names one of its calls."""
        return self._reader.is_named(value)

    def said(self, value: dict[str, Json], at_ms: int) -> None:
        """Take a message of the server that came on another stream."""
        self._reader.said(value, at_ms - self._pending[0].at_ms)

    def answered(self, response: Response, at_ms: int) -> bool:
        """Take an answer that came on another stream; return whether it belongs here."""
        if not self._reader.answered(response, at_ms - self._pending[0].at_ms):
            return False
        if not self._reader.waits:
            self.end("complete", at_ms)
        return True

    def client_answered(self, request_id: Json, value: Json) -> bool:
        """Take the client's answer to a question in its calls; return whether it belongs here."""
        return self._reader.client_answered(request_id, value)

    def cancelled(self, request_id: Json, at_ms: int) -> bool:
        """End a call that the client gave up; return whether it waits here.

        Others of its batch still get their answers, and it goes on with them.
        """
        if len(self._asked) > 1 or not self._reader.has_call(request_id):
            return False
        self.end("left", at_ms)
        return True

    def finish(self, ending: Ending, at_ms: int) -> None:
        """End the exchanges, or let them wait for the rest of their answers."""
        if self._refuses:
            self.drop()
            return
        is_cut = self._reader.waits and bool(self.event_ids)
        # How a POST ended says nothing where its answer is elsewhere: SDKs leave the 202 unread.
        may_go_on = is_cut or self._is_elsewhere
        if may_go_on and ending != "stopped":
            self._ended = ending, at_ms
        else:
            self.end(ending, at_ms)

    def give_up(self) -> None:
        """End exchanges whose stream was cut and is not resumed."""
        if self._ended is not None:
            self.end(*self._ended)

    def end(self, ending: Ending, at_ms: int) -> None:
        """End the exchanges."""
        if self._is_done:
            return
        self._is_done = True
        self._conversation.done(self)
        undecoded = self._decoder.undecoded
        answers = self._reader.finish(ending, without_events=self._is_open, undecoded=undecoded)
        times = self._reader.times if len(answers) > 1 else [None]
        for pending, answer, own in zip(self._pending, answers, times, strict=True):
            self._learn(pending, answer)
            ended = at_ms if own is None else pending.at_ms + own
            self._recorder.finish(pending, self._settled(answer), at_ms=ended)

    def drop(self) -> None:
        """Forget the calls."""
        self._conversation.done(self)
        for pending in self._pending:
            self._recorder.drop(pending)

    def _settled(self, answer: McpAnswer) -> McpAnswer:
        # A stream that the client listens on has no end of its own: leaving completes it.
        return mcp.without_end(answer) if self._is_open and answer.end == "left" else answer

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
            self._recorder.handshake(self._conversation.label, name=name, version=number)


class NotificationTap:
    """Takes the acknowledgement of notifications: 202 as the protocol says, or what else came."""

    def __init__(
        self,
        conversation: Conversation,
        recorder: Recorder,
        sent: list[Notification],
        at_ms: int,
        request: HttpRequest,
    ) -> None:
        self._conversation = conversation
        self._label = conversation.label
        self._recorder = recorder
        self._sent = sent
        self._at_ms = at_ms
        self._via: Via | None = request.via
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
        # Servers that speak HTTP+SSE accept with a word; others say nothing.
        is_bare = self._conversation.is_shared or not self._size
        is_usual = self._status == HTTPStatus.ACCEPTED and is_bare
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
