"""What an MCP request asks is independent of who asks it and when."""

import pytest

from mcprec_addon.exchange import Input, Json, McpAnswer, McpCall, McpEvent
from mcprec_addon.wire.jsonrpc import Request, Response, read_body
from mcprec_addon.wire.mcp import (
    SESSION,
    SESSION_HEADER,
    TOKEN,
    Caller,
    call_of,
    caller_of,
    era_of,
    event_of,
    identity,
    live_message,
    miss_reply,
    reply_of,
)
from mcprec_addon.wire.sse import SseReader

PREFIX = "io.modelcontextprotocol/"
OLD = "old"


def request(method: str, params: Json = None, request_id: Json = 1) -> Request:
    return Request(request_id, method, params)


def streamed(data: bytes) -> list[Json]:
    events = SseReader().feed(data)
    return [event.data for event in events]


def test_a_tool_call_is_taken_apart() -> None:
    """Name and arguments are fields of the record; what is left stays in params."""
    params: Json = {
        "name": "book",
        "arguments": {"room": "A"},
        "inputResponses": {"when": {"action": "accept"}},
        "requestState": "st-1",
        "task": {"ttl": 5},
        "_meta": {"progressToken": 0, "traceparent": "00-1", "acme.com/tier": "gold"},
    }

    call = call_of(request("tools/call", params), "tracker")

    assert call == McpCall(
        server="tracker",
        method="tools/call",
        name="book",
        args={"room": "A"},
        params={"task": {"ttl": 5}},
        input=Input(state="st-1", responses={"when": {"action": "accept"}}),
        meta={"acme.com/tier": "gold"},
    )


@pytest.mark.parametrize("params", [None, {}, {"_meta": {"progressToken": 3}}])
def test_absent_and_empty_params_are_the_same(params: Json) -> None:
    """Tracing alone turns a request without params into one with them."""
    assert call_of(request("tools/list", params), "s") == McpCall(server="s", method="tools/list")


@pytest.mark.parametrize("arguments", [{}, None])
def test_absent_and_empty_arguments_are_the_same(arguments: Json) -> None:
    """SDKs differ in how they call a tool without arguments."""
    params: Json = {"name": "now"} if arguments is None else {"name": "now", "arguments": arguments}

    assert call_of(request("tools/call", params), "s").args is None


def test_a_meta_member_of_the_arguments_is_the_tools_own() -> None:
    """Only `params._meta` is left out; a tool may have a `_meta` argument."""
    params: Json = {"name": "find", "arguments": {"q": "open", "_meta": {"page": 1}}}

    assert call_of(request("tools/call", params), "s").args == {"q": "open", "_meta": {"page": 1}}


@pytest.mark.parametrize(
    ("method", "member"),
    [("resources/read", "uri"), ("tasks/get", "taskId"), ("prompts/get", "name")],
)
def test_the_name_is_what_the_name_header_carries(method: str, member: str) -> None:
    """Resources go by URI, tasks by id."""
    call = call_of(request(method, {member: "x"}), "s")

    assert (call.name, call.params) == ("x", {})


def test_a_handshake_asks_nothing_of_its_own() -> None:
    """Any client of an era gets the recorded identity, whatever its own name and version."""
    params: Json = {
        "protocolVersion": "2025-06-18",
        "clientInfo": {"name": "agent", "version": "2"},
    }

    call = call_of(request("initialize", params), "s")

    assert call.params == {}
    assert call.meta == {"protocolVersion": "2025-06-18"}


def test_the_era_is_in_the_meta_or_the_header() -> None:
    """A request says which era it speaks; a bare one is classic."""
    modern = request("tools/list", {"_meta": {f"{PREFIX}protocolVersion": "2026-07-28"}})

    assert era_of(modern, {}) == "stateless"
    assert era_of(request("tools/list"), {"mcp-protocol-version": "2026-07-28"}) == "stateless"
    assert era_of(request("tools/list"), {"mcp-protocol-version": "2025-06-18"}) == "classic"
    assert era_of(request("initialize"), {}) == "classic"


def test_identity_is_read_in_both_eras() -> None:
    """`initialize` says it in the result, `server/discover` in its `_meta`."""
    info: Json = {"name": "acme", "version": "3"}

    assert identity({"serverInfo": info}) == ("acme", "3")
    assert identity({"_meta": {f"{PREFIX}serverInfo": info}}) == ("acme", "3")
    assert identity({"serverInfo": {"name": "", "version": ""}}) == (None, None)


def progress(token: Json) -> dict[str, Json]:
    return {"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}


@pytest.mark.parametrize("token", [0, "tok-9", 7])
def test_progress_comes_back_under_the_callers_token(token: Json) -> None:
    """The token is made up by the caller, so the cassette holds a constant."""
    event = event_of({"jsonrpc": "2.0", **progress(OLD)}, 5, Caller(id=1, token=OLD))

    assert event == McpEvent(at_ms=5, message=progress(TOKEN))
    assert live_message(event.message, Caller(id=2, token=token)) == progress(token)


def test_progress_is_dropped_where_none_was_asked_for() -> None:
    """A client that sent no token does not know what to do with progress."""
    assert live_message(progress(TOKEN), Caller(id=2)) is None


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


def test_the_caller_is_id_and_token() -> None:
    """Zero is an id and a token like any other."""
    params: Json = {"_meta": {"progressToken": 0}}

    assert caller_of(request("tools/call", params, 0)) == Caller(id=0, token=0)
