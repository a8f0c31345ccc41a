"""Recorded MCP answers go out over HTTP as they came."""

import pytest

from mcprec_addon.exchange import Json, McpAnswer, McpEvent
from mcprec_addon.wire.jsonrpc import Response, read_body
from mcprec_addon.wire.mcp import SESSION, SESSION_HEADER, Caller
from mcprec_addon.wire.mcp_reply import miss_reply, reply_of
from mcprec_addon.wire.sse import SseReader


def streamed(data: bytes) -> list[Json]:
    events = SseReader().feed(data)
    return [event.data for event in events]


def test_a_result_goes_out_under_the_callers_id() -> None:
    """A plain answer is JSON with its length known."""
    reply = reply_of(McpAnswer(kind="result", value={"tools": []}), Caller(id="q"))

    assert reply.whole
    assert read_body(reply.body) == [Response("q", "result", {"tools": []})]


def test_an_answer_with_events_is_a_stream() -> None:
    """Messages come before the answer, in order, each in a piece of its own."""
    log: dict[str, Json] = {"method": "notifications/message", "params": {"level": "info"}}
    answer = McpAnswer(kind="result", value={}, events=(McpEvent(at_ms=3, message=log),))

    reply = reply_of(answer, Caller(id=1))

    assert [piece.at_ms for piece in reply.pieces] == [3, 3]
    assert len(streamed(reply.body)) == 2
    assert reply.end == "complete"


@pytest.mark.parametrize(
    ("end", "reply_end"), [("cut", "complete"), ("reset", "reset"), ("left", "hold")]
)
def test_a_broken_answer_ends_as_it_did(end: str, reply_end: str) -> None:
    """A clean close, a broken connection and silence are three different things to a client."""
    ends = {"cut": McpAnswer(kind="none", end="cut"), "reset": McpAnswer(kind="none", end="reset")}
    answer = ends.get(end, McpAnswer(kind="none", end="left"))

    reply = reply_of(answer, Caller(id=1))

    assert reply.end == reply_end
    assert not reply.whole


def test_a_session_id_is_handed_out_anew() -> None:
    """The recorded id is a constant; the live one is the door's."""
    answer = McpAnswer(kind="result", value={}, headers={SESSION_HEADER: SESSION})

    with_session = reply_of(answer, Caller(id=1), session="live-1")

    assert (SESSION_HEADER, "live-1") in with_session.headers
    assert SESSION_HEADER not in dict(reply_of(answer, Caller(id=1)).headers)


def test_a_miss_is_an_error_that_every_client_understands() -> None:
    """HTTP 200 with a JSON-RPC error under the caller's own id."""
    reply = miss_reply(0, "no")

    assert reply.status == 200
    assert read_body(reply.body) == [Response(0, "error", {"code": 4001, "message": "no"})]
