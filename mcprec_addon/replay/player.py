"""Which recorded answer a call gets: strategies, and what is left unused.

Strategies govern tool calls, prompts, resource reads and model calls; everything else is
always `auto`: answers in recorded order, then the last one again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from mcprec_addon.exchange import (
    Answer,
    Call,
    Cassette,
    Era,
    Exchange,
    Half,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelCall,
    ModelExchange,
    Via,
)
from mcprec_addon.jsonvalue import Pointer, canonical, parse_pointer
from mcprec_addon.match.keys import Keys, digest, minted_ids
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.replay.miss import Miss, era_miss, find_miss
from mcprec_addon.wire.mcp import repeatable_tools

Strategy = Literal["auto", "exact", "ordered"]
ModelStrategy = Literal["auto", "exact", "ordered", "sequence"]

_GOVERNED = frozenset({"tools/call", "prompts/get", "resources/read"})
_UNCOUNTED_ENDS = frozenset({"left", "stopped"})
_HEADER_MISMATCH = -32020  # recovered from by listing the tools and asking again


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayOptions:
    """How a replay answers.

    Attributes:
        strategy: For the MCP half.
        model_strategy: For the model half.
        strict: No tool call is repeated, an ambiguous binding misses.
        halves: Which halves are replayed.
        ignore: Pointers left out of every key, beside those that the cassette brings along.
    """

    strategy: Strategy = "auto"
    model_strategy: ModelStrategy = "auto"
    strict: bool = False
    halves: frozenset[Half] = frozenset({"mcp", "model"})
    ignore: tuple[Pointer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recorded answer for a call, bound values put back.

    Attributes:
        exchange: As recorded.
        answer: As it goes out.
        repeated: It was handed out before.
        guessed: Several answers fitted and recorded order decided.
    """

    exchange: Exchange
    answer: Answer
    repeated: bool = False
    guessed: bool = False


