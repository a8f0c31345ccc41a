"""Events of a stream, like ones in a row as one run."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.cassette.events import (
    event_records,
    mcp_event_records,
    read_events,
    read_mcp_events,
)
from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.exchange import Json, McpEvent, Number, StreamEvent


def chunk(at_ms: int, content: Json, *, event: str | None = None) -> StreamEvent:
    value: Json = {"id": "c-1", "choices": [{"delta": {"content": content}}]}
    return StreamEvent(at_ms=at_ms, kind="json", value=value, event=event)


def test_deltas_are_one_run() -> None:
    """A sentence of a stream reads as a list of its pieces."""
    events = [chunk(330, "The"), chunk(341, "ree"), chunk(352, " open")]

    records = event_records(events, None)

    assert records == [
        {
            "run": ["/choices/0/delta/content"],
            "of": {"json": {"id": "c-1", "choices": [{"delta": {"content": "The"}}]}},
            "values": [["The", "ree", " open"]],
            "at": [330, 341, 352],
        }
    ]
    assert read_events(records) == (tuple(events), None)


def test_every_kind_of_event_has_its_record() -> None:
    """A stream replays with its comments, its end marker and its broken last event."""
    events = (
        StreamEvent(at_ms=1, kind="comment", value=" ping"),
        StreamEvent(at_ms=2, kind="json", value={"a": 1}, event="start"),
        StreamEvent(at_ms=3, kind="text", value="[DONE]", event="end"),
    )

    records = event_records(events, "data: {")

    assert records == [
        {"at": 1, "comment": " ping"},
        {"at": 2, "event": "start", "json": {"a": 1}},
        {"at": 3, "event": "end", "text": "[DONE]"},
        {"tail": "data: {"},
    ]
    assert read_events(records) == (events, "data: {")


def test_equal_events_are_a_run_without_pointers() -> None:
    """Keep-alives differ in time alone."""
    events = [chunk(1, "", event="ping"), chunk(2, "", event="ping")]

    records = event_records(events, None)

    assert isinstance(records[0], dict)
    assert records[0]["run"] == []
    assert records[0]["at"] == [1, 2]
    assert read_events(records) == (tuple(events), None)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (chunk(1, "a"), chunk(2, "a", event="named")),
        (chunk(1, "a"), chunk(2, 1)),
        (chunk(1, 1), chunk(2, True)),  # noqa: FBT003 - true is a value here
        (chunk(1, None), chunk(2, "a")),
        (chunk(1, 0.5), chunk(2, 0.25)),
        (chunk(1, []), chunk(2, {})),
        (chunk(1, ["a"]), chunk(2, {"0": "a"})),
        (chunk(1, {"a": "", "b": ""}), chunk(2, {"b": "", "a": ""})),
        (chunk(1, Number("1e400")), chunk(2, Number("1e400"))),
        (chunk(1, "\ud800"), chunk(2, "\ud800")),
        (chunk(1, "a"), StreamEvent(at_ms=2, kind="text", value="a")),
        (
            StreamEvent(at_ms=1, kind="json", value="a"),
            StreamEvent(at_ms=2, kind="json", value="b"),
        ),
    ],
)
def test_events_of_another_shape_stand_alone(first: StreamEvent, second: StreamEvent) -> None:
    """A run says only what its pointers say."""
    records = event_records([first, second], None)

    assert len(records) == 2
    assert read_events(records) == ((first, second), None)


def test_a_changed_shape_ends_a_run() -> None:
    """Text, then a tool call, then text again is three runs."""
    events = [chunk(n, "t" if n < 3 or n > 4 else {"args": "t"}) for n in range(1, 7)]

    assert len(event_records(events, None)) == 3


SMALL = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(0, 1) | st.sampled_from(["", "a"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["0", "a/b", "~", "$part", ""]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(
    values=st.lists(st.tuples(SMALL, st.none() | st.just("e")), max_size=8),
    tail=st.none() | st.text(),
)
def test_unpacking_what_was_packed_gives_it_back(
    values: list[tuple[Json, str | None]], tail: str | None
) -> None:
    """A replay must not be able to tell that a run was one."""
    events = tuple(
        StreamEvent(at_ms=at_ms, kind="json", value=value, event=event)
        for at_ms, (value, event) in enumerate(values)
    )

    read = read_events(event_records(events, tail))

    assert repr(read) == repr((events, tail))


OF: Json = {"json": {"a": ["x"]}}


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ("text", '"events" must be an object'),
        ({"at": 1}, "an event has none of"),
        ({"at": -1, "json": 1}, '"at" must be a whole number'),
        ({"text": None}, 'no "text"'),
        ({"run": ["a"], "of": OF, "values": [["x"]], "at": [1]}, "is no pointer"),
        ({"run": ["/a/1"], "of": OF, "values": [["x"]], "at": [1]}, "a run names /1"),
        ({"run": ["/a/01x"], "of": OF, "values": [["x"]], "at": [1]}, "a run names /01x"),
        ({"run": ["/b"], "of": OF, "values": [["x"]], "at": [1]}, "a run names /b"),
        ({"run": ["/a/0/c"], "of": OF, "values": [["x"]], "at": [1]}, "a run names /c"),
        ({"run": ["/a/0"], "of": OF, "values": [], "at": [1]}, 'a list of "values" per pointer'),
        ({"run": ["/a/0"], "of": OF, "values": [["x"]], "at": [1, 2]}, 'as long as its "at"'),
        ({"run": ["/a/0"], "of": OF, "values": ["x"], "at": [1]}, "a list of lists"),
        ({"run": ["/a/0"], "values": [["x"]], "at": [1]}, "an event has none of"),
    ],
)
def test_a_run_that_does_not_fit_is_refused(record: Json, problem: str) -> None:
    """A bad merge inside a run is named, not replayed."""
    with pytest.raises(RecordProblemError) as caught:
        read_events([deepcopy(record)])

    assert problem in str(caught.value)


def test_nothing_follows_a_tail() -> None:
    """An unfinished event is where the stream was cut."""
    with pytest.raises(RecordProblemError, match="an event follows the tail"):
        read_events([{"tail": "x"}, {"at": 1, "json": 1}])


def test_messages_before_an_mcp_answer_keep_the_client_answer() -> None:
    """A classic sampling request replays together with what the client said to it."""
    events = (
        McpEvent(at_ms=5, message={"method": "notifications/progress", "params": {"progress": 1}}),
        McpEvent(at_ms=9, message={"method": "roots/list", "id": 1}, answer={"roots": []}),
    )

    records = mcp_event_records(events)

    assert records == [
        {"at": 5, "message": {"method": "notifications/progress", "params": {"progress": 1}}},
        {"at": 9, "message": {"method": "roots/list", "id": 1}, "answer": {"roots": []}},
    ]
    assert read_mcp_events(records) == events


def test_an_mcp_event_without_a_message_is_refused() -> None:
    """An empty event would be sent as an empty message."""
    with pytest.raises(RecordProblemError, match='"message" must be an object'):
        read_mcp_events([{"at": 1}])
