"""What is found in a text: hits, which of them count, and the edits they become."""

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace

from mcprec_addon.redact.engine import Found
from mcprec_addon.redact.patterns import Pattern
from mcprec_addon.redact.personal import CARD, PHONE, end_of, is_personal, plain
from mcprec_addon.redact.rules import block_end, holds, placed_secret
from mcprec_addon.redact.spellings import Layer, layers

COVER = "\ue000"
"""What stands over a secret that was found: a private-use character, in no token's alphabet."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A stretch of a text, what takes its place, and the class of the secret."""

    start: int
    end: int
    text: str
    cls: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A secret found.

    Attributes:
        start: Where the match begins; decides who comes first.
        first: Where the secret begins.
        last: Where the secret ends.
        end: Where what belongs to it ends.
        secret: The secret, all spelling undone.
        cls: Its class.
        replacement: What takes its place where that is not just its placeholder.
        is_lifted: Whether it was found under an escape.
        in_url: Whether it stands percent-encoded.
        written: A number as it is written.
    """

    start: int
    first: int
    last: int
    end: int
    secret: str
    cls: str
    replacement: str | None = None
    is_lifted: bool = False
    in_url: bool = False
    written: str = ""


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits, which are in order and apart, made."""
    pieces: list[str] = []
    end = 0
    for edit in edits:
        pieces += [text[end : edit.start], edit.text]
        end = edit.end
    return "".join([*pieces, text[end:]])


def winners(hits: Iterable[Hit], masked: str) -> list[Hit]:
    """Return hits that do not overlap: under an escape first, then leftmost, then longest."""
    chosen: list[Hit] = []
    starts: list[int] = []
    ends: list[int] = []
    for hit in sorted(hits, key=lambda hit: (not hit.is_lifted, hit.start, -hit.end)):
        at = bisect_left(starts, hit.end)
        is_taken = at > 0 and ends[at - 1] > hit.first
        if not is_taken and COVER not in masked[hit.first : hit.end]:
            starts.insert(at, hit.first)
            ends.insert(at, hit.end)
            chosen.append(hit)
    return chosen


def inside(match: re.Match[str]) -> Layer:
    """Return what lies under the escapes of a JSON string, its first group."""
    plain = Layer(match[1], False, (0,), (0,))  # noqa: FBT003
    return next((layer for layer in layers(match[1]) if not layer.is_url), plain)


def placed_hit(cls: str, text: str) -> Hit | None:
    """Return the secret in a text that stands where those of a class do, or None."""
    if cls in (PHONE, CARD):
        return number_hit(cls, 0, text) if is_personal(cls, text) else None
    secret = placed_secret(cls, text)
    if secret is None:
        return None
    first = text.rindex(secret)
    last = first + len(secret)
    return Hit(0, first, last, last, secret, cls)


def number_hit(cls: str, first: int, written: str) -> Hit:
    """Return a number of a class that begins at a place."""
    last = first + len(written)
    return Hit(first, first, last, last, plain(cls, written), cls, written=written)


def shape_hit(text: str, pattern: Pattern, found: Found) -> Hit | None:
    """Return what a pattern found, where all else holds that has to, or None."""
    if pattern.check == "number":
        last = end_of(pattern.cls, text, found.first, found.last)
        return (
            None if last is None else number_hit(pattern.cls, found.first, text[found.first : last])
        )
    end = block_end(text, found.end) if pattern.check == "pem" else found.end
    start, first = _behind_escape(text, found, pattern)
    last = end if pattern.check == "pem" else found.last
    secret = text[first:last]
    if not holds(pattern, text[start:end], secret):
        return None
    return Hit(start, first, last, end, secret, pattern.cls)


def _behind_escape(text: str, found: Found, pattern: Pattern) -> tuple[int, int]:
    """Leave out the letter of an escape that an e-mail seems to begin with."""
    is_letter = text[found.start : found.start + 1] in ("n", "r", "t", "b", "f")
    if pattern.cls != "email" or not is_letter:
        return found.start, found.first
    slash = found.start
    while slash and text[slash - 1] == "\\":
        slash -= 1
    shift = (found.start - slash) % 2
    if text[found.start + shift] == "@":
        return found.start, found.first
    return found.start + shift, found.first + shift


def lifted(hit: Hit, layer: Layer) -> Hit:
    """Return a hit in a layer as one in the raw text."""
    first, last = layer.raw(hit.first), layer.raw(hit.last)
    is_written = last - first != hit.last - hit.first
    return replace(
        hit,
        start=layer.raw(hit.start),
        first=first,
        last=last,
        end=layer.raw(hit.end),
        is_lifted=True,
        in_url=hit.in_url or (layer.is_url and is_written),
    )


def shifted(hit: Hit, by: int) -> Hit:
    """Return a hit further on in a text."""
    return replace(
        hit, start=hit.start + by, first=hit.first + by, last=hit.last + by, end=hit.end + by
    )
