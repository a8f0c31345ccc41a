"""Strings that look drawn by chance, and that no rule knows: what a person should look at.

A run of 20 and more characters of a key's alphabet counts where nearly every character is a
surprise. UUIDs, digests by the length of their hex, times and dashed words do not.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

_RUN: Final = re.compile(r"[A-Za-z0-9_+/~.-]{20,512}")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# Lengths of SHA-1, SHA-224, SHA-256, SHA-384 and SHA-512 in hex: commits, checksums, names of
# content. Of 32 digits, as MD5 has, are the keys of several model APIs too, so those are shown.
_DIGESTS: Final = frozenset({40, 56, 64, 96, 128})
_HEX: Final = re.compile(r"(?:[0-9a-f]+|[0-9A-F]+)")
_KINDS: Final = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]")))
_WORDS: Final = re.compile(r"[A-Za-z]?[a-z]{2,}|[A-Z]{2,}|[0-9]{1,8}")
# Of the bits that so many characters could have at most: a random text has 0.9 and more of them,
# a sentence without blanks some 0.8.
_LEAST_SURPRISE: Final = 0.85
_MOST_BITS: Final = 6.0  # of base64, whose alphabet is the largest of these
_MOST_IN_WORDS: Final = 0.6


def suspicious_runs(text: str) -> Iterator[tuple[int, str]]:
    """Yield offset and text of each run of characters that looks drawn by chance."""
    for match in _RUN.finditer(text):
        run = match.group().strip(".-_/+~")
        if len(run) >= 20 and _is_suspicious(run):  # noqa: PLR2004 - the least of `_RUN`
            yield match.start() + match.group().index(run), run


def _is_suspicious(run: str) -> bool:
    if _UUID.search(run) is not None:
        return False
    if _HEX.fullmatch(run):
        return len(run) not in _DIGESTS and not run.isdecimal() and _surprise(run, 4.0)
    kinds = sum(kind.search(run) is not None for kind in _KINDS)
    if kinds < 2 or not _KINDS[2].search(run):  # noqa: PLR2004 - letters alone are words
        return False
    return not _is_worded(run) and _surprise(run, _MOST_BITS)


def _is_worded(run: str) -> bool:
    """Whether most of a run is words and short numbers, as in a path or a dashed name."""
    pieces = [piece for piece in re.split(r"[^A-Za-z0-9]+", run) if piece]
    worded = sum(len(piece) for piece in pieces if _WORDS.fullmatch(piece))
    return worded > _MOST_IN_WORDS * sum(map(len, pieces))


def _surprise(run: str, most_bits: float) -> bool:
    counts = Counter(run)
    bits = -sum(n / len(run) * math.log2(n / len(run)) for n in counts.values())
    return bits >= _LEAST_SURPRISE * min(most_bits, math.log2(len(run)))
