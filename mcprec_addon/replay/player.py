"""Which recorded answer a call gets: strategies, and what is left unused.

Strategies govern tool calls, prompts, resource reads and model calls; everything else is
always `auto`: answers in recorded order, then the last one again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from mcprec_addon.exchange import (
    Call,
    Cassette,
    Era,
    Exchange,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelCall,
    ModelExchange,
    Server,
    Via,
)
from mcprec_addon.jsonvalue import canonical
from mcprec_addon.match.keys import Keys, digest, minted_ids
from mcprec_addon.match.rules import Rule, rules_in_use
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.replay.advice import advice_text, plain_text, refusal
from mcprec_addon.replay.answers import AnswerCheck
from mcprec_addon.replay.diagnosis import era_miss, find_miss
from mcprec_addon.replay.faults import Faults
from mcprec_addon.replay.filed import Filed, Shelf, comparable, counts, without_refusals
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import Hit, ModelStrategy, PlayOptions, Strategy, Tally
from mcprec_addon.replay.writes import Writes
from mcprec_addon.wire import eras
from mcprec_addon.wire.jsonrpc import Response
from mcprec_addon.wire.mcp import repeatable_tools
from mcprec_addon.wire.providers import is_lookup

_GOVERNED = frozenset({"tools/call", "prompts/get", "resources/read"})


class Player:
    """Answers calls from one cassette; every replay starts with a new one."""

    def __init__(self, cassette: Cassette, *, bindings: Bindings, options: PlayOptions) -> None:
        self._options = options
        self._bindings = bindings
        self._servers = cassette.header.servers
        self._recorded = [
            exchange
            for exchange in cassette.exchanges
            if exchange.answer.end != "stopped" and exchange.call.half in options.halves
        ]
        self._keys = Keys(
            ignore=options.ignore,
            rules=rules_in_use(options.rules, cassette.header.match),
            places=options.places,
            answer_ids=minted_ids(self._recorded),
        )
        self._compared: list[Exchange] = []
        self._filed: dict[str, dict[tuple[str, ...], Shelf]] = defaultdict(dict)
        self._all: list[Filed] = []
        for exchange in self._recorded:
            self._file(exchange)
        self._writes = Writes(self._recorded)
        self._writes.file(shelf.items for each in self._filed.values() for shelf in each.values())
        self._model = [each for each in self._all if each.exchange.call.half == "model"]
        self._asked_in_sequence = 0
        self._asked: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._repeatable = {
            (exchange.call.server, name)
            for exchange in self._recorded
            if isinstance(exchange.call, McpCall) and exchange.call.method == "tools/list"
            for name in repeatable_tools(exchange.answer.value)
        }
        self.tally = Tally()
        self.faults = Faults(options.faults)
        asked = cassette.messages if options.check_answers else ()
        self._answers = AnswerCheck(self._keys, bindings, asked=asked)

    def _file(self, exchange: Exchange) -> None:
        # A cassette written or edited by hand may hold what a rule finds in an incoming call.
        compared = self._keys.compared(self._bindings.live(exchange.call))
        self._compared.append(_with_call(exchange, compared))
        shape, names = self._bindings.shape(self._keys.canonical(compared))
        filed = Filed(exchange, names, self._era(exchange), len(self._all))
        self._filed[digest(shape)].setdefault(names, Shelf([])).add(filed)
        self._all.append(filed)

    def _era(self, exchange: Exchange) -> Era | None:
        if not isinstance(exchange, McpExchange):
            return None
        return exchange.era or self._servers.get(exchange.call.server, Server()).era

    def several_answers(self) -> Iterator[Exchange]:
        """Yield the first exchange of each key of whose different answers `exact` gives one."""
        for shelf in (shelf for shelves in self._filed.values() for shelf in shelves.values()):
            same = [each.exchange for each in shelf.items]
            if self._strategy(same[0].call) != "exact":
                continue
            if len({canonical(comparable(each.answer)) for each in same}) > 1:
                yield same[0]

    def play(
        self,
        call: Call,
        *,
        via: Via | None = None,
        era: Era | None = None,
        prepared: bool = False,
        connected: bool = False,
    ) -> Hit | Miss:
        """Return the recorded answer to a call, or why there is none.

        Args:
            call: As parsed from the wire, live values in it.
            via: The way it came in.
            era: The era it is spoken in; answers of the same era are preferred.
            prepared: The caller sends the headers that a recorded refusal asked for.
            connected: The caller speaks a transport that cannot be refused it any more.
        """
        live = self._keys.compared(self._bindings.live(self._as_recorded(call)))
        if self._is_sequence(call):
            return self._next_in_sequence(live, via)
        shape, names = self._bindings.shape(self._keys.canonical(live))
        key = digest(shape)
        fitting = self._fitting(self._filed.get(key, {}), names)
        # A live value counts under the placeholder that it stands for.
        counted = key, fitting.items[0].names if names and fitting.items else names
        self._asked[counted] += 1
        allowed = self._allowed(fitting, era)
        serving = without_refusals(allowed, prepared=prepared, connected=connected)
        hit = self._find(serving, names, call, era)
        if hit is not None:
            self._count(hit)
            return hit
        miss = self._era_miss(live, fitting, era)
        if miss is not None:
            return self.tally.missed(miss)
        return self._missed(live, via, used_up=len(allowed.items), asked=self._asked[counted])

    def advice(self, miss: Miss, era: Era) -> McpAnswer | None:
        """Return what a missed tool call gets in place of an error, or None."""
        call, kind = miss.call, self._options.on_miss
        if kind == "fail" or not isinstance(call, McpCall) or call.method != "tools/call":
            return None
        near = miss.nearest.seq if miss.nearest is not None else None
        # As it was recorded, not as it was compared.
        found = (each.call for each in self._recorded if each.seq == near)
        recorded = next(found, None)
        args = recorded.args if isinstance(recorded, McpCall) else None
        nearest = self._bindings.as_asked(args, call.args)
        text = plain_text(miss) if kind == "plain" else advice_text(miss, nearest)
        return eras.mapped(refusal(text), call, era)

    def plain(self, call: McpCall, era: Era | None) -> McpAnswer | None:
        """Return the answer to a call that needs no recording, and has none."""
        if self.knows(self._as_recorded(call)):
            return None
        made = None if self._options.strict else self._made_handshake(call)
        return made or eras.plain_answer(call, era)

    def _made_handshake(self, call: McpCall) -> McpAnswer | None:
        methods = {
            each.exchange.call.method
            for each in self._all
            if isinstance(each.exchange.call, McpCall) and each.exchange.call.server == call.server
        }
        known = self._servers.get(call.server, Server())
        identity: Json = {"name": known.name or call.server, "version": known.version or ""}
        made = eras.made_handshake(call, methods, identity) if methods else None
        if made is not None:
            self.tally.made.setdefault(call.server)
        return made

    def _as_recorded(self, call: Call) -> Call:
        """Return a call, or the handshake of the other era where only that was recorded."""
        other = eras.other_handshake(call) if isinstance(call, McpCall) else None
        is_other = other is not None and not self.knows(call) and self.knows(other)
        return other if other is not None and is_other else call

    def client_answered(self, label: str, response: Response) -> Miss | None:
        """Take a client's answer to a server's request; return the miss where it is checked."""
        miss = self._answers.answered(label, response)
        if miss is not None:
            self.tally.misses.append(miss)
        return miss

    def knows(self, call: Call) -> bool:
        """Whether any answer to this call was recorded; nothing is handed out."""
        shape, _ = self._bindings.shape(self._keys.canonical(self._keys.compared(call)))
        return digest(shape) in self._filed

    def _is_sequence(self, call: Call) -> bool:
        return call.half == "model" and self._options.model_strategy == "sequence"

    def _fitting(self, shelves: Mapping[tuple[str, ...], Shelf], names: tuple[str, ...]) -> Shelf:
        """Return what the bindings allow."""
        new = [(each, self._bindings.unify(known, names)) for known, each in shelves.items()]
        settled = [each for each, bound in new if bound is not None and not bound]
        fitting = settled or [each for each, bound in new if bound is not None]
        if len(fitting) == 1:
            return fitting[0]
        items = [each for shelf in fitting for each in shelf.items]
        items.sort(key=lambda each: each.place)
        return Shelf(items, is_mixed=bool(items))

    def _allowed(self, fitting: Shelf, era: Era | None) -> Shelf:
        is_guess = self._options.strict and fitting.is_mixed
        return Shelf([]) if is_guess else self._serving(fitting, era)

    def _serving(self, fitting: Shelf, era: Era | None) -> Shelf:
        """Return what serves a caller of an era; --strict maps nothing from the other one."""
        return fitting.of(era, mapped=not self._options.strict)

    def _era_miss(self, live: Call, fitting: Shelf, era: Era | None) -> Miss | None:
        """Return the miss of a call whose answers, all of the other era, do not serve this one."""
        if not fitting.items or self._serving(fitting, era).items:
            return None
        recorded, other = fitting.items[0].exchange, fitting.items[0].era
        if other is None or not isinstance(recorded, McpExchange):
            return None
        return era_miss(live, recorded, other)

    def _find(
        self, shelf: Shelf, names: tuple[str, ...], call: Call, era: Era | None
    ) -> Hit | None:
        chosen = self._choose(shelf, call, era)
        if chosen is None:
            return None
        self._bindings.bind(self._bindings.unify(chosen.names, names) or {})
        hit = self._hand_out(chosen, guessed=shelf.is_mixed)
        if self._options.check_answers and isinstance(hit.exchange, McpExchange):
            self._answers.handed_out(hit.exchange)
        return hit if era is None else replace(hit, answer=chosen.mapped(hit.answer, call, era))

    def _choose(self, shelf: Shelf, call: Call, era: Era | None) -> Filed | None:
        strategy = self._strategy(call)
        if not shelf.items:
            return None
        if strategy == "exact":
            return shelf.settle(era)
        if strategy == "state":
            chosen = self._writes.choose(shelf.best(era))
            return None if chosen.used and not self._may_repeat(call, strategy) else chosen
        fresh = shelf.fresh(era)
        if fresh is not None or not self._may_repeat(call, strategy):
            return fresh
        return shelf.last(era)

    def _next_in_sequence(self, live: Call, via: Via | None) -> Hit | Miss:
        """Return the next answer of the model half, whatever is asked."""
        asked = self._asked_in_sequence + 1
        if asked <= len(self._model):
            hit = self._hand_out(self._model[asked - 1], guessed=False)
            if hit.fault is None:
                self._asked_in_sequence = asked
            self._count(hit)
            return hit
        self._asked_in_sequence = asked
        return self._missed(live, via, used_up=len(self._model), asked=asked)

    def _missed(self, live: Call, via: Via | None, *, used_up: int, asked: int) -> Miss:
        miss = find_miss(
            live,
            self._compared,
            ignore=self._keys.ignored(live),
            used_up=used_up,
            asked=asked,
            via=via,
        )
        return self.tally.missed(replace(miss, places=self._options.places))

    def _strategy(self, call: Call) -> Strategy | ModelStrategy:
        if isinstance(call, McpCall):
            return self._options.strategy if call.method in _GOVERNED else "auto"
        return self._options.model_strategy

    def _may_repeat(self, call: Call, strategy: Strategy | ModelStrategy) -> bool:
        if strategy == "ordered":
            return False
        if not isinstance(call, McpCall):  # another answer of the model would be an endless loop
            return call.http_method == "GET" or is_lookup(call)
        return call.method != "tools/call" or not self._options.strict

    def _hand_out(self, each: Filed, *, guessed: bool) -> Hit:
        fault = self.faults.take(each.exchange.seq)
        repeated = each.used > 0
        if not repeated and not each.is_broken:
            self.tally.used[each.exchange.call.half] += 1
        each.is_broken |= fault is not None
        each.used += fault is None
        if self._options.strategy == "state" and fault is None:
            if self._writes.is_older(each):
                self.tally.older[each.exchange.seq] += 1
            self._writes.hit(each)
        answer = self._bindings.restore(each.exchange.answer)
        return Hit(
            exchange=each.exchange, answer=answer, repeated=repeated, guessed=guessed, fault=fault
        )

    def _count(self, hit: Hit) -> None:
        if hit.guessed:
            self.tally.guessed.append(hit.exchange.seq)
        call = hit.exchange.call
        count = self.tally.tool(call)
        if count is None or not isinstance(call, McpCall):
            return
        repeats = hit.repeated and self._repeats_count(call)
        count.hit(repeated=repeats)
        if repeats:
            self.tally.repeated[hit.exchange.seq] += 1

    def _repeats_count(self, call: McpCall) -> bool:
        """Whether a tool called again may do something again, as far as the cassette tells."""
        tool = call.server, call.name
        match self._options.strategy:
            case "exact":
                return False
            case "state":
                return tool not in self._repeatable and self._writes.is_writer(tool)
            case _:
                return tool not in self._repeatable

    def idle_rules(self) -> list[Rule]:
        """Return the rules that neither a recorded nor an asked call had anything for."""
        return self._keys.idle_rules()

    def unused(self) -> list[Exchange]:
        """Return what was never handed out, by seq; what has no answer of its own aside."""
        left = [
            each.exchange
            for each in self._all
            if not (each.used or each.is_broken or each.is_settled) and counts(each.exchange)
        ]
        return sorted(left, key=lambda exchange: exchange.seq)


def _with_call(exchange: Exchange, call: Call) -> Exchange:
    match exchange, call:
        case ModelExchange(), ModelCall():
            return replace(exchange, call=call)
        case McpExchange(), McpCall() if call is not exchange.call:
            return replace(exchange, call=call)
        case _:
            return exchange
