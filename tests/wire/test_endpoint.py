"""The first event of HTTP+SSE, and where it leads."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.wire.endpoint import EndpointLead, endpoint_event, endpoint_url
from mcprec_addon.wire.sse import SseEvent, SseReader

STREAM = "https://mcp.example/sse"
SERVER, DOOR = "https://mcp.example", "http://127.0.0.1:5000"


def led(*chunks: bytes) -> bytes:
    lead = EndpointLead(SERVER, DOOR)
    return b"".join([*map(lead.feed, chunks), lead.feed(b"")])


@pytest.mark.parametrize(
    ("told", "url"),
    [
        ("/messages/?session_id=1", "https://mcp.example/messages/?session_id=1"),
        ("messages?s=1", "https://mcp.example/messages?s=1"),
        ("?s=1", "https://mcp.example/sse?s=1"),
        ("https://mcp.example/m", "https://mcp.example/m"),
        ("https://elsewhere.example/m", None),
        ("http://mcp.example/m", None),
    ],
)
def test_an_endpoint_is_within_the_origin_of_its_stream(told: str, url: str | None) -> None:
    """Clients refuse any other, and an event of that name elsewhere is no endpoint."""
    assert endpoint_url(SseEvent(event="endpoint", data=told), STREAM) == url
    assert endpoint_url(SseEvent(event="message", data=told), STREAM) is None
    assert endpoint_url(SseEvent(event="endpoint"), STREAM) is None


def test_the_event_is_read_as_it_was_written() -> None:
    """A replay tells its own endpoint, in the form that clients know."""
    (event,) = SseReader().feed(endpoint_event("/sse?session_id=1"))

    assert endpoint_url(event, STREAM) == "https://mcp.example/sse?session_id=1"


@given(cuts=st.sets(st.integers(1, 100), max_size=6))
def test_an_absolute_endpoint_is_led_however_it_is_cut(cuts: set[int]) -> None:
    """The network cuts where it likes, in the middle of an address too."""
    rest = b'event: message\r\ndata: {"see":"https://mcp.example/m"}\r\n\r\n'
    sent = b"event: endpoint\r\ndata: https://mcp.example/m?s=1\r\n\r\n" + rest
    at = [0, *sorted(cuts), len(sent)]

    seen = led(*(sent[start:end] for start, end in pairwise(at)))

    assert seen == b"event: endpoint\r\ndata: http://127.0.0.1:5000/m?s=1\r\n\r\n" + rest


@pytest.mark.parametrize(
    "sent",
    [
        b"event: endpoint\ndata: /messages/?s=1\n\n",
        b"event: endpoint\ndata: https://elsewhere.example/m\n\n",
        b"event: endpoint\ndata: https://mcp.example.evil/m\n\n",
        b'data: {"method":"notifications/message"}\n\ndata: https://mcp.example/m\n\n',
        b": ping",
        b"",
    ],
)
def test_everything_else_passes_as_it_came(sent: bytes) -> None:
    """What is exchanged is unchanged by recording."""
    assert led(sent) == sent


def test_only_the_first_event_is_held_back() -> None:
    """A stream reaches the agent as it arrives."""
    lead = EndpointLead(SERVER, DOOR)

    assert lead.feed(b"event: endpoint\n") == b""
    assert lead.feed(b"data: /m\n\n") == b"event: endpoint\ndata: /m\n\n"
    assert lead.feed(b"da") == b"da"
