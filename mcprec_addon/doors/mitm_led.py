"""The mitmproxy addon of an eval: what is asked of MCP servers is led to the replay's own door.

Everything else passes, live. What was asked by which address goes along in headers, since the
door would see its own address alone.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from mitmproxy import http, tls

from mcprec_addon.doors.http_connection import Handler
from mcprec_addon.doors.mitm import Chain, RecordAddon, request_of
from mcprec_addon.doors.routes import HOST
from mcprec_addon.wire.http import HttpRequest, Reply

if TYPE_CHECKING:
    from mcprec_addon.exchange import Via

_URL, _WAY = "x-mcprec-url", "x-mcprec-via"


class LedAddon:
    """Leads requests of the MCP half to a door on loopback.

    Attributes:
        distrusted: Hosts whose clients did not trust our certificate.
    """

    name = "mcprec-led"

    def __init__(
        self,
        takes: Callable[[HttpRequest], bool],
        *,
        port: int,
        chain: Chain,
        records: RecordAddon | None = None,
    ) -> None:
        """Prepare.

        Args:
            takes: Whether a request is of the MCP half.
            port: The door.
            chain: Scheme, host and port of a request -> the office proxy it goes through.
            records: Records what passes; None: nothing is recorded.
        """
        self._records = records
        self._takes = takes
        self._port = port
        self._chain = chain
        self.distrusted: list[str] = []

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Send a request on through the user's own proxy, if there is one."""
        if self._records is not None:
            self._records.requestheaders(flow)
            return
        asked = flow.request
        flow.server_conn.via = self._chain(asked.scheme, asked.host, asked.port)

    def request(self, flow: http.HTTPFlow) -> None:
        """Lead a request to the door, or let it go on as it was meant to."""
        request = request_of(flow)
        if flow.response is not None or not self._takes(request):
            if self._records is not None:
                self._records.request(flow)
            return
        flow.server_conn.via = None
        flow.request.headers[_URL] = request.url
        flow.request.headers[_WAY] = request.via
        # The bare data: setting the properties would rewrite the Host header as well.
        data = flow.request.data
        data.scheme, data.host, data.port = b"http", HOST, self._port

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Let every answer through as it comes."""
        if self._records is not None:
            self._records.responseheaders(flow)
        elif flow.response is not None:
            flow.response.stream = True

    def response(self, flow: http.HTTPFlow) -> None:
        """End an exchange whose answer arrived whole."""
        if self._records is not None:
            self._records.response(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        """End an exchange that broke."""
        if self._records is not None:
            self._records.error(flow)

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """Note a client that does not trust our certificate."""
        self.distrusted.append(data.conn.sni or "unknown host")


def led(respond: Handler) -> Handler:
    """Return a handler that sees a led request as the agent made it."""

    def handle(request: HttpRequest) -> Reply:
        url = request.header(_URL)
        if url is None:
            return respond(request)
        way = cast("Via", request.header(_WAY) or "proxy")
        headers = tuple(line for line in request.headers if line[0] not in (_URL, _WAY))
        return respond(replace(request, url=url, via=way, headers=headers))

    return handle
