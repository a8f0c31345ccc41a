"""Telephone and card numbers: what is one, where it may stand, and how it is written plainly.

Two spellings of a number are one secret, for an agent that tidies a number up still means the
same person: it is known by its digits, a telephone number by those and its ``+``.
"""

import re
from functools import cache

PHONE = "phone"
CARD = "card"
NUMBER = "number"
"""Class of a secret that is nothing but digits."""

NUMERIC = frozenset({PHONE, CARD, NUMBER})
"""Classes whose placeholders are digits, so that a JSON number can stay one."""

_DIGITS = range(16, 20)  # of a secret number: a shorter one is too ordinary, a longer no int64
_PHONE_DIGITS = range(8, 16)  # E.164 ends at 15
_LOCAL_DIGITS = range(7, 16)
_CARD = re.compile(
    r"(?:4\d{3}|5[1-5]\d\d|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)|6(?:011|4[4-9]\d|5\d\d)"
    r"|35(?:2[89]|[3-8]\d))(?:[ -]?\d{4}){3}|3[47]\d\d[ -]?\d{6}[ -]?\d{5}"
    r"|3(?:0[0-5]|[68]\d)\d[ -]?\d{6}[ -]?\d{4}"
)
_AMERICAN = re.compile(r"1?([2-9]\d\d[2-9]\d{6})")
_LOCAL = re.compile(r"[+(]?\d[\d ()./-]{5,22}\d")
_PIECE_END = re.compile(r"(?<=\d)(?=\D|$)")
_BEFORE = re.compile(r"[\w.+-]")
_AFTER = re.compile(r"\w|[-.]\w")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAMES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"(?:^|[_.\s-])(?:(?:tele)?phone|tel|mobile|fax|msisdn)(?:[_\s-]?(?:number|no|nr))?$"
        ),
        PHONE,
    ),
    (
        re.compile(
            r"(?:^|[_.\s-])(?:(?:(?:credit|debit)[_\s-]?)?card(?:[_\s-]?(?:number|num|no|nr))?"
            r"|cc[_\s-]?(?:number|num|no)|pan)$"
        ),
        CARD,
    ),
)


@cache
def luhn_digit(digits: str) -> str:
    """Return the check digit that makes the number of a card of other digits."""
    doubled = [int(digit) * (2 - at % 2) for at, digit in enumerate(reversed(digits))]
    return str(-sum(value // 10 + value % 10 for value in doubled) % 10)


def is_card(text: str) -> bool:
    """Whether a text is the number of a card, its check digit included."""
    if _CARD.fullmatch(text) is None:
        return False
    digits = _digits(text)
    return luhn_digit(digits[:-1]) == digits[-1]


def is_phone(text: str) -> bool:
    """Whether a text is a telephone number by itself: with its country, or an American one."""
    digits = _digits(text)
    if text.startswith("+1") or not text.startswith("+"):
        return _AMERICAN.fullmatch(digits) is not None
    return len(digits) in _PHONE_DIGITS


def is_personal(cls: str, text: str) -> bool:
    """Whether a text may be a number of a class where the name of its place says so."""
    if cls == CARD:
        return is_card(text)
    return _LOCAL.fullmatch(text) is not None and len(_digits(text)) in _LOCAL_DIGITS


def is_number(text: str) -> bool:
    """Whether a secret is a number, long enough to be one."""
    return len(text) in _DIGITS and text.isascii() and text.isdigit()


def shape(text: str) -> str | None:
    """Return the class of a text that is a number of a card or, with its country, of a phone."""
    if is_card(text):
        return CARD
    return PHONE if text.startswith("+") and is_phone(text) and _LOCAL.fullmatch(text) else None


def plain(cls: str, text: str) -> str:
    """Return a secret as it is known whatever its spelling; those of other classes as they are."""
    if cls == CARD:
        return _digits(text)
    if cls != PHONE:
        return text
    digits = _digits(text)
    american = None if text[:1] == "+" and text[:2] != "+1" else _AMERICAN.fullmatch(digits)
    if american is not None:
        return f"+1{american[1]}"
    return f"+{digits}" if text.startswith("+") else digits


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text.replace("(0)", ""))


def end_of(cls: str, text: str, first: int, last: int) -> int | None:
    """Return where a number ends that stands by itself, or None where none does.

    A space may end a number or be inside of it, so what follows is taken off piece by piece.

    Args:
        cls: Its class.
        text: The text it stands in.
        first: Where it begins.
        last: Where it ends at most.
    """
    if first and _BEFORE.match(text[first - 1]):
        return None
    ends = [match.start() for match in _PIECE_END.finditer(text, first, last)]
    for end in reversed([*ends, last] if not ends or ends[-1] != last else ends):
        number = text[first:end]
        holds = is_card(number) if cls == CARD else is_phone(number)
        if holds and not _AFTER.match(text, end):
            return end
    return None


@cache
def personal_class(name: str) -> str | None:
    """Return the class of the number that a member of this name holds, or None."""
    words = _CAMEL.sub("_", name).lower()
    return next((cls for pattern, cls in _NAMES if pattern.search(words)), None)
