"""Where two calls of one place differ, told so that the cause can be seen.

Tools and other lists of named things are compared by name, so that one that was added is one
difference; a list of the same elements in another order is one as well, with the list on both
sides. Ids that were only renamed are no difference beside others.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from mcprec_addon.exchange import Call, Json, McpCall
from mcprec_addon.jsonvalue import ABSENT, Difference, Pointer, canonical, differences, matches
from mcprec_addon.replay.conversation import conversation_member
from mcprec_addon.wire.providers import ID_MEMBERS

_NAMED = ("function", "toolSpec")  # members that hold what a tool is called


def call_differences(
    old: dict[str, Json], new: dict[str, Json], call: Call, ignore: Sequence[Pointer] = ()
) -> list[Difference]:
    """Return where what was recorded and what is asked differ, in document order.

    Args:
        old: What was recorded, by the names of the record.
        new: What is asked.
        call: The call that asks it.
        ignore: Pointers that are in no match key.
    """
    talk = conversation_member(call)
    found = [
        each
        for each in _differences(old, new, (), () if talk is None else ("request", talk))
        if not any(matches(rule, each.pointer) for rule in ignore)
    ]
    if isinstance(call, McpCall):
        return found
    telling = [each for each in found if not _is_id(each)]
    return telling if telling and _renames(found) else found


def weight(difference: Difference) -> int:
    """Return how many leaves differ; another order is one difference, however long the list."""
    is_order = isinstance(difference.old, list) and isinstance(difference.new, list)
    return 1 if is_order else difference.leaves


def _differences(old: Json, new: Json, at: Pointer, talk: Pointer) -> Iterator[Difference]:
    match old, new:
        case dict(), dict():
            for key in [*old, *(key for key in new if key not in old)]:
                if key not in old or key not in new:
                    yield Difference((*at, key), old.get(key, ABSENT), new.get(key, ABSENT))
                elif old[key] is not new[key]:
                    yield from _differences(old[key], new[key], (*at, key), talk)
        case list(), list() if at != talk and is_reordered(old, new):
            yield Difference(at, old, new)
        case list(), list():
            yield from _elements(old, new, at, talk)
        case _:
            for each in differences(old, new):
                yield Difference((*at, *each.pointer), each.old, each.new)


def _elements(old: list[Json], new: list[Json], at: Pointer, talk: Pointer) -> Iterator[Difference]:
    is_talk = bool(talk) and at[: len(talk)] == talk
    before, after = ([], []) if is_talk else (names(old), names(new))
    if not before or not after:
        before, after = [str(place) for place in range(len(old))], list(map(str, range(len(new))))
    known = dict(zip(before, old, strict=True))
    for place, name in enumerate(after):
        if name in known:
            yield from _differences(known[name], new[place], (*at, str(place)), talk)
        else:
            yield Difference((*at, str(place)), ABSENT, new[place])
    asked = frozenset(after)
    for place, name in enumerate(before):
        if name not in asked:
            yield Difference((*at, str(place)), old[place], ABSENT)
    if [each for each in before if each in asked] != [each for each in after if each in known]:
        yield Difference(at, old, new)


def names(elements: Sequence[Json]) -> list[str]:
    """Return what each element of a list is called; nothing where one has no name of its own."""
    found = [name_of(element) for element in elements]
    telling = [name for name in found if name is not None]
    return telling if len({*telling}) == len(found) else []


def name_of(element: Json) -> str | None:
    """Return what an element is called, such as a tool, in the shapes of all providers."""
    if not isinstance(element, dict):
        return None
    inner = next((element[name] for name in _NAMED if name in element), element)
    name = inner.get("name") if isinstance(inner, dict) else None
    name = element.get("type") if name is None else name
    return name if isinstance(name, str) else None


def is_reordered(old: Sequence[Json], new: Sequence[Json]) -> bool:
    """Whether two lists have the same elements, in another order."""
    if len(old) != len(new) or not all(old[at] in new for at in (0, len(old) // 2, -1) if old):
        return False
    left, right = list(map(canonical, old)), list(map(canonical, new))
    return left != right and Counter(left) == Counter(right)


def _is_id(difference: Difference) -> bool:
    return (
        difference.pointer[-1] in ID_MEMBERS
        and isinstance(difference.old, str)
        and isinstance(difference.new, str)
    )


def _renames(found: Iterable[Difference]) -> bool:
    """Whether differing ids are the same ids under other names, which is no reason to miss."""
    pairs = {(str(each.old), str(each.new)) for each in found if _is_id(each)}
    return len({old for old, _ in pairs}) == len(pairs) == len({new for _, new in pairs})
