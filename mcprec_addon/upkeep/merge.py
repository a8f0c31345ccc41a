"""Joins recordings into one cassette that each of their runs replays from.

What two recordings have in common stands once. The first keeps its numbers, what later ones add
comes behind. Secrets are not stored, so two recordings may mean different ones by `email-1`:
placeholders are one where their `sources` agree, or where they stand in the same place of the
same call; all others get numbers of their own.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mcprec_addon.exchange import (
    Cassette,
    Exchange,
    McpExchange,
    Message,
    ModelExchange,
    Noise,
    Server,
)
from mcprec_addon.match.keys import minted_ids
from mcprec_addon.match.rules import rules_in_use
from mcprec_addon.redact import walk
from mcprec_addon.redact.renames import Renames
from mcprec_addon.upkeep.layout import count_text
from mcprec_addon.upkeep.merged_header import Source, joined_header, moved_inside
from mcprec_addon.upkeep.same_secrets import Table, by_number
from mcprec_addon.upkeep.shapes import ExchangeShape, Shape, Shapes
from mcprec_addon.upkeep.worlds import Worlds
from mcprec_addon.wire.titles import call_title


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Several recordings in one.

    Attributes:
        cassette: What they came to.
        shared: How many exchanges of the later ones were in it already.
        notes: Calls that they have different answers to, and servers that changed, a line each.
    """

    cassette: Cassette
    shared: int
    notes: tuple[str, ...]

    def line(self, name: str, count: int) -> str:
        """Return what was merged, in one line."""
        exchanges = count_text(len(self.cassette.exchanges), "exchange")
        more = f"; {self.shared} in more than one" if self.shared else ""
        return f"{name}: {exchanges} of {count_text(count, 'cassette')}{more}"


def merge(
    sources: Sequence[Source], *, same: Iterable[str] = (), is_one_table: bool = False
) -> Merged:
    """Return several recordings as one.

    Args:
        sources: The recordings, one or more.
        same: Labels of servers that are one wherever they were recorded.
        is_one_table: One placeholder is one secret throughout.

    Raises:
        UsageError: They cannot be replayed together, with every reason on a line.
    """
    header, notes = joined_header(sources, same=frozenset(same))
    every = [exchange for source in sources for exchange in source.cassette.exchanges]
    classes = {cls for source in sources for cls in source.cassette.header.redaction.placeholders}
    rules = rules_in_use((), header.match)
    shapes = Shapes(classes, rules=rules, answer_ids=minted_ids(every))
    first = next((each.cassette for each in sources if each.cassette.half("model")), None)
    ways = replace(
        sources[0].cassette,
        header=header,
        model_via=(first or sources[0].cassette).model_via,
    )
    joined = _Joined(ways, shapes, is_one_table=is_one_table)
    for source in sources:
        joined.add(source)
    return Merged(
        cassette=joined.cassette(), shared=joined.shared, notes=(*notes, *joined.differing())
    )


@dataclass(slots=True, kw_only=True)
class _Held[U: Exchange | Message | Noise]:
    """What is in the merged cassette: one unit, its shape, and which recordings have it."""

    unit: U
    shape: ExchangeShape | Shape
    found_in: set[int]


