"""One run: doors, environment, child, and what came of it."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

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
from mcprec_addon.doors.routes import ModelRoute, Route, ServerRoute, door_url
from mcprec_addon.record.summary import Recorded
from mcprec_addon.wire.providers import PROVIDERS

if TYPE_CHECKING:
    from mcprec_addon.doors.mitm_server import MitmServer
    from mcprec_addon.doors.recording import Known, Recording

Ways = Literal["both", "base-url", "proxy"]
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRun:
    """What to record.

    Attributes:
        out: The cassette to write.
        command: The agent; empty to serve until stopped.
        servers: Addresses of HTTP servers by label.
        via: Which ways in are opened.
        force: Overwrite an existing cassette.
        say: Takes lines for the person at the terminal.
        announce: Takes the variables to set for an agent, where no command is given.
    """

    out: Path
    command: Sequence[str] = ()
    servers: Mapping[str, str] = field(default_factory=dict[str, str])
    via: Ways = "both"
    force: bool = False
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
    if run.command:
        find_program(run.command, os.environ)
    recording = Recording(
        run.out,
        urls=run.servers,
        known=known_environment(),
        on_failure=lambda error: run.say(f"{error}; the agent goes on, recording has ended"),
    )
    try:
        with tempfile.TemporaryDirectory(prefix="mcprec-") as folder:
            ended = await _record_in(run, recording, Path(folder))
    finally:
        recorded = recording.close()
    return recorded, None if ended.was_stopped else ended.status


async def _record_in(run: RecordRun, recording: "Recording", folder: Path) -> Ended:
    from mcprec_addon.doors.mitm_server import MitmServer, upstream_ca  # noqa: PLC0415

    server = MitmServer(confdir=folder, upstream_ca=upstream_ca())
    ports = await _listen(server, recording, run.servers)
    try:
        doors = _record_doors(run, ports)
        if run.via != "base-url":
            doors = with_certificates(doors, server.ca_pem, folder)
        environment = {**os.environ, **doors.variables()}
        return await run_child(run.command, run.announce, environment, doors)
    finally:
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


def model_upstreams(environment: Mapping[str, str]) -> dict[str, str]:
    """Return where each provider's traffic goes: a base-URL variable already set, or its API."""
    found: dict[str, str] = {}
    for name, provider in PROVIDERS.items():
        set_already = (environment.get(variable) for variable in provider.base_url_variables)
        found[name] = next((value for value in set_already if value), provider.upstream)
    return found


def _record_doors(run: RecordRun, ports: _Ports) -> Doors:
    by_url = run.via != "proxy"
    own = (ports.proxy, ports.model, *ports.servers.values())
    return Doors(
        proxy=f"http://{HOST}:{ports.proxy}" if run.via != "base-url" else None,
        model=model_doors(ports.model, model_upstreams(os.environ)) if by_url else {},
        servers={
            label: door_url(ports.servers[label], url) if by_url else url
            for label, url in run.servers.items()
        },
        direct=[f"{HOST}:{port}" for port in own],
    )


def model_doors(port: int, upstreams: Mapping[str, str]) -> dict[str, str]:
    """Return the base URL of each provider at a door, with the path that its upstream has."""
    return {
        name: f"http://{HOST}:{port}/{name}" + urlsplit(upstream).path.rstrip("/")
        for name, upstream in upstreams.items()
    }


def with_certificates(doors: Doors, ca_pem: bytes, folder: Path) -> Doors:
    """Return doors whose certificate files are written, beside what the user trusts already."""
    bundle, added = folder / "bundle.pem", folder / "ca.pem"
    write_bundle(bundle, ca_pem=ca_pem, user_bundle=_user_file("SSL_CERT_FILE"))
    write_ca_only(added, ca_pem=ca_pem, user_extra=_user_file("NODE_EXTRA_CA_CERTS"))
    return replace(doors, bundle=bundle, added=added, run_dir=folder)


def _user_file(variable: str) -> Path | None:
    path = os.environ.get(variable)
    return Path(path) if path and Path(path).is_file() else None


async def run_child(
    command: Sequence[str],
    announce: Callable[[Mapping[str, str]], None],
    environment: Mapping[str, str],
    doors: Doors,
) -> Ended:
    """Run the agent, or serve until stopped where there is none."""
    if not command:
        own = {name: value for name, value in environment.items() if os.environ.get(name) != value}
        announce(own)
        await until_stopped()
        return Ended(status=None, was_stopped=True)
    child = Child(with_urls(command, doors.servers), environment)
    return Ended(status=await child.run(), was_stopped=child.was_stopped)


def run_record(run: RecordRun) -> tuple[Recorded, int | None]:
    """Run `record` to its end."""
    return asyncio.run(record(run))
