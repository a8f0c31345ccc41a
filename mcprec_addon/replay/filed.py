"""Recorded exchanges as a replay files them: under a key, with what was handed out."""

from dataclasses import dataclass

from mcprec_addon.exchange import Answer, Era, Exchange, Json, McpAnswer, McpExchange

_UNCOUNTED_ENDS = frozenset({"left", "stopped"})
_HEADER_MISMATCH = -32020  # recovered from by listing the tools and asking again


@dataclass(slots=True, eq=False)
class Filed:
    """One recorded exchange.

    Attributes:
        exchange: As recorded.
        names: The placeholders in its key, in order.
        era: The era it was recorded in, where that is known.
        used: How often it was handed out.
        is_settled: It need not be handed out any more.
    """

    exchange: Exchange
    names: tuple[str, ...]
    era: Era | None
    used: int = 0
    is_settled: bool = False

    def is_of(self, era: Era | None) -> bool:
        """Whether it was recorded in an era, as far as both are known."""
        return era is None or self.era in (None, era)

    def rank(self, era: Era | None) -> tuple[bool, bool]:
        """Its place among answers to one call: the caller's era first, `left` ones last."""
        return not self.is_of(era), self.exchange.answer.end == "left"


def counts(exchange: Exchange) -> bool:
    """Whether an exchange counts as unused when it is never handed out."""
    if exchange.answer.end in _UNCOUNTED_ENDS:
        return False
    return not isinstance(exchange, McpExchange) or exchange.call.http_method == "POST"


def without_refusals(filed: list[Filed]) -> list[Filed]:
    """Return what is left without recorded refusals, which settles them, or all where none is."""
    left = [each for each in filed if not _is_refusal(each.exchange.answer)]
    if left:
        for each in filed:
            if _is_refusal(each.exchange.answer):
                each.is_settled = True  # skipped on purpose
    return left or filed


def _is_refusal(answer: Answer) -> bool:
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
