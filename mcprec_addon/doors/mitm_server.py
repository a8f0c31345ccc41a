"""A mitmproxy inside this process, with only the addons that recording needs."""

import asyncio
import base64
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from mitmproxy import http, options
from mitmproxy.addons import core, next_layer, proxyserver, tlsconfig
from mitmproxy.master import Master
from mitmproxy.net.server_spec import ServerSpec

from mcprec_addon.doors.mitm_trailers import let_trailers_pass
from mcprec_addon.doors.routes import HOST
from mcprec_addon.errors import ListenError

# Every request at a reverse listener is led to its upstream by the addon.
_PLACEHOLDER = "reverse:http://mcprec.invalid:1"


class _Addon(Protocol):
    name: str


class _Ready:
    """Tells when the listeners are up."""

    name = "mcprec-ready"

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def running(self) -> None:
        self.event.set()


class _OfficeProxyAuth:
    """Signs in at an office proxy, and there alone: never at the servers behind it."""

    name = "mcprec-office-proxy"

    def http_connect_upstream(self, flow: http.HTTPFlow) -> None:
        """Add the credentials that the user's environment gives for the proxy."""
        credentials = _proxy_credentials()
        if credentials is not None:
            flow.request.headers["proxy-authorization"] = f"Basic {credentials}"


class MitmServer:
    """Listeners on loopback: one regular proxy, and a reverse one per port asked for."""

    def __init__(self, *, confdir: Path, upstream_ca: str | None = None) -> None:
        """Prepare.

        Args:
            confdir: A private folder for the certificate authority of this run.
            upstream_ca: Bundle that upstream certificates are checked against.
        """
        self._confdir = confdir
        self._upstream_ca = upstream_ca
        self._proxy = proxyserver.Proxyserver()
        self._master: Master | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, addon: _Addon, *, proxy_port: int, ports: Sequence[int]) -> None:
        """Listen on `proxy_port` as a proxy and on `ports` for base URLs.

        Raises:
            ListenError: One of them is in use.
        """
        let_trailers_pass()
        modes = [f"regular@{HOST}:{proxy_port}"]
        modes += [f"{_PLACEHOLDER}@{HOST}:{port}" for port in ports]
        master = Master(options.Options(confdir=str(self._confdir)))
        ready = _Ready()
        master.addons.add(  # pyright: ignore[reportUnknownMemberType] (untyped in mitmproxy)
            core.Core(), self._proxy, next_layer.NextLayer(), tlsconfig.TlsConfig(),
            _OfficeProxyAuth(), addon, ready,
        )  # fmt: skip
        master.options.update(  # pyright: ignore[reportUnknownMemberType] (untyped in mitmproxy)
            mode=modes,
            connection_strategy="lazy",
            http2=False,
            ssl_verify_upstream_trusted_ca=self._upstream_ca,
        )
        self._master = master
        self._task = asyncio.create_task(master.run(), name="mitmproxy")
        waiting = asyncio.create_task(ready.event.wait())
        await asyncio.wait({self._task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._task.done() and self._task.exception() is not None:
            await self._task  # whatever it is, it is not that a port is in use
        listening = {address[1] for address in self._proxy.listen_addrs()}
        missing = {proxy_port, *ports} - listening
        if missing:
            await self.stop()
            address = f"{HOST}:{min(missing)}"
            raise ListenError(address, "the port is in use")

    async def stop(self) -> None:
        """Stop listening and let running flows end."""
        if self._master is None or self._task is None:
            return
        await self._proxy.servers.update([])
        self._master.shutdown()
        await asyncio.wait({self._task})
        self._master = None

    @property
    def ca_pem(self) -> bytes:
        """The certificate of this run's authority."""
        return (self._confdir / "mitmproxy-ca-cert.pem").read_bytes()


def free_ports(count: int) -> list[int]:
    """Return loopback ports that are free now."""
    sockets = [socket.create_server((HOST, 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def office_proxy(scheme: str, host: str, port: int) -> ServerSpec | None:
    """Return the proxy that the user's own environment names for an address, or None."""
    proxies = getproxies_environment()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or proxy_bypass(f"{host}:{port}"):
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.hostname is None:
        return None
    is_https = parts.scheme == "https"
    port = parts.port or (443 if is_https else 80)
    return "https" if is_https else "http", (parts.hostname, port)


def _proxy_credentials() -> str | None:
    """Return user and password of the user's proxy as Basic authentication has them, or None."""
    proxies = getproxies_environment()
    address = proxies.get("https") or proxies.get("http") or proxies.get("all") or ""
    parts = urlsplit(address)
    if parts.username is None:
        return None
    userinfo = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return base64.b64encode(userinfo.encode()).decode()


def upstream_ca() -> str | None:
    """Return the bundle that the user's own environment names, or None."""
    path = os.environ.get("SSL_CERT_FILE") or os.environ.get("REQUESTS_CA_BUNDLE")
    return path if path and Path(path).is_file() else None
