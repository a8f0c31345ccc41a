"""A parsed JSON value: reading it exactly, its canonical bytes, where two values differ.

Two values are the same when their canonical bytes are: object keys sorted, numbers by exact
decimal value (`1.0` is `1`, `true` is not), text code point by code point.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, cast

import orjson
from jsonpointer import JsonPointer, JsonPointerException

from mcprec_addon.exchange import Json, Number, Opaque, Pairs

type Pointer = tuple[str, ...]
"""The steps of an RFC 6901 pointer, unescaped; in a rule ``*`` stands for any one step."""

_MIN_INT, _MAX_INT = -(2**63), 2**64 - 1  # what orjson reads and writes exactly
_SAFE_DIGITS = 18  # every integer of so many digits fits 64 bits
_INT64_LENGTH = 20  # and none with more characters than this does


class JsonError(ValueError):
    """A text is no JSON."""


def loads(text: bytes | str) -> Json:
    """Return the value of a JSON text, exact where plain parsing would lose something.

    Args:
        text: UTF-8 bytes or a string.

    Returns:
        Plain values; `Number` for a number that no double or 64-bit integer equals, `Pairs`
        for an object with a doubled key.

    Raises:
        JsonError: The text is no JSON. ``NaN`` and ``Infinity`` are taken as `Number`: Python
            and JavaScript servers write them.
    """
    try:
        value = cast("Json", orjson.loads(text))
    except ValueError:  # also what orjson refuses and servers send: NaN, 1e400, lone surrogates
        return _loads_exactly(text)
    raw = text.encode() if isinstance(text, str) else text
    try:
        is_faithful = orjson.dumps(value) == raw
    except TypeError as error:  # nested deeper than it writes
        message = "nested too deeply"
        raise JsonError(message) from error
    return value if is_faithful else _loads_exactly(text)


def _loads_exactly(text: bytes | str) -> Json:
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        value = json.loads(
            decoded.removeprefix("\ufeff"),
            parse_int=_number,
            parse_float=_number,
            parse_constant=Number,
            object_pairs_hook=_object,
        )
    except (ValueError, RecursionError) as error:
        raise JsonError(str(error)) from error
    return cast("Json", value)


def _number(text: str) -> int | float | Number:
    if text.lstrip("-").isdigit():
        if len(text) <= _SAFE_DIGITS:
            return int(text)
        if len(text) <= _INT64_LENGTH and _MIN_INT <= int(text) <= _MAX_INT:
            return int(text)
        return Number(text)
    value = float(text)
    try:
        return value if Decimal(text) == Decimal(repr(value)) else Number(text)
    except InvalidOperation:  # an exponent of more than 18 digits
        return Number(text)


def _object(members: list[tuple[str, Json]]) -> dict[str, Json] | Pairs:
    value = dict(members)
    return value if len(value) == len(members) else Pairs(tuple(members))


def dumps(value: Json) -> bytes:
    """Return `value` as compact JSON, keys in their order.

    Exact leaves come out as they were written; a lone surrogate comes out as its escape, so
    the bytes are UTF-8 always.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATACLASS)
    except TypeError:
        return orjson.dumps(_fragments(value, sort=False))


def is_plain(value: Json) -> bool:
    """Whether JSON in UTF-8 carries `value` there and back, without an exact leaf in it."""
    try:
        orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATACLASS)
    except TypeError:
        return False
    return True