class _Joined:
    """The merged cassette as it grows by one recording after the other."""

    def __init__(self, ways: Cassette, shapes: Shapes, *, is_one_table: bool) -> None:
        self._ways = ways
        self._shapes = shapes
        self._is_one_table = is_one_table
        self._count = 0
        self._last_seq = 0
        self._exchanges: list[_Held[Exchange]] = []
        self._by_call: dict[bytes, list[_Held[Exchange]]] = defaultdict(list)
        self._beside: list[_Held[Message | Noise]] = []
        self._placeholders: Counter[str] = Counter()  # highest number by class
        self._sources: dict[str, list[str]] = {}
        self._inside: list[str] = []
        self._seen_names: set[str] = set()
        self._differing: list[str] = []
        self.shared = 0

    def add(self, source: Source) -> None:
        """Add a recording."""
        cassette = source.cassette
        self._count += 1
        table = Table(
            source=cassette.header.redaction.sources,
            merged=self._sources,
            counts=cassette.header.redaction.placeholders,
            merged_counts=self._placeholders,
            is_one=self._is_one_table or self._count == 1,
        )
        seqs: dict[int, int] = {0: 0}
        new = [*self._new_exchanges(source, table, seqs)]
        beside = [*self._new_beside(cassette, table, seqs)]
        units = [*(each.unit for each in new), *(each.unit for each in beside)]
        self._number(units, table)
        renames = Renames(table.numbers)
        for exchange in new:
            self._keep(exchange, renames)
        for held in beside:
            held.unit = _renamed_beside(held.unit, renames)
            held.shape = self._shapes.beside(held.unit)
            self._beside.append(held)
        self._seen_names.update(name for unit in units for name in self._shapes.names(unit))
        for name, given in table.sources().items():
            known = self._sources.setdefault(name, [])
            known += [each for each in given if each not in known]
        moved = moved_inside(cassette.header.redaction.inside, seqs)
        self._inside += [each for each in moved if each not in self._inside]

    def _new_exchanges(
        self, source: Source, table: Table, seqs: dict[int, int]
    ) -> Iterator[_Held[Exchange]]:
        """Yield what a recording has and none before it, with its new seq."""
        exchanges = sorted(source.cassette.exchanges, key=lambda each: each.seq)
        shaped = [(each, self._shapes.exchange(each)) for each in exchanges]
        known = {digest: [*held] for digest, held in self._by_call.items()}
        handed: set[int] = set()
        for _, shape in shaped:
            _align(known.get(shape.call.digest, []), shape, table, handed)
        asked: Counter[tuple[bytes, tuple[str, ...]]] = Counter()
        worlds = Worlds(source.cassette)
        for exchange, shape in shaped:
            old = known.get(shape.call.digest, [])
            found = self._claim(old, shape, table) if worlds.is_as_before(exchange) else None
            self._compare(exchange, shape, old, asked, (table, source.name))
            if found is not None:
                found.unit = _with_marks(found.unit, exchange)
                seqs[exchange.seq] = found.unit.seq
                self.shared += 1
                continue
            worlds.take(exchange)
            seqs[exchange.seq] = self._next_seq(exchange.seq)
            moved = replace(exchange, seq=seqs[exchange.seq])
            moved = self._as_joined(moved, source.cassette)
            yield _Held(unit=moved, shape=shape, found_in={self._count})

    def _next_seq(self, own: int) -> int:
        """Return the next number: in the first recording its own, where it is not taken."""
        following = self._last_seq + 1
        self._last_seq = max(following, own) if self._count == 1 else following
        return self._last_seq

    def _claim(
        self, old: Sequence[_Held[Exchange]], shape: ExchangeShape, table: Table
    ) -> _Held[Exchange] | None:
        for held in old:
            ours = held.shape
            if self._count in held.found_in or not isinstance(ours, ExchangeShape):
                continue
            if ours.answer.digest != shape.answer.digest:
                continue
            theirs = (*shape.call.names, *shape.answer.names)
            if table.agree(theirs, (*ours.call.names, *ours.answer.names)):
                held.found_in.add(self._count)
                return held
        return None

    def _compare(
        self,
        exchange: Exchange,
        shape: ExchangeShape,
        old: Sequence[_Held[Exchange]],
        asked: Counter[tuple[bytes, tuple[str, ...]]],
        where: tuple[Table, str],
    ) -> None:
        """Note a call that gets another answer from the merged cassette than from its own."""
        table, name = where
        key = shape.call.digest, table.renamed(shape.call.names)
        given = [
            held
            for held in old
            if isinstance(held.shape, ExchangeShape) and held.shape.call.names == key[1]
        ]
        nth = asked[key]
        asked[key] += 1
        if nth >= len(given):
            return
        ours = given[nth].shape
        theirs = shape.answer.digest, table.renamed(shape.answer.names)
        if isinstance(ours, ExchangeShape) and (ours.answer.digest, ours.answer.names) != theirs:
            title = f"#{given[nth].unit.seq} {call_title(given[nth].unit.call)}"
            self._differing.append(f"{title}: {name} has another answer, its #{exchange.seq}")

    def _as_joined(self, exchange: Exchange, own: Cassette) -> Exchange:
        """Return an exchange that says what the header of its cassette said for it."""
        if isinstance(exchange, ModelExchange):
            way = exchange.via or own.model_via
            return exchange if way == self._ways.model_via else replace(exchange, via=way)
        label = exchange.call.server
        theirs = own.header.servers.get(label, Server())
        joined = self._ways.header.servers.get(label, Server())
        if theirs.era != joined.era:
            exchange = replace(exchange, era=exchange.era or theirs.era)
        if theirs.via != joined.via:
            exchange = replace(exchange, via=exchange.via or theirs.via)
        return exchange

    def _new_beside(
        self, cassette: Cassette, table: Table, seqs: Mapping[int, int]
    ) -> Iterator[_Held[Message | Noise]]:
        units: list[Message | Noise] = [*cassette.messages, *cassette.noise]
        for unit in units:
            shape = self._shapes.beside(unit)
            moved = _moved(unit, seqs)
            if not any(self._is_held(held, moved, shape, table) for held in self._beside):
                yield _Held(unit=moved, shape=shape, found_in={self._count})

    def _is_held(
        self, held: _Held[Message | Noise], unit: Message | Noise, shape: Shape, table: Table
    ) -> bool:
        if self._count in held.found_in or not isinstance(held.shape, Shape):
            return False
        if held.shape.digest != shape.digest or _place(held.unit) != _place(unit):
            return False
        if not table.agree(shape.names, held.shape.names):
            return False
        held.found_in.add(self._count)
        return True

    def _number(self, units: Sequence[Exchange | Message | Noise], table: Table) -> None:
        """Number the placeholders that no recording before had."""
        names = {name for unit in units for name in self._shapes.names(unit)}
        lookalikes = self._seen_names | {name for name in names if not table.has(name)}
        for name in sorted(filter(table.has, names), key=by_number):
            table.add(name, lookalikes)
        for cls, number in table.highest().items():
            self._placeholders[cls] = max(self._placeholders[cls], number)

    def _keep(self, held: _Held[Exchange], renames: Renames) -> None:
        if renames:
            held.unit = walk.exchange(held.unit, renames)
            held.shape = self._shapes.exchange(held.unit)
        self._exchanges.append(held)
        if isinstance(held.shape, ExchangeShape):
            self._by_call[held.shape.call.digest].append(held)

    def differing(self) -> tuple[str, ...]:
        """Return the calls that recordings have different answers to, a line each."""
        return tuple(dict.fromkeys(self._differing))

    def cassette(self) -> Cassette:
        """Return what it is now."""
        redaction = replace(
            self._ways.header.redaction,
            placeholders={cls: count for cls, count in self._placeholders.items() if count},
            sources=self._sources,
            inside=self._inside,
        )
        exchanges = [held.unit for held in self._exchanges]
        return Cassette(
            header=replace(self._ways.header, redaction=redaction),
            exchanges=(
                *(each for each in exchanges if isinstance(each, McpExchange)),
                *(each for each in exchanges if isinstance(each, ModelExchange)),
            ),
            messages=tuple(each.unit for each in self._beside if isinstance(each.unit, Message)),
            noise=tuple(each.unit for each in self._beside if isinstance(each.unit, Noise)),
            model_via=self._ways.model_via,
        )


