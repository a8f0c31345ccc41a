"""Where two texts differ: the first span, and how much in all.

Short texts have one span. Long ones are taken apart by words; where these are too many, by blocks
first, which end behind words that a checksum picks: so that a word that was put in moves no block
behind it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from zlib import crc32

SHORT = 200  # characters of a text that has one span only, and is shown whole
_PIECES = 3_000  # words or blocks that difflib compares within some 10 ms
_BLOCKS = 1_000  # blocks that a text is cut into


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The first span at which two texts differ, and how much differs in all.

    Attributes:
        start: Characters in front of the span, in both.
        old_end: Where it ends in the old text.
        new_end: Where it ends in the new text.
        added: Characters that are new, in all spans.
        removed: Characters that are gone, in all spans.
    """

    start: int
    old_end: int
    new_end: int
    added: int
    removed: int


def first_edit(old: str, new: str) -> Edit:
    """Return the first span at which two texts differ; texts of up to 200 have one only."""
    start = common_head(old, new)
    tail = common_head(old[start:][::-1], new[start:][::-1])
    left, right = old[start : len(old) - tail], new[start : len(new) - tail]
    whole = Edit(
        start=start,
        old_end=start + len(left),
        new_end=start + len(right),
        added=len(right),
        removed=len(left),
    )
    if not left or not right or max(len(old), len(new)) <= SHORT:
        return whole
    return _finer(left, right, whole)


def _finer(left: str, right: str, whole: Edit) -> Edit:
    """Take a long span apart."""
    edits = list(_edits(left, right))
    sizes = [_trimmed(old, new, 0) for old, new, _ in edits]
    old, new, at = edits[0]
    first = _trimmed(old, new, whole.start + at)
    return Edit(
        start=first.start,
        old_end=first.old_end,
        new_end=first.new_end,
        added=sum(each.added for each in sizes),
        removed=sum(each.removed for each in sizes),
    )


def _edits(left: str, right: str) -> Iterator[tuple[str, str, int]]:
    """Yield the spans at which two texts differ, each with its place in the old one."""
    words: Callable[[str], list[str]] = re.compile(r"\S+\s*|\s+").findall
    old, new = words(left), words(right)
    most = max(len(old), len(new))
    if most <= _PIECES:
        yield from _changes(old, new)
        return
    every = most // _BLOCKS
    for before, after, at in _changes(_blocks(old, every), _blocks(new, every)):
        pieces = words(before), words(after)
        if max(map(len, pieces)) > _PIECES:
            yield before, after, at
        else:
            yield from ((one, other, at + place) for one, other, place in _changes(*pieces))


def _blocks(words: Sequence[str], every: int) -> list[str]:
    sums = (crc32(word.encode(errors="surrogatepass")) for word in words)
    ends = [at for at, each in enumerate(sums, 1) if each % every == 0]
    starts = [0, *ends]
    return ["".join(words[start:end]) for start, end in zip(starts, [*ends, None], strict=True)]


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    at = 0
    for tag, low, high, start, end in SequenceMatcher(None, old, new, autojunk=True).get_opcodes():
        before = "".join(old[low:high])
        if tag != "equal":
            yield before, "".join(new[start:end]), at
        at += len(before)


def _trimmed(old: str, new: str, at: int) -> Edit:
    head = common_head(old, new)
    tail = common_head(old[head:][::-1], new[head:][::-1])
    removed, added = len(old) - head - tail, len(new) - head - tail
    return Edit(
        start=at + head,
        old_end=at + head + removed,
        new_end=at + head + added,
        added=added,
        removed=removed,
    )


def common_head(old: str, new: str) -> int:
    """Return how many characters two texts have in common at their start."""
    if old == new:
        return len(old)
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
