"""Takes the streams that answer a GET.

It is one that a classic client listens on, the one stream of HTTP+SSE, or the rest of a stream
that was cut.

Source: MCP 2025-11-25, basic/transports, "Listening for Messages from the Server" and
"Resumability and Redelivery"; 2024-11-05, basic/transports, "HTTP with SSE".
"""

from http import HTTPStatus
from typing import Protocol

from mcprec_addon.exchange import Json, McpAnswer, McpCall
from mcprec_addon.jsonvalue import JsonError, loads
from mcprec_addon.record.conversation import Conversation
from mcprec_addon.record.questions import Questions
from mcprec_addon.record.recorder import Recorder
from mcprec_addon.record.taps import McpTap
from mcprec_addon.wire import mcp
from mcprec_addon.wire.coding import Decoder
from mcprec_addon.wire.endpoint import endpoint_url
from mcprec_addon.wire.headers import kept_headers, media_type
from mcprec_addon.wire.http import Ending, HttpRequest, first_header
from mcprec_addon.wire.jsonrpc import Response, message_of
from mcprec_addon.wire.sse import SseEvent, SseReader

_SSE = "text/event-stream"


class StreamOwner(Protocol):
    """Who knows the servers and conversations of a recording."""

    def pass_over(self, request: HttpRequest) -> None:
        """Count a request that belongs to neither half."""

    def unclaimed(self, label: str) -> None:
        """Count an answer that no call waits for."""

    def open_channel(self, request: HttpRequest, url: str) -> Conversation:
        """Return the conversation of an HTTP+SSE client, which posts to `url` from now on."""
        ...


class StreamTap:
    """Takes the answer to one GET.

    Attributes:
        event_ids: Ids of the events so far, by which the client may resume.
    """

    def __init__(
        self,
        owner: StreamOwner,
        recorder: Recorder,
        request: HttpRequest,
        at_ms: int,
        conversation: Conversation | None,
    ) -> None:
        """Begin.

        Args:
            owner: Knows the servers and conversations.
            recorder: Where messages go.
            request: The GET.
            at_ms: When it arrived.
            conversation: Whose it is; None for a server that was not declared, and may be none.
        """
        self.event_ids: set[str] = set()
        self._owner = owner
        self._recorder = recorder
        self._request = request
        self._conversation = conversation
        self._at_ms = at_ms
        self._pending = None
        if conversation is not None:
            call = McpCall(server=conversation.label, method="", http_method="GET")
            self._pending = recorder.begin(call, at_ms=at_ms, via=request.via, era="classic")
            conversation.listen(self)
        self._headers: dict[str, str | list[str]] = {}
        self._decoder = Decoder(None)
        self._events = SseReader()
        self._is_first = True
        self._is_refused = False
        self._questions = Questions(recorder)
        self._is_channel = False
        self._ended: tuple[Ending, int] | None = None

    def head(self, status: int, lines: list[tuple[str, str]]) -> None:
        """Take status and header lines."""
        conversation = self._conversation
        is_direct = self._request.via == "base-url"
        if conversation is not None and is_direct and mcp.asks_for_oauth(status, lines):
            conversation.asked_for_oauth = True
        is_stream = media_type(first_header(lines, "content-type")) == _SSE
        self._is_refused = status != HTTPStatus.OK or not is_stream
        self._headers = kept_headers(lines, usual_type=_SSE)
        self.resume(lines)

    def resume(self, lines: list[tuple[str, str]]) -> None:
        """Go on with a stream of one's own, given its header lines."""
        self._ended = None
        self._decoder = Decoder(first_header(lines, "content-encoding"))
        self._events = SseReader()

    def data(self, chunk: bytes, at_ms: int) -> None:
        """Take bytes of the body."""
        if self._is_refused:
            return
        for event in self._events.feed(self._decoder.feed(chunk)):
            if event.id:
                self.event_ids.add(event.id)
            if event.data:
                self._event(event, event.data, at_ms)

    def _event(self, event: SseEvent, data: str, at_ms: int) -> None:
        url = endpoint_url(event, self._request.url) if self._is_first else None
        self._is_first = False
        if url is not None:
            self._become_channel(url)
            return
        if self._conversation is None:
            return
        try:
            value = loads(data)
        except JsonError:
            return
        for member in value if isinstance(value, list) else [value]:
            if isinstance(member, dict):
                self._message(self._conversation, member, at_ms)

    def _become_channel(self, url: str) -> None:
        """Take note that answers to what is posted elsewhere come here: HTTP+SSE."""
        if self._conversation is not None:
            self._conversation.done(self)
        if self._pending is not None:
            # The stream is the connection itself, as a pipe is, and no exchange.
            self._recorder.drop(self._pending)
            self._pending = None
        self._is_channel = True
        self._conversation = self._owner.open_channel(self._request, url)
        self._conversation.listen(self)

    def _message(self, conversation: Conversation, value: dict[str, Json], at_ms: int) -> None:
        message = message_of(value)
        if message is None:
            return
        if isinstance(message, Response):
            if not conversation.answered(message, at_ms):
                self._owner.unclaimed(conversation.label)
            return
        call = conversation.call_of(value)
        if call is not None:
            call.said(value, at_ms)
            return
        plain = mcp.event_of(value, 0, mcp.NOBODY).message
        since = at_ms - self._at_ms if self._pending is not None else None
        said = self._recorder.question(conversation.label, plain, on=self._pending, at_ms=since)
        self._questions.take(said)

    def client_answered(self, request_id: Json, value: Json) -> bool:
        """Take the client's answer to a question outside of any call."""
        return self._questions.answered(request_id, value)

    def finish(self, ending: Ending, at_ms: int) -> None:
        """End the stream, or let it wait for the client to resume it."""
        self._questions.close()
        if self._is_refused or self._conversation is None:
            self.drop()
        elif self._is_channel:
            self._conversation.done(self)
            self._conversation.end(ending, at_ms)
        else:
            self._ended = ending, at_ms
            if not self.event_ids or ending == "stopped":
                self.give_up()

    def give_up(self) -> None:
        """End the exchange of a stream that has ended and is not resumed."""
        if self._ended is None or self._conversation is None or self._pending is None:
            return
        ending, at_ms = self._ended
        # A stream that the client listens on has no end of its own: leaving completes it.
        end = None if ending == "complete" or ending == "left" else ending  # noqa: PLR1714 - narrows
        answer = McpAnswer(kind="none", headers=self._headers, end=end)
        self._conversation.done(self)
        self._recorder.finish(self._pending, answer, at_ms=at_ms)

    def drop(self) -> None:
        """Forget the stream."""
        if self._conversation is None:
            self._owner.pass_over(self._request)
            return
        self._conversation.done(self)
        if self._pending is not None:
            self._recorder.drop(self._pending)


class ResumedTap:
    """Takes the rest of a stream that was cut, behind a GET with ``Last-Event-ID``."""

    def __init__(self, cut: McpTap | StreamTap) -> None:
        self._cut = cut
        self._is_refused = False

    def head(self, status: int, lines: list[tuple[str, str]]) -> None:
        """Take status and header lines."""
        self._is_refused = status != HTTPStatus.OK
        if not self._is_refused:
            self._cut.resume(lines)

    def data(self, chunk: bytes, at_ms: int) -> None:
        """Take bytes of the body."""
        if not self._is_refused:
            self._cut.data(chunk, at_ms)

    def finish(self, ending: Ending, at_ms: int) -> None:
        """End the stream; where there was none, the client may try again."""
        if not self._is_refused:
            self._cut.finish(ending, at_ms)

    def drop(self) -> None:
        """Forget the attempt."""
