"""Streams are read the same however they are framed and however their bytes are cut."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.wire.framing import ArrayReader, framing_of, recorded_framing

TYPES = (
    "text/event-stream",
    "application/x-ndjson",
    "application/json",
    "application/vnd.amazon.eventstream",
)
json_objects = st.dictionaries(st.text(), st.text() | st.lists(st.integers()), max_size=3)


def read(media_type: str, *chunks: bytes) -> list[str | None]:
    framing = framing_of(media_type, has_arrays=True)
    assert framing is not None
    reader = framing.reader()
    return [event.data for chunk in chunks for event in reader.feed(chunk)]


@pytest.mark.parametrize("media_type", TYPES)
@given(
    values=st.lists(json_objects, max_size=4),
    cuts=st.lists(st.integers(0, 400), max_size=6),
    is_ascii=st.booleans(),
)
def test_any_split_of_what_was_written_gives_the_same_events(
    media_type: str,
    values: list[dict[str, object]],
    cuts: list[int],
    is_ascii: bool,  # noqa: FBT001
) -> None:
    """A network cuts anywhere: in a character, an escape, a frame's length."""
    texts = [json.dumps(value, ensure_ascii=is_ascii) for value in values]
    framing = recorded_framing(media_type)
    written = [framing.write(text, None, place) for place, text in enumerate(texts)]
    data = b"".join(written) + framing.write_end(len(texts))
    edges = [0, *sorted(cuts), len(data)]
    chunks = [data[start:end] for start, end in pairwise(edges)]

    assert read(media_type, *chunks) == texts
    assert read(media_type, *(data[at : at + 1] for at in range(len(data)))) == texts


def test_an_array_is_over_at_its_bracket_and_not_before() -> None:
    """A stream of array elements that was cut must not look whole."""
    reader = ArrayReader()

    events = reader.feed(b'[{"a":"]"},\r\n{"b":')

    assert [event.data for event in events] == ['{"a":"]"}']
    assert not reader.is_closed
    assert reader.tail == '{"b":'
    assert [event.data for event in reader.feed(b"[1,2]}]")] == ['{"b":[1,2]}']
    assert reader.is_closed


def test_a_json_body_is_no_stream_unless_the_row_says_so() -> None:
    """Most answers in JSON are one value."""
    assert framing_of("application/json", has_arrays=False) is None
    assert framing_of("application/pdf", has_arrays=True) is None


def test_a_cut_stream_goes_out_as_it_came() -> None:
    """What replays must leave the client where the recorded stream left it."""
    array = recorded_framing("application/json")
    lines = recorded_framing("application/x-ndjson")

    assert array.write_tail('{"b":', 1) == b',\r\n{"b":'
    assert array.write_end(0) == b"[]"
    assert lines.write_tail('{"b":', 1) == b'{"b":'
