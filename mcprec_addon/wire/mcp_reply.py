"""Recorded MCP answers as HTTP replies."""

from mcprec_addon.exchange import Json, McpAnswer
from mcprec_addon.wire.headers import header_lines
from mcprec_addon.wire.http import Piece, Reply, ReplyEnd, body_bytes
from mcprec_addon.wire.jsonrpc import MISS_CODE, error_bytes
from mcprec_addon.wire.mcp import SESSION_HEADER, Caller, messages_of
from mcprec_addon.wire.sse import encode_event

_LEFT_HOLD_MS = 5000  # longer than any client that left waited for what never came


def reply_of(
    answer: McpAnswer, caller: Caller, *, session: str | None = None, held: bool = False
) -> Reply:
    """Return a recorded answer as the HTTP reply to this caller.

    Args:
        answer: The recorded answer.
        caller: Whose request it answers.
        session: Session id to hand out, for the answer of a classic handshake.
        held: The stream stays open behind its events.
    """
    lines = header_lines(answer.headers)
    headers = [line for line in lines if line[0] not in ("content-type", SESSION_HEADER)]
    headers += [(SESSION_HEADER, session)] if session else []
    if answer.kind == "body":
        return _body_reply(answer, headers)
    messages = messages_of(answer, caller)
    if not answer.events and messages and answer.end is None:
        return Reply(
            status=answer.status,
            headers=(("content-type", "application/json"), *headers),
            pieces=(Piece(0, messages[0].data),),
        )
    pieces = [
        Piece(each.at_ms, encode_event(each.data.decode(), event="message")) for each in messages
    ]
    return Reply(
        status=answer.status,
        headers=(
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache"),
            *headers,
        ),
        pieces=tuple(pieces),
        end="hold" if held else _reply_end(answer),
        hold_ms=_LEFT_HOLD_MS if answer.end == "left" else None,
        streamed=True,
    )


def _reply_end(answer: McpAnswer) -> ReplyEnd:
    ends: dict[str | None, ReplyEnd] = {
        None: "complete",
        "cut": "complete",
        "left": "hold",
    }
    return ends.get(answer.end, "reset")


def _body_reply(answer: McpAnswer, headers: list[tuple[str, str]]) -> Reply:
    content_type = [
        (name, value) for name, value in header_lines(answer.headers) if name == "content-type"
    ]
    body = body_bytes(answer.value)
    return Reply(
        status=answer.status,
        headers=(*content_type, *headers),
        pieces=(Piece(0, body),) if body else (),
        end=_reply_end(answer),
    )


def miss_reply(request_id: Json, message: str) -> Reply:
    """Return what an MCP client gets on a miss: the one form all SDKs turn into an error."""
    return json_reply(200, error_bytes(request_id, MISS_CODE, message))


def json_reply(status: int, body: bytes) -> Reply:
    """Return a JSON body as a reply."""
    headers = (("content-type", "application/json"),)
    return Reply(status=status, headers=headers, pieces=(Piece(0, body),))
