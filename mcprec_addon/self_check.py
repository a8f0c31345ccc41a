"""Proof that a cassette answers its own calls: no miss, nothing left unused."""

from dataclasses import dataclass

from mcprec_addon.exchange import Cassette, Era, Exchange, Json, McpExchange
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.filed import counts
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.player import Player


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheck:
    """What a cassette played against itself came to.

    Attributes:
        name: The cassette, as the caller named it.
        played: How many exchanges were asked for.
        misses: Exchanges whose own call found no answer, with the miss.
        unused: Exchanges that no call found.
    """

    name: str
    played: int
    misses: tuple[tuple[Exchange, Miss], ...]
    unused: tuple[Exchange, ...]

    @property
    def holds(self) -> bool:
        """Whether every exchange found its own answer."""
        return not self.misses and not self.unused

    def text(self) -> str:
        """Return the findings, one line for each, and a last line that sums them up."""
        lines = [
            f"#{exchange.seq} does not find itself: {miss.message()}"
            for exchange, miss in self.misses
        ]
        lines += [f"#{exchange.seq} is never found" for exchange in self.unused]
        if self.holds:
            return f"{self.name}: all {self.played} exchanges answer their own calls"
        misses = "1 miss" if len(self.misses) == 1 else f"{len(self.misses)} misses"
        found = f"{misses}, {len(self.unused)} never found"
        return "\n".join([*lines, f"{self.name}: {found}, of {self.played} exchanges"])

    def as_json(self) -> dict[str, Json]:
        """Return the findings as JSON."""
        return {
            "cassette": self.name,
            "holds": self.holds,
            "played": self.played,
            "misses": [
                {"seq": exchange.seq, "miss": miss.as_json()} for exchange, miss in self.misses
            ],
            "unused": [exchange.seq for exchange in self.unused],
        }


def self_check(cassette: Cassette, *, name: str) -> SelfCheck:
    """Ask for every exchange of a cassette in recorded order.

    Args:
        cassette: What to check.
        name: What to call it.
    """
    redaction = cassette.header.redaction
    bindings = Bindings(redaction, default_rules(redaction.builtin))
    player = Player(cassette, bindings=bindings, options=PlayOptions())
    asked = sorted(filter(counts, cassette.exchanges), key=lambda exchange: exchange.seq)
    misses: list[tuple[Exchange, Miss]] = []
    for exchange in asked:
        found = player.play(exchange.call, via=exchange.via, era=_era(cassette, exchange))
        if isinstance(found, Miss):
            misses.append((exchange, found))
    unused = tuple(player.unused())
    return SelfCheck(name=name, played=len(asked), misses=tuple(misses), unused=unused)


def _era(cassette: Cassette, exchange: Exchange) -> Era | None:
    if not isinstance(exchange, McpExchange):
        return None
    server = cassette.header.servers.get(exchange.call.server)
    return exchange.era or (server.era if server is not None else None)
