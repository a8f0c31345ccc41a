"""Texts in a normal form: what changes by itself from run to run, such as a date, gone from them.

Each found span becomes a stand-in such as ``⟨date⟩``. A bracket that was in the text is doubled,
so that two texts have one normal form only where they differ in nothing but found spans.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from mcprec_addon.exchange import Json, Pairs
from mcprec_addon.redact.engine import Haystack, Matcher, escaped

_OPEN, _CLOSE = "\N{MATHEMATICAL LEFT ANGLE BRACKET}", "\N{MATHEMATICAL RIGHT ANGLE BRACKET}"
_REMEMBERED = 4096  # texts: a conversation sends each of its messages again with every turn

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_DAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_DATES = (
    r"\d{4}-\d{2}-\d{2}|\d{4}/\d{2}/\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4}"
    rf"|(?:{_DAY},? )?{_MONTH} \d{{1,2}}(?:[a-z]{2})?,? \d{{4}}"
    rf"|(?:{_DAY},? )?\d{{1,2}} {_MONTH} \d{{4}}"
)
_CLOCK = (
    r"\d{1,2}:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:\s?(?:Z|[+-]\d{2}:?\d{2}|UTC|[AaPp][Mm])\b|\b)"
)
_STEP = r"[^\s\"'`<>:,;()\[\]{}/\\]+"  # of a path
_HOMES = rf"/home/{_STEP}|/Users/{_STEP}|/root\b|[A-Za-z]:\\Users\\{_STEP}"
_TMP = r"[^\s\"'`<>:,;()\[\]{}]+"
NAMED: Mapping[str, tuple[str, ...]] = {
    "date": (rf"\b((?:{_DATES})(?:,? \(?{_DAY}\b\)?)?)(?:\D|$)",),
    "time": (rf"(?:^|[^\d:])({_CLOCK})", r"\b(1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?)\b"),
    "uuid": (r"(?i)\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b",),
    "cwd": (),
    "home": (),
    "tmp": (
        rf"((?:/private)?(?:/var/folders|/var/tmp|/tmp)/{_TMP})",
        r"([A-Za-z]:\\[^\s\"'<>]*?\\Temp\\[^\s\"'<>:,;)\]}]+)",
    ),
}
"""The built-in patterns by name; a group marks what is found. Paths come with `Places`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Paths of this replay; those of the recording are recognised by their form.

    Attributes:
        cwd: The working directory; empty where it is not known.
        home: The home folder, likewise.
    """

    cwd: str = ""
    home: str = ""

    def patterns(self, name: str) -> tuple[str, ...]:
        """Return the patterns of ``cwd`` or ``home``; of any other name none."""
        match name:
            case "cwd":
                return _folder_patterns(self.cwd)
            case "home":
                own = [escaped(self.home)] if self.home.strip("/\\") else []
                return (f"({'|'.join([*own, _HOMES])})",)
            case _:
                return ()


def _folder_patterns(path: str) -> tuple[str, ...]:
    """Return what finds a folder, and any other path that ends in its name.

    A project is called the same wherever it is checked out, so this is where it was recorded.
    """
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if not name:
        return ()
    elsewhere = rf"(?:[A-Za-z]:)?(?:[/\\]{_STEP})*?[/\\]{escaped(name)}"
    return (rf"(?:^|[^\w.~-])({escaped(path)}|{elsewhere})(?:[^\w.-]|$)",)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One rule: the name of its stand-in, and what finds its spans."""

    name: str
    regexes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """A text in its normal form, and the places of the patterns that changed it."""

    text: str
    found: frozenset[int]


class Normal:
    """Puts texts into their normal form under some patterns, the first of which win."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        """Take the patterns.

        Raises:
            PatternError: RE2 cannot run one of them.
        """
        self._names = [each.name for each in patterns]
        self._finders = [
            (place, _matcher(regex))
            for place, each in enumerate(patterns)
            for regex in each.regexes
        ]
        self.found: set[int] = set()
        """Places of the patterns that have found anything so far."""
        self.form = lru_cache(_REMEMBERED)(self._form)

    def value(self, value: Json) -> Json:
        """Return a value with all its texts in their normal form; keys are left alone."""
        match value:
            case str():
                form = self.form(value)
                self.found |= form.found
                return form.text
            case dict():
                return {key: self.value(member) for key, member in value.items()}
            case list():
                return [self.value(member) for member in value]
            case Pairs():
                return Pairs(tuple((key, self.value(member)) for key, member in value.members))
            case _:
                return value

    def _form(self, text: str) -> Form:
        spans = _apart(sorted(self._spans(text)))
        pieces: list[str] = []
        at = 0
        for start, place, end in spans:
            pieces += [_doubled(text[at:start]), f"{_OPEN}{self._names[place]}{_CLOSE}"]
            at = end
        pieces.append(_doubled(text[at:]))
        return Form("".join(pieces), frozenset(place for _, place, _ in spans))

    def _spans(self, text: str) -> Iterator[tuple[int, int, int]]:
        hay = Haystack(text)
        for place, matcher in self._finders:
            for found in matcher.find(hay):
                if 0 <= found.first < found.last:
                    yield found.first, place, found.last


def _apart(spans: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return spans less those that overlap one before them."""
    kept: list[tuple[int, int, int]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][2]:
            kept.append(span)
    return kept


def _doubled(text: str) -> str:
    return text.replace(_OPEN, _OPEN * 2) if _OPEN in text else text


@cache
def _matcher(regex: str) -> Matcher:
    return Matcher(regex)


@cache
def named(name: str, places: Places = Places()) -> Pattern:  # frozen and empty
    """Return a built-in pattern."""
    return Pattern(name, NAMED[name] or places.patterns(name))
