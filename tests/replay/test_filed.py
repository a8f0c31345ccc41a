"""What a replay keeps of a recorded exchange."""

from dataclasses import replace

from mcprec_addon.exchange import McpAnswer, McpCall, McpExchange
from mcprec_addon.replay.filed import Filed, comparable, counts, without_refusals

CALL = McpCall(server="s", method="tools/call", name="t")
DONE = McpExchange(seq=1, call=CALL, answer=McpAnswer(kind="result", value=1))
REFUSED = replace(DONE, answer=McpAnswer(kind="error", value={"code": -32020}))


def filed(exchange: McpExchange) -> Filed:
    return Filed(exchange, (), None)


def test_a_refusal_that_is_skipped_is_settled() -> None:
    """A client that knows the headers already starts at the end of the chain."""
    refused, done = filed(REFUSED), filed(DONE)

    assert without_refusals([refused, done]) == [done]
    assert (refused.is_settled, done.is_settled) == (True, False)
    assert without_refusals([refused]) == [refused]


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
