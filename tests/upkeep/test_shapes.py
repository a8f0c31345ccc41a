"""What two recordings of the same have in common, whatever their placeholders are called."""

from mcprec_addon.exchange import (
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    StreamEvent,
)
from mcprec_addon.long_events import LongEvents
from mcprec_addon.upkeep.shapes import Shapes

SHAPES = Shapes({"email"}, answer_ids=frozenset())


def tool(number: int, ms: int, text: str = "sent") -> McpExchange:
    call = McpCall(server="s", method="tools/call", args={"to": f"email-{number}@mcprec.example"})
    return McpExchange(seq=ms, call=call, answer=McpAnswer(kind="result", value=text), ms=ms)


def test_numbers_of_placeholders_and_times_do_not_count() -> None:
    """They differ from one recording to the next."""
    one, two = SHAPES.exchange(tool(1, 10)), SHAPES.exchange(tool(7, 20))

    assert (one.call.digest, one.answer) == (two.call.digest, two.answer)
    assert (one.call.names, two.call.names) == (("email-1",), ("email-7",))
    assert SHAPES.exchange(tool(1, 10, "failed")).answer != one.answer


def test_a_long_stream_is_the_stream_that_it_is() -> None:
    """Whether its events are held or read again makes no difference."""
    events = tuple(StreamEvent(at_ms=at, kind="json", value={"n": at}) for at in range(9))
    long = LongEvents(lambda: iter([events[:4], events[4:]]))
    call = ModelCall(provider="openai", path="/v1/chat/completions")

    made = [
        SHAPES.exchange(
            ModelExchange(seq=1, call=call, answer=ModelAnswer(kind="events", events=each))
        )
        for each in (events, long)
    ]

    assert made[0] == made[1]
