"""One run: doors, environment, child, and what came of it."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcprec_addon.agent_servers import AgentServers, Lead
from mcprec_addon.doors.agent_config import AgentConfig
from mcprec_addon.doors.base_urls import live_variables, model_upstreams
from mcprec_addon.doors.cassette_file import check_target
from mcprec_addon.doors.certificates import write_bundle, write_ca_only
from mcprec_addon.doors.child import (
    Child,
    Doors,
    credential_variables,
    find_program,
    until_stopped,
    with_urls,
)
from mcprec_addon.doors.routes import HOST, ModelRoute, Route, ServerRoute, Ways, door_url
from mcprec_addon.doors.run_folder import run_folder, write_environment
from mcprec_addon.errors import UsageError
from mcprec_addon.options import check_is_agent
from mcprec_addon.record.summary import Recorded
from mcprec_addon.redact.own_rules import OwnRules, with_own
from mcprec_addon.redact.rules import default_rules

if TYPE_CHECKING:
    from mcprec_addon.doors.group_child import GroupChild
    from mcprec_addon.doors.mitm_server import MitmServer
    from mcprec_addon.doors.recording import Known, Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRun:
    """What to record.

    Attributes:
        out: The cassette to write.
        command: The agent; empty to serve until stopped.
        servers: What the agent knows of its MCP servers.
        in_place: Swap the agent's configs for the run's copies while it runs.
        via: Which ways in are opened.
        force: Overwrite an existing cassette.
        own_rules: Redaction rules of one's own.
        say: Takes lines for the person at the terminal.
        announce: Takes the variables to set for an agent, where no command is given.
    """

    out: Path
    command: Sequence[str] = ()
    servers: AgentServers = field(default_factory=AgentServers)
    in_place: bool = False
    via: Ways = "both"
    force: bool = False
    own_rules: OwnRules = field(default_factory=OwnRules)
    say: Callable[[str], None] = lambda _: None
    announce: Callable[[Mapping[str, str]], None] = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How the agent ended.

    Attributes:
        status: Its exit status; None where no command was given.
        was_stopped: A stop was asked of us and passed on.
    """

    status: int | None
    was_stopped: bool


def known_environment() -> list["Known"]:
    """Return the credentials that our environment holds, with the names of their variables."""
    from mcprec_addon.doors.recording import Known  # noqa: PLC0415 (the extra `record`)

    variables = credential_variables(os.environ)
    return [Known(secret=value, source=f"env:{name}") for name, value in variables.items()]


async def record(run: RecordRun) -> tuple[Recorded, int | None]:
    """Run the agent with the doors open and write the cassette.

    Returns:
        What was recorded, and the child's exit status: None without a child, or where a stop
        asked of us ended it, which is a normal end.

    Raises:
        McprecError: Nothing could be started.
    """
    from mcprec_addon.doors.recording import Recording  # noqa: PLC0415 (the extra `record`)

    check_target(run.out, force=run.force)
    check_in_place(run.servers.configs, is_asked=run.in_place)
    if run.command:
        if not run.servers.names():
            check_is_agent(run.command, str(run.out))
        find_program(run.command, os.environ)
    run.servers.check_programs(os.environ)
    urls = run.servers.addresses(os.environ, need_all=run.via != "proxy")
    recording = Recording(
        run.out,
        urls=urls,
        models=model_upstreams(os.environ),
        commands={label: Path(each[0]).name for label, each in run.servers.commands().items()},
        known=[*known_environment(), *_known_servers(run.servers)],
        rules=with_own(default_rules(), run.own_rules),
        on_failure=lambda error: run.say(f"{error}; the agent goes on, recording has ended"),
    )
    try:
        with run_folder() as folder:
            ended = await _record_in(run, recording, folder, urls=urls)
    finally:
        recorded = recording.close(config=_relative(run))
    recorded = replace(recorded, hints=_hints(run))
    return recorded, None if ended.was_stopped else ended.status


def _hints(run: RecordRun) -> dict[str, str]:
    """Return why a server may not have been contacted, by label."""
    by_path = "one that is started by its path cannot be caught"
    elsewhere = "does the agent read the config at another path? lead it with {config}, "
    elsewhere += "$MCPREC_CONFIG or --in-place"
    in_configs = {} if run.in_place else {entry.label: elsewhere for entry in run.servers.entries}
    return in_configs | dict.fromkeys(run.servers.shims, by_path)


def _known_servers(servers: AgentServers) -> list["Known"]:
    from mcprec_addon.doors.recording import Known  # noqa: PLC0415 (the extra `record`)

    held = servers.secrets(os.environ)
    return [Known(secret=value, source=source) for source, value in held.items()]


def _relative(run: RecordRun) -> tuple[str, ...]:
    """Return the paths of the agent's configs from where the cassette is."""
    folder = run.out.parent.resolve()
    return tuple(
        Path(os.path.relpath(each.path.absolute(), folder)).as_posix()
        for each in run.servers.configs
    )


