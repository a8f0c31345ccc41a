"""The texts of a streamed model answer, joined per channel from its deltas."""

from collections.abc import Iterator, Sequence

from mcprec_addon.exchange import Json, StreamEvent
from mcprec_addon.jsonvalue import Pointer, dumps
from mcprec_addon.wire.deltas import each_at, is_of, pieces_at, text_at
from mcprec_addon.wire.providers import channels_of, tools_of

_CALL = "tool call"

type _Piece = tuple[str, str, str]
"""Channel, place within the answer, text."""


def joined_texts(events: Sequence[StreamEvent], provider: str) -> list[tuple[str, str]]:
    """Return channel and whole text of everything a stream said, in order of first appearance.

    A channel's name carries its place where the stream has several of a kind, and the name of
    the tool where it holds the arguments of a call.
    """
    texts: dict[tuple[str, str], list[str]] = {}
    tools: dict[tuple[str, str], str] = {}
    for event in events:
        if event.kind != "json" or not isinstance(event.value, dict):
            continue
        for channel, place, text in _pieces(event.value, provider):
            texts.setdefault((channel, place), []).append(text)
        for place, name, arguments in _tools(event.value, provider):
            # One with whole arguments has no number of its own that other events would have.
            at = _CALL, place if arguments is None else str(len(tools))
            tools[at] = name
            texts.setdefault(at, []).extend([arguments] if arguments is not None else [])
    kinds = [channel for channel, _ in texts]
    return [
        (_title(key, tools.get(key), is_one=kinds.count(key[0]) == 1), "".join(pieces))
        for key, pieces in texts.items()
    ]


def _title(key: tuple[str, str], tool: str | None, *, is_one: bool) -> str:
    channel, place = key
    if tool is not None:
        return f"{channel} {tool}" if is_one else f"{channel} {place} {tool}"
    return channel if is_one else f"{channel} {place}"


def _pieces(event: dict[str, Json], provider: str) -> Iterator[_Piece]:
    for channel in channels_of(provider):
        if channel.says is not None and is_of(event, channel):
            for _, key, text in pieces_at(event, channel):
                if text:
                    yield channel.says, _place(event, channel.number, key), text


def _tools(event: dict[str, Json], provider: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield place and name of the tool calls that an event begins, and arguments that are whole."""
    for tool in tools_of(provider):
        for _, key, name, around in each_at(event, tool.name):
            if isinstance(name, str) and name:
                whole = around.get(tool.arguments or "") if isinstance(around, dict) else None
                arguments = dumps(whole or {}).decode() if tool.arguments is not None else None
                yield _place(event, tool.number, key), name, arguments


def _place(event: Json, number: Pointer | None, key: tuple[str, ...]) -> str:
    told = text_at(event, number) if number is not None else ""
    return ".".join([*([told] if told else []), *key]) or "0"
