"""The mitmproxy addon that replays: whole bodies itself, the rest through a loopback server.

mitmproxy writes a synthetic answer in one go, so streams and broken ends are led to an
in-process server on loopback. Every other connection upstream is refused.
"""

import secrets

from mitmproxy import http, tls
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.doors.mitm import request_of
from mcprec_addon.doors.paced import write_aside
from mcprec_addon.doors.routes import HOST
from mcprec_addon.replay.responder import Responder
from mcprec_addon.wire.http import HttpRequest, Reply

_PLAN = "x-mcprec-plan"


class ReplayAddon:
    """Answers every request from a responder.

    Attributes:
        failures: Errors inside mcprec; each such request was answered 500.
        distrusted: Hosts whose clients did not trust our certificate.
    """

    name = "mcprec-replay"

    def __init__(self, responder: Responder) -> None:
        self._responder = responder
        self._plans: dict[str, Reply] = {}
        self._server = HttpServer(self._planned, authority=None)
        self._port: int | None = None
        self.failures: list[BaseException] = []
        self.distrusted: list[str] = []

    async def running(self) -> None:
        """Start the server for streams."""
        self._port = await self._server.listen()

    def _planned(self, request: HttpRequest) -> Reply:
        return self._plans.pop(request.header(_PLAN) or "", Reply(status=403))

    def request(self, flow: http.HTTPFlow) -> None:
        """Answer a request, or lead it to the server for streams."""
        reply = self._reply(flow)
        if reply.whole or self._port is None:
            flow.response = http.Response.make(
                reply.status,
                reply.body,
                [(name.encode(), value.encode()) for name, value in reply.headers],
            )
            if reply.aside is not None:
                write_aside(reply.aside, pace=None)
            return
        token = secrets.token_hex(8)
        self._plans[token] = reply
        flow.request.headers[_PLAN] = token
        # The bare data: setting the properties would rewrite the Host header as well.
        data = flow.request.data
        data.scheme, data.host, data.port = b"http", HOST, self._port

    def _reply(self, flow: http.HTTPFlow) -> Reply:
        try:
            return self._responder.respond(request_of(flow))
        # mitmproxy would log it and go on, and the run would look fine.
        except Exception as error:  # noqa: BLE001
            self.failures.append(error)
            return Reply(status=500, headers=(("x-should-retry", "false"),))

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """Note a client that does not trust our certificate."""
        self.distrusted.append(data.conn.sni or "unknown host")

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Let streams through as they come."""
        if flow.response is not None:
            flow.response.stream = True

    def error(self, flow: http.HTTPFlow) -> None:
        """End a connection in silence where the reply is none; mitmproxy would answer 502."""
        if flow.response is None and flow.killable:
            flow.kill()

    def server_connect(self, data: ServerConnectionHookData) -> None:
        """Refuse every upstream but the server for streams."""
        data.server.error = "mcprec: a replay goes nowhere"
        if data.server.address == (HOST, self._port):
            data.server.error = None

    async def done(self) -> None:
        """Stop the server."""
        await self._server.close()
