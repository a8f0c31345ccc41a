"""Finds the secrets of one text: by shape, by name inside JSON, or because they are known.

The sieve runs first; what it does not stop is clean. On overlap what lies under an escape goes
before what the escapes look like, then the leftmost, then the longest. What is found is covered
and the rest searched again, until nothing is left: so redacting twice is redacting once.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from mcprec_addon.jsonvalue import JsonError, loads
from mcprec_addon.redact.engine import Found, Haystack, Sieve, escaped
from mcprec_addon.redact.patterns import Pattern
from mcprec_addon.redact.rules import (
    KNOWN_CLASS,
    Rules,
    block_end,
    holds,
    is_plain,
    placed_secret,
)
from mcprec_addon.redact.spellings import (
    Layer,
    base64_cores,
    hex_spellings,
    layers,
    quoted,
    run_at,
    runs_around,
)

_DEPTH = 3  # JSON in JSON in JSON; deeper is no longer traffic but a puzzle
_COVER = "\ue000"  # a private-use character: in no token's alphabet
_CLEAN_BYTES = 16 << 20  # a long conversation's prefix, a few times over
_SHORTEST = 5  # of anything that a rule finds: a@b.c
_NUMBER = "[1-9][0-9]{0,3}"  # of a placeholder in a finished cassette; longer is someone's value
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:\s*)?', re.DOTALL)
_TEXT_URI = re.compile(
    r"data:(?:text/[a-z.+-]+|application/(?:[a-z.+-]*json|[a-z.+-]*xml))[^,]{0,100};base64,"
)
_NAMED_MEMBER = (
    r"(?i)(?:key|token|secret|passw(?:or)?d|passphrase|pwd|credentials?|authorization|jwt|bearer"
    r'|cookie|session[_-]?id)\\*"\s*:'
)
_ANY_MEMBER = r'"\s*:'
_DATA_URI = "data:[a-z]+/[^,]*;base64,"


@dataclass(frozen=True, slots=True)
class Edit:
    """A stretch of a text and what takes its place."""

    start: int
    end: int
    text: str


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


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits, which are in order and apart, made."""
    pieces: list[str] = []
    end = 0
    for edit in edits:
        pieces += [text[end : edit.start], edit.text]
        end = edit.end
    return "".join([*pieces, text[end:]])


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
        self._finished = re.compile(rf"email-{_NUMBER}@mcprec\.example|(?:{classes})-{_NUMBER}")
        self._known: dict[str, str] = {}
        self._needles: list[tuple[str, str, bool]] = []
        self._extra = len(rules.patterns)
        self._sieve: Sieve | None = None
        self._clean: dict[str, None] = {}
        self._clean_size = 0

    def learn(self, secret: str, cls: str = KNOWN_CLASS) -> bool:
        """Search for a value everywhere from now on; return whether it is new and no plain one."""
        if is_plain(secret) or secret in self._known or self._is_none(secret):
            return False
        self._known[secret] = self.rules.shape(secret) or cls
        self._needles.append((secret, secret, False))
        self._needles += [(secret, digits, False) for digits in sorted(hex_spellings(secret))]
        self._needles += [(secret, core, True) for core in sorted(base64_cores(secret))]
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
        hit = _placed_hit(cls, text, 0)
        if hit is None:
            return self.edits(text)
        if self._is_none(hit.secret):
            return []
        shape = self.rules.shape(hit.secret) or cls
        return [Edit(hit.first, hit.last, self._placeholder(hit.secret, shape))]

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
        masked = self._covered.sub(lambda match: _COVER * len(match.group()), text)
        while hits := _winners(self._find(masked, 0), masked):
            for hit in hits:
                if hit.replacement is not None:
                    yield Edit(hit.first, hit.last, hit.replacement)
                elif not self._is_none(hit.secret):
                    found = self._placeholder(hit.secret, hit.cls)
                    yield Edit(hit.first, hit.last, quoted(found) if hit.in_url else found)
            covers = (Edit(hit.first, hit.end, _COVER * (hit.end - hit.first)) for hit in hits)
            masked = applied(masked, sorted(covers, key=lambda edit: edit.start))

    def _is_none(self, secret: str) -> bool:
        """Whether something is no secret whatever matches it: a placeholder, or allowed."""
        finished = self._finished.fullmatch(secret) or self._covered.fullmatch(secret)
        return finished is not None or secret in self.rules.allow

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
                hits += [_lifted(hit, layer) for hit in under]
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
        for found in self.rules.matchers[index].find(hay):
            hit = _shape_hit(hay.text, pattern, found)
            if hit is not None:
                yield replace(hit, cls=self._known.get(hit.secret, hit.cls))

    def _needle_hits(self, text: str, secret: str, needle: str, is_base64: bool) -> Iterator[Hit]:  # noqa: FBT001
        cls = self._known[secret]
        at = text.find(needle)
        while at >= 0:
            end = at + len(needle)
            hit = Hit(at, at, end, end, secret, cls)
            if is_base64:
                hit = self._run_hit(text, hit)
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
            return
        key, colon_end = "", -1
        for match in _STRING.finditer(text):
            inside = _inside(match)
            if match[2] is not None:
                key, colon_end = inside.text, match.end()
                continue
            cls = self.rules.key_class(key) if match.start() == colon_end else None
            hit = None if cls is None else _placed_hit(cls, inside.text, 0)
            under = self._json_hits(inside.text, depth + 1) if hit is None else (hit,)
            for found in under:
                yield _shifted(_lifted(found, inside), match.start(1))


def _winners(hits: Iterable[Hit], masked: str) -> list[Hit]:
    """Return hits that do not overlap: under an escape first, then leftmost, then longest."""
    chosen: list[Hit] = []
    starts: list[int] = []
    ends: list[int] = []
    for hit in sorted(hits, key=lambda hit: (not hit.is_lifted, hit.start, -hit.end)):
        at = bisect_left(starts, hit.end)
        is_taken = at > 0 and ends[at - 1] > hit.first
        if not is_taken and _COVER not in masked[hit.first : hit.end]:
            starts.insert(at, hit.first)
            ends.insert(at, hit.end)
            chosen.append(hit)
    return chosen


def _inside(match: re.Match[str]) -> Layer:
    plain = Layer(match[1], False, (0,), (0,))  # noqa: FBT003
    return next((layer for layer in layers(match[1]) if not layer.is_url), plain)


def _placed_hit(cls: str, text: str, at: int) -> Hit | None:
    secret = placed_secret(cls, text)
    if secret is None:
        return None
    first = at + text.rindex(secret)
    last = first + len(secret)
    return Hit(at, first, last, last, secret, cls)


def _shape_hit(text: str, pattern: Pattern, found: Found) -> Hit | None:
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
    before = text[: found.start]
    slashes = len(before) - len(before.rstrip("\\"))
    shift = slashes % 2
    if text[found.start + shift] == "@":
        return found.start, found.first
    return found.start + shift, found.first + shift


def _lifted(hit: Hit, layer: Layer) -> Hit:
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


def _shifted(hit: Hit, by: int) -> Hit:
    return replace(
        hit, start=hit.start + by, first=hit.first + by, last=hit.last + by, end=hit.end + by
    )
