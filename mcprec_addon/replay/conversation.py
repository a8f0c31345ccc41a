"""The conversation in a model request: where it stands, its messages, which are tool results."""

from mcprec_addon.exchange import Call, Json, ModelCall
from mcprec_addon.wire.providers import api_of

_MEMBERS = ("messages", "input", "contents")  # for endpoints that have no row
_RESULTS = frozenset({"functionResponse", "toolResult"})  # members of a message's parts


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
    if not isinstance(message, dict):
        return False
    kind = message.get("type")
    if message.get("role") in ("tool", "function") or kind == "tool_result":
        return True
    if isinstance(kind, str) and kind.endswith("_call_output"):
        return True
    blocks = message.get("content", message.get("parts"))
    return isinstance(blocks, list) and any(map(_is_result_block, blocks))


def _is_result_block(block: Json) -> bool:
    if not isinstance(block, dict):
        return False
    return block.get("type") == "tool_result" or not _RESULTS.isdisjoint(block)
