"""What a replay keeps of a recorded exchange."""

from dataclasses import replace

from mcprec_addon.exchange import Era, McpAnswer, McpCall, McpExchange
from mcprec_addon.replay.filed import Filed, Shelf, comparable, counts, without_refusals

CALL = McpCall(server="s", method="tools/call", name="t")
DONE = McpExchange(seq=1, call=CALL, answer=McpAnswer(kind="result", value=1))
REFUSED = replace(DONE, answer=McpAnswer(kind="error", value={"code": -32020}))


PREPARED = {"prepared": True, "connected": False}


def filed(exchange: McpExchange, *, era: Era | None = None) -> Filed:
    return Filed(exchange, (), era, 0)


def test_a_refusal_that_is_skipped_is_settled() -> None:
    """A client that knows the headers already starts at the end of the chain."""
    refused, done = filed(REFUSED), filed(DONE)

    assert without_refusals(Shelf([refused, done]), **PREPARED).items == [done]
    assert (refused.is_settled, done.is_settled) == (True, False)
    assert without_refusals(Shelf([refused]), **PREPARED).items == [refused]


def test_a_refused_transport_is_skipped_by_who_speaks_another() -> None:
    """A client that falls back gets the refusal first, one that need not never sees it."""
    shake = replace(DONE, call=McpCall(server="s", method="initialize"))
    no_post = McpAnswer(kind="body", value="", status=405)
    refused, shaken = filed(replace(shake, answer=no_post)), filed(shake)
    busy = filed(replace(DONE, answer=no_post))
    shelf = Shelf([refused, shaken])

    assert without_refusals(shelf, prepared=False, connected=False) is shelf
    assert without_refusals(shelf, prepared=False, connected=True).items == [shaken]
    assert refused.is_settled
    assert without_refusals(Shelf([busy, shaken]), prepared=True, connected=True).items == [
        busy,
        shaken,
    ]


def test_answers_come_in_the_callers_era_first_and_left_ones_last() -> None:
    """Each caller has an order of its own, and what one got no other gets."""
    left = filed(replace(DONE, answer=replace(DONE.answer, end="left")), era="classic")
    new, old = filed(DONE, era="stateless"), filed(DONE, era="classic")
    shelf = Shelf([left, new, old])

    assert shelf.order("classic") == [old, left, new]
    assert shelf.last("stateless") is new
    assert shelf.last(None) is old
    assert shelf.of("classic", mapped=False).items == [left, old]
    assert shelf.of("classic", mapped=True) is shelf

    handed: list[Filed | None] = []
    eras: list[Era | None] = [None, "classic", None, None]
    for era in eras:
        each = shelf.fresh(era)
        handed.append(each)
        if each is not None:
            each.used += 1
    assert handed == [new, old, left, None]


def test_settling_keeps_the_first() -> None:
    """What `exact` never hands out is not left over."""
    first, second = filed(DONE), filed(DONE)
    shelf = Shelf([first, second])

    assert shelf.settle(None) is shelf.settle(None) is first
    assert (first.is_settled, second.is_settled) == (False, True)


def test_what_has_no_answer_of_its_own_does_not_count() -> None:
    """Streams that a client listens on, and calls that it gave up."""
    listening = replace(DONE, call=McpCall(server="s", method="", http_method="GET"))
    left = replace(DONE, answer=replace(DONE.answer, end="left"))

    assert [counts(each) for each in (DONE, listening, left)] == [True, False, False]


def test_answers_are_compared_by_what_they_say() -> None:
    """Status and end say something too."""
    assert comparable(DONE.answer) == comparable(replace(DONE.answer))
    assert comparable(DONE.answer) != comparable(replace(DONE.answer, status=202))
    assert comparable(DONE.answer) != comparable(replace(DONE.answer, end="cut"))
