"""One HTTP request of a replay gets its recorded answer, or is refused and counted."""

import json

import pytest

from mcprec_addon.exchange import (
    Cassette,
    Half,
    Header,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    Server,
)
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.player import Player, PlayOptions
from mcprec_addon.replay.responder import Responder
from mcprec_addon.wire.http import HttpRequest, Reply
from mcprec_addon.wire.mcp import SESSION, SESSION_HEADER

URL = "http://127.0.0.1:9/mcp"
BOTH: frozenset[Half] = frozenset({"mcp", "model"})


def exchange(seq: int, method: str, answer: McpAnswer, **fields: Json) -> McpExchange:
    params = {key: value for key, value in fields.items() if key != "name"}
    name = fields.get("name")
    call = McpCall(
        server="s", method=method, name=name if isinstance(name, str) else None, params=params
    )
    return McpExchange(seq=seq, call=call, answer=answer)


def responder(*exchanges: McpExchange, halves: frozenset[Half] = BOTH) -> Responder:
    header = Header(servers={"s": Server(transport="http", url=URL)})
    cassette = Cassette(header=header, exchanges=exchanges)
    bindings = Bindings(header.redaction, default_rules())
    player = Player(cassette, bindings=bindings, options=PlayOptions(halves=halves))
    return Responder(cassette, player, halves=halves)


def post(body: object, url: str = URL, **headers: str) -> HttpRequest:
    lines = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return HttpRequest(method="POST", url=url, headers=lines, body=json.dumps(body).encode())


def rpc(method: str, request_id: Json = 1, params: Json = None) -> dict[str, Json]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}


def answered(reply: Reply) -> Json:
    body: Json = json.loads(reply.body)
    return body


TOOLS = exchange(1, "tools/list", McpAnswer(kind="result", value={"tools": []}))


@pytest.mark.parametrize("request_id", ["1", 1, 0, "", 9007199254740993, -5], ids=repr)
def test_the_id_comes_back_as_sent(request_id: Json) -> None:
    """The recorded id never leaks into an answer."""
    reply = responder(TOOLS).respond(post(rpc("tools/list", request_id)))

    assert answered(reply) == {"jsonrpc": "2.0", "id": request_id, "result": {"tools": []}}


def test_pages_of_a_list_are_told_apart() -> None:
    """Lists may be asked for more often than recorded; cursors are opaque."""
    second = exchange(2, "tools/list", McpAnswer(kind="result", value=2), cursor="8")
    made = responder(TOOLS, second)

    asked: list[Json] = [None, {"cursor": "8"}, {"_meta": {"progressToken": 3}}, {"cursor": "8"}]
    found = [answered(made.respond(post(rpc("tools/list", 1, params)))) for params in asked]
    miss = answered(made.respond(post(rpc("tools/list", 1, {"cursor": "9"}))))

    results = [each["result"] for each in found if isinstance(each, dict)]
    assert results == [{"tools": []}, 2, {"tools": []}, 2]
    assert "differs at /params" in json.dumps(miss)


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}},
        {"jsonrpc": "2.0", "id": 77, "result": {"roots": []}},
    ],
    ids=["initialized", "cancelled", "answer"],
)
def test_a_notification_gets_202_and_nothing_else(message: object) -> None:
    """Any other acknowledgement breaks one client or another."""
    assert responder(TOOLS).respond(post(message)) == Reply(status=202)


def test_a_recorded_odd_acknowledgement_comes_back() -> None:
    """So one can test a client against a server that answers 200 null."""
    odd = McpAnswer(kind="body", value="null", headers={"content-type": "application/json"})
    made = responder(exchange(1, "notifications/initialized", odd))

    reply = made.respond(post({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    assert (reply.status, reply.body) == (200, b"null")


def test_sessions_are_minted_and_checked() -> None:
    """404 makes a client start over, as the protocol says; it is no miss."""
    started = McpAnswer(kind="result", value={}, headers={SESSION_HEADER: SESSION})
    made = responder(exchange(1, "initialize", started), TOOLS)

    session = dict(made.respond(post(rpc("initialize"))).headers)[SESSION_HEADER]

    assert made.respond(post(rpc("tools/list"), mcp_session_id=session)).status == 200
    assert made.respond(post(rpc("tools/list"), mcp_session_id="zzz")).status == 404
    end = HttpRequest(method="DELETE", url=URL, headers=((SESSION_HEADER, session),))
    assert made.respond(end).status == 200


def test_a_stream_that_was_not_recorded_is_not_offered() -> None:
    """405 keeps clients from asking again."""
    request = HttpRequest(method="GET", url=URL, headers=(("accept", "text/event-stream"),))

    assert responder(TOOLS).respond(request).status == 405


def test_anything_else_is_refused_and_counted() -> None:
    """A replay goes nowhere, and says by host what wanted to."""
    made = responder(TOOLS)

    reply = made.respond(HttpRequest(method="GET", url="https://example.com/"))

    assert reply.status == 403
    assert made.turned.refused == {"example.com": 1}


def test_a_half_that_is_off_is_refused() -> None:
    """A model call without a model half must not reach a live model."""
    made = responder(TOOLS, halves=frozenset({"mcp"}))

    made.respond(post({"messages": []}, "https://api.openai.com/v1/chat/completions"))

    assert made.turned.live_model
    assert made.turned.refused == {"api.openai.com": 1}
