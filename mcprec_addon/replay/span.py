"""How one difference is shown to a person, and whether it is the kind that changes by itself."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from typing import TYPE_CHECKING, cast

from mcprec_addon.jsonvalue import (
    ABSENT,
    Difference,
    JsonError,
    canonical,
    loads,
    pointer_text,
    shown,
    visible,
)
from mcprec_addon.match.normal import Normal, named
from mcprec_addon.replay.nearest import common_head

if TYPE_CHECKING:
    from mcprec_addon.exchange import Json

_MINUS = "\N{MINUS SIGN}"
_SHORT = 200  # characters of a text that is shown whole
_AROUND = 40  # characters shown on each side of a span
_SPAN = 80  # characters of the span itself
_PIECES = 4_000  # words or lines that difflib compares within some 50 ms
_JSON_LIMIT = 1_000_000  # characters of a text that is worth parsing for a remark

_COUNTED = r"attempt|retry|counter|sequence|seq|iteration|nonce"
_COUNTER = re.compile(rf"(?i)(?<![a-z])((?:{_COUNTED})(?:[ _:=#-]|\bno\.?){{0,3}})\d+")
# In the order they are tried; the first under which both texts become the same is offered.
_KINDS: Sequence[tuple[str, ...]] = (
    ("uuid",), ("date",), ("time",), ("tmp",), ("home",), ("date", "time")
)  # fmt: skip
_COUNTED_MEMBER = re.compile(
    rf"(?:^|[_-])(?i:{_COUNTED}|retry[_-]count)s?$|[a-z](?:Attempt|Counter|RetryCount|Seq|Nonce)$"
)
_EPOCH = range(1_500_000_000, 2_000_000_000)


def volatile(difference: Difference) -> str | None:
    """Return what a difference looks like that changes from run to run by itself.

    Returns:
        ``date``, ``time``, ``uuid``, ``tmp`` (a temporary path), ``home`` or ``counter``;
        ``date time`` for both in one text; None where the agent asks something else.
    """
    match difference.old, difference.new:
        case str(old), str(new):
            return _volatile_text(old, new)
        case (bool(), _) | (_, bool()):
            return None
        case (int() | float() as old, int() | float() as new):
            if _is_epoch(old) and _is_epoch(new):
                return "time"
            step = difference.pointer[-1] if difference.pointer else ""
            return "counter" if _COUNTED_MEMBER.search(step) else None
        case _:
            return None


def _volatile_text(old: str, new: str) -> str | None:
    for names in _KINDS:
        normal = _normal(names)
        if normal.form(old) == normal.form(new):
            return " ".join(names) if normal.form(old).found else None
    return "counter" if _COUNTER.sub(r"\1", old) == _COUNTER.sub(r"\1", new) else None


@cache
def _normal(names: tuple[str, ...]) -> Normal:
    return Normal([named(name) for name in names])


def _is_only(kind: str, text: object) -> bool:
    """Whether a text is a volatile span and nothing else."""
    if not isinstance(text, str):
        return True
    form = _normal(tuple(kind.split())).form(text)
    return len(form.found) > 0 and re.fullmatch(r"(⟨\w+⟩[T ]?)+", form.text) is not None


def _is_epoch(value: float) -> bool:
    return int(value) in _EPOCH or int(value) // 1000 in _EPOCH


def offer(difference: Difference) -> str | None:
    """Return the line that offers a rule for a volatile difference, else None."""
    kind = volatile(difference)
    if kind is None:
        return None
    looks = {"tmp": "temporary path", "home": "home folder", "date time": "date and time"}
    rule = f"--ignore {_argument(pointer_text(difference.pointer))}"
    # A whole field is left out by its place; in a longer text the rest must go on counting.
    if kind != "counter" and not _is_only(kind, difference.old):
        rule = " ".join(f"--normalize {name}" for name in kind.split())
    return f"looks like a {looks.get(kind, kind)} that changes by itself: {rule}"


def _argument(pointer: str) -> str:
    return pointer if re.fullmatch(r"[\w/.~@%+:-]+", pointer) else f"'{visible(pointer)}'"


def difference_lines(difference: Difference) -> list[str]:
    """Return how the two values differ, one line a thought, without the pointer."""
    old, new = difference.old, difference.new
    if isinstance(old, str) and isinstance(new, str):
        return _text_lines(old, new)
    return [f"recorded {_side(old)}, asked {_side(new)}"]


def _side(value: object) -> str:
    return "absent" if value is ABSENT else shown(cast("Json", value))


def _text_lines(old: str, new: str) -> list[str]:
    remark = _remark(old, new)
    behind = f", {remark}" if remark else ""
    edit = first_edit(old, new)
    if max(len(old), len(new)) > _SHORT:
        size = f"+{edit.added} {_MINUS}{edit.removed} characters"
        return _changed(old, new, edit, f"({size}, the first at character {edit.start}{behind})")
    if edit.old_end == edit.start:
        where = f"(added at character {edit.start}{behind})"
        return [f"{_marked(new, edit.start, edit.new_end)} {where}"]
    if edit.new_end == edit.start:
        where = f"(removed at character {edit.start}{behind})"
        return [f"{_marked(old, edit.start, edit.old_end)} {where}"]
    return _changed(old, new, edit, f"(changed at character {edit.start}{behind})")


def _changed(old: str, new: str, edit: "Edit", where: str) -> list[str]:
    return [
        f"recorded {_marked(old, edit.start, edit.old_end)}",
        f"asked    {_marked(new, edit.start, edit.new_end)} {where}",
    ]


def _marked(text: str, start: int, end: int) -> str:
    """Return the text quoted, bars around the span, with a little on each side if it is long."""
    if len(text) > _SHORT:
        before = ("…" if start > _AROUND else "") + visible(text[max(0, start - _AROUND) : start])
        span = visible(text[start : min(end, start + _SPAN)]) + ("…" if end - start > _SPAN else "")
        after = visible(text[end : end + _AROUND]) + ("…" if len(text) > end + _AROUND else "")
    else:
        before, span, after = visible(text[:start]), visible(text[start:end]), visible(text[end:])
    return f'"{before}|{span}|{after}"' if after else f'"{before}|{span}"'


def _remark(old: str, new: str) -> str | None:
    if unicodedata.normalize("NFC", old) == unicodedata.normalize("NFC", new):
        return "same text in another Unicode form"
    if _is_same_json(old, new):
        return "same JSON, different text"
    return "only white space differs" if "".join(old.split()) == "".join(new.split()) else None


def _is_same_json(old: str, new: str) -> bool:
    if max(len(old), len(new)) > _JSON_LIMIT:
        return False
    try:
        return canonical(loads(old)) == canonical(loads(new))
    except JsonError:
        return False


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
    if not left or not right or max(len(old), len(new)) <= _SHORT:
        return whole
    return _finer(left, right, whole)


def _finer(left: str, right: str, whole: Edit) -> Edit:
    """Take a long span apart by words, by lines where it has too many words."""
    for pattern in (r"\S+\s*|\s+", r"[^\n]*\n|[^\n]+"):
        old, new = re.findall(pattern, left), re.findall(pattern, right)
        if max(len(old), len(new)) <= _PIECES:
            break
    else:
        return whole
    codes = SequenceMatcher(None, old, new, autojunk=True).get_opcodes()
    edits = [
        ("".join(old[low:high]), "".join(new[start:end]), low)
        for tag, low, high, start, end in codes
        if tag != "equal"
    ]
    first_old, first_new, low = edits[0]
    at = whole.start + len("".join(old[:low]))
    inner = _trimmed(first_old, first_new, at)
    sizes = [_trimmed(before, after, 0) for before, after, _ in edits]
    return Edit(
        start=inner.start,
        old_end=inner.old_end,
        new_end=inner.new_end,
        added=sum(each.added for each in sizes),
        removed=sum(each.removed for each in sizes),
    )


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
