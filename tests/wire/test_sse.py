"""Event streams are read the same however their bytes are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.wire.sse import SseEvent, SseReader, encode_comment, encode_event

STREAM = (
    "event: message\r\ndata: {\"text\":\"Größe\"}\r\n\r\n"
    ": ping\n"
    "data: one\ndata: two\n\n"
    "id: 7\rdata:\r\r"
    "retry: 300\n\n"
    "data: [DONE]\n\n"
).encode()  # fmt: skip
EVENTS = [
    SseEvent(data='{"text":"Größe"}', event="message"),
    SseEvent(comment="ping"),
    SseEvent(data="one\ntwo"),
    SseEvent(data="", id="7"),
    SseEvent(retry="300"),
    SseEvent(data="[DONE]"),
]


def read(*chunks: bytes) -> list[SseEvent]:
    reader = SseReader()
    return [event for chunk in chunks for event in reader.feed(chunk)]


def test_all_line_ends_and_fields_are_read() -> None:
    """Servers end lines in CR, LF or CRLF and leave fields out."""
    assert read(STREAM) == EVENTS


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_any_split_of_the_bytes_gives_the_same_events(cuts: list[int]) -> None:
    """A network cuts anywhere: between CR and LF, inside a character."""
    edges = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[start:end] for start, end in pairwise(edges)]

    assert read(*chunks) == EVENTS


def test_one_byte_at_a_time_gives_the_same_events() -> None:
    """The finest split there is."""
    assert read(*(STREAM[index : index + 1] for index in range(len(STREAM)))) == EVENTS


@pytest.mark.parametrize("cut", [b"data: {", b"data: {\n", b"event: x\ndata: 1"])
def test_an_unfinished_event_is_the_tail(cut: bytes) -> None:
    """A stream that dies inside an event shows what was there."""
    reader = SseReader()

    assert reader.feed(b"data: 1\n\n" + cut) == [SseEvent(data="1")]
    assert reader.tail == cut.decode()


def test_a_whole_stream_has_no_tail() -> None:
    """The last blank line ends the last event."""
    reader = SseReader()
    reader.feed(STREAM)

    assert reader.tail == ""


@given(data=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")))
def test_reading_what_was_encoded_gives_it_back(data: str) -> None:
    """Data with line feeds becomes several data lines and one event."""
    assert read(encode_event(data, event="delta")) == [SseEvent(data=data, event="delta")]


def test_a_comment_comes_back() -> None:
    """Gateways send comments to keep connections open."""
    assert read(encode_comment("OPENROUTER PROCESSING")) == [
        SseEvent(comment="OPENROUTER PROCESSING")
    ]
