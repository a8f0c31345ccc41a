"""Model API requests and their answers, whole or streamed."""

from collections.abc import Iterable, Iterator, Sequence
from http import HTTPStatus
from math import ceil
from urllib.parse import parse_qsl, urlencode

from mcprec_addon.exchange import End, Json, ModelAnswer, ModelCall, Opaque, StreamEvent
from mcprec_addon.jsonvalue import JsonError, dumps, is_plain, loads
from mcprec_addon.long_events import GROUP_BYTES, made_of
from mcprec_addon.wire.coding import decoded
from mcprec_addon.wire.framing import (
    SSE,
    ArrayReader,
    Framing,
    Reader,
    framing_of,
    recorded_framing,
)
from mcprec_addon.wire.headers import header_lines, kept_headers, media_type
from mcprec_addon.wire.http import (
    Ending,
    HttpRequest,
    Piece,
    Reply,
    ReplyEnd,
    body_bytes,
    first_header,
    text_or_bytes,
)
from mcprec_addon.wire.providers import (
    api_of,
    error_body,
    error_kind,
    error_status,
    find_api,
    stream_ends_of,
)
from mcprec_addon.wire.sse import SseEvent, encode_comment

_CREDENTIAL_QUERY = frozenset({"key", "api-key", "api_key", "access_token", "token"})
_LEFT_HOLD_MS = 5000  # longer than any client that left waited for what never came
# The shortest waits that SDKs honour; a recorded one would cost its seconds on every replay.
_SHORT_WAIT = "1"
_WAITS = {"retry-after": 1000, "retry-after-ms": 1}  # in milliseconds


def call_of(request: HttpRequest) -> ModelCall | None:
    """Return the call a request is, or None where it is no row's."""
    if request.method != "POST":
        return None
    plain = decoded(request.body, request.header("content-encoding"))
    if not plain:
        return None
    try:
        body = loads(plain)
    except JsonError:
        return None
    row = find_api(request.path, body)
    if row is None:
        return None
    return ModelCall(provider=row[0].name, path=public_path(request.path), request=body)


def public_path(path: str) -> str:
    """Return a path with credentials taken out of its query."""
    bare, _, query = path.partition("?")
    if not query:
        return bare
    pairs = parse_qsl(query, keep_blank_values=True)
    kept = [(name, value) for name, value in pairs if name.lower() not in _CREDENTIAL_QUERY]
    return bare + (f"?{urlencode(kept)}" if kept else "")


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
        self._stream: Reader | None = None
        self._body = bytearray()
        self._events: list[StreamEvent] = []
        self._has_ended = False
        self._size = 0  # of the events at hand, in characters

    def head(self, status: int, lines: list[tuple[str, str]]) -> None:
        """Take the status and header lines (names in lower case)."""
        self._status = status
        self._lines = lines
        content_type = first_header(lines, "content-type")
        is_array = self._api is not None and self._api.streams_array and status == HTTPStatus.OK
        kind = media_type(content_type)
        is_file = self._api is None and kind != SSE  # lines of JSON may be a file
        framing = None if is_file else framing_of(kind, has_arrays=is_array)
        self._stream = framing.reader() if framing is not None else None

    def feed(self, data: bytes, at_ms: int) -> list[StreamEvent]:
        """Take decoded bytes of the body; return the events of a stream that they complete."""
        if self._stream is None:
            self._body += data
            return []
        found = [self._event(event, at_ms) for event in self._stream.feed(data)]
        self._events += found
        self._has_ended |= self._stream.is_closed
        return found

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
        self._has_ended |= self._ends(data, value)
        if value is None or not is_plain(value):
            return StreamEvent(at_ms=at_ms, kind="text", value=data, event=event.event)
        return StreamEvent(at_ms=at_ms, kind="json", value=value, event=event.event)

    def _ends(self, data: str, value: Json) -> bool:
        if self._api is not None:
            return self._api.ends(data, value)
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


