"""The texts of a streamed model answer, joined per channel from its deltas."""

from collections.abc import Iterator, Sequence

from mcprec_addon.exchange import Json, StreamEvent

# Types of a Responses event -> the channel its `delta` belongs to.
_RESPONSES = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning summary",
    "response.function_call_arguments.delta": "tool call",
    "response.custom_tool_call_input.delta": "tool call",
    "response.mcp_call_arguments.delta": "tool call",
    "response.code_interpreter_call_code.delta": "code",
}
# Types of an Anthropic delta -> its channel, and the member that holds the piece.
_ANTHROPIC = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("tool call", "partial_json"),
}
# Members of a chat completion's delta -> their channel.
_CHAT = {
    "content": "text",
    "refusal": "refusal",
    "reasoning": "reasoning",
    "reasoning_content": "reasoning",
}
_TOOL_BLOCKS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})

type _Piece = tuple[str, str, str]
"""Channel, place within the answer, text."""


def joined_texts(events: Sequence[StreamEvent]) -> list[tuple[str, str]]:
    """Return channel and whole text of everything a stream said, in order of first appearance.

    A channel's name carries its place where the stream has several of a kind, and the name of
    the tool where it holds the arguments of a call.
    """
    texts: dict[tuple[str, str], list[str]] = {}
    tools: dict[tuple[str, str], str] = {}
    for event in events:
        if event.kind != "json":
            continue
        for channel, place, text in _pieces(event.value):
            texts.setdefault((channel, place), []).append(text)
        for place, name in _tool_names(event.value):
            tools["tool call", place] = name
            texts.setdefault(("tool call", place), [])
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


def _member(value: Json, *steps: str) -> Json:
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _elements(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _pieces(event: Json) -> Iterator[_Piece]:
    kind = _member(event, "type")
    if isinstance(kind, str) and kind in _RESPONSES:
        place = _place(event, "output_index")
        yield from _piece(_RESPONSES[kind], place, _member(event, "delta"))
    elif kind == "content_block_delta":
        delta = _member(event, "delta")
        channel, member = _ANTHROPIC.get(str(_member(delta, "type")), ("", ""))
        yield from _piece(channel, _place(event, "index"), _member(delta, member))
    elif kind is None:
        for choice in _elements(_member(event, "choices")):
            yield from _choice_pieces(choice)


def _choice_pieces(choice: Json) -> Iterator[_Piece]:
    place = _place(choice, "index")
    delta = _member(choice, "delta")
    for member, channel in _CHAT.items():
        yield from _piece(channel, place, _member(delta, member))
    for call in _elements(_member(delta, "tool_calls")):
        arguments = _member(call, "function", "arguments")
        yield from _piece("tool call", f"{place}.{_place(call, 'index')}", arguments)


def _piece(channel: str, place: str, text: Json) -> Iterator[_Piece]:
    if channel and isinstance(text, str) and text:
        yield channel, place, text


def _place(value: Json, member: str) -> str:
    found = _member(value, member)
    return str(found) if isinstance(found, int) else "0"


def _tool_names(event: Json) -> Iterator[tuple[str, str]]:
    """Yield place and name of the tool calls that an event begins."""
    kind = _member(event, "type")
    if kind == "content_block_start":
        block = _member(event, "content_block")
        if _member(block, "type") in _TOOL_BLOCKS:
            yield _place(event, "index"), str(_member(block, "name"))
    elif kind == "response.output_item.added":
        name = _member(event, "item", "name")
        if isinstance(name, str):
            yield _place(event, "output_index"), name
    elif kind is None:
        yield from _chat_tool_names(event)


def _chat_tool_names(event: Json) -> Iterator[tuple[str, str]]:
    for choice in _elements(_member(event, "choices")):
        for call in _elements(_member(choice, "delta", "tool_calls")):
            name = _member(call, "function", "name")
            if isinstance(name, str) and name:
                yield f"{_place(choice, 'index')}.{_place(call, 'index')}", name
