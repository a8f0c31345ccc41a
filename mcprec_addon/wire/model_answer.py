"""The reader of a live model answer as it arrives, whole or streamed."""

from http import HTTPStatus

from mcprec_addon.exchange import End, Json, ModelAnswer, ModelCall, Opaque, StreamEvent
from mcprec_addon.jsonvalue import JsonError, dumps, is_plain, loads
from mcprec_addon.long_events import GROUP_BYTES
from mcprec_addon.wire.eventstream import is_failure
from mcprec_addon.wire.framing import SSE, ArrayReader, Framing, Reader, framing_of
from mcprec_addon.wire.headers import kept_headers, media_type
from mcprec_addon.wire.http import Ending, first_header, text_or_bytes
from mcprec_addon.wire.providers import api_of, stream_ends_of
from mcprec_addon.wire.sse import SseEvent


class ModelAnswerReader:
    """Reads one answer as it arrives.

    A stream is complete once its end marker was seen, whatever happened to the connection
    afterwards: clients hang up at ``[DONE]``.
    """

    def __init__(self, call: ModelCall) -> None:
        self._api = api_of(call.provider, call.path)
        self._stream_ends = stream_ends_of(call.provider)
        self._status = 0
        self._lines: list[tuple[str, str]] = []
        self._framing: Framing | None = None
        self._stream: Reader | None = None
        self._body = bytearray()
        self._events: list[StreamEvent] = []
        self._has_begun = False
        self._has_ended = False
        self._last_ms = 0
        self._size = 0  # of the events at hand, in characters

    def head(self, status: int, lines: list[tuple[str, str]]) -> None:
        """Take the status and header lines (names in lower case)."""
        self._status = status
        self._lines = lines
        content_type = first_header(lines, "content-type")
        is_array = self._api is not None and self._api.streams_array and status == HTTPStatus.OK
        kind = media_type(content_type)
        is_file = self._api is None and kind != SSE  # lines of JSON may be a file
        self._framing = None if is_file else framing_of(kind, has_arrays=is_array)
        self._stream = self._framing.reader() if self._framing is not None else None

    def feed(self, data: bytes, at_ms: int) -> list[StreamEvent]:
        """Take decoded bytes of the body; return the events of a stream that they complete."""
        if not self._begins(data) or self._stream is None:
            self._body += data
            return []
        data, self._body = bytes(self._body) + data, bytearray()
        found = [self._event(event, at_ms) for event in self._stream.feed(data)]
        self._events += found
        self._last_ms = at_ms
        self._has_ended |= self._stream.is_closed
        return found

    def _begins(self, data: bytes) -> bool:
        """Whether a stream has begun; an array has where it is one, as far as it came."""
        if not self._has_begun and self._is_array():
            begin = (bytes(self._body) + data).lstrip()
            self._has_begun = begin.startswith(b"[")
            if begin and not self._has_begun:
                self._stream = self._framing = None
            return self._has_begun
        return self._stream is not None

    def take_many(self) -> list[StreamEvent]:
        """Return, and forget, the events at hand, where they have become very many."""
        if self._size < GROUP_BYTES:
            return []
        self._size = 0
        taken, self._events = self._events, []
        return taken

    def _event(self, event: SseEvent, at_ms: int) -> StreamEvent:
        if event.comment is not None:
            return StreamEvent(at_ms=at_ms, kind="comment", value=event.comment)
        data = event.data or ""
        self._size += len(data)
        try:
            value = loads(data)
        except JsonError:
            value = None
        if self._framing is not None:
            value = self._framing.opened(value)
        self._has_ended |= self._ends(data, value, event.event)
        if value is None or not is_plain(value):
            return StreamEvent(at_ms=at_ms, kind="text", value=data, event=event.event)
        return StreamEvent(at_ms=at_ms, kind="json", value=value, event=event.event)

    def _ends(self, data: str, value: Json, event: str | None) -> bool:
        if self._api is not None:
            return self._api.ends(data, value, event) or is_failure(event or "")
        said = value if isinstance(value, dict) else {}
        return said.get("type") in self._stream_ends or bool(said.get("error"))

    def _unmarked_end(self) -> End | None:
        is_whole = self._api is not None and self._api.may_end_unmarked
        is_open = self._stream is not None and (self._stream.tail or self._is_array())
        return None if is_whole and not is_open else "cut"

    def _is_array(self) -> bool:
        return isinstance(self._stream, ArrayReader)

    def finish(self, ending: Ending, *, undecoded: bytes | None = None) -> ModelAnswer:
        """Return the answer.

        Args:
            ending: How the connection ended.
            undecoded: The body as it came, where its content coding could not be undone.
        """
        headers = kept_headers(self._lines, usual_type=self._usual_type(), exact=True)
        if undecoded is not None:
            return self._answer("body", Opaque(undecoded), self._end(ending), headers)
        if self._stream is not None:
            self._take_whole_tail(self._stream.tail)
            tail = "" if self._has_ended else self._stream.tail
            return ModelAnswer(
                kind="events",
                events=tuple(self._events),
                tail=tail or None,
                status=self._status,
                headers=headers,
                end=None if self._has_ended else self._end(ending) or self._unmarked_end(),
            )
        if not self._body:
            return self._answer("none", None, self._end(ending), headers)
        value = body_value(bytes(self._body), first_header(self._lines, "content-type"))
        return self._answer("body", value, self._end(ending), headers)

    def _take_whole_tail(self, tail: str) -> None:
        if tail and self._framing is not None and self._framing.is_whole(tail):
            self._events.append(self._event(SseEvent(data=tail.strip()), self._last_ms))
            self._stream = self._framing.reader()

    def _usual_type(self) -> str:
        return SSE if self._stream is not None else "application/json"

    def _answer(
        self,
        kind: str,
        value: Json,
        end: End | None,
        headers: dict[str, str | list[str]],
    ) -> ModelAnswer:
        return ModelAnswer(
            kind="none" if kind == "none" else "body",
            value=value,
            status=self._status,
            headers=headers,
            end=end,
        )

    def _end(self, ending: Ending) -> End | None:
        return None if ending == "complete" else ending


def body_value(body: bytes, content_type: str | None = None) -> Json:
    """Return a body as JSON, or opaque where it is none.

    A file that its sender does not call JSON is JSON only where that keeps every byte of it.
    """
    try:
        value = loads(body)
    except JsonError:
        pass
    else:
        if _is_json(media_type(content_type)) or dumps(value) == body:
            return value
    content = text_or_bytes(body)
    return Opaque(content) if isinstance(content, str) else content


def _is_json(kind: str) -> bool:
    return kind in ("", "application/json", "text/json") or kind.endswith("+json")
