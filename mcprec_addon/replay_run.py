"""One replay: the cassette's doors, the child's environment, and what came of it."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from mcprec_addon.agent_servers import AgentServers
from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.certificates import Authority
from mcprec_addon.doors.child import Doors, dummies, find_program, replay_environment
from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.doors.played_lines import replaying_lines
from mcprec_addon.doors.routes import HOST, Ways
from mcprec_addon.doors.run_folder import run_folder
from mcprec_addon.doors.run_socket import RunSocket
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette, Exchange, Half
from mcprec_addon.played_servers import PlayedServers
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.own_rules import OwnRules, with_own
from mcprec_addon.redact.rules import BUILTIN, default_rules
from mcprec_addon.redact.sources import held, source_values, source_variables
from mcprec_addon.replay.faults import check_faults
from mcprec_addon.replay.line_responder import LineResponder
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.responder import Responder
from mcprec_addon.replay_end import Replayed
from mcprec_addon.run import (
    Stage,
    check_in_place,
    model_doors,
    model_upstreams,
    put_back_left,
    run_child,
    with_certificates,
)
from mcprec_addon.wire.titles import call_title


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRun:
    """What to replay.

    Attributes:
        path: The cassette.
        command: The agent; empty to serve until stopped.
        servers: What the agent knows of its MCP servers; configs named in the cassette are
            read where this has none.
        in_place: Swap the agent's configs for the run's copies while it runs.
        halves: Which halves are replayed; empty for those that are in the cassette.
        options: How calls are matched.
        via: Which way in the child is led; None for the recorded one.
        allow: Hosts the child may reach.
        keep: Variables of the child that keep their value.
        pace: How many times faster than recorded answers come; None: without waiting.
        say: Takes lines for the person at the terminal.
        announce: Takes the variables that lead an agent to the doors, where no command is given.
    """

    path: Path
    command: Sequence[str] = ()
    servers: AgentServers = field(default_factory=AgentServers)
    in_place: bool = False
    halves: frozenset[Half] = frozenset()
    options: PlayOptions = field(default_factory=PlayOptions)
    via: Ways | None = None
    allow: Sequence[str] = ()
    keep: Sequence[str] = ()
    pace: float | None = None
    say: Callable[[str], None] = lambda _: None
    announce: Callable[[Mapping[str, str]], None] = lambda _: None


async def replay(run: ReplayRun) -> Replayed:
    """Run the agent against the cassette, with nothing else to reach.

    Raises:
        McprecError: The cassette cannot be read, lacks a half that was asked for, or the
            command cannot be started.
    """
    halves, played = prepare(run)
    cassette = played.cassette
    environment = {
        **os.environ,
        **dummies(os.environ, sources=source_variables(cassette.header.redaction), keep=run.keep),
    }
    player, responder = stage(
        cassette,
        run.options,
        halves=halves,
        environment=environment,
        secrets=played.servers.secrets(os.environ),
        on_miss=teller(run),
    )
    responder.know(played.addresses(os.environ))
    for exchange in player.several_answers():
        run.say(several_answers_line(exchange))
    authority = Authority()
    server = HttpServer(responder.respond, authority=authority, pace=run.pace)
    with run_folder() as folder:
        made = lines_of(player, responder, halves=halves, on_miss=teller(run))
        socket = RunSocket(folder, replaying_lines(made, pace=run.pace))
        doors = _Doors(run=run, played=played, server=server, socket=socket, folder=folder)
        status = await doors.run_child(environment, ca_pem=authority.ca_pem)
    return Replayed(
        cassette=cassette,
        player=player,
        turned=responder.turned,
        halves=halves,
        allowed=run.allow,
        child=status,
        failures=[*server.failures, *socket.failures],
        distrusted=server.distrusted,
        declared=played.options(),
    )


def prepare(run: ReplayRun) -> tuple[frozenset[Half], PlayedServers]:
    """Read the cassette and check that it can be played for this agent, before anything starts.

    Returns:
        The halves that are replayed, and the servers.

    Raises:
        McprecError: It cannot, or the command cannot be started.
    """
    cassette = load_cassette(run.path)
    check_rules(run.options.own_rules, cassette, path=run.path)
    halves = present_halves(cassette, run.halves, path=run.path)
    if run.command:
        find_program(run.command, os.environ)
    for warning in cassette.warnings:
        run.say(warning)
    if run.in_place and not run.servers.configs:
        put_back_left([run.path.parent / each for each in cassette.header.config], say=run.say)
    played = PlayedServers.find(
        cassette,
        run.servers,
        path=run.path,
        halves=halves,
        environment=os.environ,
        via=run.via,
    )
    check_in_place(played.servers.configs, is_asked=run.in_place)
    check_faults(run.options.faults, cassette, halves=halves)
    check_secrets(run.options.secrets, cassette)
    for warning in played.warnings():
        run.say(warning)
    return halves, played


def several_answers_line(exchange: Exchange) -> str:
    """Return the line that names a call whose later answers `exact` never gives."""
    title = f"#{exchange.seq} {call_title(exchange.call)}"
    return f"{title} has several different answers; exact always gives the first"


def stage(
    cassette: Cassette,
    options: PlayOptions,
    *,
    halves: frozenset[Half],
    environment: Mapping[str, str],
    secrets: Mapping[str, str] = MappingProxyType({}),
    on_miss: Callable[[Miss], None] = lambda _: None,
) -> tuple[Player, Responder]:
    """Return a player, and a responder for the doors that speak HTTP.

    Args:
        cassette: What is replayed.
        options: How calls are matched.
        halves: Which halves are replayed.
        environment: The agent's: what it holds in place of a recorded secret stands for it.
        secrets: What the agent's configs hold, by source, likewise.
        on_miss: Told of each miss as it happens.
    """
    player = new_player(cassette, options, halves=halves, environment=environment, secrets=secrets)
    return player, Responder(cassette, player, halves=halves, on_miss=on_miss)


def new_player(
    cassette: Cassette,
    options: PlayOptions,
    *,
    halves: frozenset[Half],
    environment: Mapping[str, str],
    secrets: Mapping[str, str] = MappingProxyType({}),
) -> Player:
    """Return a player for one replay of a cassette; see `stage` for the arguments."""
    redaction = cassette.header.redaction
    rules = with_own(default_rules(redaction.builtin), options.own_rules)
    bindings = Bindings(redaction, rules)
    bindings.alias(source_values(redaction, {**held(os.environ), **secrets}))
    bindings.known(source_values(redaction, {**held(environment), **secrets}))
    bindings.known(options.secrets)
    return Player(cassette, bindings=bindings, options=replace(options, halves=halves))


def check_rules(own: OwnRules, cassette: Cassette, *, path: Path) -> None:
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


def teller(run: ReplayRun) -> Callable[[Miss], None]:
    """Return what says each miss as it happens, where no command is there to say anything."""

    def tell(miss: Miss) -> None:
        run.say(f"MISS {miss.title}")

    return tell if not run.command else lambda _: None


def present_halves(cassette: Cassette, asked: frozenset[Half], *, path: Path) -> frozenset[Half]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Doors:
    """The doors of one replay, and the child in front of them."""

    run: ReplayRun
    played: PlayedServers
    server: HttpServer
    socket: RunSocket
    folder: Path

    async def run_child(self, environment: Mapping[str, str], *, ca_pem: bytes) -> int | None:
        """Open the doors, run the agent and close them; return its exit status."""
        try:
            port = await self.server.listen()
            ports = {label: await self.server.listen(label=label) for label in self.played.recorded}
            if self.played.has_stdio():
                await self.socket.start()
            doors = with_certificates(self._doors(port, ports), ca_pem, self.folder)
            lead = self.played.lead(self.folder, socket=self.socket.path, urls=doors.servers)
            led = Stage(
                doors=doors,
                lead=lead,
                folder=self.folder,
                say=self.run.say,
                in_place=self.run.in_place,
            )
            ended = await run_child(
                self.run.command, self.run.announce, replay_environment(environment, doors), led
            )
            return ended.status
        finally:
            await self.socket.stop()
            await self.server.close()

    def _doors(self, port: int, ports: Mapping[str, int]) -> Doors:
        run, cassette = self.run, self.played.cassette
        by_url = (run.via or cassette.model_via or "base-url") != "proxy"
        own = [f"{HOST}:{number}" for number in (port, *ports.values())]
        return Doors(
            proxy=f"http://{HOST}:{port}",
            model=model_doors(port, model_upstreams({}, is_live=False)) if by_url else {},
            servers=self.played.urls(ports, os.environ),
            direct=[*own, *run.allow],
        )


def run_replay(run: ReplayRun) -> Replayed:
    """Run `replay` to its end."""
    return asyncio.run(replay(run))