def canonical(value: Json) -> bytes:
    """Return bytes that are equal for equal values and differ for different ones."""
    try:
        return orjson.dumps(_canonical(value), option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return orjson.dumps(_fragments(value, sort=True))


def _canonical(value: Json) -> object:
    match value:
        case str() | bool() | None | int():
            return value
        case dict():
            return {key: _canonical(member) for key, member in value.items()}
        case list():
            return [_canonical(member) for member in value]
        case float():
            return _canonical_float(value)
        case Number():
            return orjson.Fragment(_decimal_text(value.text))
        case Pairs() | Opaque():
            return _fragments(value, sort=True)


def _canonical_float(value: float) -> object:
    if not value.is_integer():
        return value
    return orjson.Fragment(_decimal_text(repr(value)))


def _decimal_text(text: str) -> str:
    try:
        sign, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return text.lower()
    if not isinstance(exponent, int):  # NaN, Infinity
        return text
    stripped = "".join(map(str, digits)).lstrip("0").rstrip("0")
    if not stripped:
        return "0"
    exponent += len(digits) - len("".join(map(str, digits)).rstrip("0"))
    minus = "-" if sign else ""
    if 0 <= exponent <= _INT64_LENGTH - len(stripped):
        whole = int(minus + stripped + "0" * exponent)
        if _MIN_INT <= whole <= _MAX_INT:
            return str(whole)
    return f"{minus}{stripped}e{exponent}"


def _fragments(value: Json, *, sort: bool) -> object:
    """Return `value` for orjson with everything it would refuse written out already."""
    match value:
        case dict():
            return _written_object(value.items(), sort=sort)
        case Pairs():
            return _written_object(value.members, sort=sort)
        case list():
            return [_fragments(member, sort=sort) for member in value]
        case _:
            return _leaf_fragment(value, sort=sort)


def _leaf_fragment(value: Json, *, sort: bool) -> object:
    match value:
        case str():
            return value if _is_utf8(value) else orjson.Fragment(json.dumps(value))
        case Number():
            return orjson.Fragment(_decimal_text(value.text) if sort else value.text)
        case Opaque():
            return orjson.Fragment(b"opaque " + repr(value.content).encode("utf-8", "replace"))
        case float():
            return _canonical_float(value) if sort else value
        case _:
            return value


def _written_object(members: Iterable[tuple[str, Json]], *, sort: bool) -> orjson.Fragment:
    ordered = sorted(members, key=lambda member: member[0]) if sort else members
    parts = [
        json.dumps(key).encode() + b":" + orjson.dumps(_fragments(member, sort=sort))
        for key, member in ordered
    ]
    return orjson.Fragment(b"{" + b",".join(parts) + b"}")


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text) if not text.isascii() else True


class _Absent:
    """Stands where one of two values has nothing."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place at which two values differ.

    Attributes:
        pointer: The place, rooted at the values compared.
        old: The value there, or `ABSENT`.
        new: The other value there, or `ABSENT`.
    """

    pointer: Pointer
    old: Json | _Absent
    new: Json | _Absent

    @property
    def kind(self) -> Literal["added", "removed", "changed"]:
        """What happened on the way from old to new."""
        if isinstance(self.old, _Absent):
            return "added"
        return "removed" if isinstance(self.new, _Absent) else "changed"

    @property
    def leaves(self) -> int:
        """How many leaves differ here."""
        return max(_leaf_count(side) for side in (self.old, self.new))


def differences(old: Json, new: Json) -> list[Difference]:
    """Return where two values differ, in document order; empty where they are the same."""
    return list(_differences(old, new, ()))


def _differences(old: Json, new: Json, at: Pointer) -> Iterator[Difference]:
    match old, new:
        case dict(), dict():
            for key in [*old, *(key for key in new if key not in old)]:
                yield from _member(old.get(key, ABSENT), new.get(key, ABSENT), (*at, key))
        case list(), list():
            for index in range(max(len(old), len(new))):
                left = old[index] if index < len(old) else ABSENT
                right = new[index] if index < len(new) else ABSENT
                yield from _member(left, right, (*at, str(index)))
        case _:
            if not _same_leaf(old, new):
                yield Difference(at, old, new)


def _member(old: Json | _Absent, new: Json | _Absent, at: Pointer) -> Iterator[Difference]:
    if isinstance(old, _Absent) or isinstance(new, _Absent):
        yield Difference(at, old, new)
    else:
        yield from _differences(old, new, at)


