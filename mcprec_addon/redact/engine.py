"""google-re2 behind types: single patterns, and one set that says which of them may hit.

Text is searched as UTF-8; offsets come back in characters. A lone surrogate counts as one
character that no pattern matches.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

# RE2 gives up without a word when its automaton does not fit; the sieve's needs far less.
_SET_BYTES = 64 << 20


class _Match(Protocol):
    def span(self, group: int = 0) -> tuple[int, int]: ...


class _Compiled(Protocol):
    groups: int

    def finditer(self, text: bytes) -> Iterator[_Match]: ...

    def fullmatch(self, text: bytes) -> _Match | None: ...


class _Set(Protocol):
    def Add(self, pattern: bytes) -> int: ...  # noqa: N802  # the library's name

    def Compile(self) -> None: ...  # noqa: N802

    def Match(self, text: bytes) -> list[int] | None: ...  # noqa: N802


class _Options(Protocol):
    max_mem: int
    log_errors: bool


class _SetFactory(Protocol):
    def SearchSet(self, options: _Options) -> _Set: ...  # noqa: N802


class _Library(Protocol):
    Set: _SetFactory
    error: type[Exception]

    def Options(self) -> _Options: ...  # noqa: N802

    def compile(self, pattern: bytes, options: _Options) -> _Compiled: ...

    def escape(self, pattern: str) -> str: ...


_re2 = cast("_Library", re2)


class PatternError(ValueError):
    """A pattern that RE2 cannot run; the message is RE2's."""


class Haystack:
    """A text ready to be searched."""

    __slots__ = ("_ascii", "_seen", "data", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = text.encode("utf-8", "replace")
        self._ascii = len(self.data) == len(text)
        self._seen = (0, 0)

    def offset(self, byte: int) -> int:
        """Return the character that begins at a byte."""
        if self._ascii:
            return byte
        seen, chars = self._seen if self._seen[0] <= byte else (0, 0)
        chars += len(self.data[seen:byte].decode())
        self._seen = (byte, chars)
        return chars


@dataclass(frozen=True, slots=True)
class Found:
    """What a pattern matched, and the part of it that is the secret: its group, or all."""

    start: int
    end: int
    first: int
    last: int


class Matcher:
    """One pattern."""

    def __init__(self, regex: str) -> None:
        """Take a pattern.

        Raises:
            PatternError: RE2 cannot run it.
        """
        options = _re2.Options()
        options.log_errors = False  # they would go to stderr beside our own line
        try:
            self._compiled = _re2.compile(regex.encode(), options)
        except _re2.error as error:
            told: object = error.args[0] if error.args else error
            message = told.decode() if isinstance(told, bytes) else str(told)
            raise PatternError(message) from error
        self._group = min(self._compiled.groups, 1)

    def find(self, hay: Haystack) -> Iterator[Found]:
        """Yield the matches from left to right, in characters; one of nothing is none.

        RE2 finds nothing also between the bytes of a character.
        """
        for match in self._compiled.finditer(hay.data):
            start, end = match.span()
            first, last = match.span(self._group)
            if first < 0 or first == last:
                continue
            # In ascending order, for then every byte is counted once.
            begin, first, last = hay.offset(start), hay.offset(first), hay.offset(last)
            yield Found(begin, hay.offset(end), first, last)

    def finds_nothing(self) -> bool:
        """Whether the pattern matches the empty text, which is everywhere."""
        return self._compiled.fullmatch(b"") is not None

    def is_whole(self, text: str) -> bool:
        """Whether the secret part of the pattern can be all of a text."""
        match = self._compiled.fullmatch(text.encode("utf-8", "replace"))
        return match is not None and self._group == 0


class Sieve:
    """Says which of many patterns occur in a text, in one pass."""

    def __init__(self, regexes: Iterable[str]) -> None:
        options = _re2.Options()
        options.max_mem = _SET_BYTES
        self._set = _re2.Set.SearchSet(options)
        for regex in regexes:
            self._set.Add(regex.encode())
        self._set.Compile()

    def match(self, data: bytes) -> Sequence[int]:
        """Return the positions of the patterns that occur."""
        return self._set.Match(data) or ()


def escaped(text: str) -> str:
    """Return a pattern that matches a text to the letter."""
    return _re2.escape(text)
