"""A client that answers a server otherwise than recorded is told from one that does not."""

import json
from dataclasses import replace

import pytest

from mcprec_addon.exchange import (
    Cassette,
    Header,
    Json,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    Message,
    Redaction,
)
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.feed import Feed
from mcprec_addon.replay.line_responder import LineResponder
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.wire.jsonrpc import Response

ASKS = McpEvent(
    at_ms=1,
    message={"id": 7, "method": "elicitation/create", "params": {"message": "Who?"}},
    answer={"action": "accept", "content": {"name": "email-1@mcprec.example"}},
)
CALL = McpCall(server="s", method="tools/call", name="greet")
GREETED = McpExchange(seq=3, call=CALL, answer=McpAnswer(kind="result", value={}, events=(ASKS,)))


def player(*, checks: bool = True, event: McpEvent = ASKS) -> Player:
    answer = replace(GREETED.answer, events=(event,))
    header = Header(redaction=Redaction(placeholders={"email": 1}))
    cassette = Cassette(header=header, exchanges=(replace(GREETED, answer=answer),))
    bindings = Bindings(cassette.header.redaction, default_rules())
    return Player(cassette, bindings=bindings, options=PlayOptions(check_answers=checks))


def said(value: Json, request_id: Json = 7) -> Response:
    return Response(id=request_id, kind="result", value=value)


def test_an_answer_that_differs_is_a_miss() -> None:
    """With the pointer at which it does."""
    made = player()
    made.play(CALL)

    miss = made.client_answered("s", said({"action": "decline"}))

    assert miss is not None
    assert miss.title == "answer to elicitation/create (server s)"
    assert "/params/action" in miss.text()
    assert made.tally.misses == [miss]


@pytest.mark.parametrize("name", ["ana@acme.com", "email-1@mcprec.example"])
def test_a_live_value_stands_for_its_placeholder(name: str) -> None:
    """The recorded address is not in the cassette, and the agent still has it."""
    made = player()
    made.play(CALL)

    assert made.client_answered("s", said({"action": "accept", "content": {"name": name}})) is None


@pytest.mark.parametrize(
    ("checks", "request_id", "event"),
    [(False, 7, ASKS), (True, 8, ASKS), (True, 7, replace(ASKS, answer=None))],
    ids=["not asked for", "asked nothing", "never answered"],
)
def test_what_cannot_be_compared_is_taken(checks: bool, request_id: int, event: McpEvent) -> None:  # noqa: FBT001
    """A client may say what it likes."""
    made = player(checks=checks, event=event)
    made.play(CALL)

    assert made.client_answered("s", said({"action": "decline"}, request_id)) is None


def test_an_answer_counts_once() -> None:
    """The same id is asked again in the next session."""
    made = player()
    made.play(CALL)

    assert made.client_answered("s", said({"action": "decline"})) is not None
    assert made.client_answered("s", said({"action": "decline"})) is None


def test_an_answer_on_a_pipe_is_compared_too() -> None:
    """It comes as a line, to which nothing is said."""
    made = player()
    responder = LineResponder(made, Feed(Cassette()), "s")
    params = {"name": "greet"}
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    responder.respond(json.dumps(ask).encode())

    reply = responder.respond(b'{"jsonrpc":"2.0","id":7,"result":{"action":"cancel"}}')

    assert reply.lines == ()
    assert len(made.tally.misses) == 1


def test_an_answer_to_a_question_outside_of_any_call_is_checked_too() -> None:
    """It stands with its message, and a question of a call under the same id comes first."""
    question = Message(
        server="s", sender="server", method="roots/list", after=2, id=7, answer={"roots": []}
    )
    cassette = Cassette(exchanges=(GREETED,), messages=(question, replace(question, id=8)))
    bindings = Bindings(cassette.header.redaction, default_rules())
    made = Player(cassette, bindings=bindings, options=PlayOptions(check_answers=True))
    lax = Player(cassette, bindings=bindings, options=PlayOptions())

    same = made.client_answered("s", said({"roots": []}))
    differs = made.client_answered("s", said({"roots": [1]}, 8))

    assert same is None
    assert differs is not None
    assert differs.title == "answer to roots/list (server s)"
    assert lax.client_answered("s", said({"roots": [1]})) is None
