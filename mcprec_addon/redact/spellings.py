"""The ways a secret is written inside other text, and back again.

Percent-encoded and JSON-escaped text is undone with a map of offsets, so that what is found
there can be replaced in place. Base64 is looked for by the characters that a secret comes out
as at each of the three alignments.
"""

import re
import string
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')
_PERCENTS = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_SHORT_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_STANDARD = re.compile(r"([A-Za-z0-9+/]*)={0,2}")
_URL_SAFE = re.compile(r"([A-Za-z0-9_-]*)={0,2}")
_LETTERS = string.ascii_letters + string.digits
_ALPHABETS = ((_STANDARD, frozenset(f"{_LETTERS}+/")), (_URL_SAFE, frozenset(f"{_LETTERS}_-")))
_HEX_PAIR = {True: re.compile("[0-7][0-9a-f]"), False: re.compile("[0-7][0-9A-F]")}
_PARTLY = {0: 0, 1: 2, 2: 3}  # leading base64 characters that 0, 1, 2 foreign bytes decide


@dataclass(frozen=True, slots=True)
class Layer:
    """A text with one way of writing undone.

    Attributes:
        text: The text underneath.
        is_url: Whether percent-encoding was undone, else JSON escapes.
        breaks: Offsets in `text` at which the distance to the raw text changes, ascending.
        raws: The offset in the raw text at each of them.
    """

    text: str
    is_url: bool
    breaks: tuple[int, ...]
    raws: tuple[int, ...]

    def raw(self, offset: int) -> int:
        """Return the offset in the raw text."""
        at = bisect_right(self.breaks, offset) - 1
        return self.raws[at] + offset - self.breaks[at]


def layers(text: str) -> Iterator[Layer]:
    """Yield what lies under JSON escapes, and under percent-encoding."""
    if "\\" in text:
        yield from _layer(text, _ESCAPE, _unescaped, is_url=False)
    if "%" in text:
        yield from _layer(text, _PERCENTS, _unquoted, is_url=True)


def _layer(
    text: str,
    pattern: re.Pattern[str],
    undo: Callable[[str], Iterator[tuple[str, int]]],
    *,
    is_url: bool,
) -> Iterator[Layer]:
    pieces: list[str] = []
    breaks, raws = [0], [0]
    length = end = 0
    for match in pattern.finditer(text):
        pieces.append(text[end : match.start()])
        length += match.start() - end
        raw = match.start()
        for char, width in undo(match.group()):
            breaks.append(length)
            raws.append(raw)
            pieces.append(char)
            length += 1
            raw += width
        end = match.end()
        breaks.append(length)
        raws.append(end)
    if end:
        pieces.append(text[end:])
        yield Layer("".join(pieces), is_url, tuple(breaks), tuple(raws))


def _unescaped(escape: str) -> Iterator[tuple[str, int]]:
    if escape[1] == "u":
        yield chr(int(escape[2:], 16)), len(escape)
    else:
        yield _SHORT_ESCAPES.get(escape[1], escape[1]), len(escape)


def _unquoted(run: str) -> Iterator[tuple[str, int]]:
    data = bytes.fromhex(run.replace("%", ""))
    for char in data.decode("utf-8", "surrogateescape"):
        yield char, 3 * len(char.encode("utf-8", "surrogateescape"))


def quoted(placeholder: str) -> str:
    """Return a placeholder as it stands in a URL."""
    return quote(placeholder, safe="")


def base64_cores(secret: str) -> frozenset[str]:
    """Return what a secret comes out as inside base64: three alignments, two alphabets."""
    data = secret.encode("utf-8", "replace")
    found: set[str] = set()
    for before, skipped in _PARTLY.items():
        encoded = b64encode(bytes(before) + data).decode()
        core = encoded[skipped : (before + len(data)) * 8 // 6]
        found |= {core, core.replace("+", "-").replace("/", "_")}
    return frozenset(found)


def hex_spellings(secret: str) -> frozenset[str]:
    """Return a secret in hexadecimal digits, lower and upper case."""
    digits = secret.encode("utf-8", "replace").hex()
    return frozenset({digits, digits.upper()})


def in_hex(text: str, spelling: str) -> str:
    """Return a text in hexadecimal digits, in upper case where `spelling` is."""
    digits = text.encode().hex()
    return digits.upper() if spelling.isupper() else digits


def hex_changed(text: str, marks: Iterable[str], change: Callable[[str], str]) -> str:
    """Return a text in which the ASCII that stands in hex around each of `marks` is changed."""
    runs: dict[int, int] = {}
    for core in (core for mark in marks for core in hex_spellings(mark)):
        at = text.find(core)
        while at >= 0:
            start, end = _hex_run(text, at, at + len(core))
            runs[start] = max(end, runs.get(start, 0))
            at = text.find(core, end)
    for start, end in sorted(runs.items(), reverse=True):
        code = text[start:end]
        plain = bytes.fromhex(code).decode()
        text = text[:start] + in_hex(change(plain), code) + text[end:]
    return text


def _hex_run(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the ASCII in hex around a place begins and ends, all in one case."""
    letters = text[start:end].lower() == text[start:end]
    pair = _HEX_PAIR[letters]
    while pair.fullmatch(text, start - 2, start):
        start -= 2
    while pair.fullmatch(text, end, end + 2):
        end += 2
    return start, end


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of base64 that is text.

    Attributes:
        start: Where it begins.
        end: Where it ends, padding included.
        text: What it decodes to.
        is_url_safe: Which alphabet it is written in.
        padded: Whether its length is always made full.
    """

    start: int
    end: int
    text: str
    is_url_safe: bool
    padded: bool

    def encoded(self, text: str) -> str:
        """Return another text in the same spelling."""
        code = b64encode(text.encode()).decode()
        if self.is_url_safe:
            code = code.replace("+", "-").replace("/", "_")
        return code if self.padded else code.rstrip("=")


def runs_around(text: str, start: int, end: int) -> Iterator[Run]:
    """Yield the stretches of base64 around a place that decode to text, either alphabet."""
    for alphabet, letters in _ALPHABETS:
        first = start
        while first and text[first - 1] in letters:
            first -= 1
        match = alphabet.match(text, first)
        if match is not None and match.end() >= end:
            yield from _run(text, first, match.end(), is_url_safe=alphabet is _URL_SAFE)


def run_at(text: str, start: int) -> Run | None:
    """Return the stretch of standard base64 that begins at a place, or None."""
    match = _STANDARD.match(text, start)
    if match is None or match.end() == start:
        return None
    return next(_run(text, start, match.end(), is_url_safe=False), None)


def _run(text: str, start: int, end: int, *, is_url_safe: bool) -> Iterator[Run]:
    code = text[start:end]
    bare = code.rstrip("=")
    try:
        data = b64decode(bare + "=" * (-len(bare) % 4), b"-_" if is_url_safe else b"+/", True)  # noqa: FBT003
        decoded = data.decode()
    except (Base64Error, UnicodeDecodeError):
        return
    padded = "=" in code or len(bare) % 4 == 0
    yield Run(start, end, decoded, is_url_safe, padded)
