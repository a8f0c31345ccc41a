"""Streams: the text of each channel joined, redacted whole, put back in pieces.

What is a channel the provider's row says; one that no row names has its deltas redacted one by
one.

What an MCP server tells in the middle of a call is a channel too, for some send a text in pieces
that way. But most send whole lines, so there a number or address that is whole in one message is
not made longer by the next.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import Pointer, pointer_text
from mcprec_addon.redact.finder import Finder
from mcprec_addon.redact.forms import EMAIL
from mcprec_addon.redact.hits import Edit
from mcprec_addon.redact.personal import CARD, PHONE
from mcprec_addon.wire.deltas import Channel, Delta, deltas
from mcprec_addon.wire.providers import channels_of

_LOGGER = (("params", "logger"), ("params", "level"))

MCP = "mcp"
"""Stands for a provider where the events are messages of an MCP server."""

# Classes whose secrets end where they look as if they did, were it not for what follows.
_WHOLE = frozenset({EMAIL, PHONE, CARD, "url-password"})

_TOLD = (
    Channel(delta=("params", "message"), method="notifications/progress"),
    *(
        Channel(delta=("params", *data), by=_LOGGER, method="notifications/message")
        for data in (("data",), ("data", "text"), ("data", "message"), ("data", "delta"))
    ),
)


def stream_channels(provider: str) -> tuple[Channel, ...]:
    """Return what is told in pieces: by a provider, or where it is `MCP` by an MCP server."""
    return _TOLD if provider == MCP else channels_of(provider)


def redact_deltas(
    values: Sequence[Json], provider: str, finder: Finder, *, first: int | None = None
) -> tuple[list[Json], list[set[str]]]:
    """Return the values of events with the text of their channels redacted, and where it stands.

    Args:
        values: The values; of an event that is no JSON, None.
        provider: Whose they are; `MCP` for messages of an MCP server.
        finder: Finds the secrets.
        first: How many of the events, from the first, a secret must begin in; all by default.

    Returns:
        The values, those without a secret as they were, and for each the pointers of its deltas.
    """
    channels: dict[tuple[str, ...], list[Delta]] = {}
    places: list[set[str]] = []
    known = stream_channels(provider)
    for position, value in enumerate(values):
        found = deltas(value, known, position)
        places.append({pointer_text(delta.at) for delta in found})
        for delta in found:
            channels.setdefault(delta.channel, []).append(delta)
    changed = list(values)
    for members in channels.values():
        texts = [delta.text for delta in members]
        edits = _line_edits(texts, finder) if provider == MCP else finder.edits("".join(texts))
        if edits and first is not None:
            reach = sum(len(delta.text) for delta in members if delta.event < first)
            edits = [edit for edit in edits if edit.start < reach]
        if edits:
            for delta, piece in zip(members, spread(texts, edits), strict=True):
                changed[delta.event] = _put(changed[delta.event], delta.at, piece)
    return changed, places


def _line_edits(lines: list[str], finder: Finder) -> list[Edit]:
    """Return the edits of lines joined, where each may be whole by itself."""
    starts = [0, *accumulate(map(len, lines))]
    alone = [
        replace(edit, start=start + edit.start, end=start + edit.end)
        for start, line in zip(starts, lines, strict=False)
        for edit in finder.edits(line)
    ]
    across = [
        edit
        for edit in finder.edits("".join(lines))
        if bisect_right(starts, edit.start) != bisect_right(starts, edit.end - 1)
    ]
    begins = set(starts)
    for edit in across:
        inside = [each for each in alone if each.start < edit.end and edit.start < each.end]
        if not any(each.cls in _WHOLE or each.start in begins - {edit.start} for each in inside):
            alone = [each for each in alone if each not in inside] + [edit]
    return sorted(alone, key=lambda edit: edit.start)


def _put(value: Json, at: Pointer, text: str) -> Json:
    if not at:
        return text
    step, rest = at[0], at[1:]
    match value:
        case dict():
            return {**value, step: _put(value[step], rest, text)}
        case list():
            index = int(step)
            return [*value[:index], _put(value[index], rest, text), *value[index + 1 :]]
        case _:
            return value


def spread(pieces: list[str], edits: Iterable[Edit]) -> list[str]:
    """Return pieces of a text with edits of the whole made.

    What takes a secret's place goes whole into the piece where the secret begins; the rest of
    the secret is cut from the others. Their number and order stay.
    """
    ends = list(accumulate(map(len, pieces)))
    whole = "".join(pieces)
    changed = [""] * len(pieces)
    at = 0
    for edit in edits:
        _copy(whole, changed, ends, (at, edit.start))
        changed[bisect_right(ends, edit.start)] += edit.text
        at = edit.end
    _copy(whole, changed, ends, (at, len(whole)))
    return changed


def _copy(whole: str, changed: list[str], ends: list[int], span: tuple[int, int]) -> None:
    at, last = span
    piece = bisect_right(ends, at)
    while at < last:
        end = min(last, ends[piece])
        changed[piece] += whole[at:end]
        at = end
        piece += 1
