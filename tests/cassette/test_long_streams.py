"""Events in groups are read as often as they are looked at, and checked at once."""

import pytest

from mcprec_addon.cassette.blobs import no_blobs
from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.cassette.long_streams import long_mcp_events, long_stream_events
from mcprec_addon.exchange import McpEvent, StreamEvent

FIRST = b'{"at":1,"message":{"method":"a","params":{"$$part":"x"}}},'
SECOND = b'{"at":2,"message":{"method":"b"}}'


def test_messages_of_groups_come_before_their_own() -> None:
    """A journal has the groups on lines of their own, ahead of their exchange."""
    own = McpEvent(at_ms=3, message={"method": "c"})

    events = long_mcp_events([lambda: FIRST, lambda: SECOND], [own], no_blobs)

    assert [event.message["method"] for event in events] == ["a", "b", "c"]
    assert events[0].message["params"] == {"$part": "x"}


def test_an_unfinished_last_event_is_the_streams_tail() -> None:
    """It stands in the last group."""
    events, tail = long_stream_events(
        [lambda: b'{"at":1,"json":1},', lambda: b'{"tail":"da"}'], [], no_blobs
    )

    assert events == [StreamEvent(at_ms=1, kind="json", value=1)]
    assert tail == "da"


@pytest.mark.parametrize("group", [b"{]", b'{"at":1}', b'"text"', b'{"at":1,"message":2}'])
def test_a_damaged_group_is_known_at_once(group: bytes) -> None:
    """A replay that has begun must not find out."""
    with pytest.raises(RecordProblemError):
        long_mcp_events([lambda: SECOND, lambda: group], [], no_blobs)
