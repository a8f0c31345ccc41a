"""A long stream is redacted as it comes, as if it were whole."""

from collections.abc import Sequence

import pytest

from mcprec_addon.exchange import (
    EventGroup,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    StreamEvent,
)
from mcprec_addon.long_events import LongEvents
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.wire.deltas import deltas
from mcprec_addon.wire.providers import channels_of

SECRET = "sk-proj-" + "k9Zq" * 8
TEXT = f"the key is {SECRET} and nothing else, said twice: {SECRET}; " + "so it goes on. " * 4


def redactor() -> Redactor:
    return Redactor(default_rules(), nonce="0a1b2c3d")


def events(text: str, size: int) -> list[StreamEvent]:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [
        StreamEvent(
            at_ms=at,
            kind="json",
            value={"choices": [{"index": 0, "delta": {"content": piece}}]},
        )
        for at, piece in enumerate(pieces)
    ]


def exchange(rest: Sequence[StreamEvent]) -> ModelExchange:
    return ModelExchange(
        seq=1,
        call=ModelCall(provider="openai", path="/v1/chat/completions", request={}),
        answer=ModelAnswer(kind="events", events=rest),
    )


@pytest.mark.parametrize("size", [1, 3, 11])
@pytest.mark.parametrize("group", [70, 90, 130])
def test_groups_give_what_the_whole_gives(size: int, group: int) -> None:
    """A secret may begin in one group and end in the next."""
    whole = events(TEXT, size)
    expected = redactor().events(whole, "openai")
    groups = [whole[at : at + group] for at in range(0, len(whole), group)]

    made = redactor()
    done: list[object] = []
    for each in groups[:-1]:
        done += made.group(EventGroup(seq=1, half="model", provider="openai", events=each)).events
    done += made.exchange(exchange(groups[-1])).answer.events

    assert done == list(expected)
    assert not any(SECRET[at : at + 10] in str(done) for at in range(len(SECRET) - 9))


@pytest.mark.parametrize("group", [33, 41, 50])
def test_messages_of_a_server_in_groups(group: int) -> None:
    """A long stream of progress goes the same way."""
    told = [
        McpEvent(
            at_ms=at,
            message={"method": "notifications/progress", "params": {"message": TEXT[at : at + 3]}},
        )
        for at in range(0, len(TEXT), 3)
    ]
    expected = redactor().mcp_events(told)
    groups = [told[at : at + group] for at in range(0, len(told), group)]

    made = redactor()
    done: list[object] = []
    for each in groups[:-1]:
        done += made.group(EventGroup(seq=1, half="mcp", events=each)).events
    answer = McpAnswer(kind="result", value={}, events=tuple(groups[-1]))
    unit = McpExchange(seq=1, call=McpCall(server="s", method="m"), answer=answer)
    done += made.exchange(unit).answer.events

    assert done == list(expected)
    again = redactor().mcp_events(LongEvents(lambda: iter(groups)))
    assert [*again] == list(expected)
    assert SECRET[:10] not in str(done)


def test_a_secret_learned_late_is_gone_at_the_close() -> None:
    """The journal had it; the cassette must not."""
    late = "tt-4410-nobody-knows-this"
    written = [events(f"it said {late} early", 5), events("and went on", 5)]
    made = redactor()
    for each in written:
        made.group(EventGroup(seq=1, half="model", provider="openai", events=each))
    made.exchange(exchange([]))
    made.learn(late)

    closed = made.close([exchange(LongEvents(lambda: iter(written)))])

    streamed = [each for each in closed.exchanges[0].answer.events if isinstance(each, StreamEvent)]
    told = "".join(
        delta.text for each in streamed for delta in deltas(each.value, channels_of("openai"))
    )
    assert told == "it said api-key-1 earlyand went on"


def test_what_was_clean_when_written_is_not_looked_through_again() -> None:
    """Two hundred megabytes would be redacted once more for nothing."""
    looked = 0

    def look() -> object:
        nonlocal looked
        looked += 1
        return iter([events("all clean", 3)])

    made = redactor()
    made.group(EventGroup(seq=1, half="model", provider="openai", events=events("all clean", 3)))
    stream: LongEvents[StreamEvent] = LongEvents(look)  # type: ignore[arg-type]

    closed = made.close([exchange(stream)])

    assert looked == 1  # for placeholders, of which there are none
    assert [*closed.exchanges[0].answer.events] == events("all clean", 3)
