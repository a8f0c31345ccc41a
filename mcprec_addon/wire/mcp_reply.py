"""Recorded MCP answers as HTTP replies."""

from collections.abc import Sequence
from http import HTTPStatus

from mcprec_addon.exchange import Json, McpAnswer
from mcprec_addon.long_events import changed_each
from mcprec_addon.wire.headers import header_lines
from mcprec_addon.wire.http import Live, Piece, Reply, ReplyEnd, body_bytes
from mcprec_addon.wire.jsonrpc import MISS_CODE, error_bytes
from mcprec_addon.wire.mcp import SESSION_HEADER, Caller, messages_of
from mcprec_addon.wire.sse import encode_event

STREAM_HEADERS = (("content-type", "text/event-stream"), ("cache-control", "no-cache"))
_LEFT_HOLD_MS = 5000  # longer than any client that left waited for what never came


def reply_of(
    answer: McpAnswer, caller: Caller, *, ms: int = 0, session: str | None = None
) -> Reply:
    """Return a recorded answer as the HTTP reply to this caller.

    Args:
        answer: The recorded answer.
        caller: Whose request it answers.
        ms: When it was complete, in milliseconds after the call.
        session: Session id to hand out, for the answer of a classic handshake.
    """
    lines = header_lines(answer.headers)
    headers = [line for line in lines if line[0] not in ("content-type", SESSION_HEADER)]
    headers += [(SESSION_HEADER, session)] if session else []
    if answer.kind == "body":
        return _body_reply(answer, headers, ms)
    messages = messages_of(answer, caller, ms=ms)
    if not answer.events and messages and answer.end is None:
        return Reply(
            status=answer.status,
            headers=(("content-type", "application/json"), *headers),
            pieces=messages,
        )
    return Reply(
        status=answer.status,
        headers=(*STREAM_HEADERS, *headers),
        pieces=changed_each(messages, lambda each: Piece(each.at_ms, as_event(each.data))),
        end=_reply_end(answer),
        hold_ms=_LEFT_HOLD_MS if answer.end == "left" else None,
        streamed=True,
    )


def stream_reply(live: Live) -> Reply:
    """Return a reply that stays open and is fed."""
    return Reply(status=200, headers=STREAM_HEADERS, end="hold", streamed=True, live=live)


def as_event(message: bytes) -> bytes:
    """Return a JSON-RPC message as an event of a stream."""
    return encode_event(message.decode(), event="message")


def events_of(reply: Reply) -> Sequence[Piece]:
    """Return the messages of a reply as events, whether it is a stream or one JSON body."""
    if reply.streamed:
        return reply.pieces
    return tuple(Piece(piece.at_ms, as_event(piece.data)) for piece in reply.pieces)


def batch_reply(replies: Sequence[Reply]) -> Reply:
    """Return the reply to a batch: one JSON array, or a stream where an answer is one."""
    broken = next((reply for reply in replies if reply.end != "complete"), None)
    if not any(reply.streamed for reply in replies):
        return json_reply(HTTPStatus.OK, b"[" + b",".join(reply.body for reply in replies) + b"]")
    pieces = [piece for reply in replies for piece in events_of(reply)]
    return Reply(
        status=HTTPStatus.OK,
        headers=STREAM_HEADERS,
        pieces=tuple(sorted(pieces, key=lambda piece: piece.at_ms)),
        end="complete" if broken is None else broken.end,
        hold_ms=None if broken is None else broken.hold_ms,
        streamed=True,
    )


def message_in(event: bytes) -> bytes:
    """Return the JSON-RPC message of an event that `as_event` made."""
    return event.partition(b"data: ")[2].strip()


def _reply_end(answer: McpAnswer) -> ReplyEnd:
    ends: dict[str | None, ReplyEnd] = {
        None: "complete",
        "cut": "complete",
        "left": "hold",
    }
    return ends.get(answer.end, "reset")


def _body_reply(answer: McpAnswer, headers: list[tuple[str, str]], ms: int) -> Reply:
    content_type = [
        (name, value) for name, value in header_lines(answer.headers) if name == "content-type"
    ]
    body = body_bytes(answer.value)
    return Reply(
        status=answer.status,
        headers=(*content_type, *headers),
        pieces=(Piece(ms, body),) if body else (),
        end=_reply_end(answer),
    )


def miss_reply(request_id: Json, message: str) -> Reply:
    """Return what an MCP client gets on a miss: the one form all SDKs turn into an error."""
    return json_reply(200, error_bytes(request_id, MISS_CODE, message))


def json_reply(status: int, body: bytes) -> Reply:
    """Return a JSON body as a reply."""
    headers = (("content-type", "application/json"),)
    return Reply(status=status, headers=headers, pieces=(Piece(0, body),))
