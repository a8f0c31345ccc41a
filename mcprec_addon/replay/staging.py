"""What a replay is made of: the halves that are played, the checks before it, and its player.

Whichever door answers, it is set up here: by a run with a child, under mitmproxy, or in process.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePath
from types import MappingProxyType

from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette, Exchange, Half, McpCall
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.own_rules import OwnRules, with_own
from mcprec_addon.redact.rules import BUILTIN, default_rules
from mcprec_addon.redact.sources import source_values
from mcprec_addon.replay.line_responder import LineResponder
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.responder import Responder
from mcprec_addon.wire.titles import call_title


def stage(
    cassette: Cassette,
    options: PlayOptions,
    *,
    halves: frozenset[Half],
    known: Mapping[str, str] = MappingProxyType({}),
    aliases: Mapping[str, str] | None = None,
    on_miss: Callable[[Miss], None] = lambda _: None,
) -> tuple[Player, Responder]:
    """Return a player, and a responder for the doors that speak HTTP.

    Args:
        cassette: What is replayed.
        options: How calls are matched.
        halves: Which halves are replayed.
        known: What the agent holds, by the names that sources of secrets have, such as
            ``env:TOKEN``: it stands for what the source held in the recording, and is what an
            answer gets in its place.
        aliases: What stands for it as well, but only in calls; None for what is known.
        on_miss: Told of each miss as it happens.
    """
    player = new_player(cassette, options, halves=halves, known=known, aliases=aliases)
    return player, Responder(cassette, player, halves=halves, on_miss=on_miss)


def new_player(
    cassette: Cassette,
    options: PlayOptions,
    *,
    halves: frozenset[Half],
    known: Mapping[str, str] = MappingProxyType({}),
    aliases: Mapping[str, str] | None = None,
) -> Player:
    """Return a player for one replay of a cassette; see `stage` for the arguments."""
    redaction = cassette.header.redaction
    rules = with_own(default_rules(redaction.builtin), options.own_rules)
    bindings = Bindings(redaction, rules)
    bindings.alias(source_values(redaction, known if aliases is None else aliases))
    bindings.known(source_values(redaction, known))
    bindings.known(options.secrets)
    return Player(cassette, bindings=bindings, options=replace(options, halves=halves))


def lines_of(
    player: Player,
    responder: Responder,
    *,
    halves: frozenset[Half],
    on_miss: Callable[[Miss], None],
) -> Callable[[str], LineResponder | None]:
    """Return what makes the responder of one process that stands for a stdio server."""

    def made(label: str) -> LineResponder | None:
        if "mcp" not in halves:
            responder.turned.refused[label] += 1
            return None
        return LineResponder(
            player, responder.feed, label, on_miss=on_miss, on_answer=responder.on_answer
        )

    return made


def present_halves(
    cassette: Cassette, asked: frozenset[Half], *, path: PurePath
) -> frozenset[Half]:
    """Return the halves to replay: those asked for, else those that are there.

    Raises:
        UsageError: One that is asked for is not in the cassette.
    """
    present = frozenset[Half](exchange.call.half for exchange in cassette.exchanges)
    for half in asked:
        if half not in present:
            message = f"{path}: the cassette has no {half} half; record one, or drop --half {half}"
            raise UsageError(message)
    return asked or present


def recorded_labels(cassette: Cassette) -> list[str]:
    """Return the labels of the MCP servers in a cassette, in the order of its header."""
    asked = (each.call for each in cassette.half("mcp"))
    labels = sorted({call.server for call in asked if isinstance(call, McpCall)})
    return list(dict.fromkeys((*cassette.header.servers, *labels)))


def check_rules(own: OwnRules, cassette: Cassette, *, path: PurePath) -> None:
    """Check that a cassette was recorded under the redaction rules of this run.

    Otherwise calls would come in redacted another way than they stand in it, and miss.

    Raises:
        UsageError: It was recorded under others, or by a newer mcprec with rules of its own.
    """
    builtin = cassette.header.redaction.builtin
    if builtin > BUILTIN:
        message = (
            f"{path}: recorded under built-in redaction rules {builtin}, this mcprec has them up "
            f"to {BUILTIN}; update it: pip install -U mcprec-addon"
        )
        raise UsageError(message)
    recorded = cassette.header.redaction.custom
    if recorded == own.digest:
        return
    theirs = f"rules of one's own ({recorded[:15]}…)" if recorded else "the built-in rules alone"
    ours = f"rules of its own ({own.digest[:15]}…)" if own.digest else "none of its own"
    remedy = f"mcprec redact {path}" if own.digest else "--redact FILE with those rules"
    message = f"{path}: recorded under {theirs}, this run has {ours}; use {remedy}"
    raise UsageError(message)


def check_secrets(
    secrets: Mapping[str, str], cassette: Cassette, *, option: str = "--secret"
) -> None:
    """Check that the cassette has the placeholders that live values are given for.

    Raises:
        UsageError: It has one of them not.
    """
    counts = cassette.header.redaction.placeholders
    for name in secrets:
        cls, _, number = name.rpartition("-")
        if not 0 < int(number) <= counts.get(cls, 0):
            known = ", ".join(f"{each}-1 to {count}" for each, count in counts.items()) or "none"
            message = f"{option} {name}=…: the cassette has no such placeholder; it has {known}"
            raise UsageError(message)


def several_answers_line(exchange: Exchange) -> str:
    """Return the line that names a call whose later answers `exact` never gives."""
    title = f"#{exchange.seq} {call_title(exchange.call)}"
    return f"{title} has several different answers; exact always gives the first"
