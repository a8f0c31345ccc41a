"""The doors of one run of an eval: to its MCP servers, and past them to everything live.

By base URL the agent's model is not touched at all. Through the proxy, which is mitmproxy, its
traffic passes, and what is asked of MCP servers is led to the replay.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mcprec_addon.doors.base_urls import live_variables, model_upstreams
from mcprec_addon.doors.child import Child, Doors, reached_directly
from mcprec_addon.doors.group_child import GroupChild
from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.doors.routes import HOST, ModelRoute, Ways
from mcprec_addon.doors.run_socket import RunSocket
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Server
from mcprec_addon.played_servers import PlayedServers
from mcprec_addon.replay.responder import Responder
from mcprec_addon.replay_run import ReplayRun
from mcprec_addon.run import (
    Ended,
    Stage,
    run_child,
    with_certificates,
)

if TYPE_CHECKING:
    from mcprec_addon.doors.http_connection import Handler
    from mcprec_addon.doors.mitm_server import MitmServer
    from mcprec_addon.doors.recording import Recording

type MakeChild = Callable[[Sequence[str], Mapping[str, str]], Child | GroupChild]
"""Makes the child of its command and environment."""


def recorded_way(recorded: Mapping[str, Server]) -> Ways:
    """Return the way in that servers were recorded by."""
    is_proxy = any(server.via == "proxy" for server in recorded.values())
    return "proxy" if is_proxy else "base-url"


def check_way(way: Ways, *, jobs: int, records: bool = False) -> None:
    """Check that a way in can be opened.

    Args:
        way: The way in.
        jobs: How many runs go on at once.
        records: The model's traffic is recorded.

    Raises:
        UsageError: mitmproxy is not there, or would be needed several times at once.
    """
    if way == "base-url" and not records:
        return
    if find_spec("mitmproxy") is None:
        message = (
            "an eval through the proxy, or one that records, needs mitmproxy; "
            "pip install 'mcprec-addon[record]', or lead the agent by --via base-url alone"
        )
        raise UsageError(message)
    if jobs > 1:
        message = f"--jobs {jobs}: through the proxy one run goes on at a time; drop --jobs"
        raise UsageError(message)


@dataclass(slots=True, kw_only=True)
class EvalDoors:
    """The doors of one run, and the child in front of them.

    Attributes:
        run: What is replayed, and for whom; its way in is settled.
        played: The recorded servers.
        responder: Answers for them.
        socket: Where processes that stand for servers find the run.
        folder: The run's private folder.
        child: Makes the child.
        recording: Takes what passes to the model, or None.
        server: Answers over HTTP.
        distrusted: Hosts whose clients did not trust our certificate.
    """

    run: ReplayRun
    played: PlayedServers
    responder: Responder
    socket: RunSocket
    folder: Path
    child: MakeChild
    recording: "Recording | None" = None
    server: HttpServer = field(init=False)
    distrusted: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Make the server, which does not listen yet."""
        respond: Handler = self.responder.respond
        if self._needs_proxy:
            from mcprec_addon.doors.mitm_led import led  # noqa: PLC0415 (the extra `record`)

            respond = led(respond)
        self.server = HttpServer(respond, authority=None, pace=self.run.pace)

    @property
    def _needs_proxy(self) -> bool:
        return self.run.via != "base-url" or self.recording is not None

    async def run_child(self, environment: Mapping[str, str]) -> Ended:
        """Open the doors, run the agent and close them; return how it ended."""
        proxy: MitmServer | None = None
        try:
            recorded = self.played.recorded
            if self._needs_proxy:
                proxy, doors = await self._proxy()
            else:
                doors = Doors(run_dir=self.folder)
            ports = {label: await self.server.listen(label=label) for label in recorded}
            if self.played.has_stdio():
                await self.socket.start()
            return await self._led(environment, doors, ports)
        finally:
            if proxy is not None:
                await proxy.stop()
            await self.socket.stop()
            await self.server.close()

    async def _led(
        self, environment: Mapping[str, str], doors: Doors, ports: Mapping[str, int]
    ) -> Ended:
        run, own = self.run, [f"{HOST}:{port}" for port in ports.values()]
        doors = replace(doors, servers=self.played.urls(ports, os.environ), direct=own)
        lead = self.played.lead(self.folder, socket=self.socket.path, urls=doors.servers)
        led = Stage(
            doors=doors,
            lead=lead,
            folder=self.folder,
            say=run.say,
            in_place=run.in_place,
            child=self.child,
        )
        child = {**environment, **doors.variables()}
        if doors.proxy is None:
            child |= reached_directly(child, own)
        return await run_child(run.command, run.announce, child, led)

    async def _proxy(self) -> "tuple[MitmServer, Doors]":
        """Start mitmproxy, which leads what is asked of MCP servers to a port of ours."""
        from mcprec_addon.doors.mitm import RecordAddon  # noqa: PLC0415 (the extra `record`)
        from mcprec_addon.doors.mitm_led import LedAddon  # noqa: PLC0415
        from mcprec_addon.doors.mitm_server import (  # noqa: PLC0415
            MitmServer,
            free_ports,
            office_proxy,
            upstream_ca,
        )

        port, model = free_ports(2)
        routes = {model: ModelRoute(upstreams=model_upstreams(os.environ))}
        records = None
        if self.recording is not None:
            records = RecordAddon(self.recording, routes=routes, chain=office_proxy)
        door = await self.server.listen()
        addon = LedAddon(self.responder.takes, port=door, chain=office_proxy, records=records)
        self.distrusted = addon.distrusted
        proxy = MitmServer(confdir=self.folder, upstream_ca=upstream_ca())
        await proxy.start(addon, proxy_port=port, ports=[model])
        if self.run.via == "base-url":
            doors = Doors(model=live_variables(model, os.environ), run_dir=self.folder)
            return proxy, doors
        doors = Doors(proxy=f"http://{HOST}:{port}")
        return proxy, with_certificates(doors, proxy.ca_pem, self.folder)
