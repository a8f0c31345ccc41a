"""Compares what a client answers to a server's requests with what its recorded run answered.

A recorded server asks in the middle of a call (sampling, elicitation, roots); whatever the client
says is taken. Where a run is to be checked, an answer that differs is a miss.
"""

from collections import defaultdict
from collections.abc import Iterable

from mcprec_addon.exchange import Call, Json, McpAnswer, McpCall, McpEvent, McpExchange, Message
from mcprec_addon.jsonvalue import canonical
from mcprec_addon.match.keys import Keys
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.replay.diagnosis import find_miss
from mcprec_addon.replay.miss import Miss
from mcprec_addon.wire.jsonrpc import Response


class AnswerCheck:
    """The questions of one replay that are still to be answered."""

    def __init__(
        self,
        keys: Keys,
        bindings: Bindings,
        *,
        asked: Iterable[Message] = (),
    ) -> None:
        """Prepare.

        Args:
            keys: Make the form in which answers are compared.
            bindings: Live values and their placeholders.
            asked: What servers asked outside of any call.
        """
        self._keys = keys
        self._bindings = bindings
        self._open: dict[tuple[str, bytes], list[tuple[int, McpEvent]]] = defaultdict(list)
        self._outside: dict[tuple[str, bytes], list[tuple[int, McpEvent]]] = defaultdict(list)
        for message in asked:
            if message.id is not None:
                question: dict[str, Json] = {"id": message.id, "method": message.method}
                event = McpEvent(at_ms=0, message=question, answer=message.answer)
                key = message.server, canonical(message.id)
                self._outside[key].append((message.after, event))

    def handed_out(self, exchange: McpExchange) -> None:
        """Take note of the questions in a recorded answer that goes to its client."""
        for event in exchange.answer.events:
            if "id" in event.message and "method" in event.message:
                key = exchange.call.server, canonical(event.message["id"])
                self._open[key].append((exchange.seq, event))

    def answered(self, label: str, response: Response) -> Miss | None:
        """Return the miss of a client's answer that differs from the recorded one, or None."""
        key = label, canonical(response.id)
        waiting = self._open.get(key) or self._outside.get(key)
        if not waiting:
            return None
        seq, event = waiting.pop(0)
        if event.answer is None:
            return None
        method = f"answer to {event.message['method']}"
        said = McpCall(server=label, method=method, params=event.answer)
        heard = self._bindings.live(McpCall(server=label, method=method, params=response.value))
        recorded, live = self._keys.compared(said), self._keys.compared(heard)
        if self._is_same(recorded, live):
            return None
        if not isinstance(recorded, McpCall):
            return None
        exchange = McpExchange(seq=seq, call=recorded, answer=McpAnswer(kind="none"))
        return find_miss(live, [exchange], ignore=self._keys.ignored(live))

    def _is_same(self, recorded: Call, live: Call) -> bool:
        known, names = self._bindings.shape(self._keys.canonical(recorded))
        asked, other = self._bindings.shape(self._keys.canonical(live))
        return known == asked and self._bindings.unify(names, other) is not None
