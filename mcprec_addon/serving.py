"""A cassette served by hand: one server on a pair of pipes, or everything over HTTP."""

import asyncio
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from mcprec_addon.doors.agent_config import made_config
from mcprec_addon.doors.base_urls import played_variables
from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.child import Doors, until_stopped
from mcprec_addon.doors.http_connection import Handler
from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.doors.stdio_server import serve_lines
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette, Json, McpExchange
from mcprec_addon.played_servers import recorded_servers, sse_labels
from mcprec_addon.redact.own_rules import OwnRules
from mcprec_addon.redact.sources import held
from mcprec_addon.replay.feed import Feed
from mcprec_addon.replay.line_responder import LineResponder
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.report import RunReport
from mcprec_addon.replay.responder import Turned
from mcprec_addon.replay.staging import check_rules, new_player, present_halves, stage
from mcprec_addon.replay_end import Replayed, conclude_replay
from mcprec_addon.wire.http import HttpRequest, Reply

_PATH = "/mcp/"  # and the label behind it


def serve_stdio(
    path: Path, *, server: str | None, own: OwnRules, say: Callable[[str], None]
) -> RunReport:
    """Answer on stdin and stdout from a cassette until the client closes its end.

    Args:
        path: The cassette.
        server: Label of the server to play; None for the only one.
        own: Redaction rules of one's own.
        say: Takes lines for the person at the terminal.

    Returns:
        What was handed out and what missed.

    Raises:
        McprecError: The cassette cannot be read, or has no such server.
    """
    cassette = load_cassette(path)
    check_rules(own, cassette, path=path)
    halves = present_halves(cassette, frozenset({"mcp"}), path=path)
    label = _label(cassette, path, server)
    alone = _only(cassette, label)
    player = new_player(alone, PlayOptions(own_rules=own), halves=halves, known=held(os.environ))
    responder = LineResponder(player, Feed(alone), label, on_miss=_teller(say))
    serve_lines(responder, sys.stdin.buffer, sys.stdout.buffer)
    replayed = Replayed(
        cassette=alone, player=player, turned=Turned(), halves=halves, allowed=(), child=None
    )
    return conclude_replay(replayed, path=path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What is served over HTTP.

    Attributes:
        servers: Address of each MCP server by label.
        variables: Variables that lead an agent to all of it.
        sse: Labels of servers that were recorded over HTTP+SSE.
    """

    servers: Mapping[str, str]
    variables: Mapping[str, str]
    sse: frozenset[str] = frozenset()

    def config(self) -> dict[str, Json]:
        """Return a config that leads an agent to the servers."""
        return made_config(commands={}, urls=self.servers, sse=self.sse)


def serve_http(
    path: Path,
    address: tuple[str, int],
    *,
    server: str | None,
    own: OwnRules,
    announce: Callable[[Served], None],
    say: Callable[[str], None],
) -> RunReport:
    """Answer over HTTP from a cassette, all servers and the model half, until stopped.

    Args:
        path: The cassette.
        address: Host and port to listen on; 0 for any free port.
        server: Label of the only server to play; None for all of the cassette.
        own: Redaction rules of one's own.
        announce: Told what is served, once it is.
        say: Takes lines for the person at the terminal.

    Returns:
        What was handed out and what missed.

    Raises:
        McprecError: The cassette cannot be read, has no such server, or the address is taken.
    """
    cassette = load_cassette(path)
    check_rules(own, cassette, path=path)
    if server is not None:
        cassette = _only(cassette, _label(cassette, path, server))
    halves = present_halves(cassette, frozenset(), path=path)
    player, responder = stage(
        cassette,
        PlayOptions(own_rules=own),
        halves=halves,
        known=held(os.environ),
        on_miss=_teller(say),
    )
    recorded = recorded_servers(cassette)
    labels = [*recorded] if server is None else [server]
    sse = sse_labels(recorded)
    front = HttpServer(_by_path(responder.respond, labels), authority=None)

    def tell(served: Served) -> None:
        announce(replace(served, sse=sse))

    asyncio.run(_serve(front, address, labels, cassette.providers, tell))
    replayed = Replayed(
        cassette=cassette,
        player=player,
        turned=responder.turned,
        halves=halves,
        allowed=(),
        child=None,
        failures=front.failures,
    )
    return conclude_replay(replayed, path=path)


async def _serve(
    front: HttpServer,
    address: tuple[str, int],
    labels: Sequence[str],
    providers: Collection[str],
    announce: Callable[[Served], None],
) -> None:
    host, asked = address
    port = await front.listen(host, asked)
    shown = f"[{host}]" if ":" in host else host
    servers = {label: f"http://{shown}:{port}{_PATH}{quote(label, safe='')}" for label in labels}
    doors = Doors(model=played_variables(port, providers, host=shown), servers=servers)
    try:
        announce(Served(servers=servers, variables=doors.variables()))
        await until_stopped()
    finally:
        await front.close()


def _by_path(respond: Handler, labels: Sequence[str]) -> Handler:
    """Return a handler that knows each server by a path of its own."""
    paths = {_PATH + quote(label, safe=""): label for label in labels}

    def handle(request: HttpRequest) -> Reply:
        label = paths.get(urlsplit(request.url).path)
        return respond(request if label is None else replace(request, label=label))

    return handle


def _teller(say: Callable[[str], None]) -> Callable[[Miss], None]:
    return lambda miss: say(f"MISS {miss.title}")


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
