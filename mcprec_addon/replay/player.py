"""Which recorded answer a call gets: strategies, and what is left unused.

Strategies govern tool calls, prompts, resource reads and model calls; everything else is
always `auto`: answers in recorded order, then the last one again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
from mcprec_addon.jsonvalue import Pointer, canonical
from mcprec_addon.match.keys import Keys, digest, minted_ids
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.replay.miss import Miss, find_miss

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
        ignore: Pointers left out of every key.
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
    """A recorded exchange, the placeholders in its key, and how often it was handed out."""

    exchange: Exchange
    names: tuple[str, ...]
    used: int = 0


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
        self._recorded = [
            exchange
            for exchange in cassette.exchanges
            if exchange.answer.end != "stopped" and exchange.call.half in options.halves
        ]
        self._keys = Keys(ignore=options.ignore, answer_ids=minted_ids(self._recorded))
        self._compared: list[Exchange] = []
        self._entries: dict[str, list[_Entry]] = defaultdict(list)
        self._all: list[_Entry] = []
        for exchange in self._recorded:
            self._file(exchange)
        for entries in self._entries.values():
            entries.sort(key=lambda entry: entry.exchange.answer.end == "left")
        self._model = [entry for entry in self._all if entry.exchange.call.half == "model"]
        self._asked: Counter[str] = Counter()
        self._repeatable = repeatable_tools(self._recorded)
        self.tally = Tally()

    def _file(self, exchange: Exchange) -> None:
        compared = self._keys.compared(exchange.call)
        self._compared.append(_with_call(exchange, compared))
        shape, names = self._bindings.shape(self._keys.canonical(compared))
        entry = _Entry(exchange, names)
        self._entries[digest(shape)].append(entry)
        self._all.append(entry)

    def several_answers(self) -> Iterator[Exchange]:
        """Yield the first exchange of each key that has several different answers."""
        for entries in self._entries.values():
            first = entries[0].exchange
            if len({canonical(_comparable(entry.exchange.answer)) for entry in entries}) > 1:
                yield first

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
        self._asked[key] += 1
        hit = (
            self._sequence()
            if self._is_sequence(call)
            else self._find(key, names, call, era, prepared=prepared)
        )
        if hit is not None:
            self._count(hit)
            return hit
        miss = find_miss(
            live,
            self._compared,
            ignore=self._options.ignore,
            used_up=len(self._entries.get(key, ())),
            asked=self._asked[key],
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

    def _sequence(self) -> Hit | None:
        entry = next((entry for entry in self._model if not entry.used), None)
        return self._hand_out(entry, guessed=False) if entry is not None else None

    def _find(
        self,
        key: str,
        names: tuple[str, ...],
        call: Call,
        era: Era | None,
        *,
        prepared: bool,
    ) -> Hit | None:
        entries = self._entries.get(key)
        if not entries:
            return None
        fitting, guessed = self._fitting(entries, names)
        if guessed and self._options.strict:
            return None
        if prepared:
            fitting = _without_refusals(fitting)
        ordered = sorted(fitting, key=lambda entry: not _is_of_era(entry.exchange, era))
        entry = self._choose(ordered, call)
        if entry is None:
            return None
        self._bindings.bind(self._bindings.unify(entry.names, names) or {})
        return self._hand_out(entry, guessed=guessed)

    def _fitting(
        self, entries: Sequence[_Entry], names: tuple[str, ...]
    ) -> tuple[list[_Entry], bool]:
        """Return the entries that the bindings allow, and whether recorded order must decide."""
        if not names:
            return list(entries), False
        new = [(entry, self._bindings.unify(entry.names, names)) for entry in entries]
        settled = [entry for entry, bound in new if bound is not None and not bound]
        if settled:
            return settled, False
        allowed = [entry for entry, bound in new if bound is not None]
        return allowed, len({entry.names for entry in allowed}) > 1

    def _choose(self, entries: Sequence[_Entry], call: Call) -> _Entry | None:
        if not entries:
            return None
        strategy = self._strategy(call)
        if strategy == "exact":
            for entry in entries[1:]:
                self._use(entry)
            return entries[0]
        fresh = next((entry for entry in entries if not entry.used), None)
        if fresh is not None:
            return fresh
        return entries[-1] if self._may_repeat(call, strategy) else None

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


def repeatable_tools(
    exchanges: Iterable[Exchange],
) -> frozenset[tuple[str, str | None]]:
    """Return server and name of the tools that say they may be asked again."""
    found: set[tuple[str, str | None]] = set()
    for exchange in exchanges:
        if not isinstance(exchange, McpExchange) or exchange.call.method != "tools/list":
            continue
        result = exchange.answer.value
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else []:
            if isinstance(tool, dict) and _says_repeatable(tool.get("annotations")):
                found.add((exchange.call.server, str(tool.get("name"))))
    return frozenset(found)


def _says_repeatable(annotations: Json) -> bool:
    if not isinstance(annotations, dict):
        return False
    return annotations.get("readOnlyHint") is True or annotations.get("idempotentHint") is True


def _is_of_era(exchange: Exchange, era: Era | None) -> bool:
    if era is None or isinstance(exchange, ModelExchange) or exchange.era is None:
        return True
    return exchange.era == era


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
