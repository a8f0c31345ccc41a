"""Streams: the text of each channel joined, redacted whole, put back in pieces.

A channel is what a client joins: deltas at one pointer with the same choice, tool call, item or
block. The table is data; a provider it does not name has its deltas redacted one by one.

What an MCP server tells in the middle of a call is a channel too, for some send a text in pieces
that way. But most send whole lines, so there a number or address that is whole in one message is
not made longer by the next.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import Pointer, parse_pointer, pointer_text
from mcprec_addon.redact.finder import Finder
from mcprec_addon.redact.forms import EMAIL
from mcprec_addon.redact.hits import Edit
from mcprec_addon.redact.personal import CARD, PHONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Where the deltas of one kind stand in an event.

    Attributes:
        delta: Pointer to the delta; ``*`` steps through a list, whose elements are told apart
            by their ``index``.
        by: Pointers to the members of the event that tell channels apart.
        suffix: What the event's ``type`` ends with; any where empty.
        method: What the message's ``method`` is; any where empty.
    """

    delta: Pointer
    by: tuple[Pointer, ...] = ()
    suffix: str = ""
    method: str = ""


def _chat(delta: str) -> Channel:
    return Channel(delta=parse_pointer(f"/choices/*{delta}"))


def _item(suffix: str) -> Channel:
    return Channel(delta=("delta",), by=_ITEM, suffix=suffix)


_ITEM_EVENTS = (
    "function_call_arguments.delta",
    "mcp_call_arguments.delta",
    "output_text.delta",
    "refusal.delta",
    "reasoning_text.delta",
    "reasoning_summary_text.delta",
    "custom_tool_call_input.delta",
    "code_interpreter_call_code.delta",
    "audio.transcript.delta",
)
_ITEM = (("type",), ("item_id",), ("output_index",), ("content_index",), ("summary_index",))
_BLOCK = (("index",),)
_LOGGER = (("params", "logger"), ("params", "level"))

MCP = "mcp"
"""Stands for a provider where the events are messages of an MCP server."""

# Classes whose secrets end where they look as if they did, were it not for what follows.
_WHOLE = frozenset({EMAIL, PHONE, CARD, "url-password"})

CHANNELS: Mapping[str, tuple[Channel, ...]] = {
    "openai": (
        _chat("/delta/content"),
        _chat("/delta/refusal"),
        _chat("/delta/reasoning_content"),
        _chat("/delta/reasoning"),
        _chat("/delta/audio/transcript"),
        _chat("/delta/function_call/arguments"),
        _chat("/delta/tool_calls/*/function/arguments"),
        _chat("/delta/tool_calls/*/custom/input"),
        _chat("/text"),
        *(_item(suffix) for suffix in _ITEM_EVENTS),
    ),
    "anthropic": (
        Channel(delta=("delta", "text"), by=_BLOCK),
        Channel(delta=("delta", "thinking"), by=_BLOCK),
        Channel(delta=("delta", "partial_json"), by=_BLOCK),
    ),
    "gemini": (Channel(delta=parse_pointer("/candidates/*/content/parts/*/text")),),
    "ollama": tuple(
        Channel(delta=parse_pointer(each))
        for each in ("/message/content", "/message/thinking", "/response", "/thinking")
    ),
    "bedrock": tuple(
        Channel(delta=parse_pointer(f"/delta/{each}"))
        for each in ("text", "toolUse/input", "reasoningContent/text")
    ),
    MCP: (
        Channel(delta=("params", "message"), method="notifications/progress"),
        *(
            Channel(delta=("params", *data), by=_LOGGER, method="notifications/message")
            for data in (("data",), ("data", "text"), ("data", "message"), ("data", "delta"))
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Delta:
    """One delta of a stream.

    Attributes:
        channel: What tells its channel from all others.
        event: Position of its event in the stream.
        at: Where it stands in the event's value.
        text: The delta.
    """

    channel: tuple[str, ...]
    event: int
    at: Pointer
    text: str


def deltas(value: Json, provider: str, event: int = 0) -> list[Delta]:
    """Return the deltas of an event, each once."""
    found: dict[Pointer, Delta] = {}
    if not isinstance(value, dict):
        return []
    for channel in CHANNELS.get(provider, ()):
        if _is_of(value, channel):
            told = [_told(value, by) for by in channel.by]
            for at, key, text in _at(value, channel.delta):
                name = (pointer_text(channel.delta), *told, *key)
                found.setdefault(at, Delta(name, event, at, text))
    return list(found.values())


def _is_of(value: dict[str, Json], channel: Channel) -> bool:
    if channel.method and value.get("method") != channel.method:
        return False
    kind = value.get("type")
    return not channel.suffix or (isinstance(kind, str) and kind.endswith(channel.suffix))


def _told(value: Json, pointer: Pointer) -> str:
    """Return the name or number that tells a channel from others, empty where there is none."""
    for step in pointer:
        value = value.get(step) if isinstance(value, dict) else None
    return str(value) if isinstance(value, str | int) else ""


def _at(value: Json, pointer: Pointer) -> Iterator[tuple[Pointer, tuple[str, ...], str]]:
    """Yield where a pointer leads, the indexes passed on the way, and the string there."""
    if not pointer:
        if isinstance(value, str):
            yield (), (), value
        return
    step, rest = pointer[0], pointer[1:]
    match value:
        case dict() if step in value:
            for at, key, text in _at(value[step], rest):
                yield (step, *at), key, text
        case list() if step == "*":
            for position, member in enumerate(value):
                index = member.get("index", position) if isinstance(member, dict) else position
                for at, key, text in _at(member, rest):
                    yield (str(position), *at), (str(index), *key), text
        case _:
            return


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
    for position, value in enumerate(values):
        found = deltas(value, provider, position)
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
