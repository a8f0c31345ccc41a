"""Recorded exchanges as a replay files them: under a key, with what was handed out."""

from bisect import bisect_right
from dataclasses import dataclass

from mcprec_addon.exchange import (
    Answer,
    Call,
    Era,
    Exchange,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
)
from mcprec_addon.wire import eras
from mcprec_addon.wire.mcp import HANDSHAKES
from mcprec_addon.wire.providers import is_lookup

_UNCOUNTED_ENDS = frozenset({"left", "stopped"})
_HEADER_MISMATCH = -32020  # recovered from by listing the tools and asking again
# With these a server says that it does not speak the transport it is asked in.
_TRANSPORT_REFUSALS = frozenset({400, 404, 405})


@dataclass(slots=True, eq=False)
class Filed:
    """One recorded exchange.

    Attributes:
        exchange: As recorded.
        names: The placeholders in its key, in order.
        era: The era it was recorded in, where that is known.
        place: Its place in recorded order.
        used: How often it was handed out.
        is_settled: It need not be handed out any more.
        is_broken: It was handed out with a fault, and is still to be handed out whole.
    """

    exchange: Exchange
    names: tuple[str, ...]
    era: Era | None
    place: int
    used: int = 0
    is_settled: bool = False
    is_broken: bool = False

    def is_of(self, era: Era | None) -> bool:
        """Whether it was recorded in an era, as far as both are known."""
        return era is None or self.era in (None, era)

    def can_map(self) -> bool:
        """Whether its answer says something to a caller of the other era."""
        answer = self.exchange.answer
        return isinstance(answer, McpAnswer) and eras.can_map(answer)

    def mapped(self, answer: Answer, call: Call, era: Era) -> Answer:
        """Return its answer, bound values in it, as a caller of an era understands it."""
        recorded = self.exchange.call
        if not isinstance(answer, McpAnswer) or not isinstance(call, McpCall):
            return answer
        is_other_handshake = isinstance(recorded, McpCall) and recorded.method != call.method
        is_plain = self.is_of(era) and not is_other_handshake
        return answer if is_plain else eras.mapped(answer, call, era)

    def rank(self, era: Era | None) -> tuple[bool, bool]:
        """Its place among answers to one call: the caller's era first, `left` ones last."""
        return not self.is_of(era), self.exchange.answer.end == "left"


class Shelf:
    """The answers that fit one call, and which of them is next; no call looks at them all.

    Attributes:
        items: In recorded order.
        is_mixed: They are of calls that differ in their placeholders.
    """

    def __init__(self, items: list[Filed], *, is_mixed: bool = False) -> None:
        self.items = items
        self.is_mixed = is_mixed
        self._orders: dict[Era | None, list[Filed]] = {}
        self._next: dict[Era | None, int] = {}
        self._of: dict[tuple[Era | None, bool], Shelf] = {}
        self._is_settled = False

    def add(self, each: Filed) -> None:
        """Take one more answer, while the cassette is read."""
        self.items.append(each)

    def order(self, era: Era | None) -> list[Filed]:
        """Return the answers in the order in which a caller of this era gets them."""
        found = self._orders.get(era)
        if found is None:
            found = sorted(self.items, key=lambda each: each.rank(era))
            self._orders[era] = found
        return found

    def fresh(self, era: Era | None) -> Filed | None:
        """Return the first answer that was not handed out yet, or None."""
        order = self.order(era)
        at = self._next.get(era, 0)
        while at < len(order) and order[at].used:
            at += 1
        self._next[era] = at
        return order[at] if at < len(order) else None

    def best(self, era: Era | None) -> list[Filed]:
        """Return the answers that suit a caller of this era best, in recorded order."""
        order = self.order(era)
        best = order[0].rank(era)
        return order[: bisect_right(order, best, key=lambda each: each.rank(era))]

    def last(self, era: Era | None) -> Filed:
        """Return the last of the answers that suit a caller of this era best."""
        return self.best(era)[-1]

    def settle(self, era: Era | None) -> Filed:
        """Return the first answer; the others need not be handed out any more."""
        order = self.order(era)
        if not self._is_settled:
            self._is_settled = True
            for each in order[1:]:
                each.is_settled = True
        return order[0]

    def of(self, era: Era | None, *, mapped: bool) -> "Shelf":
        """Return the answers that serve callers of an era.

        Args:
            era: The era; None serves all.
            mapped: Also those of the other era that can be mapped.
        """
        if (era, mapped) not in self._of:
            found = [each for each in self.items if each.is_of(era) or (mapped and each.can_map())]
            is_all = len(found) == len(self.items)
            self._of[era, mapped] = self if is_all else Shelf(found, is_mixed=self.is_mixed)
        return self._of[era, mapped]


def counts(exchange: Exchange) -> bool:
    """Whether an exchange counts as unused when it is never handed out."""
    if exchange.answer.end in _UNCOUNTED_ENDS:
        return False
    if isinstance(exchange, McpExchange):
        return exchange.call.http_method == "POST"
    return not is_lookup(exchange.call)


def without_refusals(shelf: Shelf, *, prepared: bool, connected: bool) -> Shelf:
    """Return what is left without recorded refusals, which settles them, or all where none is.

    Args:
        shelf: The answers that fit.
        prepared: The caller sends the headers that a refusal asked for.
        connected: The caller speaks a transport that cannot be refused it any more.
    """
    refusals = [
        each
        for each in shelf.items
        if (prepared and _asks_for_headers(each.exchange.answer))
        or (connected and _refuses_transport(each.exchange))
    ]
    if not refusals or len(refusals) == len(shelf.items):
        return shelf
    for each in refusals:
        each.is_settled = True  # skipped on purpose
    left = [each for each in shelf.items if each not in refusals]
    return Shelf(left, is_mixed=shelf.is_mixed)


def _refuses_transport(exchange: Exchange) -> bool:
    call, answer = exchange.call, exchange.answer
    if not isinstance(call, McpCall) or call.method not in HANDSHAKES:
        return False
    return answer.kind == "body" and answer.status in _TRANSPORT_REFUSALS


def _asks_for_headers(answer: Answer) -> bool:
    if not isinstance(answer, McpAnswer) or answer.kind != "error":
        return False
    return isinstance(answer.value, dict) and answer.value.get("code") == _HEADER_MISMATCH


def comparable(answer: Answer) -> Json:
    """Return what of two answers must be equal for them to say the same."""
    events: list[Json] = (
        [event.message for event in answer.events]
        if isinstance(answer, McpAnswer)
        else [event.value for event in answer.events]
    )
    return [answer.kind, answer.status, answer.value, events, answer.end]
