"""What the differences of a miss look like to one who knows agents: the words beside the pointers.

Nothing here decides anything; a sentence that does not fit costs a reader a moment.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mcprec_addon.exchange import Call, Json, ModelCall
from mcprec_addon.jsonvalue import ABSENT, Difference, Pointer, canonical, one_line
from mcprec_addon.replay.conversation import (
    conversation_member,
    is_models,
    is_prompt,
    messages,
    tool_turn,
)
from mcprec_addon.replay.differing import name_of
from mcprec_addon.wire.providers import model_name

_PROMPTS = frozenset({"system", "instructions", "systemInstruction", "system_instruction"})
_TOOLS = frozenset({"tools", "functions", "toolConfig"})
_GROUPS = frozenset({"generationConfig", "inferenceConfig", "options", "config"})  # of parameters
# Members that frameworks put into a tool by themselves, in every version otherwise.
_DIALECT = frozenset(
    {"strict", "additionalProperties", "$schema", "title", "default", "cache_control", "nullable"}
)
_NAMED = 3  # names in a sentence; the rest is counted


def explained(call: Call, recorded: Call, differences: Sequence[Difference]) -> list[str]:
    """Return what the differences look like, a sentence each without a full stop; often none.

    Args:
        call: What was asked.
        recorded: The nearest recorded call.
        differences: Where they differ.
    """
    lines: list[str] = []
    index = message_index(call, differences)
    if isinstance(call, ModelCall):
        request = _Request(call, recorded, [each for each in differences if not _is_in(each, call)])
        lines += request.lines()
        if index is not None:
            lines.append(_diverged(index, call, recorded, differences))
        if request.is_dialect or (index is not None and _is_retold(index, call, recorded)):
            lines.append("that looks like another version of the agent's framework or SDK")
    return [*lines, *_nulls(differences), *_types(differences)]


def message_index(call: Call, differences: Sequence[Difference]) -> int | None:
    """Return the first message in which a conversation went another way, or None."""
    found = (int(each.pointer[2]) for each in differences if _is_in(each, call))
    return min(found, default=None)


def _is_in(difference: Difference, call: Call) -> bool:
    match difference.pointer:
        case ("request", member, index, *_):
            return member == conversation_member(call) and index.isdigit()
        case _:
            return False


@dataclass(slots=True)
class _Request:
    """What of a request differs beside its conversation."""

    call: Call
    recorded: Call
    differences: Sequence[Difference]
    is_dialect: bool = field(default=False, init=False)

    def lines(self) -> Iterator[str]:
        """Yield a sentence for the prompt, one for the parameters and one for the tools."""
        steps = [each.pointer[1:] for each in self.differences if each.pointer[0] == "request"]
        heads = [each[0] for each in steps if each and not each[0].isdigit()]
        names = dict.fromkeys(_parameter(each) for each in steps if each and each[0] in heads)
        if not _PROMPTS.isdisjoint(heads):
            yield "the system prompt changed"
        parameters = [each for each in names if each not in _PROMPTS | _TOOLS]
        if self._is_other_model():
            parameters.insert(0, "model")
        if parameters:
            noun = "a parameter" if len(parameters) == 1 else "parameters"
            yield f"{noun} changed: {_listed(parameters)}"
        if not _TOOLS.isdisjoint(heads):
            yield f"the tools changed: {'; '.join(self._tools()) or 'see above'}"

    def _is_other_model(self) -> bool:
        """Whether the path names another model."""
        sides = [each for each in (self.call, self.recorded) if isinstance(each, ModelCall)]
        is_path = any(each.pointer == ("path",) for each in self.differences)
        return is_path and len({*map(model_name, sides)}) > 1

    def _tools(self) -> Iterator[str]:
        added: list[str] = []
        removed: list[str] = []
        changed: dict[str, list[str]] = {}
        for each in self.differences:
            if each.pointer[1:2] and each.pointer[1] in _TOOLS:
                name, rest = self._tool_at(each)
                if isinstance(each.old, list) and isinstance(each.new, list) and name is None:
                    yield "another order"
                elif name is not None and not rest:
                    (added if each.old is ABSENT else removed).append(name)
                elif name is not None:
                    changed.setdefault("/".join(rest), []).append(name)
        if added:
            yield f"{_listed(added)} added"
        if removed:
            yield f"{_listed(removed)} removed"
        yield from self._changed(changed)

    def _changed(self, changed: Mapping[str, list[str]]) -> Iterator[str]:
        for where, tools in list(changed.items())[:_NAMED]:
            self.is_dialect |= len(tools) > 1 or where.rpartition("/")[2] in _DIALECT
            yield f"{one_line(where)} of {_listed(tools)}"
        if len(changed) > _NAMED:
            yield f"{len(changed) - _NAMED} more"

    def _tool_at(self, difference: Difference) -> tuple[str | None, Pointer]:
        """Return which tool a difference is in, and the way from there."""
        side = self.recorded if difference.new is ABSENT else self.call
        value: Json = side.request if isinstance(side, ModelCall) else None
        for place, step in enumerate(difference.pointer[1:], 2):
            value = _member(value, step)
            name = name_of(value) if step.isdigit() else None
            if name is not None:
                return name, difference.pointer[place:]
        return None, ()


def _member(value: Json, step: str) -> Json:
    match value:
        case dict():
            return value.get(step)
        case list():
            return value[int(step)] if step.isdigit() and int(step) < len(value) else None
        case _:
            return None


def _parameter(steps: Pointer) -> str:
    return ".".join(steps[:2]) if steps[0] in _GROUPS else steps[0]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(map(one_line, names[:_NAMED]))}{more}"


def _diverged(index: int, call: Call, recorded: Call, differences: Sequence[Difference]) -> str:
    """Return where a conversation diverged, and who said what stands there."""
    line = f"diverged at message {index} of the conversation"
    asked, known = messages(call), messages(recorded)
    if index >= len(known):
        return f"{line}, where the recorded one ends"
    if index >= len(asked):
        return f"{line}, where the recorded one goes on"
    order = _order(index, asked, known)
    if order is not None:
        return f"{line}: {order}"
    steps = next(each.pointer[3:] for each in differences if _is_in(each, call))
    for talk in (asked, known):
        result = tool_turn(talk, index, steps)
        if result is not None and result.tool is None:
            return f"{line}, a tool result: look at the tool that produced it"
        if result is not None:
            turn = "" if result.turn is None else f", called in turn {result.turn}"
            return f"{line}, the result of {one_line(str(result.tool))}{turn}: look at that tool"
    return f"{line}{_speaker(asked[index])}"


def _order(index: int, asked: Sequence[Json], known: Sequence[Json]) -> str | None:
    """Return that messages only came in another order, where they did."""
    pairs = zip(asked[index:], known[index:], strict=False)
    apart = [pair for pair in pairs if canonical(pair[0]) != canonical(pair[1])]
    left, right = (sorted(canonical(pair[side]) for pair in apart) for side in (0, 1))
    if left != right:
        return None
    results = tool_turn(asked, index) is not None
    what = "results of tools that ran at once came" if results else "the same messages came"
    return f"{what} in another order"


def _speaker(message: Json) -> str:
    if is_prompt(message):
        return ", the system prompt"
    if is_models(message):
        return ", what the model said, as the agent sends it back"
    is_users = isinstance(message, dict) and message.get("role") == "user"
    return ", what the user says" if is_users else ""


def _is_retold(index: int, call: Call, recorded: Call) -> bool:
    """Whether what the model said is sent back otherwise: in a replay it said the same."""
    sides = [messages(each)[index : index + 1] for each in (call, recorded)]
    return all(sides) and all(is_models(each) for side in sides for each in side)


def _nulls(differences: Iterable[Difference]) -> Iterator[str]:
    pairs = [(each.old, each.new) for each in differences]
    if any(
        (old is ABSENT and new is None) or (old is None and new is ABSENT) for old, new in pairs
    ):
        yield "null against absent: clients differ in whether they send a null"


def _types(differences: Iterable[Difference]) -> Iterator[str]:
    for each in differences:
        sides = (each.old, each.new)
        text = next((side for side in sides if isinstance(side, str)), None)
        other = next((side for side in sides if isinstance(side, int | float)), None)
        if text is not None and other is not None and canonical(other).decode() == text:
            kind = "truth value" if isinstance(other, bool) else "number"
            yield f"the same {kind}, once as text"
            return
