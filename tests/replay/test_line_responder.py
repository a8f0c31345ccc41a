"""One line of a stdio conversation gets its recorded answer."""

import json

import pytest

from mcprec_addon.exchange import (
    Cassette,
    End,
    Json,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    Message,
)
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.feed import Feed
from mcprec_addon.replay.line_responder import LineReply, LineResponder
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import OnMiss, PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.wire.mcp import SUBSCRIPTION, TOKEN


def tool(seq: int, name: str, *, end: str | None = None, **answer: object) -> McpExchange:
    ends: dict[str, End] = {"reset": "reset", "cut": "cut", "left": "left"}
    given = McpAnswer(kind="result", value={"said": name})
    if end is not None:
        given = McpAnswer(kind="none", end=ends[end])
    recorded = answer.get("answer", given)
    assert isinstance(recorded, McpAnswer)
    call = McpCall(server="s", method="tools/call", name=name)
    return McpExchange(seq=seq, call=call, answer=recorded)


def responder(
    *exchanges: McpExchange,
    messages: tuple[Message, ...] = (),
    missed: list[Miss] | None = None,
    on_miss: OnMiss = "fail",
) -> LineResponder:
    cassette = Cassette(exchanges=exchanges, messages=messages)
    bindings = Bindings(cassette.header.redaction, default_rules())
    player = Player(cassette, bindings=bindings, options=PlayOptions(on_miss=on_miss))
    misses: list[Miss] = [] if missed is None else missed
    return LineResponder(player, Feed(cassette), "s", on_miss=misses.append)


def ask(name: str, request_id: Json = 1, **meta: Json) -> bytes:
    params = {"name": name, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
    return json.dumps(body).encode()


def said(reply: LineReply) -> list[Json]:
    return [json.loads(piece.data) for piece in reply.lines]


def test_an_answer_is_one_line_under_the_callers_id() -> None:
    """Ids of both types may be in flight at once."""
    made = responder(tool(1, "a"))

    assert said(made.respond(ask("a", "x"))) == [
        {"jsonrpc": "2.0", "id": "x", "result": {"said": "a"}}
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"tracker-mcp 2.1 listening",
        b'{"status":200}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}',
    ],
)
def test_nothing_is_said_to_what_asks_nothing(line: bytes) -> None:
    """A notification gets no line, and noise none either."""
    assert responder(tool(1, "a")).respond(line) == LineReply()


def test_a_miss_is_an_error_and_is_told() -> None:
    """The client gets a clean error; the report gets the whole miss."""
    missed: list[Miss] = []
    reply = responder(tool(1, "a"), missed=missed).respond(ask("b"))

    assert '"code":4001' in reply.lines[0].data.decode()
    assert [miss.title for miss in missed] == ["tools/call b (server s)"]


def test_progress_comes_before_the_answer_under_the_callers_token() -> None:
    """As over HTTP; a caller that gave no token gets none."""
    params: Json = {"progressToken": TOKEN, "progress": 1}
    event = McpEvent(at_ms=4, message={"method": "notifications/progress", "params": params})
    answer = McpAnswer(kind="result", value={}, events=(event,))
    made = responder(tool(1, "a", answer=answer), tool(2, "a", answer=answer))

    with_token = said(made.respond(ask("a", progressToken=0)))
    without = said(made.respond(ask("a")))

    assert [each.get("method") for each in with_token if isinstance(each, dict)] == [
        "notifications/progress",
        None,
    ]
    assert '"progressToken": 0' in json.dumps(with_token)
    assert len(without) == 1


@pytest.mark.parametrize(("end", "ends"), [("reset", True), ("cut", True), ("left", False)])
def test_a_broken_answer_ends_the_server(end: str, ends: bool) -> None:  # noqa: FBT001
    """A call that the client gave up on is met with silence."""
    reply = responder(tool(1, "a", end=end)).respond(ask("a"))

    assert (reply.lines, reply.ends) == ((), ends)


def test_an_answer_that_only_http_can_give_is_said_as_an_error() -> None:
    """A gateway's error page has no place on a line."""
    page = McpAnswer(kind="body", value="<h1>Bad gateway</h1>", status=502)

    reply = responder(tool(1, "a", answer=page)).respond(ask("a"))

    assert "status 502" in reply.lines[0].data.decode()


def test_a_batch_is_answered_by_a_batch() -> None:
    """The classic era knows arrays."""
    made = responder(tool(1, "a"), tool(2, "b"))

    reply = made.respond(b"[" + ask("a", 1) + b"," + ask("b", 2) + b"]")

    assert [[each["id"] for each in batch] for batch in said(reply)] == [[1, 2]]  # type: ignore[union-attr, call-overload, index]


def test_a_subscription_is_fed_under_its_own_id() -> None:
    """The id of a listen request is the caller's."""
    listen = McpExchange(
        seq=1,
        call=McpCall(server="s", method="subscriptions/listen"),
        answer=McpAnswer(kind="none"),
    )
    meta: Json = {"_meta": {"io.modelcontextprotocol/subscriptionId": SUBSCRIPTION}}
    changed = Message(
        server="s", sender="server", method="notifications/tools/list_changed", params=meta, on=1
    )
    made = responder(listen, messages=(changed,))
    request = b'{"jsonrpc":"2.0","id":"listen-9","method":"subscriptions/listen"}'
    sent: list[bytes] = []

    reply = made.respond(request)
    (stream,) = reply.streams
    stream.open(lambda data, _: sent.append(data), lambda: None)

    assert reply.lines == ()
    assert [b"listen-9" in each for each in sent] == [True]
    assert sent[0].endswith(b"\n")


def test_a_cancelled_subscription_is_fed_no_more() -> None:
    """On a pipe that is how a client ends it."""
    listen = McpExchange(
        seq=1,
        call=McpCall(server="s", method="subscriptions/listen"),
        answer=McpAnswer(kind="none"),
    )
    changed = Message(server="s", sender="server", method="notifications/x", on=1, after=2)
    made = responder(listen, tool(2, "a"), messages=(changed,))
    sent: list[bytes] = []
    (stream,) = made.respond(b'{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen"}').streams
    stream.open(lambda data, _: sent.append(data), lambda: None)

    made.respond(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}')
    for step in made.respond(ask("a")).sent:
        step()

    assert sent == []


def test_what_is_said_before_the_answers_of_a_batch_is_no_part_of_it() -> None:
    """An array of responses holds nothing else."""
    log: dict[str, Json] = {"method": "notifications/message", "params": {}}
    chatty = McpAnswer(kind="result", value=1, events=(McpEvent(at_ms=2, message=log),))
    left = tool(3, "left", end="left")
    made = responder(tool(1, "a"), tool(2, "b", answer=chatty), left)

    reply = made.respond(b"[" + ask("b", "x") + b"," + ask("a", 7) + b"]")
    silent = made.respond(b"[" + ask("left") + b"]")

    first, second = said(reply)
    assert first == {"jsonrpc": "2.0", **log}
    assert isinstance(second, list)
    assert [each["id"] for each in second if isinstance(each, dict)] == ["x", 7]
    assert said(silent) == []


def test_a_missed_tool_call_may_get_an_advice() -> None:
    """On a pipe as over HTTP: a live model reads a result and asks again."""
    misses: list[Miss] = []
    made = responder(tool(1, "search"), on_miss="advise", missed=misses)

    (answer,) = said(made.respond(ask("serch", 7)))

    assert isinstance(answer, dict)
    assert answer["id"] == 7
    assert isinstance(answer["result"], dict)
    assert answer["result"]["isError"] is True
    assert len(misses) == 1