async def _record_in(
    run: RecordRun, recording: "Recording", folder: Path, *, urls: Mapping[str, str]
) -> Ended:
    from mcprec_addon.doors.mitm_server import MitmServer, upstream_ca  # noqa: PLC0415
    from mcprec_addon.doors.run_socket import RunSocket, recording_lines  # noqa: PLC0415

    server = MitmServer(confdir=folder, upstream_ca=upstream_ca())
    socket = RunSocket(folder, recording_lines(recording))
    ports = await _listen(server, recording, urls)
    try:
        if run.servers.commands():
            await socket.start()
        doors = _record_doors(run, ports, urls)
        if run.via != "base-url":
            doors = with_certificates(doors, server.ca_pem, folder)
        lead = run.servers.lead(
            folder, socket=socket.path, urls=doors.servers if run.via != "proxy" else {}
        )
        stage = Stage(doors=doors, lead=lead, folder=folder, say=run.say, in_place=run.in_place)
        return await run_child(
            run.command, run.announce, {**os.environ, **doors.variables()}, stage
        )
    finally:
        await socket.stop()
        await server.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ports:
    """Where a recording listens."""

    proxy: int
    model: int
    servers: Mapping[str, int]


async def _listen(
    server: "MitmServer", recording: "Recording", servers: Mapping[str, str]
) -> _Ports:
    from mcprec_addon.doors.mitm import RecordAddon  # noqa: PLC0415
    from mcprec_addon.doors.mitm_server import free_ports, office_proxy  # noqa: PLC0415

    proxy, model, *rest = free_ports(2 + len(servers))
    ports = _Ports(proxy=proxy, model=model, servers=dict(zip(servers, rest, strict=True)))
    routes: dict[int, Route] = {
        ports.servers[label]: ServerRoute(label=label, upstream=url)
        for label, url in servers.items()
    }
    routes[model] = ModelRoute(upstreams=model_upstreams(os.environ))
    addon = RecordAddon(recording, routes=routes, chain=office_proxy)
    await server.start(addon, proxy_port=proxy, ports=[*routes])
    return ports


def _record_doors(run: RecordRun, ports: _Ports, urls: Mapping[str, str]) -> Doors:
    by_url = run.via != "proxy"
    own = (ports.proxy, ports.model, *ports.servers.values())
    return Doors(
        proxy=f"http://{HOST}:{ports.proxy}" if run.via != "base-url" else None,
        model=live_variables(ports.model, os.environ) if by_url else {},
        servers={
            label: door_url(ports.servers[label], url) if by_url else url
            for label, url in urls.items()
        },
        direct=[f"{HOST}:{port}" for port in own],
    )


def with_certificates(doors: Doors, ca_pem: bytes, folder: Path) -> Doors:
    """Return doors whose certificate files are written, beside what the user trusts already."""
    bundle, added = folder / "bundle.pem", folder / "ca.pem"
    write_bundle(bundle, ca_pem=ca_pem, user_bundle=_user_file("SSL_CERT_FILE"))
    write_ca_only(added, ca_pem=ca_pem, user_extra=_user_file("NODE_EXTRA_CA_CERTS"))
    return replace(doors, bundle=bundle, added=added, run_dir=folder)


def _user_file(variable: str) -> Path | None:
    path = os.environ.get(variable)
    return Path(path) if path and Path(path).is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What is set up for a run's child.

    Attributes:
        doors: Where the run listens.
        lead: How the child is led to its servers.
        folder: The run's private folder.
        say: Takes lines for the person at the terminal.
        in_place: Swap the agent's configs for the copies while it runs.
        child: Makes the child of its command and environment.
    """

    doors: Doors
    lead: Lead
    folder: Path
    say: Callable[[str], None]
    in_place: bool = False
    child: Callable[[Sequence[str], Mapping[str, str]], "Child | GroupChild"] = Child


async def run_child(
    command: Sequence[str],
    announce: Callable[[Mapping[str, str]], None],
    environment: Mapping[str, str],
    stage: Stage,
) -> Ended:
    """Run the agent, or serve until stopped where there is none."""
    led = stage.lead.environment(environment)
    write_environment(stage.folder, before=os.environ, ours=led)
    with _in_place(stage) if stage.in_place else nullcontext():
        if not command:
            announce({name: text for name, text in led.items() if os.environ.get(name) != text})
            await until_stopped()
            return Ended(status=None, was_stopped=True)
        child = stage.child(with_urls(stage.lead.command(command), stage.doors.servers), led)
        return Ended(status=await child.run(), was_stopped=child.was_stopped)


def put_back_left(configs: Iterable[Path], *, say: Callable[[str], None]) -> None:
    """Put back what a killed run in place left, before the configs are read.

    Raises:
        UsageError: Another run has one of them swapped.
    """
    from mcprec_addon.doors.in_place import put_back_left as put_back  # noqa: PLC0415 (rare)

    for config in configs:
        put_back(config, say=say)


def check_in_place(configs: Sequence[AgentConfig], *, is_asked: bool) -> None:
    """Check that there is something to swap.

    Raises:
        UsageError: There is not.
    """
    if is_asked and not configs:
        message = "--in-place: there is no config to swap; name it with --config"
        raise UsageError(message)


def _in_place(stage: Stage) -> AbstractContextManager[None]:
    from mcprec_addon.doors.in_place import swapped  # noqa: PLC0415 (few runs swap anything)

    return swapped(stage.lead.copies, say=stage.say)


def run_record(run: RecordRun) -> tuple[Recorded, int | None]:
    """Run `record` to its end."""
    return asyncio.run(record(run))
