"""Finds the secrets of one text: by shape, by name inside JSON, or because they are known.

The sieve runs first; what it does not stop is clean. On overlap what lies under an escape goes
before what the escapes look like, then the leftmost, then the longest. What is found is covered
and the rest searched again, until nothing is left: so redacting twice is redacting once.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Literal

from mcprec_addon.jsonvalue import JsonError, loads
from mcprec_addon.redact.engine import Haystack, Sieve, escaped
from mcprec_addon.redact.forms import DOMAIN, Spelling, as_number, number_of, respelled, spelling_of
from mcprec_addon.redact.hits import (
    COVER,
    Edit,
    Hit,
    applied,
    inside,
    lifted,
    number_hit,
    placed_hit,
    shape_hit,
    shifted,
    winners,
)
from mcprec_addon.redact.personal import NUMERIC, is_personal, plain
from mcprec_addon.redact.rules import (
    KNOWN_CLASS,
    Rules,
    is_plain,
)
from mcprec_addon.redact.spellings import (
    base64_cores,
    hex_spellings,
    in_hex,
    layers,
    quoted,
    run_at,
    runs_around,
)

type Coded = Literal["plain", "hex", "base64"]
"""How a known value is written in a text that holds it."""

_DEPTH = 3  # JSON in JSON in JSON; deeper is no longer traffic but a puzzle
_CLEAN_BYTES = 16 << 20  # a long conversation's prefix, a few times over
_SHORTEST = 5  # of anything that a rule finds: a@b.c
_NUMBER = "[1-9][0-9]{0,3}"  # of a placeholder in a finished cassette; longer is someone's value
_MOST_FINISHED = 9999
_STRING = re.compile(
    r'"((?:[^"\\]|\\.)*)"(\s*:\s*)?|(?<![\w.+-])([0-9]{7,19})(?![\w.+-])', re.DOTALL
)
_TEXT_URI = re.compile(
    r"data:(?:text/[a-z.+-]+|application/(?:[a-z.+-]*json|[a-z.+-]*xml))[^,]{0,100};base64,"
)
_NAMED_MEMBER = (
    r"(?i)(?:key|token|secret|passw(?:or)?d|passphrase|pwd|credentials?|authorization|jwt|bearer"
    r"|cookie|session[_-]?id|(?:phone|tel|mobile|fax|msisdn|card|cc|pan)"
    r'(?:[_ -]?(?:number|num|no|nr))?)\\*"\s*:'
)
_ANY_MEMBER = r'"\s*:'
_DATA_URI = "data:[a-z]+/[^,]*;base64,"


class Finder:
    """Finds secrets under rules and known values; grows with each value it learns."""

    def __init__(
        self,
        rules: Rules,
        placeholder: Callable[[str, str], str],
        *,
        covered: re.Pattern[str],
    ) -> None:
        """Set the rules.

        Args:
            rules: What counts as a secret.
            placeholder: Returns the placeholder of a secret and its class.
            covered: What a placeholder of ours looks like; nothing overlapping one is a secret.
        """
        self.rules = rules
        self._placeholder = placeholder
        self._covered = covered
        classes = "|".join(sorted(map(re.escape, rules.classes - {"email"})))
        address = rf"email-{_NUMBER}@{re.escape(DOMAIN)}"
        self._finished = re.compile(rf"{address}|(?:{classes})-{_NUMBER}")
        self._known: dict[str, str] = {}
        self._needles: list[tuple[str, str, Coded]] = []
        self._extra = len(rules.patterns)
        self._sieve: Sieve | None = None
        self._clean: dict[str, None] = {}
        self._clean_size = 0
        self._allowed = rules.allow | {
            plain(cls, value) for value in rules.allow for cls in NUMERIC if is_personal(cls, value)
        }

    def learn(self, secret: str, cls: str = KNOWN_CLASS) -> bool:
        """Search for a value everywhere from now on; return whether it is new and no plain one."""
        cls = self.rules.class_of(secret, cls)
        written, secret = secret, plain(cls, secret)
        if is_plain(written) or secret in self._known or self._is_none(secret):
            return False
        self._known[secret] = cls
        spelled: dict[Coded, Iterable[str]] = {
            "plain": dict.fromkeys((written, secret)),
            "hex": sorted(hex_spellings(secret)),
            "base64": sorted(base64_cores(secret)),
        }
        for coded, needles in spelled.items():
            self._needles.extend((secret, needle, coded) for needle in needles)
        self._sieve = None
        self._clean.clear()
        self._clean_size = 0
        return True

    def knows(self, text: str) -> bool:
        """Whether a known value is in a text, in any spelling."""
        return bool(self._known) and any(
            hit.secret in self._known for hit in self._find(text, 0, known_only=True)
        )

    def placed(self, cls: str, text: str) -> list[Edit]:
        """Return the edits for a value that stands where credentials of a class do."""
        hit = placed_hit(cls, text)
        if hit is None:
            return self.edits(text)
        if self._is_none(hit.secret):
            return []
        cls = self.rules.class_of(hit.secret, hit.cls)
        return [self._edit(replace(hit, cls=cls, secret=plain(cls, hit.secret)))]

    def number(self, value: int, name: str | None) -> int | str:
        """Return a JSON number, or its placeholder where its name or being known makes it secret.

        Args:
            value: The number.
            name: Of its member, where that may say so.
        """
        written = str(value)
        cls = self._known.get(written) or (name and self.rules.number_class(name, written))
        if not cls or self._is_none(plain(cls, written)):
            return value
        return as_number(self._written(plain(cls, written), cls, "n"))

    def _edit(self, hit: Hit) -> Edit:
        if hit.cls in NUMERIC:
            spelling = spelling_of(hit.cls, hit.written, in_url=hit.in_url)
            written = self._written(hit.secret, hit.cls, spelling)
            return Edit(hit.first, hit.last, written, hit.cls)
        found = self._placeholder(hit.secret, hit.cls)
        return Edit(hit.first, hit.last, quoted(found) if hit.in_url else found, hit.cls)

    def _written(self, secret: str, cls: str, spelling: Spelling) -> str:
        return respelled(self._placeholder(secret, cls), cls, spelling)

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        edits = self.edits(text)
        return applied(text, edits) if edits else text

    def edits(self, text: str) -> list[Edit]:
        """Return what to replace in a text, in order."""
        if len(text) < _SHORTEST or text in self._clean:
            return []
        if not self._find(text, 0):
            self._keep_clean(text)
            return []
        edits = self._all_edits(text)
        return sorted(edits, key=lambda edit: edit.start)

    def _keep_clean(self, text: str) -> None:
        self._clean[text] = None
        self._clean_size += len(text)
        while self._clean_size > _CLEAN_BYTES:
            oldest = next(iter(self._clean))
            del self._clean[oldest]
            self._clean_size -= len(oldest)

    def _all_edits(self, text: str) -> Iterator[Edit]:
        masked = self._covered.sub(lambda match: COVER * len(match.group()), text)
        while hits := winners(self._find(masked, 0), masked):
            for hit in hits:
                if hit.replacement is not None:
                    yield Edit(hit.first, hit.last, hit.replacement)
                elif not self._is_none(hit.secret):
                    yield self._edit(hit)
            covers = (Edit(hit.first, hit.end, COVER * (hit.end - hit.first)) for hit in hits)
            masked = applied(masked, sorted(covers, key=lambda edit: edit.start))

    def _is_none(self, secret: str) -> bool:
        """Whether something is no secret whatever matches it: a placeholder, or allowed."""
        finished = self._finished.fullmatch(secret) or self._covered.fullmatch(secret)
        is_form = any(0 < (number_of(cls, secret) or 0) <= _MOST_FINISHED for cls in NUMERIC)
        return finished is not None or is_form or secret in self._allowed

    def _find(self, text: str, depth: int, *, known_only: bool = False) -> list[Hit]:
        hay = Haystack(text)
        hits: list[Hit] = []
        for index in sorted(self._sift(hay)):  # of equal matches the earlier row's counts
            if index > self._extra + 1:
                hits += self._needle_hits(text, *self._needles[index - self._extra - 2])
            elif known_only:
                continue
            elif index == self._extra:
                hits += self._json_hits(text, depth)
            elif index == self._extra + 1:
                hits += self._data_hits(text, depth)
            else:
                hits += self._shape_hits(hay, index)
        if depth < _DEPTH:
            for layer in layers(text):
                under = self._find(layer.text, depth + 1, known_only=known_only)
                hits += [lifted(hit, layer) for hit in under]
        return hits

    def _sift(self, hay: Haystack) -> Iterable[int]:
        if self._sieve is None:
            hints = [pattern.hint for pattern in self.rules.patterns]
            needles = [escaped(needle) for _, needle, _ in self._needles]
            member = _ANY_MEMBER if self.rules.keys else _NAMED_MEMBER
            self._sieve = Sieve([*hints, member, _DATA_URI, *needles])
        return self._sieve.match(hay.data)

    def _shape_hits(self, hay: Haystack, index: int) -> Iterator[Hit]:
        pattern = self.rules.patterns[index]
        end = 0
        for found in self.rules.matchers[index].find(hay):
            hit = shape_hit(hay.text, pattern, found) if found.start >= end else None
            if hit is not None:
                end = hit.end
                yield replace(hit, cls=self._known.get(hit.secret, hit.cls))

    def _needle_hits(self, text: str, secret: str, needle: str, coded: Coded) -> Iterator[Hit]:
        cls = self._known[secret]
        at = text.find(needle)
        while at >= 0:
            end = at + len(needle)
            hit = Hit(at, at, end, end, secret, cls, written=needle)
            match coded:
                case "base64":
                    hit = self._run_hit(text, hit)
                case "hex":
                    code = in_hex(self._placeholder(secret, cls), needle)
                    hit = replace(hit, replacement=code)
                case "plain":
                    pass
            yield hit
            at = text.find(needle, max(end, hit.end))

    def _run_hit(self, text: str, hit: Hit) -> Hit:
        for run in runs_around(text, hit.first, hit.last):
            if hit.secret in run.text:
                code = run.encoded(self.text(run.text))
                return Hit(run.start, run.start, run.end, run.end, hit.secret, hit.cls, code)
        return hit

    def _data_hits(self, text: str, depth: int) -> Iterator[Hit]:
        if depth >= _DEPTH:
            return
        for match in _TEXT_URI.finditer(text):
            run = run_at(text, match.end())
            if run is not None:
                clean = self.text(run.text)
                if clean != run.text:
                    code = run.encoded(clean)
                    yield Hit(run.start, run.start, run.end, run.end, run.text, "data", code)

    def _json_hits(self, text: str, depth: int) -> Iterator[Hit]:
        if depth >= _DEPTH or text.lstrip()[:1] not in ("{", "["):
            return
        try:
            loads(text)
        except JsonError:
            yield from self._line_hits(text, depth)
            return
        name, colon_end = "", -1
        for match in _STRING.finditer(text):
            told = name if match.start() == colon_end else None
            if match[3] is not None:
                yield from self._number_hits(told, match.start(), match[3])
                continue
            under = inside(match)
            if match[2] is not None:
                name, colon_end = under.text, match.end()
                continue
            cls = None if told is None else self.rules.placed_class(told)
            hit = None if cls is None else placed_hit(cls, under.text)
            for found in self._json_hits(under.text, depth + 1) if hit is None else (hit,):
                yield shifted(lifted(found, under), match.start(1))

    def _line_hits(self, text: str, depth: int) -> Iterator[Hit]:
        """Yield what is found in JSON lines, each a value of its own."""
        if "\n" not in text:
            return
        start = 0
        for line in text.split("\n"):
            for hit in self._json_hits(line, depth):
                yield shifted(hit, start)
            start += len(line) + 1

    def _number_hits(self, name: str | None, first: int, digits: str) -> Iterator[Hit]:
        cls = None if name is None else self.rules.number_class(name, digits)
        if cls is not None:
            yield number_hit(cls, first, digits)