def _align(
    old: Sequence[_Held[Exchange]], shape: ExchangeShape, table: Table, handed: set[int]
) -> None:
    """Take placeholders in the same place of the same call for one.

    A replay will hand out the earliest answer that fits, and bind live values to the names in
    its call; so those are the names to take.
    """
    named = [(each, each.shape.call.names) for each in old if isinstance(each.shape, ExchangeShape)]
    settled = [each for each, names in named if names == table.renamed(shape.call.names)]
    for held in settled or [each for each, _ in named]:
        names = held.shape.call.names if isinstance(held.shape, ExchangeShape) else ()
        if id(held) not in handed and table.agree(shape.call.names, names):
            handed.add(id(held))
            return


def _with_marks(exchange: Exchange, other: Exchange) -> Exchange:
    """Return an exchange with what a person wrote on an equal one."""
    note = other.note if exchange.note is None else exchange.note
    return replace(exchange, note=note, pin=exchange.pin or other.pin)


def _moved(unit: Message | Noise, seqs: Mapping[int, int]) -> Message | Noise:
    """Return what stands beside the exchanges, with the new numbers of those."""
    after = seqs[max(seq for seq in seqs if seq <= unit.after)]
    if isinstance(unit, Noise) or unit.on is None:
        return replace(unit, after=after)
    return replace(unit, after=after, on=seqs.get(unit.on))


def _place(unit: Message | Noise) -> tuple[int, int | None]:
    return unit.after, unit.on if isinstance(unit, Message) else None


def _renamed_beside(unit: Message | Noise, renames: Renames) -> Message | Noise:
    return walk.message(unit, renames) if isinstance(unit, Message) else walk.noise(unit, renames)