def reply_of(answer: ModelAnswer, *, ms: int = 0, pace: float | None = None) -> Reply:
    """Return a recorded answer as an HTTP reply.

    Args:
        answer: The recorded answer.
        ms: When it was complete, in milliseconds after the call.
        pace: How many times faster than told a client is to try again; None: at once.
    """
    headers = _with_waits(header_lines(answer.headers), pace)
    hold_ms = _LEFT_HOLD_MS if answer.end == "left" else None
    if not answer.status:
        return Reply(status=0, end=_reply_end(answer.end), hold_ms=hold_ms, headless=True)
    if answer.kind == "events":
        return Reply(
            status=answer.status,
            headers=tuple(_with_type(headers, SSE)),
            pieces=_pieces(answer),
            end=_reply_end(answer.end),
            hold_ms=hold_ms,
            streamed=True,
        )
    body = b""
    if answer.kind == "body":
        body = body_bytes(answer.value) if isinstance(answer.value, Opaque) else dumps(answer.value)
        headers = _with_type(headers, "application/json")
    return Reply(
        status=answer.status,
        headers=tuple(headers),
        pieces=(Piece(ms, body),) if body else (),
        end=_reply_end(answer.end),
        hold_ms=hold_ms,
    )


def _pieces(answer: ModelAnswer) -> Sequence[Piece]:
    framing = _framing(answer)

    def pieces(events: Iterable[StreamEvent]) -> Iterator[Piece]:
        last = 0
        before = 0
        for event in events:
            last = event.at_ms
            yield Piece(last, _event_bytes(event, framing, before))
            before += event.kind != "comment"
        if answer.tail:
            yield Piece(last, framing.write_tail(answer.tail, before))
        elif answer.end is None and framing.close:
            yield Piece(last, framing.write_end(before))

    return made_of(answer.events, pieces)


def _with_type(lines: list[tuple[str, str]], usual_type: str) -> list[tuple[str, str]]:
    if any(name == "content-type" for name, _ in lines):
        return lines
    return [("content-type", usual_type), *lines]


def _with_waits(lines: list[tuple[str, str]], pace: float | None) -> list[tuple[str, str]]:
    """Return header lines in which the waits that they tell a client are as long as `pace` says."""
    waits = dict(line for line in lines if line[0] in _WAITS)
    if not waits or pace == 1:
        return lines
    rest = [line for line in lines if line[0] not in _WAITS]
    if pace is None:
        return [*rest, ("retry-after-ms", _SHORT_WAIT)]
    # SDKs look for the finer one first.
    name = "retry-after-ms" if "retry-after-ms" in waits else "retry-after"
    try:
        wait_ms = float(waits[name]) * _WAITS[name] / pace
    except ValueError:  # a date, which is over
        return lines
    return [*rest, ("retry-after", f"{ceil(wait_ms / 1000)}"), ("retry-after-ms", f"{wait_ms:.0f}")]


def _reply_end(end: End | None) -> ReplyEnd:
    ends: dict[End | None, ReplyEnd] = {
        None: "complete",
        "cut": "complete",
        "left": "hold",
    }
    return ends.get(end, "reset")


def _framing(answer: ModelAnswer) -> Framing:
    named = answer.headers.get("content-type")
    return recorded_framing(media_type(named if isinstance(named, str) else SSE))


def _event_bytes(event: StreamEvent, framing: Framing, before: int) -> bytes:
    match event.kind:
        case "comment":
            return encode_comment(str(event.value))
        case "text":
            return framing.write(str(event.value), event.event, before)
        case "json":
            return framing.write(dumps(event.value).decode(), event.event, before)


def error_reply(
    call: ModelCall, message: str, *, status: int | None = None, kind: str | None = None
) -> Reply:
    """Return an error as a provider sends it; a client that tries again need not wait.

    Args:
        call: What is answered.
        message: For a person.
        status: HTTP status; by default the one that comes with `kind`.
        kind: Type of the error; by default the one that comes with `status`.
    """
    status = status or error_status(kind or "")
    kind = kind or error_kind(call.provider, status)
    body = dumps(error_body(call.provider, message, kind=kind, code=kind))
    headers = (("content-type", "application/json"), ("retry-after-ms", _SHORT_WAIT))
    return Reply(status=status, headers=headers, pieces=(Piece(0, body),))


def miss_reply(call: ModelCall, message: str) -> Reply:
    """Return what a model client gets on a miss: an error it does not retry, in its own shape."""
    return Reply(
        status=400,
        headers=(("content-type", "application/json"), ("x-should-retry", "false")),
        pieces=(Piece(0, dumps(error_body(call.provider, message))),),
    )
