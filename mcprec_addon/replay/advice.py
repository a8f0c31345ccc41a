"""What a live model is told on a miss, as the result of its tool call, so that it can go on.

It speaks of the recording alone and never answers with the nearest call's answer.
"""

from collections.abc import Callable, Iterator

from mcprec_addon.exchange import Era, Json, McpAnswer, McpCall
from mcprec_addon.jsonvalue import dumps, one_line, pointer_text
from mcprec_addon.replay.miss import Miss
from mcprec_addon.wire.jsonrpc import MISS_CODE

_NOTHING = "No data for this call: "
_LONGEST = 8000  # characters of arguments: a file's content in them would fill a model's context
_NAMED = 5

type OnAnswer = Callable[[McpCall, McpAnswer, Era], None]
"""Takes a call, what it gets, and the era it is spoken in."""


def unheard(call: McpCall, answer: McpAnswer, era: Era) -> None:
    """Take a call and what it gets, and do nothing."""
    del call, answer, era


def refusal(text: str) -> McpAnswer:
    """Return a result that says that a tool call failed, and why."""
    content: list[Json] = [{"type": "text", "text": text}]
    return McpAnswer(kind="result", value={"content": content, "isError": True})


def missed_answer(miss: Miss) -> McpAnswer:
    """Return the error that a missed call gets where it gets no advice."""
    return McpAnswer(kind="error", value={"code": MISS_CODE, "message": miss.message()})


def plain_text(miss: Miss) -> str:
    """Return that there is no such data, and nothing else."""
    return f"{_NOTHING}{_tool(miss)} answers from a recording that does not have it."


def advice_text(miss: Miss, nearest: Json) -> str:
    """Return which call would have had an answer.

    Args:
        miss: The call that has none.
        nearest: The arguments of the nearest recorded call, as the agent may write them.
    """
    tool = _tool(miss)
    if miss.nearest is None:
        return f"{_NOTHING}{_never(miss)}"
    if miss.cause == "used up":
        times = "once" if miss.recorded_times == 1 else f"{miss.recorded_times} times"
        return f"{_NOTHING}it was recorded {times}, and all of that has been given out."
    where = list(dict.fromkeys(_places(miss)))
    more = f" and {len(where) - _NAMED} more places" if len(where) > _NAMED else ""
    named = f"They differ at {', '.join(where[:_NAMED])}{more}."
    return "\n".join(
        [
            f"{_NOTHING}{tool} answers from a recording that does not have these arguments.",
            "The nearest recorded arguments are",
            _cut(dumps({} if nearest is None else nearest).decode()),
            f"{named} If they serve the purpose, call {tool} again with exactly these.",
        ]
    )


def _tool(miss: Miss) -> str:
    call = miss.call
    return one_line(call.name or call.method) if isinstance(call, McpCall) else miss.title


def _never(miss: Miss) -> str:
    line = f"{_tool(miss)} was never called in the recording"
    if miss.other_server is not None:
        return f"{line} on this server, but on {one_line(miss.other_server)}."
    if miss.nearest_name is None:
        return f"{line}."
    return f"{line}. The nearest of the tools that were is {one_line(miss.nearest_name)}."


def _places(miss: Miss) -> Iterator[str]:
    for each in miss.differences:
        steps = each.pointer[1:] if each.pointer[:1] == ("args",) else each.pointer
        yield one_line(pointer_text(steps)) or "the top"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… (cut)"
