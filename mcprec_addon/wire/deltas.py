"""What streams of model APIs say in pieces: where the pieces stand, and what tells them apart.

A channel is what a client joins: pieces at one pointer with the same choice, item or block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import Pointer, parse_pointer, pointer_text

type Says = Literal[
    "text", "refusal", "reasoning", "reasoning summary", "thinking", "tool call", "code"
]
"""What a person calls a channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Where the pieces of one kind stand in an event.

    Attributes:
        delta: Pointer to the piece; ``*`` steps through a list, whose elements are told apart
            by their ``index``.
        by: Pointers to the members of the event that tell channels apart.
        suffix: What the event's ``type`` ends with; any where empty.
        method: What the message's ``method`` is; any where empty.
        beside: A member beside the piece, and whether it must be true there.
        says: What a person calls it; None where it is not worth showing.
        number: Pointer to the number that a person tells several of a kind apart by.
    """

    delta: Pointer
    by: tuple[Pointer, ...] = ()
    suffix: str = ""
    method: str = ""
    beside: tuple[str, bool] | None = None
    says: Says | None = None
    number: Pointer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """Where an event names the tool of a call that begins there.

    Attributes:
        name: Pointer to the name.
        number: As in a channel: the arguments in pieces have the same one.
        arguments: Last step of the pointer to the arguments, beside the name, where they come
            whole.
    """

    name: Pointer
    number: Pointer | None = None
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """One piece of a stream.

    Attributes:
        channel: What tells its channel from all others.
        event: Position of its event in the stream.
        at: Where it stands in the event's value.
        text: The piece.
    """

    channel: tuple[str, ...]
    event: int
    at: Pointer
    text: str


def channel(
    delta: str,
    says: Says | None = "text",
    *,
    by: Sequence[str] = (),
    suffix: str = "",
    number: str | None = None,
    beside: tuple[str, bool] | None = None,
) -> Channel:
    """Return a channel of pointers that are given as text."""
    return Channel(
        delta=parse_pointer(delta),
        by=tuple(parse_pointer(each) for each in by),
        suffix=suffix,
        beside=beside,
        says=says,
        number=parse_pointer(number) if number is not None else None,
    )


def tool_call(name: str, *, number: str | None = None, arguments: str | None = None) -> ToolCall:
    """Return where a tool is named, of pointers that are given as text."""
    at = parse_pointer(number) if number is not None else None
    return ToolCall(name=parse_pointer(name), number=at, arguments=arguments)


def deltas(value: Json, channels: Sequence[Channel], event: int = 0) -> list[Delta]:
    """Return the pieces in an event, each once."""
    found: dict[Pointer, Delta] = {}
    if not isinstance(value, dict):
        return []
    for each in channels:
        if is_of(value, each):
            told = [text_at(value, by) for by in each.by]
            for at, key, text in pieces_at(value, each):
                name = (pointer_text(each.delta), str(each.beside or ""), *told, *key)
                found.setdefault(at, Delta(name, event, at, text))
    return list(found.values())


def is_of(value: dict[str, Json], channel: Channel) -> bool:
    """Whether an event may have pieces of a channel."""
    if channel.method and value.get("method") != channel.method:
        return False
    kind = value.get("type")
    return not channel.suffix or (isinstance(kind, str) and kind.endswith(channel.suffix))


def pieces_at(value: Json, channel: Channel) -> Iterator[tuple[Pointer, tuple[str, ...], str]]:
    """Yield where the pieces of a channel stand, the indexes passed on the way, and the pieces."""
    for at, key, found, around in each_at(value, channel.delta):
        if isinstance(found, str) and _is_beside(around, channel):
            yield at, key, found


def _is_beside(around: Json, channel: Channel) -> bool:
    if channel.beside is None or not isinstance(around, dict):
        return True
    name, is_true = channel.beside
    return bool(around.get(name)) is is_true


def text_at(value: Json, pointer: Pointer) -> str:
    """Return the name or number at a pointer, empty where there is none."""
    for step in pointer:
        value = value.get(step) if isinstance(value, dict) else None
    return str(value) if isinstance(value, str | int) else ""


def each_at(
    value: Json, pointer: Pointer, around: Json = None
) -> Iterator[tuple[Pointer, tuple[str, ...], Json, Json]]:
    """Yield where a pointer leads, the indexes passed on the way, what is there and around it."""
    if not pointer:
        yield (), (), value, around
        return
    step, rest = pointer[0], pointer[1:]
    match value:
        case dict() if step in value:
            for at, key, found, beside in each_at(value[step], rest, value):
                yield (step, *at), key, found, beside
        case list() if step == "*":
            for position, member in enumerate(value):
                index = member.get("index", position) if isinstance(member, dict) else position
                for at, key, found, beside in each_at(member, rest, value):
                    yield (str(position), *at), (str(index), *key), found, beside
        case _:
            return
