"""Events that are read anew on every look behave like any other sequence."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.long_events import LongEvents, changed_each, made_of


def long(*groups: Sequence[int]) -> LongEvents[int]:
    return LongEvents(lambda: iter(groups))


@given(st.lists(st.lists(st.integers()), min_size=1))
def test_it_is_the_sequence_of_its_groups(groups: list[list[int]]) -> None:
    """Nothing that reads a short stream needs to know of a long one."""
    flat = [event for group in groups for event in group]
    events = long(*groups)

    assert [*events] == flat
    assert len(events) == len(flat)
    assert events == flat
    assert events[: len(flat) // 2] == tuple(flat[: len(flat) // 2])
    assert [events[index] for index in range(-len(flat), len(flat))] == flat * 2


def test_what_is_not_there_is_named() -> None:
    """Callers catch IndexError, as of a tuple."""
    with pytest.raises(IndexError, match="no event 2"):
        long([1], [2])[2]


def test_more_or_fewer_events_are_not_equal() -> None:
    """Equality compares to the end of the longer one."""
    assert long([1, 2]) != [1]
    assert long([1]) != [1, 2]
    assert long([1]) != "1"


def test_a_change_is_made_on_each_look() -> None:
    """What is found out between two looks counts for the second."""
    offset = 1
    events = changed_each(long([1], [2]), lambda event: event + offset)

    first = [*events]
    offset = 10

    assert first == [2, 3]
    assert [*events] == [11, 12]


def test_something_else_may_be_made_of_all_of_them() -> None:
    """A reply has a piece more than its stream has events."""

    def doubled_and_sum(events: object) -> Iterator[int]:
        total = 0
        assert isinstance(events, Sequence)
        for event in events:
            total += event
            yield event * 2
        yield total

    assert made_of(long([1], [2]), doubled_and_sum) == [2, 4, 3]
    assert made_of((1, 2), doubled_and_sum) == (2, 4, 3)
