"""Model API requests and their answers, whole or streamed."""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from urllib.parse import parse_qsl, urlencode

from mcprec_addon.exchange import End, ModelAnswer, ModelCall, Opaque, StreamEvent
from mcprec_addon.jsonvalue import JsonError, dumps, loads
from mcprec_addon.long_events import made_of
from mcprec_addon.wire.coding import decoded
from mcprec_addon.wire.framing import (
    SSE,
    Framing,
    recorded_framing,
)
from mcprec_addon.wire.headers import header_lines, media_type
from mcprec_addon.wire.http import (
    HttpRequest,
    Piece,
    Reply,
    ReplyEnd,
    body_bytes,
)
from mcprec_addon.wire.providers import (
    error_body,
    error_kind,
    error_status,
    find_api,
)
from mcprec_addon.wire.sse import encode_comment

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
            value = framing.closed(event.value)
            return framing.write(dumps(value).decode(), event.event, before)


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