def _same_leaf(old: Json, new: Json) -> bool:
    if isinstance(old, str) or isinstance(new, str):
        return old == new
    return canonical(old) == canonical(new)


def _leaf_count(value: Json | _Absent) -> int:
    match value:
        case dict():
            return sum(map(_leaf_count, value.values())) or 1
        case list():
            return sum(map(_leaf_count, value)) or 1
        case _Absent():
            return 0
        case _:
            return 1


def parse_pointer(text: str) -> Pointer:
    """Return the steps of an RFC 6901 pointer.

    Raises:
        ValueError: The text is no pointer, or the empty one, which names everything.
    """
    try:
        steps = tuple(JsonPointer(text).parts)
    except JsonPointerException as error:
        message = f"{text!r} is no pointer; write it like /args/query"
        raise ValueError(message) from error
    if not steps:
        message = "an empty pointer would leave out everything; write it like /args/query"
        raise ValueError(message)
    return steps


def pointer_text(steps: Pointer) -> str:
    """Return the steps as RFC 6901 text."""
    return JsonPointer.from_parts(steps).path


def matches(rule: Pointer, steps: Pointer) -> bool:
    """Whether `rule`, with ``*`` for any one step, names `steps` or something above it."""
    return len(rule) <= len(steps) and all(
        part in ("*", step) for part, step in zip(rule, steps, strict=False)
    )


def has(value: Json, rule: Pointer) -> bool:
    """Whether there is anything that a pointer, with ``*`` for any one step, names."""
    if not rule:
        return True
    step, rest = rule[0], rule[1:]
    match value:
        case dict():
            members = value.values() if step == "*" else [value[step]] if step in value else []
        case list():
            members = value if step == "*" else value[int(step) :][:1] if step.isdigit() else []
        case _:
            return False
    return any(has(member, rest) for member in members)


def without(value: Json, rules: Sequence[Pointer]) -> Json:
    """Return `value` less what the pointers name; the value itself is left as it is."""
    for rule in rules:
        value = _without(value, rule)
    return value


def _without(value: Json, rule: Pointer) -> Json:
    step, rest = rule[0], rule[1:]
    match value:
        case dict():
            keys = [key for key in value if step in ("*", key)]
            if not keys:
                return value
            if not rest:
                return {key: member for key, member in value.items() if key not in keys}
            return value | {key: _without(value[key], rest) for key in keys}
        case list():
            return _without_element(value, step, rest)
        case _:
            return value


def _without_element(value: list[Json], step: str, rest: Pointer) -> Json:
    if step == "*":
        return [_without(member, rest) for member in value] if rest else []
    index = int(step) if step.isdigit() else len(value)
    if index >= len(value):
        return value
    replacement = [_without(value[index], rest)] if rest else []
    return [*value[:index], *replacement, *value[index + 1 :]]


def leaves(value: Json, at: Pointer = ()) -> Iterator[tuple[Pointer, Json]]:
    """Yield every leaf with its pointer, in document order; empty containers are leaves."""
    match value:
        case dict() if value:
            for key, member in value.items():
                yield from leaves(member, (*at, key))
        case list() if value:
            for index, member in enumerate(value):
                yield from leaves(member, (*at, str(index)))
        case _:
            yield at, value


def one_line(text: str) -> str:
    """Return text for a person, on one line.

    Whatever a terminal would act on or not show (control, format and separator characters)
    comes out as its escape.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char, f"\\u{ord(char):04x}")


def visible(text: str) -> str:
    """Return text as it stands between the quotes of a JSON string, on one line."""
    return one_line(dumps(text).decode()[1:-1])


def shown(value: Json, *, limit: int = 200) -> str:
    """Return a value as JSON on one line for a person, cut behind `limit` characters."""
    text = one_line(dumps(value).decode("utf-8", "replace"))
    return text if len(text) <= limit else f"{text[:limit]}…"
