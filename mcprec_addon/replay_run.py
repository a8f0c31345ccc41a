"""One replay: the cassette's doors, the child's environment, and what came of it."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcprec_addon.agent_servers import AgentServers
from mcprec_addon.doors.base_urls import model_upstreams, needed_variables, played_variables
from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.certificates import Authority
from mcprec_addon.doors.child import Doors, dummies, find_program, replay_environment
from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.doors.played_lines import replaying_lines
from mcprec_addon.doors.routes import HOST, Ways
from mcprec_addon.doors.run_folder import run_folder
from mcprec_addon.doors.run_socket import RunSocket
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Half
from mcprec_addon.played_servers import PlayedServers
from mcprec_addon.redact.sources import held, source_variables
from mcprec_addon.replay.faults import check_faults
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.staging import (
    check_rules,
    check_secrets,
    lines_of,
    present_halves,
    several_answers_line,
    stage,
)
from mcprec_addon.replay_end import Replayed
from mcprec_addon.run import (
    Stage,
    check_in_place,
    put_back_left,
    run_child,
    with_certificates,
)


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
        **needed_variables(os.environ, cassette.providers),
        **dummies(os.environ, sources=source_variables(cassette.header.redaction), keep=run.keep),
    }
    secrets = played.servers.secrets(os.environ)
    player, responder = stage(
        cassette,
        run.options,
        halves=halves,
        known={**held(environment), **secrets},
        aliases={**held(os.environ), **secrets},
        on_miss=teller(run),
    )
    responder.pace = run.pace
    responder.know(played.addresses(os.environ))
    responder.know_models(model_upstreams(os.environ))
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


def teller(run: ReplayRun) -> Callable[[Miss], None]:
    """Return what says each miss as it happens, where no command is there to say anything."""

    def tell(miss: Miss) -> None:
        run.say(f"MISS {miss.title}")

    return tell if not run.command else lambda _: None


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
            model=played_variables(port, cassette.providers) if by_url else {},
            servers=self.played.urls(ports, os.environ),
            direct=[*own, *run.allow],
        )


def run_replay(run: ReplayRun, *, isolate: bool = False) -> Replayed:
    """Run `replay` to its end.

    Args:
        run: What to replay.
        isolate: Leave the network first, with the whole process: nothing but loopback is there.

    Raises:
        McprecError: It cannot be run, or there is no leaving the network.
    """
    if isolate:
        _isolate(run)
    return asyncio.run(replay(run))


def _isolate(run: ReplayRun) -> None:
    from mcprec_addon.doors.loopback_only import leave_network  # noqa: PLC0415 (rare)

    if not run.command:
        message = "--isolate: an agent that is started elsewhere is not in the closed network; "
        raise UsageError(message + "give its command after --")
    if run.allow:
        message = f"--isolate: {', '.join(run.allow)} cannot be reached there; drop --allow"
        raise UsageError(message)
    find_program(run.command, os.environ)
    leave_network()
