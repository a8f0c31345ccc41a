"""Placeholders: how they are written, and how they get their final numbers.

While recording they are private to the run, so that nothing in the traffic looks like one:
``mcprec-0a1b2c3d-email-4-x@mcprec.example``. A finished cassette holds ``email-1@mcprec.example``
and ``github-token-2``, numbered per class by first appearance.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from mcprec_addon.exchange import Exchange, Half, Json, Message, Noise
from mcprec_addon.long_events import LongEvents
from mcprec_addon.redact import walk
from mcprec_addon.redact.forms import (
    PRIVATE,
    PRIVATE_MARK,
    Finals,
    Spelling,
    as_number,
    final,
    name_of,
    private,
)
from mcprec_addon.redact.spellings import (
    base64_cores,
    hex_changed,
    hex_spellings,
    quoted,
    runs_around,
)

_PRIVATE_CORES = base64_cores(PRIVATE_MARK)
_PRIVATE_HEX = hex_spellings(PRIVATE_MARK)

_SHOWN_LENGTH: Final = 12  # of a secret of which four characters say nothing
_SHOWN: Final = 2
_NO_COUNTS: Final[Mapping[str, int]] = {}

type Mint = Callable[[str, int], str]
"""Builds a placeholder from its class and number."""


class Table:
    """Each distinct secret and its placeholder; lives as long as a recording or a replay.

    Attributes:
        minted: Each placeholder made here, to its secret.
    """

    def __init__(self, mint: Mint) -> None:
        self._mint = mint
        self._placeholders: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self.minted: dict[str, str] = {}

    def placeholder(self, secret: str, cls: str) -> str:
        """Return the placeholder of a secret, a new one where it has none yet."""
        held = self._placeholders.get(secret)
        if held is not None:
            return held
        number = self._counts.get(cls, 0) + 1
        self._counts[cls] = number
        placeholder = self._mint(cls, number)
        self._placeholders[secret] = placeholder
        self.minted[placeholder] = secret
        return placeholder

    def settle(self, secret: str, placeholder: str) -> None:
        """Say which placeholder a secret has from now on."""
        self._placeholders[secret] = placeholder

    def secrets(self) -> dict[str, str]:
        """Return each placeholder's secret."""
        return {placeholder: secret for secret, placeholder in self._placeholders.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Renumbered:
    """A recording with final placeholders.

    Attributes:
        counts: Highest number of each class: how many there are, look-alikes passed over.
        names: Private placeholder to final name.
    """

    exchanges: tuple[Exchange, ...]
    messages: tuple[Message, ...]
    noise: tuple[Noise, ...]
    counts: dict[str, int]
    names: dict[str, str]


def renumber(
    exchanges: Sequence[Exchange],
    messages: Sequence[Message],
    noise: Sequence[Noise],
    *,
    behind: Mapping[str, int] = _NO_COUNTS,
) -> Renumbered:
    """Return a recording with its private placeholders numbered per class by first appearance.

    Exchanges of both halves count in the order of their seq, the call before its answer; what
    stands beside them behind the exchange it came after. Needs no table: a private placeholder
    carries its class, so a journal that outlived its run can be renumbered too.

    Args:
        exchanges: The exchanges.
        messages: What stands beside them.
        noise: Likewise.
        behind: The highest numbers that a finished cassette has already, by class.
    """
    order = _by_appearance(exchanges, messages, noise)
    collector = _Collector()
    for unit in order:
        _look_over(unit, collector)
    seeker = _Seeker(set(collector.found.values()))
    if collector.found:
        for unit in order:
            _look_over(unit, seeker)
    numbering = _Numbering(frozenset(seeker.found), collector.found, behind)
    return Renumbered(
        exchanges=tuple(walk.exchange(each, numbering) for each in exchanges),
        messages=tuple(walk.message(each, numbering) for each in messages),
        noise=tuple(walk.noise(each, numbering) for each in noise),
        counts=numbering.counts,
        names=numbering.names,
    )


def _by_appearance(
    exchanges: Sequence[Exchange], messages: Sequence[Message], noise: Sequence[Noise]
) -> list[Exchange | Message | Noise]:
    units: list[tuple[int, int, Exchange | Message | Noise]] = []
    units += [(exchange.seq, 0, exchange) for exchange in exchanges]
    units += [(message.on or message.after, 1, message) for message in messages]
    units += [(line.after, 2, line) for line in noise]
    return [unit for _, _, unit in sorted(units, key=lambda unit: unit[:2])]


def _look_over(unit: Exchange | Message | Noise, change: walk.Change) -> None:
    match unit:
        case Message():
            walk.message(unit, change)
        case Noise():
            walk.noise(unit, change)
        case _:
            seen = walk.exchange(unit, change).answer.events
            if isinstance(seen, LongEvents):
                len(seen)  # its events are changed as they are looked at


def _recoded(text: str, change: Callable[[str], str]) -> str:
    """Change the private placeholders that stand in base64 or hex in a text."""
    if any(core in text for core in _PRIVATE_HEX):
        text = hex_changed(text, (PRIVATE_MARK,), change)
    if not any(core in text for core in _PRIVATE_CORES):
        return text
    for core in _PRIVATE_CORES:
        at = text.find(core)
        while at >= 0:
            end = at + len(core)
            run = next((r for r in runs_around(text, at, end) if PRIVATE_MARK in r.text), None)
            if run is not None:
                code = run.encoded(change(run.text))
                text = text[: run.start] + code + text[run.end :]
                end = run.start + len(code)
            at = text.find(core, end)
    return text


class _Collector(walk.Change):
    """Sees the private placeholders of every text, and changes none."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def text(self, text: str) -> str:
        self._see(text)
        _recoded(text, self._see)
        return text

    def _see(self, text: str) -> str:
        for placeholder, cls in privates(text):
            self.found.setdefault(placeholder, cls)
        return text


class _Seeker(walk.Change):
    """Sees what looks like a final placeholder in the traffic already."""

    def __init__(self, classes: Iterable[str]) -> None:
        self.found: set[str] = set()
        self._finals = Finals(classes)

    def json(self, value: Json, root: walk.Root, half: Half) -> Json:
        del root, half
        return walk.mapped(value, self.text, self._leaf)

    def text(self, text: str) -> str:
        if self._finals:
            plain = PRIVATE.sub(" ", text) if PRIVATE_MARK in text else text
            self.found.update(written.name for written in self._finals.found(plain))
        return text

    def _leaf(self, leaf: str | int) -> Json:
        self.text(str(leaf))
        return leaf


def masked(secret: str) -> str:
    """Return a secret as it may be shown: of a long one its first and last two characters."""
    if len(secret) < _SHOWN_LENGTH:
        return "…"
    return f"{secret[:_SHOWN]}…{secret[-_SHOWN:]}"


def privates(text: str) -> Iterator[tuple[str, str]]:
    """Yield the private placeholders in a text as they were minted, with their classes."""
    if PRIVATE_MARK in text:
        for match in PRIVATE.finditer(text):
            yield _plain(match), match[2]


def _plain(match: re.Match[str]) -> str:
    return private(match[1], match[2], int(match[3]))


class _Numbering(walk.Change):
    """Writes the final placeholder for each private one."""

    def __init__(
        self, lookalikes: frozenset[str], found: Mapping[str, str], behind: Mapping[str, int]
    ) -> None:
        self.counts: dict[str, int] = dict(behind)
        self.names: dict[str, str] = {}
        self._finals: dict[str, tuple[str, int]] = {}
        for placeholder, cls in found.items():
            number = self.counts.get(cls, 0) + 1
            while name_of(cls, number) in lookalikes:
                number += 1
            self.counts[cls] = number
            self.names[placeholder] = name_of(cls, number)
            self._finals[placeholder] = (cls, number)

    def text(self, text: str) -> str:
        return _recoded(self._numbered(text), self._numbered)

    def json(self, value: Json, root: walk.Root, half: Half) -> Json:
        del root, half
        return walk.mapped(value, self.text, self._leaf)

    def _leaf(self, leaf: str | int) -> Json:
        if not isinstance(leaf, str):
            return leaf
        numbered = self.text(leaf)
        match = PRIVATE.fullmatch(leaf) if numbered is not leaf else None
        return as_number(numbered) if match is not None and match[4] == "n" else numbered

    def _numbered(self, text: str) -> str:
        return PRIVATE.sub(self._final, text) if PRIVATE_MARK in text else text

    def _final(self, match: re.Match[str]) -> str:
        cls, number = self._finals[_plain(match)]
        placeholder = final(cls, number, cast("Spelling", match[4]))
        return quoted(placeholder) if match[5] == "%40" else placeholder
