"""The recorded call nearest to one that has no answer.

Nearest is of the same half, server, method and name, with the fewest differing leaves, then
the most text in common. Of many candidates a few are kept by looking at some places of each;
their differing leaves are counted cheaply (Python's ``==``, which takes `1` for `true`), and only
the last few are compared exactly.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from operator import ne

from mcprec_addon.exchange import Call, Exchange, Json, McpCall
from mcprec_addon.jsonvalue import (
    ABSENT,
    Difference,
    Pointer,
    parse_pointer,
    without,
)
from mcprec_addon.match.keys import without_texts
from mcprec_addon.replay.conversation import conversation_member
from mcprec_addon.replay.differing import call_differences, weight
from mcprec_addon.replay.edits import common_head
from mcprec_addon.replay.sieve import sieved, words_in_common
from mcprec_addon.wire.providers import api_of, family_of, resource_of

_FINALISTS = 12  # compared exactly and with difflib: some 20 ms for prompts of usual length
_LEAVES = 40_000  # differing leaves that are counted before the last few are chosen: some 20 ms
_WORDS = 150  # words of a text that are counted
_WORD = re.compile(r"\w+|[^\w\s]+")


@dataclass(frozen=True, slots=True)
class Near:
    """A recorded exchange and where its call differs, from recorded to asked."""

    exchange: Exchange
    differences: tuple[Difference, ...]


def place(call: Call) -> tuple[str | None, ...]:
    """Return what a call and its nearest must have in common."""
    if isinstance(call, McpCall):
        return "mcp", call.server, call.method, call.http_method, call.name
    api = api_of(call.provider, call.path)
    family = family_of(call.provider)
    if api is not None:
        return "model", family, call.http_method, api.path
    resource = resource_of(call.provider, call.path)
    path = call.path if resource is None else resource.place
    return "model", family, call.http_method, path


def asked_part(call: Call, ignore: Sequence[Pointer] = ()) -> dict[str, Json]:
    """Return what calls of one place may differ in, by the names of the record."""
    if not isinstance(call, McpCall):
        api = api_of(call.provider, call.path)
        volatile = [parse_pointer(text) for text in api.volatile] if api else []
        request = without_texts(call.request, api) if api else call.request
        asked: dict[str, Json] = {"request": request}
        if api is None and resource_of(call.provider, call.path) is not None:
            asked = {"path": call.path, **asked}
        elif api is not None and (api.asked or _names_model(api.path)):
            asked = {"path": api.key_path(call.path), **asked}
        return _less(asked, [*volatile, *ignore])
    fields: dict[str, Json] = {}
    if call.args is not None and call.args != {}:
        fields["args"] = call.args
    if call.params is not None and call.params != {}:
        fields["params"] = call.params
    if call.input is not None:
        fields["input"] = call.record()["input"]
    return _less(fields, ignore) if ignore else fields


def _names_model(pattern: str) -> bool:
    """Whether the path of an endpoint says which model, or what else of it, is asked."""
    return "(?" in pattern


def _less(fields: dict[str, Json], rules: Sequence[Pointer]) -> dict[str, Json]:
    kept = without(fields, rules)
    return kept if isinstance(kept, dict) else {}


def find_nearest(
    call: Call, recorded: Iterable[Exchange], *, ignore: Sequence[Pointer] = ()
) -> Near | None:
    """Return the recorded exchange nearest to `call`, or None where none is of its place.

    Args:
        call: The call as asked, redacted.
        recorded: Exchanges to choose from, in recorded order; the first of equals wins.
        ignore: Pointers that are in no match key.
    """
    wanted = place(call)
    named = wanted[-1] if isinstance(call, McpCall) else None
    candidates = [
        exchange
        for exchange in recorded
        if (named is None or getattr(exchange.call, "name", None) == named)
        and place(exchange.call) == wanted
    ]
    if not candidates:
        return None
    asked, talk = asked_part(call, ignore), conversation_member(call)
    telling = [_telling(each.call, talk) for each in candidates]
    kept = [candidates[index] for index in sieved(telling, _telling_part(call, asked, talk))]
    parts = [asked_part(exchange.call, ignore) for exchange in kept]
    nears = [
        Near(kept[index], tuple(call_differences(parts[index], asked, call, ignore)))
        for index in _finalists(parts, asked, talk)
    ]
    fewest = min(map(_leaves, nears))
    ties = [near for near in nears if _leaves(near) == fewest]
    return ties[0] if len(ties) == 1 else min(ties, key=_rank)


def _telling(call: Call, talk: str | None) -> Json:
    """Return of a recorded call what tells it apart from others, as it is."""
    return asked_part(call) if isinstance(call, McpCall) else _messages(call.request, talk)


def _telling_part(call: Call, asked: dict[str, Json], talk: str | None) -> Json:
    """Return the same of what is asked, less what does not count."""
    return asked if isinstance(call, McpCall) else _messages(asked.get("request"), talk)


def _leaves(near: Near) -> int:
    return sum(map(weight, near.differences))


def _rank(near: Near) -> tuple[float, int, int]:
    # What changed says more than what one of the two does not have at all.
    one_sided = sum(each.kind != "changed" for each in near.differences)
    return -_text_in_common(near.differences), one_sided, near.exchange.seq


def _text_in_common(found: Iterable[Difference]) -> float:
    texts = [
        (each.old, each.new)
        for each in islice(found, 3)  # the rest of a conversation gone another way says no more
        if isinstance(each.old, str) and isinstance(each.new, str)
    ]
    return sum(_common(old, new) for old, new in texts)


def _common(old: str, new: str) -> float:
    left, right = _WORD.findall(old[: 8 * _WORDS]), _WORD.findall(new[: 8 * _WORDS])
    matcher = SequenceMatcher(None, left[:_WORDS], right[:_WORDS], autojunk=False)
    return matcher.quick_ratio() + common_head(old, new) / (1 + max(len(old), len(new)))


def _finalists(parts: list[dict[str, Json]], asked: dict[str, Json], talk: str | None) -> list[int]:
    order = _by_conversation(parts, asked, talk) if talk else _by_arguments(parts, asked)
    counts: list[tuple[int, int]] = []
    fewest, looked_at = _LEAVES, 0
    for index in order:
        leaves = _distance(parts[index], asked, fewest)
        counts.append((leaves, index))
        fewest = min(fewest, leaves)
        looked_at += leaves + 1
        if looked_at > _LEAVES:
            break
    ties = [index for leaves, index in counts if leaves == fewest]
    if len(ties) <= _FINALISTS:
        return ties
    shared = words_in_common([parts[index] for index in ties], asked)
    return sorted(ties, key=dict(zip(ties, shared, strict=True)).__getitem__, reverse=True)[
        :_FINALISTS
    ]


def _by_arguments(parts: list[dict[str, Json]], asked: dict[str, Json]) -> Iterable[int]:
    """Return indices, those first of which fewest arguments differ, whatever their size."""
    wanted = asked.get("args")
    if not isinstance(wanted, dict):
        return range(len(parts))

    def unlike(index: int) -> int:
        args = parts[index].get("args")
        if not isinstance(args, dict):
            return len(wanted) + 1
        if args.keys() == wanted.keys():
            return sum(map(ne, args.values(), map(wanted.__getitem__, args)))
        return sum(args.get(key, ABSENT) != value for key, value in wanted.items()) + 1

    return sorted(range(len(parts)), key=unlike)


def _by_conversation(
    parts: list[dict[str, Json]], asked: dict[str, Json], talk: str
) -> Iterable[int]:
    """Return indices, those first whose conversation goes the same way for longest."""
    wanted = _messages_of(asked, talk)

    def unlike(index: int) -> tuple[int, int, int]:
        messages = _messages_of(parts[index], talk)
        longer = abs(len(messages) - len(wanted))
        apart = sum(map(ne, messages, wanted)) + longer
        return apart, -_shared_head(messages, wanted), longer

    return sorted(range(len(parts)), key=unlike)


def _shared_head(left: list[Json], right: list[Json]) -> int:
    for at, (one, other) in enumerate(zip(left, right, strict=False)):
        if one is not other and one != other:
            return at
    return min(len(left), len(right))


def _messages_of(part: dict[str, Json], talk: str) -> list[Json]:
    found = _messages(part.get("request"), talk)
    return found if isinstance(found, list) else []


def _messages(request: Json, talk: str | None) -> Json:
    """Return the messages of a request, or all of it where it has none."""
    messages = request.get(talk) if isinstance(request, dict) and talk is not None else None
    return messages if isinstance(messages, list) else request


def _distance(old: Json, new: Json, room: int) -> int:
    """Return how many leaves differ; a number above `room` says no more than that."""
    if isinstance(old, dict) and isinstance(new, dict):
        return _distance_of_members(old, new, room)
    if isinstance(old, list) and isinstance(new, list):
        apart = sum(map(_size, old[len(new) :])) + sum(map(_size, new[len(old) :]))
        for left, right in zip(old, new, strict=False):
            if apart > room:
                break
            if left is not right and left != right:
                apart += _distance(left, right, room - apart)
        return apart
    return 0 if old == new else max(_size(old), _size(new))


def _distance_of_members(old: dict[str, Json], new: dict[str, Json], room: int) -> int:
    apart = 0
    for key, left in old.items():
        if key not in new:
            apart += _size(left)
            continue
        right = new[key]
        if left is not right and left != right:
            apart += _distance(left, right, room - apart)
        if apart > room:
            return apart
    if old.keys() != new.keys():
        apart += sum(_size(right) for key, right in new.items() if key not in old)
    return apart


def _size(value: Json) -> int:
    if isinstance(value, dict):
        return sum(map(_size, value.values())) or 1
    return sum(map(_size, value)) or 1 if isinstance(value, list) else 1
