"""Which recorded answer a call gets: by key, in recorded order, and never by a guess."""

import pytest

from mcprec_addon.exchange import (
    Cassette,
    End,
    Exchange,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
)
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.player import Hit, Player, PlayOptions


def tool(
    seq: int, name: str, args: dict[str, Json], text: str, *, end: End | None = None
) -> McpExchange:
    call = McpCall(server="s", method="tools/call", name=name, args=args)
    return McpExchange(seq=seq, call=call, answer=McpAnswer(kind="result", value=text, end=end))


def model(seq: int, prompt: str, text: str) -> ModelExchange:
    request: Json = {"messages": [{"role": "user", "content": prompt}]}
    call = ModelCall(provider="openai", path="/v1/chat/completions", request=request)
    return ModelExchange(seq=seq, call=call, answer=ModelAnswer(kind="body", value=text))


def player(*exchanges: Exchange, options: PlayOptions | None = None) -> Player:
    cassette = Cassette(exchanges=exchanges)
    bindings = Bindings(cassette.header.redaction, default_rules())
    return Player(cassette, bindings=bindings, options=options or PlayOptions())


def said(found: Hit | Miss) -> Json:
    return found.answer.value if isinstance(found, Hit) else found.cause


ONE = tool(1, "list", {"state": "open"}, "2 open")
MADE = tool(2, "create", {"title": "x"}, "#3 made")
TWO = tool(3, "list", {"state": "open"}, "3 open")


def test_a_keys_answers_come_in_recorded_order() -> None:
    """A second read sees the change in between."""
    made = player(ONE, MADE, TWO, options=PlayOptions(strategy="ordered"))

    answers = [said(made.play(each.call)) for each in (ONE, MADE, TWO, ONE)]

    assert answers == ["2 open", "#3 made", "3 open", "used up"]
    assert made.unused() == []


def test_a_used_up_call_is_repeated_and_counted() -> None:
    """A write that is asked again is no silent success; strict misses."""
    lenient, strict = player(MADE), player(MADE, options=PlayOptions(strict=True))

    assert [said(lenient.play(MADE.call)) for _ in range(2)] == ["#3 made", "#3 made"]
    assert lenient.tally.repeated == {2: 1}
    assert [said(strict.play(MADE.call)) for _ in range(2)] == ["#3 made", "used up"]


def test_a_model_answer_is_never_repeated() -> None:
    """A repeated answer is an endless tool loop."""
    exchange = model(1, "hi", "hello")
    made = player(exchange)

    assert [said(made.play(exchange.call)) for _ in range(2)] == ["hello", "used up"]


def test_exact_is_a_table() -> None:
    """The first recorded answer, always."""
    made = player(ONE, TWO, options=PlayOptions(strategy="exact"))

    assert [said(made.play(ONE.call)) for _ in range(3)] == ["2 open"] * 3
    assert made.unused() == []


def test_sequence_ignores_the_prompt() -> None:
    """The Nth model call gets the Nth answer."""
    made = player(
        model(1, "a", "1"), model(2, "b", "2"), options=PlayOptions(model_strategy="sequence")
    )

    answers = [said(made.play(model(0, prompt, "").call)) for prompt in ("x", "y")]

    assert answers == ["1", "2"]
    assert isinstance(made.play(model(0, "z", "").call), Miss)


def test_the_order_of_different_calls_does_not_matter() -> None:
    """Answers are filed by what was asked, never by tool name alone; a miss uses nothing up."""
    flights = tool(1, "search", {"kind": "flights", "to": "OSL"}, "SK4035")
    hotels = tool(2, "search", {"kind": "hotels", "to": "OSL"}, "Hotel Fjord")
    made = player(flights, hotels)

    found = made.play(tool(0, "search", {"to": "BGO", "kind": "flights"}, "").call)

    assert isinstance(found, Miss)
    assert [each.pointer for each in found.differences] == [("args", "to")]
    assert [said(made.play(each.call)) for each in (hotels, flights)] == ["Hotel Fjord", "SK4035"]


@pytest.mark.parametrize(("end", "plays"), [("stopped", False), ("left", True), ("cut", True)])
def test_what_the_recorder_stopped_is_never_handed_out(end: End, plays: bool) -> None:  # noqa: FBT001
    """It says nothing about the server; left ones come last and do not count as unused."""
    exchange = tool(1, "slow", {}, "x", end=end)
    made = player(exchange)

    assert bool(made.unused()) is (end == "cut")
    assert isinstance(made.play(exchange.call), Hit) is plays


def test_a_complete_answer_comes_before_one_the_client_left() -> None:
    """Among equals the one that says something is better."""
    made = player(tool(1, "slow", {}, "left", end="left"), tool(2, "slow", {}, "whole"))

    assert said(made.play(tool(0, "slow", {}, "").call)) == "whole"
