"""Reads the HTTP answer to an MCP request as it arrives: JSON or an event stream.

An answer is complete once its JSON-RPC response was seen, whatever happened to the connection
afterwards: SDKs hang up as soon as they have it.
"""

from dataclasses import dataclass, field

from mcprec_addon.exchange import End, Json, McpAnswer, McpEvent
from mcprec_addon.jsonvalue import JsonError, loads
from mcprec_addon.long_events import GROUP_BYTES
from mcprec_addon.wire.headers import kept_headers, media_type
from mcprec_addon.wire.http import Ending, text_or_bytes
from mcprec_addon.wire.jsonrpc import Response, message_of
from mcprec_addon.wire.mcp import (
    SESSION,
    SESSION_HEADER,
    Caller,
    belongs_to,
    constant_result,
    event_of,
    is_open_question,
    is_question,
    with_answer,
)
from mcprec_addon.wire.sse import SseReader

_SSE = "text/event-stream"


@dataclass(slots=True, kw_only=True)
class _Open:
    """One request that waits for its answer."""

    caller: Caller
    events: list[McpEvent] = field(default_factory=list[McpEvent])
    response: Response | None = None
    at_ms: int | None = None


class McpAnswerReader:
    """Reads the body of one POST's answer, for one request or a batch of them.

    Attributes:
        event_ids: Ids of a stream's events so far, by which a client may resume it.
    """

    def __init__(self, callers: list[Caller]) -> None:
        self.event_ids: set[str] = set()
        self._open = [_Open(caller=caller) for caller in callers]
        self._status = 200
        self._lines: list[tuple[str, str]] = []
        self._stream: SseReader | None = None
        self._body = bytearray()
        self._has_session = False
        self._size = 0  # of the messages at hand, in characters

    def head(self, status: int, lines: list[tuple[str, str]]) -> None:
        """Take the status and header lines (names in lower case)."""
        self._status = status
        self._lines = lines
        content_type = next((value for name, value in lines if name == "content-type"), None)
        self._stream = SseReader() if media_type(content_type) == _SSE else None

    def resume(self) -> None:
        """Go on with another event stream, whose messages follow those of the first."""
        self._stream = SseReader()

    @property
    def waits(self) -> bool:
        """Whether a request has no response yet."""
        return any(open_.response is None for open_ in self._open)

    def feed(self, data: bytes, at_ms: int) -> list[McpEvent]:
        """Take decoded bytes of the body; return the messages of a stream that they complete."""
        if self._stream is None:
            self._body += data
            return []
        found: list[McpEvent] = []
        for event in self._stream.feed(data):
            if event.id:
                self.event_ids.add(event.id)
            if event.data:
                self._size += len(event.data)
                found.extend(self._message(event.data, at_ms))
        return found

    def _message(self, data: str, at_ms: int) -> list[McpEvent]:
        try:
            value = loads(data)
        except JsonError:
            return []
        members = value if isinstance(value, list) else [value]
        return [event for member in members for event in self._take(member, at_ms)]

    def _take(self, value: Json, at_ms: int) -> list[McpEvent]:
        message = message_of(value)
        if message is None or not isinstance(value, dict):
            return []
        if isinstance(message, Response):
            self._answer(message, at_ms)
            return []
        return [self.said(value, at_ms)]

    def said(self, value: dict[str, Json], at_ms: int) -> McpEvent:
        """Take a message of the server, whatever stream it came on."""
        waiting = self._waiting(value)
        event = event_of(value, at_ms, waiting.caller)
        waiting.events.append(event)
        return event

    def is_named(self, value: dict[str, Json]) -> bool:
        """Whether a message of the server names a request that waits."""
        waiting = (open_ for open_ in self._open if open_.response is None)
        return any(belongs_to(value, open_.caller) for open_ in waiting)

    def has_call(self, request_id: Json) -> bool:
        """Whether a request with this id waits."""
        waiting = (open_ for open_ in self._open if open_.response is None)
        return any(_same_id(open_.caller.id, request_id) for open_ in waiting)

    def answered(self, response: Response, at_ms: int) -> bool:
        """Take a response that came on another stream; return whether it belongs here."""
        if not self.has_call(response.id):
            return False
        self._answer(response, at_ms)
        return True

    @property
    def times(self) -> list[int | None]:
        """When each request got its response; None where it came with the whole body, or never."""
        return [open_.at_ms for open_ in self._open]

    def _waiting(self, value: dict[str, Json]) -> _Open:
        """Return the request a message belongs to: by its token, else the first unanswered."""
        params = value.get("params")
        token = params.get("progressToken") if isinstance(params, dict) else None
        unanswered = [open_ for open_ in self._open if open_.response is None] or self._open
        named = (open_ for open_ in unanswered if token is not None and open_.caller.token == token)
        return next(named, unanswered[0])

    def _answer(self, response: Response, at_ms: int | None = None) -> None:
        waiting = [open_ for open_ in self._open if open_.response is None]
        exact = (open_ for open_ in waiting if _same_id(open_.caller.id, response.id))
        # A lone request takes any answer: servers write "1" for 1, null or "server-error".
        fallback = waiting[0] if len(waiting) == 1 else None
        chosen = next(exact, fallback)
        if chosen is not None:
            chosen.response, chosen.at_ms = response, at_ms

    def take_many(self) -> list[list[McpEvent]]:
        """Return, and forget, the messages before each answer, where they have become very many.

        A request of the server stays, with what came behind it, until the client has answered.
        """
        if self._size < GROUP_BYTES:
            return []
        self._size = 0
        return [take_settled(open_.events) for open_ in self._open]

    def mint_session(self) -> None:
        """Note that this answer began a session; the id itself is never kept."""
        self._has_session = True

    def client_answered(self, request_id: Json, value: Json) -> bool:
        """Take the client's answer to a request that the server sent on this stream.

        Returns:
            Whether it belongs here.
        """
        for open_ in self._open:
            for index, event in enumerate(open_.events):
                if is_question(event, request_id):
                    open_.events[index] = with_answer(event, value)
                    return True
        return False

    def finish(
        self, ending: Ending, *, without_events: bool = False, undecoded: bytes | None = None
    ) -> list[McpAnswer]:
        """Return the answers, one for each request, in their order.

        Args:
            ending: How the connection ended.
            without_events: The events were handed on as messages of their own already.
            undecoded: The body as it came, where its content coding could not be undone.
        """
        if without_events:
            for open_ in self._open:
                open_.events.clear()
        text = undecoded
        if undecoded is not None:
            self._stream = None
        elif self._stream is None and self._body:
            text = bytes(self._body)
            self._read_body(text)
        return [self._answer_of(open_, ending, text) for open_ in self._open]

    def _read_body(self, text: bytes) -> None:
        try:
            value = loads(text)
        except JsonError:
            return
        for member in value if isinstance(value, list) else [value]:
            message = message_of(member)
            if isinstance(message, Response):
                self._answer(message)

    def _answer_of(self, open_: _Open, ending: Ending, text: bytes | None) -> McpAnswer:
        usual = _SSE if self._stream is not None else "application/json"
        headers = kept_headers(self._lines, usual_type=usual)
        if self._has_session:
            headers[SESSION_HEADER] = SESSION
        events = tuple(open_.events)
        if open_.response is not None:
            return McpAnswer(
                kind=open_.response.kind,
                value=constant_result(open_.response.value, open_.caller),
                events=events,
                status=self._status,
                headers=headers,
            )
        end = self._end(ending)
        if self._stream is None and (text is not None or ending == "complete"):
            body = text_or_bytes(text or b"")
            content_type = [line for line in self._lines if line[0] == "content-type"]
            headers = {**headers, **dict(content_type)}
            return McpAnswer(kind="body", value=body, status=self._status, headers=headers, end=end)
        return McpAnswer(kind="none", events=events, status=self._status, headers=headers, end=end)

    def _end(self, ending: Ending) -> End | None:
        if ending != "complete":
            return ending
        return "cut" if self._stream is not None else None


def take_settled(events: list[McpEvent]) -> list[McpEvent]:
    """Take the messages up to the first request that the client has not answered."""
    waits = (index for index, event in enumerate(events) if is_open_question(event))
    count = next(waits, len(events))
    taken = events[:count]
    del events[:count]
    return taken


def _same_id(asked: Json, answered: Json) -> bool:
    return type(asked) is type(answered) and asked == answered
