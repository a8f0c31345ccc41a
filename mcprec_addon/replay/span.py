"""How one difference is shown to a person, and whether it is the kind that changes by itself."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import cast

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import (
    ABSENT,
    Difference,
    JsonError,
    canonical,
    dumps,
    loads,
    pointer_text,
    shown,
    visible,
)
from mcprec_addon.match.normal import NAMED, Normal, Places, named
from mcprec_addon.replay.differing import is_reordered, names
from mcprec_addon.replay.edits import SHORT, Edit, first_edit

_MINUS = "\N{MINUS SIGN}"
_AROUND = 40  # characters shown on each side of a span
_SPAN = 80  # characters of the span itself
_JSON_LIMIT = 1_000_000  # characters of a text that is worth parsing for a remark

_COUNTED = r"attempt|retry|counter|sequence|seq|iteration|nonce"
_COUNTER = re.compile(rf"(?i)(?<![a-z])((?:{_COUNTED})(?:[ _:=#-]|\bno\.?){{0,3}})\d+")
_LOOKS = {"tmp": "temporary path", "home": "home folder", "cwd": "working directory"}
_COUNTED_MEMBER = re.compile(
    rf"(?:^|[_-])(?i:{_COUNTED}|retry[_-]count)s?$|[a-z](?:Attempt|Counter|RetryCount|Seq|Nonce)$"
)
_EPOCH = range(1_500_000_000, 2_000_000_000)


def volatile(difference: Difference, places: Places = Places()) -> str | None:  # noqa: B008  # frozen and empty
    """Return what a difference looks like that changes from run to run by itself.

    Args:
        difference: The difference.
        places: Paths of this replay, for what means them.

    Returns:
        The name of a built-in pattern, or several parted by blanks; ``counter``; None where
        the agent asks something else.
    """
    match difference.old, difference.new:
        case str(old), str(new):
            return _volatile_text(old, new, places)
        case (bool(), _) | (_, bool()):
            return None
        case (int() | float() as old, int() | float() as new):
            if _is_epoch(old) and _is_epoch(new):
                return "time"
            step = difference.pointer[-1] if difference.pointer else ""
            return "counter" if _COUNTED_MEMBER.search(step) else None
        case _:
            return None


def _volatile_text(old: str, new: str, places: Places) -> str | None:
    for name in NAMED:
        if _is_same(old, new, (name,), places):
            return name
    names = tuple(NAMED)
    if not _is_same(old, new, names, places):
        return "counter" if _COUNTER.sub(r"\1", old) == _COUNTER.sub(r"\1", new) else None
    for name in NAMED:
        fewer = tuple(each for each in names if each != name)
        names = fewer if _is_same(old, new, fewer, places) else names
    return " ".join(names)


def _is_same(old: str, new: str, names: tuple[str, ...], places: Places) -> bool:
    normal = _normal(names, places)
    return normal.form(old).text == normal.form(new).text


@cache
def _normal(names: tuple[str, ...], places: Places) -> Normal:
    return Normal([named(name, places) for name in names])


def _is_only(kind: str, text: object, places: Places) -> bool:
    """Whether a text is a volatile span and nothing else."""
    if not isinstance(text, str):
        return True
    form = _normal(tuple(kind.split()), places).form(text)
    return len(form.found) > 0 and re.fullmatch(r"(⟨\w+⟩[T ]?)+", form.text) is not None


def _is_epoch(value: float) -> bool:
    return int(value) in _EPOCH or int(value) // 1000 in _EPOCH


def offer(difference: Difference, places: Places = Places()) -> str | None:  # noqa: B008  # likewise
    """Return the line that offers a rule for a volatile difference, else None.

    Args:
        difference: The difference.
        places: Paths of this replay, for the rules that mean them.
    """
    kind = volatile(difference, places)
    if kind is None:
        return None
    looks = " and ".join(f"a {_LOOKS.get(name, name)}" for name in kind.split())
    changes = "change by themselves" if " " in kind else "changes by itself"
    rule = f"--ignore {_argument(pointer_text(difference.pointer))}"
    # A whole field is left out by its place; in a longer text the rest must go on counting, and
    # a place in a conversation, or the name of a resource, is no field.
    is_field = difference.pointer[0] != "name" and not any(map(str.isdigit, difference.pointer))
    is_text = isinstance(difference.old, str) and kind != "counter"
    if is_text and not (is_field and _is_only(kind, difference.old, places)):
        rule = " ".join(f"--normalize {name}" for name in kind.split())
    return f"looks like {looks} that {changes}: {rule}"


def _argument(pointer: str) -> str:
    return pointer if re.fullmatch(r"[\w/.~@%+:-]+", pointer) else f"'{visible(pointer)}'"


def difference_lines(difference: Difference) -> list[str]:
    """Return how the two values differ, one line a thought, without the pointer."""
    old, new = difference.old, difference.new
    if isinstance(old, str) and isinstance(new, str):
        return _text_lines(old, new)
    if isinstance(old, list) and isinstance(new, list):
        same = f"the same {len(old)} elements" if is_reordered(old, new) else "elements"
        return [f"{same} in another order: recorded {_order(old)}, asked {_order(new)}"]
    return [f"recorded {_side(old)}, asked {_side(new)}"]


def _order(elements: Sequence[Json]) -> str:
    return visible(", ".join(names(elements))[:SHORT]) or _side(elements)


def _side(value: object) -> str:
    if value is ABSENT:
        return "absent"
    text = shown(cast("Json", value), limit=SHORT)
    if len(text) <= SHORT:
        return text
    return f"{text} ({len(dumps(cast('Json', value)).decode('utf-8', 'replace'))} characters)"


def _text_lines(old: str, new: str) -> list[str]:
    remark = _remark(old, new)
    behind = f", {remark}" if remark else ""
    edit = first_edit(old, new)
    if max(len(old), len(new)) > SHORT:
        size = f"+{edit.added} {_MINUS}{edit.removed} characters"
        return _changed(old, new, edit, f"({size}, the first at character {edit.start}{behind})")
    if edit.old_end == edit.start:
        where = f"(added at character {edit.start}{behind})"
        return [f"{_marked(new, edit.start, edit.new_end)} {where}"]
    if edit.new_end == edit.start:
        where = f"(removed at character {edit.start}{behind})"
        return [f"{_marked(old, edit.start, edit.old_end)} {where}"]
    return _changed(old, new, edit, f"(changed at character {edit.start}{behind})")


def _changed(old: str, new: str, edit: Edit, where: str) -> list[str]:
    return [
        f"recorded {_marked(old, edit.start, edit.old_end)}",
        f"asked    {_marked(new, edit.start, edit.new_end)} {where}",
    ]


def _marked(text: str, start: int, end: int) -> str:
    """Return the text quoted, bars around the span, with a little on each side if it is long."""
    if len(text) > SHORT:
        before = ("…" if start > _AROUND else "") + visible(text[max(0, start - _AROUND) : start])
        span = visible(text[start : min(end, start + _SPAN)]) + ("…" if end - start > _SPAN else "")
        after = visible(text[end : end + _AROUND]) + ("…" if len(text) > end + _AROUND else "")
    else:
        before, span, after = visible(text[:start]), visible(text[start:end]), visible(text[end:])
    return f'"{before}|{span}|{after}"' if after else f'"{before}|{span}"'


def _remark(old: str, new: str) -> str | None:
    if unicodedata.normalize("NFC", old) == unicodedata.normalize("NFC", new):
        return "same text in another Unicode form"
    is_white = "".join(old.split()) == "".join(new.split())
    spelling = _json_spelling(old, new)
    if spelling is not None:
        return f"same JSON, different text: {'white space' if is_white else spelling}"
    return "only white space differs" if is_white else None


def _json_spelling(old: str, new: str) -> str | None:
    """Return in what two texts of one JSON value differ, or None where they are no such texts."""
    if max(len(old), len(new)) > _JSON_LIMIT:
        return None
    try:
        left, right = loads(old), loads(new)
    except JsonError:
        return None
    if canonical(left) != canonical(right):
        return None
    written = dumps(left), dumps(right)
    if written[0] == written[1]:
        return "escapes"
    return "key order" if sorted(written[0]) == sorted(written[1]) else "numbers"
