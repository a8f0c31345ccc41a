"""Which of many recorded calls are worth a close look: those that have most in common with a call.

Ten thousand are looked at in a few places only. Which places tell them apart is found out with a
few of them: what all have in common, such as a system prompt, says nothing.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, repeat
from operator import add, ne
from typing import Final

from mcprec_addon.exchange import Json, Opaque
from mcprec_addon.jsonvalue import leaves
from mcprec_addon.replay.edits import common_head

KEPT = 64  # calls that get a close look: some 10 ms for those of usual size
_SAMPLE = 32  # calls in which the places are tried
_TRIED = 400  # places that are tried in each of them
_STEPS = 80_000  # steps to places that are looked at in all calls together: some 20 ms
_FEWEST = 2  # of these places
_TEXT = 500_000  # characters of text that are taken apart into words: some 30 ms
_LONGEST = 2_000  # and of one text

_NOTHING: Final = Opaque("nothing is there")

type Place = tuple[str | int, ...]


def sieved(parts: Sequence[Json], asked: Json) -> Sequence[int]:
    """Return the indices of at most `KEPT` parts, in their order.

    Args:
        parts: What recorded calls of one kind ask, such as their arguments or their messages.
        asked: What the call asks.
    """
    if len(parts) <= KEPT:
        return range(len(parts))
    telling = _telling(parts, asked)
    deepest = max([1, *(len(place) for place, _ in telling)])
    most = max(_FEWEST, _STEPS // (deepest * len(parts)))
    unlike = _unlike(parts, asked, _spread(telling, most))
    order = sorted(range(len(parts)), key=unlike.__getitem__)
    worst = unlike[order[KEPT - 1]]
    kept = [index for index in order[:KEPT] if unlike[index] < worst]
    ties = [index for index in order if unlike[index] == worst]
    if len(kept) + len(ties) > KEPT:
        ties = _alike(parts, asked, ties, telling)[: KEPT - len(kept)]
    return sorted([*kept, *ties])


def _telling(parts: Sequence[Json], asked: Json) -> list[tuple[Place, Json]]:
    """Return places of a call that tell recorded ones apart, with what it has there."""
    sample = parts[:: max(1, len(parts) // _SAMPLE)]
    return [
        (place, value)
        for place, value in _spread(_places(asked), _TRIED)
        if any(each != value for each in _column(sample, place))
    ]


def _unlike(
    parts: Sequence[Json], asked: Json, probes: Sequence[tuple[Place, Json]]
) -> list[tuple[int, int]]:
    """Return for each of the parts at how many places it differs, and how much longer it is."""
    apart: Sequence[int] = [0] * len(parts)
    for place, value in probes:
        apart = list(map(add, apart, map(ne, _column(parts, place), repeat(value))))
    length = len(asked) if isinstance(asked, list) else 0
    longer = [abs(len(part) - length) if isinstance(part, list) else 0 for part in parts]
    return list(zip(apart, longer, strict=True))


def _alike(
    parts: Sequence[Json], asked: Json, ties: Sequence[int], telling: Sequence[tuple[Place, Json]]
) -> list[int]:
    """Return the indices of parts in the order of how much text they have in common with a call."""
    place, value = max(telling, key=_length, default=((), asked))
    texts = _column([parts[index] for index in ties], place)
    shared = words_in_common(texts, value)
    ranked = sorted(zip(shared, ties, strict=True), key=lambda pair: -pair[0])
    return [index for _, index in ranked]


def _length(probe: tuple[Place, Json]) -> int:
    return len(probe[1]) if isinstance(probe[1], str) else 0


def _spread[T](values: Sequence[T], most: int) -> list[T]:
    """Return so many of the values, from the first to the last."""
    if len(values) <= most:
        return list(values)
    return [values[at * (len(values) - 1) // (most - 1)] for at in range(most)]


def _places(asked: Json) -> list[tuple[Place, Json]]:
    if isinstance(asked, list):  # of messages, each compared as a whole
        return [((at,), value) for at, value in enumerate(asked)]
    return [(_place(asked, steps), leaf) for steps, leaf in islice(leaves(asked), 10 * _TRIED)]


def _place(value: Json, steps: Sequence[str]) -> Place:
    found: list[str | int] = []
    for step in steps:
        if isinstance(value, list):
            found.append(int(step))
            value = value[int(step)]
        elif isinstance(value, dict):
            found.append(step)
            value = value[step]
    return tuple(found)


def _column(parts: Sequence[Json], place: Place) -> Sequence[Json]:
    """Return what each of the parts has at a place."""
    found = parts
    for step in place:
        if isinstance(step, int):
            found = [
                each[step] if isinstance(each, list) and len(each) > step else _NOTHING
                for each in found
            ]
        else:
            found = [
                each.get(step, _NOTHING) if isinstance(each, dict) else _NOTHING for each in found
            ]
    return found


def words_in_common(parts: Sequence[Json], asked: Json) -> list[int]:
    """Return for each of the parts how many words its first differing text shares with `asked`."""
    texts = [_first_texts(part, asked) for part in parts]
    # What they begin with alike says nothing, and may be long.
    head = min((common_head(*pair) for pair in texts[:: max(1, len(texts) // _SAMPLE)]), default=0)
    room = slice(head, head + min(_LONGEST, max(50, _TEXT // len(parts))))
    words: Callable[[str], list[str]] = re.compile(r"\w+").findall
    known: dict[str, frozenset[str]] = {}
    shared: list[int] = []
    for old, new in texts:
        if new not in known:
            known[new] = frozenset(words(new[room]))
        shared.append(len(known[new].intersection(words(old[room]))))
    return shared


def _first_texts(old: Json, new: Json) -> tuple[str, str]:
    """Return the first texts in which two values differ, empty ones where there are none."""
    while not isinstance(old, str) or not isinstance(new, str):
        apart = next((pair for pair in _pairs(old, new) if pair[0] != pair[1]), None)
        if apart is None:
            return "", ""
        old, new = apart
    return old, new


def _pairs(old: Json, new: Json) -> Iterable[tuple[Json, Json]]:
    """Return what two values have at one place each."""
    if isinstance(old, dict) and isinstance(new, dict):
        return ((member, new[key]) for key, member in old.items() if key in new)
    return zip(old, new, strict=False) if isinstance(old, list) and isinstance(new, list) else ()
