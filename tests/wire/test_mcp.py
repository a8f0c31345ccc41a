"""What an MCP request asks is independent of who asks it and when."""

import pytest

from mcprec_addon.exchange import Input, Json, McpCall, McpEvent
from mcprec_addon.wire.jsonrpc import Request
from mcprec_addon.wire.mcp import (
    TOKEN,
    Caller,
    call_of,
    caller_of,
    era_of,
    event_of,
    identity,
    live_message,
)

PREFIX = "io.modelcontextprotocol/"
OLD = "old"


def request(method: str, params: Json = None, request_id: Json = 1) -> Request:
    return Request(request_id, method, params)


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


def test_the_caller_is_id_and_token() -> None:
    """Zero is an id and a token like any other."""
    params: Json = {"_meta": {"progressToken": 0}}

    assert caller_of(request("tools/call", params, 0)) == Caller(id=0, token=0)
