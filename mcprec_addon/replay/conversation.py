"""The conversation in a model request: where it stands, its messages, and who said them.

A *turn* is one answer of the model, counted from 1, however many messages or items carry it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcprec_addon.exchange import Call, Json, ModelCall
from mcprec_addon.wire.providers import api_of

_MEMBERS = ("messages", "input", "contents")  # for endpoints that have no row
_BLOCKS = ("content", "parts")  # members of a message that hold its blocks
_RESULTS = frozenset({"functionResponse", "function_response", "toolResult"})
_CALLS = frozenset({"functionCall", "function_call", "toolUse"})
_PROMPTS = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """Which call of a tool brought a result.

    Attributes:
        tool: The tool's name, or None where the request does not tell.
        turn: Number of the model's answer that called it, or None likewise.
    """

    tool: str | None = None
    turn: int | None = None


def conversation_member(call: Call) -> str | None:
    """Return the member of a model request that holds the list of messages, if it has one."""
    if not isinstance(call, ModelCall) or not isinstance(call.request, dict):
        return None
    api = api_of(call.provider, call.path)
    names = (api.conversation,) if api else _MEMBERS
    return next((name for name in names if isinstance(call.request.get(name), list)), None)


def messages(call: Call) -> list[Json]:
    """Return the messages of a model call; none where it has no conversation."""
    member = conversation_member(call)
    if member is None or not isinstance(call, ModelCall) or not isinstance(call.request, dict):
        return []
    found = call.request[member]
    return found if isinstance(found, list) else []


def is_tool_result(message: Json) -> bool:
    """Whether a message brings the model what a tool returned."""
    return _is_result(message) or any(map(_is_result, _blocks(message)))


def is_prompt(message: Json) -> bool:
    """Whether a message is the system prompt."""
    return isinstance(message, dict) and message.get("role") in _PROMPTS


def is_models(message: Json) -> bool:
    """Whether a message, or an item of one, is what the model said before."""
    if not isinstance(message, dict):
        return False
    kind = message.get("type")
    is_item = isinstance(kind, str) and (kind == "reasoning" or kind.endswith("_call"))
    return is_item or message.get("role") in ("assistant", "model")


def tool_turn(talk: Sequence[Json], index: int, steps: Sequence[str] = ()) -> ToolTurn | None:
    """Return which tool call brought the result in a message, or None where it brings none.

    Args:
        talk: The messages.
        index: Place of the message among them.
        steps: Pointer to what is meant in the message, as it may bring several results.
    """
    result = _result_at(talk[index], steps) if index < len(talk) else None
    if result is None:
        return None
    identifier, name = _identity(result)
    for at in range(index - 1, -1, -1):
        called = list(_calls(talk[at]))
        fitting = [each for each in called if _fits(each, identifier, name)]
        if not fitting and name is None and all(each[0] is None for each in called):
            fitting = _by_place(talk, at, index)
        if fitting:
            return ToolTurn(fitting[0][1] or name, _turn(talk, at))
    return ToolTurn(name)


def _blocks(message: Json) -> list[Json]:
    if not isinstance(message, dict):
        return []
    found = next((message[name] for name in _BLOCKS if name in message), None)
    return found if isinstance(found, list) else []


def _is_result(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if value.get("role") in ("tool", "function") or not _RESULTS.isdisjoint(value):
        return True
    return isinstance(kind, str) and kind.endswith(("tool_result", "_call_output"))


def _result_at(message: Json, steps: Sequence[str]) -> dict[str, Json] | None:
    blocks = _blocks(message)
    match steps:
        case (member, place, *_) if member in _BLOCKS and place.isdigit():
            blocks = blocks[int(place) :][:1]
        case _:
            pass
    found = next(filter(_is_result, [*blocks, message]), None)
    return found if isinstance(found, dict) else None


def _identity(result: dict[str, Json]) -> tuple[str | None, str | None]:
    """Return the id of the call that a result answers, and the tool's name, as far as it says."""
    inner = next((result[each] for each in _RESULTS if each in result), result)
    inner = inner if isinstance(inner, dict) else {}
    ids = ("tool_call_id", "tool_use_id", "call_id", "toolUseId", "id")
    return _text(inner, ids), _text(inner, ("tool_name", "name"))


def _text(value: dict[str, Json], names: Sequence[str]) -> str | None:
    found = (value.get(name) for name in names)
    return next((each for each in found if isinstance(each, str) and each), None)


def _calls(message: Json) -> Iterator[tuple[str | None, str | None]]:
    """Yield id and name of each tool that a message calls."""
    if not isinstance(message, dict):
        return
    kind = message.get("type")
    if isinstance(kind, str) and kind.endswith("_call"):
        yield _text(message, ("call_id", "id")), _text(message, ("name",)) or kind[: -len("_call")]
    listed = message.get("tool_calls")
    for call in listed if isinstance(listed, list) else []:
        if isinstance(call, dict):
            function = call.get("function")
            named = function if isinstance(function, dict) else call
            yield _text(call, ("id",)), _text(named, ("name",))
    for block in [message, *_blocks(message)]:
        if isinstance(block, dict):
            yield from _called_in(block)


def _called_in(block: dict[str, Json]) -> Iterator[tuple[str | None, str | None]]:
    kind = block.get("type")
    if isinstance(kind, str) and kind.endswith("tool_use"):
        yield _text(block, ("id",)), _text(block, ("name",))
    for name in _CALLS:
        call = block.get(name)
        if isinstance(call, dict):
            yield _text(call, ("toolUseId", "id")), _text(call, ("name",))


def _fits(called: tuple[str | None, str | None], identifier: str | None, name: str | None) -> bool:
    if identifier is not None and called[0] is not None:
        return called[0] == identifier
    return name is not None and called[1] == name


def _by_place(talk: Sequence[Json], at: int, index: int) -> list[tuple[str | None, str | None]]:
    """Return the call of a result where ids do not tell: results come in the order of calls."""
    place = sum(is_tool_result(each) for each in talk[at + 1 : index])
    return list(_calls(talk[at]))[place : place + 1]


def _turn(talk: Sequence[Json], index: int) -> int:
    """Return in which answer of the model a message of its own stands."""
    said = [is_models(each) for each in talk[: index + 1]]
    return sum(now and not before for before, now in zip([False, *said], said, strict=False))
