"""One replay: the cassette's doors, the child's environment, and what came of it."""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.certificates import Authority
from mcprec_addon.doors.child import Doors, dummies, find_program, replay_environment
from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.doors.routes import door_url
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette, Exchange, Half, Via
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.player import Player, PlayOptions
from mcprec_addon.replay.report import Demands, Exit, RunReport
from mcprec_addon.replay.responder import Responder, Turned
from mcprec_addon.run import HOST, Ways, model_doors, model_upstreams, run_child, with_certificates
from mcprec_addon.wire.titles import call_title

_LEFT_OUT = "leftoutx"  # a nonce: what of a command is redacted is told by it


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRun:
    """What to replay.

    Attributes:
        path: The cassette.
        command: The agent; empty to serve until stopped.
        halves: Which halves are replayed; empty for those that are in the cassette.
        options: How calls are matched.
        via: Which way in the child is led; None for the recorded one.
        allow: Hosts the child may reach.
        keep: Variables of the child that keep their value.
        say: Takes lines for the person at the terminal.
        announce: Takes the variables that lead an agent to the doors, where no command is given.
    """

    path: Path
    command: Sequence[str] = ()
    halves: frozenset[Half] = frozenset()
    options: PlayOptions = field(default_factory=PlayOptions)
    via: Ways | None = None
    allow: Sequence[str] = ()
    keep: Sequence[str] = ()
    say: Callable[[str], None] = lambda _: None
    announce: Callable[[Mapping[str, str]], None] = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What a replay came to.

    Attributes:
        cassette: What was replayed.
        player: Which answers it handed out.
        turned: What was turned away.
        halves: The halves that were replayed.
        allowed: Hosts that were let through.
        child: The command's exit status, or None.
        failures: Errors inside mcprec; each such request was answered 500.
        distrusted: Hosts whose clients did not trust our certificate.
    """

    cassette: Cassette
    player: Player
    turned: Turned
    halves: frozenset[Half]
    allowed: Sequence[str]
    child: int | None
    failures: Sequence[BaseException] = ()
    distrusted: Sequence[str] = ()


async def replay(run: ReplayRun) -> Replayed:
    """Run the agent against the cassette, with nothing else to reach.

    Raises:
        McprecError: The cassette cannot be read, lacks a half that was asked for, or the
            command cannot be started.
    """
    cassette = load_cassette(run.path)
    halves = present_halves(cassette, run.halves, path=run.path)
    if run.command:
        find_program(run.command, os.environ)
    for warning in cassette.warnings:
        run.say(warning)
    environment = {**os.environ, **dummies(os.environ, sources=_variables(cassette), keep=run.keep)}
    player, responder = stage(
        cassette, run.options, halves=halves, environment=environment, on_miss=_teller(run)
    )
    for exchange in player.several_answers():
        run.say(several_answers_line(exchange))
    authority = Authority()
    server = HttpServer(responder.respond, authority=authority)
    with tempfile.TemporaryDirectory(prefix="mcprec-") as folder:
        status = await _replay_in(
            run, cassette, server, environment, Path(folder), ca_pem=authority.ca_pem
        )
    return Replayed(
        cassette=cassette,
        player=player,
        turned=responder.turned,
        halves=halves,
        allowed=run.allow,
        child=status,
        failures=server.failures,
        distrusted=server.distrusted,
    )


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
    on_miss: Callable[[Miss], None] = lambda _: None,
) -> tuple[Player, Responder]:
    """Return a player, and a responder for the doors that speak HTTP.

    Args:
        cassette: What is replayed.
        options: How calls are matched.
        halves: Which halves are replayed.
        environment: The agent's: what it holds in place of a recorded secret stands for it.
        on_miss: Told of each miss as it happens.
    """
    player = new_player(cassette, options, halves=halves, environment=environment)
    return player, Responder(cassette, player, halves=halves, on_miss=on_miss)


def new_player(
    cassette: Cassette,
    options: PlayOptions,
    *,
    halves: frozenset[Half],
    environment: Mapping[str, str],
) -> Player:
    """Return a player for one replay of a cassette; see `stage` for the arguments."""
    redaction = cassette.header.redaction
    bindings = Bindings(redaction, default_rules(redaction.builtin))
    bindings.alias(_source_values(cassette, os.environ))
    bindings.known(_source_values(cassette, environment))
    return Player(cassette, bindings=bindings, options=replace(options, halves=halves))


def _teller(run: ReplayRun) -> Callable[[Miss], None]:
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


def _variables(cassette: Cassette) -> set[str]:
    """Return the variables that the header names as sources of secrets."""
    sources = cassette.header.redaction.sources.values()
    named = {source for names in sources for source in names if source.startswith("env:")}
    return {source.removeprefix("env:") for source in named}


def _source_values(cassette: Cassette, environment: Mapping[str, str]) -> dict[str, str]:
    """Return what the variables hold that the header names as sources, by placeholder."""
    values: dict[str, str] = {}
    for placeholder, sources in cassette.header.redaction.sources.items():
        for source in sources:
            value = environment.get(source.removeprefix("env:"))
            if source.startswith("env:") and value:
                values[placeholder] = value
    return values


async def _replay_in(
    run: ReplayRun,
    cassette: Cassette,
    server: HttpServer,
    environment: Mapping[str, str],
    folder: Path,
    *,
    ca_pem: bytes,
) -> int | None:
    try:
        port = await server.listen()
        ports = {
            label: await server.listen(label=label)
            for label, known in cassette.header.servers.items()
            if known.url
        }
        doors = _replay_doors(run, cassette, port, ports)
        doors = with_certificates(doors, ca_pem, folder)
        led = replay_environment(environment, doors)
        ended = await run_child(run.command, run.announce, led, doors)
        return ended.status
    finally:
        await server.close()


def _replay_doors(run: ReplayRun, cassette: Cassette, port: int, ports: Mapping[str, int]) -> Doors:
    servers = {
        label: _server_door(run, known.url, known.via, ports[label])
        for label, known in cassette.header.servers.items()
        if known.url
    }
    by_url = (run.via or cassette.model_via or "base-url") != "proxy"
    own = [f"{HOST}:{number}" for number in (port, *ports.values())]
    return Doors(
        proxy=f"http://{HOST}:{port}",
        model=model_doors(port, model_upstreams({})) if by_url else {},
        servers=servers,
        direct=[*own, *run.allow],
    )


def _server_door(run: ReplayRun, url: str, via: Via | None, port: int) -> str:
    return url if (run.via or via) == "proxy" else door_url(port, url)


def run_replay(run: ReplayRun) -> Replayed:
    """Run `replay` to its end."""
    return asyncio.run(replay(run))


def conclude_replay(
    replayed: Replayed,
    *,
    path: Path,
    strict: bool = False,
    all_used: bool = False,
    command: Sequence[str] = (),
) -> RunReport:
    """Return the report of a replay.

    Args:
        replayed: What it came to.
        path: The cassette.
        strict: Refused traffic counts as a miss.
        all_used: Every recorded exchange must have been used.
        command: The agent's command, for the line that says how to record anew.
    """
    tally, turned = replayed.player.tally, replayed.turned
    titles = {each.seq: call_title(each.call) for each in replayed.cassette.exchanges}
    agent = _shown(command) or "CMD"
    return RunReport(
        misses=tally.misses,
        unused=replayed.player.unused(),
        used=tally.used,
        halves=replayed.halves,
        repeated=tally.repeated,
        guessed=tally.guessed,
        titles=titles,
        refused=turned.refused,
        absorbed=turned.absorbed,
        allowed=dict.fromkeys(replayed.allowed, 0),
        warnings=list(_warnings(replayed)),
        child=replayed.child,
        demands=Demands(all_used=all_used, strict=strict),
        given=_failure(replayed),
        record_command=_record_command(replayed, path, agent),
    )


def _shown(command: Sequence[str]) -> str:
    """Return a command for a line to copy, what looks like a secret left out."""
    rules = default_rules()
    redactor = Redactor(rules, nonce=_LEFT_OUT)
    return shlex.join("…" if _LEFT_OUT in redactor.text(each) else each for each in command)


def _failure(replayed: Replayed) -> Exit | None:
    """Return the exit of a replay in which mcprec itself failed: its answers prove nothing."""
    if not replayed.failures:
        return None
    first = replayed.failures[0]
    cause = (
        f"mcprec failed on {len(replayed.failures)} requests, first: {first!r}; please report it"
    )
    return Exit(status=3, cause=cause)


def _record_command(replayed: Replayed, path: Path, agent: str) -> str:
    """Return the command that records a cassette anew, with the options it was recorded with."""
    servers = replayed.cassette.header.servers
    ways = {server.via for server in servers.values()} | {replayed.cassette.model_via}
    http = "".join(
        f" --http {shlex.quote(f'{label}={server.url}')}"
        for label, server in servers.items()
        if server.url and server.via == "base-url"
    )
    via = " --via proxy" if ways - {None} == {"proxy"} else ""
    return f"mcprec record --out {shlex.quote(str(path))} --force{http}{via} -- {agent}"


def _warnings(replayed: Replayed) -> Iterator[str]:
    turned = replayed.turned
    for half, way in turned.ways.items():
        yield f"the {half} half came in by {way}, it was recorded the other way"
    for host in dict.fromkeys(replayed.distrusted):
        yield (
            f"a client of {host} does not trust our certificate; set the variable of its own "
            "that names a CA file to $SSL_CERT_FILE"
        )
    if turned.live_model:
        yield "a model call was refused: the model half is not replayed, and nothing goes live"
    if turned.sockets:
        yield f"WebSocket upgrades of model APIs answered 426: {turned.sockets}"
