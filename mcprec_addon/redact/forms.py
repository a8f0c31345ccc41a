"""How a placeholder is written: by its name, or as what a validator of its class accepts.

An e-mail stays an address. A card has a number of a test range with its check digit, a telephone
a number that is reserved for fiction, and a secret number one of a range of its own: all of them
digits, so that a JSON number stays one, and each in the spelling of what it replaces.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, cast
from urllib.parse import quote

from mcprec_addon.redact.personal import CARD, NUMBER, NUMERIC, PHONE, luhn_digit

EMAIL = "email"
DOMAIN = "mcprec.example"

Spelling = Literal["x", "d", "s", "h", "u", "n"]
"""Of a number: as its class has it; without ``+``; in groups, with spaces or hyphens; in a URL;
as a JSON number."""

SPELLINGS: Final = "xdshun"

PRIVATE_MARK: Final = "mcprec-"
PRIVATE: Final = re.compile(
    rf"mcprec-([0-9a-f]{{8}})-([a-z][a-z0-9-]*?)-([0-9]+)-([{SPELLINGS}])"
    rf"(?:(@|%40){re.escape(DOMAIN)})?"
)
"""A placeholder of a journal: run, class, number, spelling, the ``@`` of an e-mail."""

# North American codes in use; 555-0100 to 555-0199 is nobody's number in any of them.
_AREA_CODES: Final = (
    "201|202|203|205|206|207|208|209|210|212|213|214|215|216|217|218|219|224|225|228|229|231|"
    "234|239|240|248|251|252|253|254|256|260|262|267|269|270|276|281|301|302|303|304|305|307|"
    "308|309|310|312|313|314"
)
_AREAS: Final = tuple(_AREA_CODES.split("|"))
_PER_AREA = 100
_BEYOND = "999"  # no country's code; for more than the areas have room for
_CARD_PREFIX = "40000099"
_NUMBER_PREFIX = "88000000"  # 16 digits: beyond any time, within what a double holds

# A digit before it belongs to another number, unless it ends a percent-encoded character.
_LEFT = r"(?:(?<![0-9])|(?<=%[0-9A-Fa-f]{2}))"
_RIGHT = r"(?![0-9])"
_DIGIT_FORMS: Final = {
    PHONE: rf"\+?(?:1(?:{_AREA_CODES})55501[0-9]{{2}}|{_BEYOND}[0-9]{{9}})",
    CARD: rf"{_CARD_PREFIX}[0-9]{{8}}|4000 0099(?: [0-9]{{4}}){{2}}|4000-0099(?:-[0-9]{{4}}){{2}}",
    NUMBER: rf"{_NUMBER_PREFIX}[0-9]{{8}}",
}


def name_of(cls: str, number: int) -> str:
    """Return the name of a placeholder, such as ``email-1``."""
    return f"{cls}-{number}"


def final(cls: str, number: int, spelling: Spelling = "x") -> str:
    """Return a placeholder as it stands in a finished cassette."""
    match cls:
        case "email":
            return with_domain(name_of(cls, number))
        case "phone":
            return spelled(cls, f"+{_phone(number)}", spelling)
        case "card":
            digits = f"{_CARD_PREFIX}{number:07d}"
            return spelled(cls, digits + luhn_digit(digits), spelling)
        case "number":
            return f"{_NUMBER_PREFIX}{number:08d}"
        case _:
            return name_of(cls, number)


def _phone(number: int) -> str:
    area, line = divmod(number, _PER_AREA)
    return f"1{_AREAS[area]}55501{line:02d}" if area < len(_AREAS) else f"{_BEYOND}{number:09d}"


def with_domain(name: str) -> str:
    """Return the name of an e-mail placeholder as an address."""
    return f"{name}@{DOMAIN}"


def spelled(cls: str, value: str, spelling: Spelling) -> str:
    """Return a secret or placeholder of a class, written plainly, in a spelling."""
    match spelling:
        case "d" | "n" if cls == PHONE:
            return value.removeprefix("+")
        case "u" if cls in NUMERIC:
            return quote(value, safe="")
        case "s" | "h" if cls == CARD:
            groups = [value[at : at + 4] for at in range(0, len(value), 4)]
            return (" " if spelling == "s" else "-").join(groups)
        case _:
            return value


def spelling_of(cls: str, written: str, *, in_url: bool = False) -> Spelling:
    """Return how a number of a class is written."""
    if cls == PHONE:
        return "d" if written.isdigit() else "u" if in_url else "x"
    if cls == CARD and not in_url:
        return "s" if " " in written else "h" if "-" in written else "x"
    return "x"


def number_of(cls: str, written: str) -> int | None:
    """Return which placeholder of a class of digits this is, in whatever spelling, or None."""
    form = _DIGIT_FORMS.get(cls)
    if form is None or re.fullmatch(form, written) is None:
        return None
    digits = re.sub(r"\D", "", written)
    match cls:
        case "phone" if digits.startswith("1"):
            number = _AREAS.index(digits[1:4]) * _PER_AREA + int(digits[-2:])
        case "card":
            number = int(digits[len(_CARD_PREFIX) : -1])
        case _:
            number = int(digits[3:] if cls == PHONE else digits[len(_NUMBER_PREFIX) :])
    return number if number and re.sub(r"\D", "", final(cls, number)) == digits else None


def private(nonce: str, cls: str, number: int) -> str:
    """Return a placeholder as it stands in a journal."""
    mark = f"{PRIVATE_MARK}{nonce}-{cls}-{number}-x"
    return with_domain(mark) if cls == EMAIL else mark


def covering(nonce: str, recorded: Iterable[str]) -> re.Pattern[str]:
    """Return what finds the placeholders of a run, and those of a finished cassette's classes.

    A finished one must stand by itself: in ``my-api-key-1`` it may be part of a real secret.
    """
    given = set(recorded)
    parts: list[str] = []
    if nonce:
        address = rf"(?:(?:@|%40){re.escape(DOMAIN)})?"
        parts.append(rf"{PRIVATE_MARK}{nonce}-[a-z0-9-]+?-[0-9]+-[{SPELLINGS}]{address}")
    if EMAIL in given:
        parts.append(rf"(?<![A-Za-z0-9_-])email-[0-9]+(?:@|%40){re.escape(DOMAIN)}")
    classes = sorted(given - NUMERIC - {EMAIL}, key=len, reverse=True)
    if classes:
        others = "|".join(map(re.escape, classes))
        parts.append(rf"(?<![A-Za-z0-9_-])(?:{others})-[0-9]+(?![A-Za-z0-9_-])")
    parts += [form for _, form in forms(sorted(given))]
    return re.compile("|".join(parts) or "(?!)")


def respelled(placeholder: str, cls: str, spelling: Spelling) -> str:
    """Return a placeholder, private or final, in a spelling; one without digits stays."""
    if PRIVATE.fullmatch(placeholder):
        return f"{placeholder[:-1]}{spelling}" if cls in NUMERIC else placeholder
    number = number_of(cls, placeholder)
    return placeholder if number is None else final(cls, number, spelling)


def as_number(written: str) -> int | str:
    """Return a placeholder where a JSON number stood: a number, where it is digits."""
    return int(written) if written.isascii() and written.isdigit() else written


def forms(classes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the classes of digits among others, and a pattern for the placeholders of each."""
    for cls in classes:
        if cls in _DIGIT_FORMS:
            yield cls, f"{_LEFT}(?:{_DIGIT_FORMS[cls]}){_RIGHT}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A placeholder of a finished cassette in a text.

    Attributes:
        cls: Its class.
        number: Its number.
        text: As it is written, the domain of an e-mail left out.
        spelling: How a number is written.
        at: The ``@`` of an e-mail in its spelling, else empty.
    """

    cls: str
    number: int
    text: str
    spelling: Spelling = "x"
    at: str = ""

    @property
    def shape(self) -> str:
        """What it has in common with all of its class that are written like it."""
        return self.cls + (f" {self.spelling}" if self.cls in NUMERIC else self.domain)

    @property
    def domain(self) -> str:
        """The domain of an e-mail in its spelling, else empty."""
        return f"{self.at}{DOMAIN}" if self.at else ""

    @property
    def name(self) -> str:
        """Its name, such as ``email-1``."""
        return name_of(self.cls, self.number)


class Finals:
    """What finds the placeholders of some classes in a text.

    Digits are taken to their end, so ``email-1`` is never found in ``email-12``. A placeholder
    may stand right behind a letter: behind an escape, in canonical JSON.
    """

    def __init__(self, classes: Iterable[str]) -> None:
        """Say which classes there are."""
        given = set(classes)
        named = sorted(given - NUMERIC - {EMAIL}, key=len, reverse=True)
        parts = [rf"({'|'.join(map(re.escape, named))})-([0-9]+)"] if named else ["(?!)()()"]
        parts.append(rf"email-([0-9]+)(@|%40){re.escape(DOMAIN)}" if EMAIL in given else "(?!)()()")
        parts += [f"(?P<{cls}>{form})" for cls, form in forms(sorted(given))]
        self._has_digits = bool(given & NUMERIC)
        self._pattern = re.compile("|".join(parts)) if given else None

    def __bool__(self) -> bool:
        """Whether there is anything to find."""
        return self._pattern is not None

    def found(self, text: str) -> Iterator[Written]:
        """Yield the placeholders of a text in order."""
        for match in self._pattern.finditer(text) if self._pattern is not None else ():
            written = _written(match)
            if written is not None:
                yield written

    def replaced(self, text: str, change: Callable[[Written], str]) -> str:
        """Return a text with another text for each placeholder, with its domain if it has one."""

        def changed(match: re.Match[str]) -> str:
            written = _written(match)
            return match[0] if written is None else change(written)

        if self._pattern is None or not (self._has_digits or "-" in text):
            return text
        return self._pattern.sub(changed, text)


def _written(match: re.Match[str]) -> Written | None:
    if match[1] is not None:
        return Written(cls=match[1], number=int(match[2]), text=match[0])
    if match[3] is not None:
        number = int(match[3])
        return Written(cls=EMAIL, number=number, text=name_of(EMAIL, number), at=match[4])
    return _written_number(cast("str", match.lastgroup), match[0])


def _written_number(cls: str, text: str) -> Written | None:
    number = number_of(cls, text)
    if number is None:
        return None
    return Written(cls=cls, number=number, text=text, spelling=spelling_of(cls, text))