@dataclass(slots=True, eq=False)
class _Entry:
    """A recorded exchange, the placeholders in its key, its era, how often it was handed out."""

    exchange: Exchange
    names: tuple[str, ...]
    era: Era | None
    used: int = 0

    def is_of(self, era: Era | None) -> bool:
        """Whether it was recorded in an era, as far as both are known."""
        return era is None or self.era in (None, era)

    def rank(self, era: Era | None) -> tuple[bool, bool]:
        """Its place among answers to one call: the caller's era first, `left` ones last."""
        return not self.is_of(era), self.exchange.answer.end == "left"


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a replay handed out, and what it could not.

    Attributes:
        misses: In order.
        repeated: Seqs of answers handed out again, with how often.
        guessed: Seqs of answers that recorded order decided on.
        used: Exchanges handed out at least once, by half.
    """

    misses: list[Miss] = field(default_factory=list[Miss])
    repeated: Counter[int] = field(default_factory=Counter[int])
    guessed: list[int] = field(default_factory=list[int])
    used: Counter[Half] = field(default_factory=Counter[Half])


class Player:
    """Answers calls from one cassette; every replay starts with a new one."""

    def __init__(self, cassette: Cassette, *, bindings: Bindings, options: PlayOptions) -> None:
        self._options = options
        self._bindings = bindings
        self._eras: dict[str, Era | None] = {
            label: server.era for label, server in cassette.header.servers.items()
        }
        self._recorded = [
            exchange
            for exchange in cassette.exchanges
            if exchange.answer.end != "stopped" and exchange.call.half in options.halves
        ]
        self._ignore = (*options.ignore, *map(parse_pointer, cassette.header.match.ignore))
        self._keys = Keys(ignore=self._ignore, answer_ids=minted_ids(self._recorded))
        self._compared: list[Exchange] = []
        self._entries: dict[str, list[_Entry]] = defaultdict(list)
        self._all: list[_Entry] = []
        for exchange in self._recorded:
            self._file(exchange)
        self._model = [entry for entry in self._all if entry.exchange.call.half == "model"]
        self._asked: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._repeatable = {
            (exchange.call.server, name)
            for exchange in self._recorded
            if isinstance(exchange.call, McpCall) and exchange.call.method == "tools/list"
            for name in repeatable_tools(exchange.answer.value)
        }
        self.tally = Tally()

    def _file(self, exchange: Exchange) -> None:
        # A cassette written or edited by hand may hold what a rule finds in an incoming call.
        compared = self._keys.compared(self._bindings.live(exchange.call)[0])
        self._compared.append(_with_call(exchange, compared))
        shape, names = self._bindings.shape(self._keys.canonical(compared))
        entry = _Entry(exchange, names, self._era(exchange))
        self._entries[digest(shape)].append(entry)
        self._all.append(entry)

    def _era(self, exchange: Exchange) -> Era | None:
        if not isinstance(exchange, McpExchange):
            return None
        return exchange.era or self._eras.get(exchange.call.server)

    def several_answers(self) -> Iterator[Exchange]:
        """Yield the first exchange of each key that has several different answers."""
        for filed in self._entries.values():
            for names in dict.fromkeys(entry.names for entry in filed):
                same = [entry.exchange for entry in filed if entry.names == names]
                if len({canonical(_comparable(each.answer)) for each in same}) > 1:
                    yield same[0]

    def play(
        self,
        call: Call,
        *,
        via: Via | None = None,
        era: Era | None = None,
        prepared: bool = False,
    ) -> Hit | Miss:
        """Return the recorded answer to a call, or why there is none.

        Args:
            call: As parsed from the wire, live values in it.
            via: The way it came in.
            era: The era it is spoken in; answers of the same era are preferred.
            prepared: The caller sends the headers that a recorded refusal asked for.
        """
        live = self._keys.compared(self._bindings.live(call)[0])
        shape, names = self._bindings.shape(self._keys.canonical(live))
        key = digest(shape)
        fitting = self._fitting(self._entries.get(key, ()), names)
        if self._is_sequence(call):
            key, names, fitting = "", (), self._model
        # A live value counts under the placeholder that it stands for.
        counted = key, fitting[0].names if names and fitting else names
        self._asked[counted] += 1
        allowed = self._allowed(fitting, names, era)
        hit = self._find(allowed, names, call, era, prepared=prepared)
        if hit is not None:
            self._count(hit)
            return hit
        miss = self._era_miss(live, fitting, era) or find_miss(
            live,
            self._compared,
            ignore=self._ignore,
            used_up=len(allowed),
            asked=self._asked[counted],
            via=via,
        )
        self.tally.misses.append(miss)
        return miss

    def knows(self, call: Call) -> bool:
        """Whether any answer to this call was recorded; nothing is handed out."""
        shape, _ = self._bindings.shape(self._keys.canonical(self._keys.compared(call)))
        return digest(shape) in self._entries

    def _is_sequence(self, call: Call) -> bool:
        return call.half == "model" and self._options.model_strategy == "sequence"

    def _fitting(self, entries: Sequence[_Entry], names: tuple[str, ...]) -> list[_Entry]:
        """Return the entries that the bindings allow."""
        if not names:
            return list(entries)
        new = [(entry, self._bindings.unify(entry.names, names)) for entry in entries]
        settled = [entry for entry, bound in new if bound is not None and not bound]
        return settled or [entry for entry, bound in new if bound is not None]

    def _allowed(
        self, fitting: list[_Entry], names: tuple[str, ...], era: Era | None
    ) -> list[_Entry]:
        if not self._options.strict:
            return fitting
        return [] if _is_guess(fitting, names) else [each for each in fitting if each.is_of(era)]

    def _era_miss(self, live: Call, fitting: list[_Entry], era: Era | None) -> Miss | None:
        """Return the miss of a call that --strict does not map from the other era."""
        if not self._options.strict or not fitting or any(each.is_of(era) for each in fitting):
            return None
        recorded, other = fitting[0].exchange, fitting[0].era
        if other is None or not isinstance(recorded, McpExchange):
            return None
        return era_miss(live, recorded, other)

    def _find(
        self,
        entries: list[_Entry],
        names: tuple[str, ...],
        call: Call,
        era: Era | None,
        *,
        prepared: bool,
    ) -> Hit | None:
        guessed = _is_guess(entries, names)
        if prepared:
            entries = _without_refusals(entries)
        entry = self._choose(entries, call, era)
        if entry is None:
            return None
        self._bindings.bind(self._bindings.unify(entry.names, names) or {})
        return self._hand_out(entry, guessed=guessed)

    def _choose(self, entries: Sequence[_Entry], call: Call, era: Era | None) -> _Entry | None:
        strategy = self._strategy(call)
        if strategy != "sequence":
            entries = sorted(entries, key=lambda entry: entry.rank(era))
        if not entries:
            return None
        if strategy == "exact":
            for entry in entries[1:]:
                self._use(entry)
            return entries[0]
        fresh = next((entry for entry in entries if not entry.used), None)
        if fresh is not None or not self._may_repeat(call, strategy):
            return fresh
        best = entries[0].rank(era)
        return [entry for entry in entries if entry.rank(era) == best][-1]

    def _strategy(self, call: Call) -> ModelStrategy:
        if isinstance(call, McpCall):
            return self._options.strategy if call.method in _GOVERNED else "auto"
        return self._options.model_strategy

    def _may_repeat(self, call: Call, strategy: ModelStrategy) -> bool:
        if not isinstance(call, McpCall) or strategy == "ordered":
            return False
        return call.method != "tools/call" or not self._options.strict

    def _hand_out(self, entry: _Entry, *, guessed: bool) -> Hit:
        repeated = entry.used > 0
        self._use(entry)
        answer = self._bindings.restore(entry.exchange.answer)
        return Hit(exchange=entry.exchange, answer=answer, repeated=repeated, guessed=guessed)

    def _use(self, entry: _Entry) -> None:
        if not entry.used:
            self.tally.used[entry.exchange.call.half] += 1
        entry.used += 1

    def _count(self, hit: Hit) -> None:
        if hit.guessed:
            self.tally.guessed.append(hit.exchange.seq)
        call = hit.exchange.call
        if not hit.repeated or not isinstance(call, McpCall) or call.method != "tools/call":
            return
        if self._options.strategy != "exact" and (call.server, call.name) not in self._repeatable:
            self.tally.repeated[hit.exchange.seq] += 1

    def unused(self) -> list[Exchange]:
        """Return what was never handed out, by seq; what has no answer of its own aside."""
        left = [entry.exchange for entry in self._all if not entry.used and counts(entry.exchange)]
        return sorted(left, key=lambda exchange: exchange.seq)


def _with_call(exchange: Exchange, call: Call) -> Exchange:
    if isinstance(exchange, ModelExchange) and isinstance(call, ModelCall):
        return replace(exchange, call=call)
    return exchange


def counts(exchange: Exchange) -> bool:
    """Whether an exchange counts as unused when it is never handed out."""
    if exchange.answer.end in _UNCOUNTED_ENDS:
        return False
    return not isinstance(exchange, McpExchange) or exchange.call.http_method == "POST"


def _is_guess(fitting: Sequence[_Entry], names: tuple[str, ...]) -> bool:
    """Whether several recorded calls fit live values, so that recorded order must decide."""
    return bool(names) and len({entry.names for entry in fitting}) > 1


def _without_refusals(entries: list[_Entry]) -> list[_Entry]:
    left = [entry for entry in entries if not _is_refusal(entry.exchange.answer)]
    if left:
        for entry in entries:
            if _is_refusal(entry.exchange.answer):
                entry.used = max(entry.used, 1)  # skipped on purpose, so not left over
    return left or entries


def _is_refusal(answer: Answer) -> bool:
    if not isinstance(answer, McpAnswer) or answer.kind != "error":
        return False
    return isinstance(answer.value, dict) and answer.value.get("code") == _HEADER_MISMATCH


def _comparable(answer: Answer) -> Json:
    events: list[Json] = (
        [event.message for event in answer.events]
        if isinstance(answer, McpAnswer)
        else [event.value for event in answer.events]
    )
    return [answer.kind, answer.status, answer.value, events, answer.end]
