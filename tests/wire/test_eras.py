"""An answer of one era says the same to a caller of the other, or is kept from it."""

import pytest

from mcprec_addon.exchange import Json, McpAnswer, McpCall, McpEvent
from mcprec_addon.wire.eras import (
    can_map,
    made_handshake,
    mapped,
    other_handshake,
    plain_answer,
)

IDENTITY = "io.modelcontextprotocol/serverInfo"
INFO: Json = {"name": "peer", "version": "2"}


def call(method: str, **meta: Json) -> McpCall:
    return McpCall(server="s", method=method, meta=meta)


def result(**value: Json) -> McpAnswer:
    return McpAnswer(kind="result", value=value)


INITIALIZED = result(
    protocolVersion="2025-06-18", capabilities={"tools": {}}, serverInfo=INFO, instructions="Hi."
)
DISCOVERED = result(
    resultType="complete",
    supportedVersions=["2026-07-28"],
    capabilities={"tools": {}},
    instructions="Hi.",
    ttlMs=5,
    cacheScope="public",
    _meta={IDENTITY: INFO},
)


def test_the_handshakes_say_the_same() -> None:
    """Capabilities, identity and instructions, each in its place."""
    discover, initialize = call("server/discover"), call("initialize", protocolVersion="2025-06-18")

    assert other_handshake(discover) == call("initialize")
    assert other_handshake(initialize) == call("server/discover")
    assert other_handshake(call("tools/list")) is None
    assert mapped(DISCOVERED, initialize, "classic") == INITIALIZED
    assert mapped(INITIALIZED, discover, "stateless").value == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {IDENTITY: INFO},
        "instructions": "Hi.",
    }


@pytest.mark.parametrize(
    ("offered", "version"),
    [("2025-03-26", "2025-03-26"), ("2026-07-28", "2025-11-25"), (None, "2025-11-25")],
)
def test_the_version_is_the_clients_where_it_is_a_classic_one(
    offered: str | None, version: str
) -> None:
    """A client ends the session when the server answers with one that it does not know."""
    asked = call("initialize") if offered is None else call("initialize", protocolVersion=offered)

    value = mapped(DISCOVERED, asked, "classic").value

    assert isinstance(value, dict)
    assert value["protocolVersion"] == version


def test_members_of_one_era_alone_come_and_go() -> None:
    """What says how long a list may be cached has no place in the classic era."""
    tools = call("tools/list")
    stateless = result(resultType="complete", ttlMs=9, cacheScope="public", tools=[])

    assert mapped(stateless, tools, "classic") == result(tools=[])
    assert mapped(result(tools=[]), tools, "stateless").value == {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "tools": [],
    }
    assert mapped(result(content=[]), call("tools/call"), "stateless") == result(
        resultType="complete", content=[]
    )


def test_an_error_comes_in_a_200_to_a_classic_client() -> None:
    """It reads no error out of a 404."""
    refused = McpAnswer(kind="error", value={"code": -32601}, status=404)

    assert mapped(refused, call("x"), "classic").status == 200
    assert mapped(refused, call("x"), "stateless").status == 404


def test_a_session_is_not_handed_to_a_stateless_client() -> None:
    """It would send the id along for ever."""
    answer = McpAnswer(kind="result", value={}, headers={"mcp-session-id": "$session", "a": "b"})

    assert mapped(answer, call("x"), "stateless").headers == {"a": "b"}


def test_what_asks_something_of_the_client_is_not_mapped() -> None:
    """Interim results and requests of the server have no counterpart."""
    asks = McpEvent(at_ms=0, message={"id": 1, "method": "elicitation/create"})
    tells = McpEvent(at_ms=0, message={"method": "notifications/progress"})

    assert not can_map(result(resultType="input_required"))
    assert not can_map(McpAnswer(kind="result", value={}, events=(asks,)))
    assert can_map(McpAnswer(kind="result", value={}, events=(tells,)))
    assert can_map(DISCOVERED)
    assert can_map(INITIALIZED)


def test_a_handshake_is_made_from_what_the_server_was_asked() -> None:
    """For a recording of a client that sends none."""
    asked = ["tools/list", "tools/call", "completion/complete"]

    made = made_handshake(call("server/discover"), asked, INFO)
    classic = made_handshake(call("initialize"), asked, INFO)

    capabilities: Json = {"tools": {}, "completions": {}}
    for answer in (made, classic):
        assert answer is not None
        assert isinstance(answer.value, dict)
        assert answer.value["capabilities"] == capabilities
    assert made is not None
    assert (
        made.value
        == mapped(
            result(capabilities=capabilities, serverInfo=INFO), call("server/discover"), "stateless"
        ).value
    )
    assert made_handshake(call("tools/list"), asked, INFO) is None


def test_a_ping_needs_no_recording() -> None:
    """Clients of the classic era send one when they please."""
    assert plain_answer(call("ping"), "classic") == result()
    assert plain_answer(call("ping"), "stateless") is None
    assert plain_answer(call("tools/list"), "classic") is None
