"""What two recordings must have in common to have recorded the same: all but placeholder numbers.

A shape is a digest in which each placeholder counts by its class, and beside it the names of the
placeholders in order. Times and headers are in none.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mcprec_addon.exchange import Exchange, Json, McpEvent, McpExchange, Message, ModelAnswer, Noise
from mcprec_addon.jsonvalue import canonical
from mcprec_addon.match.keys import Keys
from mcprec_addon.match.rules import Rule
from mcprec_addon.redact.forms import Finals


@dataclass(frozen=True, slots=True)
class Shape:
    """A value up to the numbers of its placeholders.

    Attributes:
        digest: SHA-256 of its canonical JSON with classes in place of placeholders.
        names: Its placeholders in order, such as ``email-1``.
    """

    digest: bytes
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExchangeShape:
    """The shapes of one exchange: of its call, as a replay compares it, and of its answer."""

    call: Shape
    answer: Shape


class Shapes:
    """Makes the shapes of recordings that are to be compared."""

    def __init__(
        self, classes: Iterable[str], *, rules: Sequence[Rule] = (), answer_ids: frozenset[str]
    ) -> None:
        """Set what holds for all of them.

        Args:
            classes: Classes of placeholders that any of them has.
            rules: What does not count in matching.
            answer_ids: Ids that recorded answers minted.
        """
        self._finals = Finals(classes)
        self._keys = Keys(rules=rules, answer_ids=answer_ids)

    def exchange(self, exchange: Exchange) -> ExchangeShape:
        """Return the shapes of an exchange; a long stream is gone over and not held."""
        key = self._keys.canonical(self._keys.compared(exchange.call))
        answer = self._shape(_answer_pieces(exchange))
        return ExchangeShape(self._shape([key]), answer)

    def beside(self, unit: Message | Noise) -> Shape:
        """Return the shape of what stands beside the exchanges, its place left out."""
        value: Json = (
            [unit.server, unit.sender, unit.method, unit.params, unit.id, unit.answer]
            if isinstance(unit, Message)
            else [unit.server, unit.text]
        )
        return self._shape([canonical(value)])

    def names(self, unit: Exchange | Message | Noise) -> Iterator[str]:
        """Yield the placeholders, and what looks like one, of a recorded unit."""
        if isinstance(unit, Message | Noise):
            yield from self.beside(unit).names
            return
        yield from self._shape([canonical(unit.call.record())]).names
        yield from self._shape(_answer_pieces(unit)).names
        headers = (name for value in unit.answer.headers.values() for name in self._header(value))
        yield from headers
        if isinstance(unit, McpExchange):
            yield from self._shape([canonical(unit.call.meta)]).names

    def _header(self, value: str | list[str]) -> Iterator[str]:
        for each in [value] if isinstance(value, str) else value:
            yield from (written.name for written in self._finals.found(each))

    def _shape(self, pieces: Iterable[bytes]) -> Shape:
        digest = hashlib.sha256()
        names: list[str] = []
        for piece in pieces:
            text = piece
            if self._finals:
                decoded = piece.decode()
                names += [written.name for written in self._finals.found(decoded)]
                text = self._finals.replaced(decoded, lambda written: written.shape).encode()
            digest.update(b"%d:" % len(text))
            digest.update(text)
        return Shape(digest.digest(), tuple(names))


def _answer_pieces(exchange: Exchange) -> Iterator[bytes]:
    answer = exchange.answer
    tail = answer.tail if isinstance(answer, ModelAnswer) else None
    yield canonical([answer.kind, answer.status, answer.value, answer.end, tail])
    for event in answer.events:
        if isinstance(event, McpEvent):
            yield canonical([event.message, event.answer])
        else:
            yield canonical([event.kind, event.event, event.value])
