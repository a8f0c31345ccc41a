"""One recorded server on a pair of pipes, for an entry of an MCP config."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.stdio_server import serve_lines
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette, McpExchange
from mcprec_addon.replay.line_responder import LineResponder
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.player import PlayOptions
from mcprec_addon.replay.report import RunReport
from mcprec_addon.replay.responder import Turned
from mcprec_addon.replay_run import Replayed, conclude_replay, new_player, present_halves


def serve_stdio(path: Path, *, server: str | None, say: Callable[[str], None]) -> RunReport:
    """Answer on stdin and stdout from a cassette until the client closes its end.

    Args:
        path: The cassette.
        server: Label of the server to play; None for the only one.
        say: Takes lines for the person at the terminal.

    Returns:
        What was handed out and what missed.

    Raises:
        McprecError: The cassette cannot be read, or has no such server.
    """
    cassette = load_cassette(path)
    halves = present_halves(cassette, frozenset({"mcp"}), path=path)
    label = _label(cassette, path, server)
    alone = _only(cassette, label)
    player = new_player(alone, PlayOptions(), halves=halves, environment=os.environ)

    def tell(miss: Miss) -> None:
        say(f"MISS {miss.title}")

    responder = LineResponder(alone, player, label, on_miss=tell)
    serve_lines(responder, sys.stdin.buffer, sys.stdout.buffer)
    replayed = Replayed(
        cassette=alone, player=player, turned=Turned(), halves=halves, allowed=(), child=None
    )
    return conclude_replay(replayed, path=path)


def _label(cassette: Cassette, path: Path, asked: str | None) -> str:
    exchanges = cassette.half("mcp")
    known = sorted({each.call.server for each in exchanges if isinstance(each, McpExchange)})
    if asked in known:
        return asked
    if asked is None and len(known) == 1:
        return known[0]
    listed = ", ".join(known)
    wrong = f"no server is called {asked!r}" if asked else "there are several servers"
    message = f"{path}: {wrong}; choose with --server one of {listed}"
    raise UsageError(message)


def _only(cassette: Cassette, label: str) -> Cassette:
    """Return a cassette with the exchanges of one server alone."""
    return Cassette(
        header=cassette.header,
        exchanges=tuple(
            each
            for each in cassette.exchanges
            if isinstance(each, McpExchange) and each.call.server == label
        ),
        messages=tuple(each for each in cassette.messages if each.server == label),
    )
