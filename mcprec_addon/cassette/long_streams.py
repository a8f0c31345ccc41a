"""The events of a long line, read by groups whenever they are looked at."""

from collections.abc import Callable, Iterator, Sequence

from mcprec_addon.cassette.blobs import BlobReader, Read
from mcprec_addon.cassette.events import read_events, read_mcp_events
from mcprec_addon.cassette.exact import unescaped
from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.cassette.lines import Group, group_elements, parsed
from mcprec_addon.exchange import Json, McpEvent, StreamEvent
from mcprec_addon.long_events import LongEvents


def long_mcp_events(
    groups: Sequence[Group], own: Sequence[McpEvent], read_blob: Read
) -> LongEvents[McpEvent]:
    """Return the messages before an MCP answer.

    Args:
        groups: Those that stand in groups.
        own: Those behind them.
        read_blob: Returns the blobs beside the cassette.

    Raises:
        RecordProblemError: One is not an object with a ``message``.
    """
    return _checked(groups, read_mcp_events, own, read_blob)


def long_stream_events(
    groups: Sequence[Group], own: Sequence[StreamEvent], read_blob: Read
) -> tuple[LongEvents[StreamEvent], str | None]:
    """Return the events of a stream, and its unfinished last event or None.

    Args:
        groups: Those that stand in groups.
        own: Those behind them.
        read_blob: Returns the blobs beside the cassette.

    Raises:
        RecordProblemError: One is no event.
    """
    tails: list[str | None] = []

    def read(elements: list[Json]) -> tuple[StreamEvent, ...]:
        events, tail = read_events(elements)
        tails[:] = [tail]
        return events

    events = _checked(groups, read, own, read_blob)
    return events, tails[0] if tails else None


def _checked[E](
    groups: Sequence[Group],
    read: Callable[[list[Json]], Sequence[E]],
    own: Sequence[E],
    read_blob: Read,
) -> LongEvents[E]:
    """Return events that were looked at once, so that what is wrong with one is known now."""

    def look() -> Iterator[Sequence[E]]:
        for group in groups:
            yield read(_elements(group, read_blob))
        if own:
            yield own

    events = LongEvents(look)
    len(events)
    return events


def _elements(group: Group, read_blob: Read) -> list[Json]:
    value, spelled = parsed(group_elements(group()), torn=False)
    if b'"$blob"' in spelled:
        value = BlobReader(read_blob).whole(value)  # nothing of a long stream is kept
    if b'"$' in spelled:
        value = unescaped(value)
    if isinstance(value, list):
        return value
    message = '"events" must be a list'
    raise RecordProblemError(message)
