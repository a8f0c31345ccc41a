"""Whole recorded sessions, replayed by clients that go through them another way."""

from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import (
    Exchange,
    Input,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
)
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import Hit
from tests.replay.test_player import player, said

ANA = {"user": "ana"}


def call(method: str, name: str | None = None, **more: object) -> McpCall:
    return McpCall(server="s", method=method, name=name, **more)  # type: ignore[arg-type]


def recorded(*pairs: tuple[McpCall, Json]) -> tuple[McpExchange, ...]:
    return tuple(
        McpExchange(seq=seq, call=asked, answer=McpAnswer(kind="result", value=value))
        for seq, (asked, value) in enumerate(pairs, 1)
    )


def task(status: str) -> Json:
    return {"resultType": "complete", "taskId": "t-1", "status": status}


POLL = call("tasks/get", "t-1")
UPDATE = call("tasks/update", "t-1", params={"inputResponses": {"name": "Robin"}})
TASK = recorded(
    (call("tools/call", "render", args={"n": 1}), {"resultType": "task", "taskId": "t-1"}),
    (POLL, task("working")),
    (POLL, task("working")),
    (POLL, task("input_required")),
    (UPDATE, {"resultType": "complete"}),
    (POLL, task("working")),
    (POLL, task("completed")),
)


@given(more=st.integers(0, 9))
def test_polls_come_in_recorded_order_and_the_last_one_stays(more: int) -> None:
    """However often a client polls, it is asked for input, and is told the end until it stops."""
    made = player(*TASK)

    statuses = [said(made.play(POLL)) for _ in range(3)]
    made.play(UPDATE)
    statuses += [said(made.play(POLL)) for _ in range(2 + more)]

    expected = ["working", "working", "input_required", "working", "completed"]
    assert statuses == [task(each) for each in [*expected, *["completed"] * more]]
    assert made.tally.repeated == {}
    assert made.tally.misses == []


def test_a_task_that_was_not_recorded_is_a_miss() -> None:
    """A client with an id from elsewhere must not be told of another task."""
    missed = player(*TASK).play(call("tasks/get", "t-2"))

    assert isinstance(missed, Miss)


def test_what_a_task_is_told_is_part_of_the_key() -> None:
    """Another input would have led elsewhere."""
    other = call("tasks/update", "t-1", params={"inputResponses": {"name": "Ben"}})

    assert isinstance(player(*TASK).play(other), Miss)


# Calls whose answers depend on no other one: any order gives what was recorded.
FREE = recorded(
    (call("server/discover"), {"supportedVersions": ["2026-07-28"]}),
    (call("tools/list"), {"tools": [{"name": "search"}], "nextCursor": "page-2"}),
    (call("tools/list", params={"cursor": "page-2"}), {"tools": [{"name": "add"}]}),
    (call("tools/call", "search", args={"q": "bug"}), {"content": ["3 results"]}),
    (call("tools/call", "search", args={"q": "crash"}), {"content": ["1 result"]}),
    (call("tools/call", "search", args={"q": "bug"}), {"content": ["3 results"]}),
    (call("resources/read", "note://today"), {"contents": ["call back"]}),
    (call("prompts/get", "ask", args={"topic": "bugs"}), {"messages": ["What is new?"]}),
)
# Two chains of one call, each tied together by its request state.
FIRST = recorded(
    (call("tools/call", "book", args=ANA), {"requestState": "a-1"}),
    (call("tools/call", "book", args=ANA, input=Input(state="a-1")), {"requestState": "a-2"}),
    (call("tools/call", "book", args=ANA, input=Input(state="a-2")), {"content": ["booked"]}),
)


@st.composite
def orders(draw: st.DrawFn) -> list[McpExchange]:
    """Return the session in an order that keeps each chain's own."""
    order: list[McpExchange] = list(draw(st.permutations(FREE)))
    places = sorted(draw(st.lists(st.integers(0, len(order)), min_size=3, max_size=3)))
    for offset, (place, link) in enumerate(zip(places, FIRST, strict=True)):
        order.insert(place + offset, link)
    return order


@given(orders())
def test_another_order_of_independent_calls_misses_nothing(order: list[McpExchange]) -> None:
    """An agent may ask several servers and tools at once, and no two runs do alike."""
    everything: list[Exchange] = [*FREE, *FIRST]
    made = player(*everything)

    for each in order:
        found = made.play(each.call)

        assert isinstance(found, Hit), found
        assert found.answer.value == each.answer.value
    assert made.unused() == []
