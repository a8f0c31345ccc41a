"""The mitmproxy addon that records: every answer is tapped as it streams.

mitmproxy calls exactly one of `response` and `error` for a flow; either ends the exchange.
A tap must not raise: mitmproxy would drop that event in silence.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlsplit

from mitmproxy import ctx, http, tls
from mitmproxy.connection import ConnectionState
from mitmproxy.net.server_spec import ServerSpec

from mcprec_addon.doors.mitm_trailers import let_trailers_pass
from mcprec_addon.doors.recording import Recording
from mcprec_addon.doors.routes import HOST, Route, Target
from mcprec_addon.record.taps import Tap
from mcprec_addon.wire.endpoint import EndpointLead
from mcprec_addon.wire.headers import media_type
from mcprec_addon.wire.http import Ending, HttpRequest, first_header

type Chain = Callable[[str, str, int], ServerSpec | None]
"""Scheme, host and port of a request -> the office proxy it goes through, or None."""

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_TAP, _TARGET, _PORT = "mcprec_tap", "mcprec_target", "mcprec_port"
# Realtime APIs over WebSocket are not recorded; 426 makes clients fall back to HTTP at once.
_SOCKET_PATHS = re.compile(r"/(?:responses|realtime)(?:\?|$)")


class RecordAddon:
    """Shows every request and the bytes of its answer to a recording."""

    name = "mcprec-record"

    def __init__(
        self,
        recording: Recording,
        *,
        routes: Mapping[int, Route] | None = None,
        chain: Chain | None = None,
    ) -> None:
        """Begin.

        Args:
            recording: Takes requests and answers.
            routes: What our own ports stand for.
            chain: Scheme, host and port of a request -> the office proxy it goes through.
        """
        self._recording = recording
        self._routes = routes or {}
        self._chain = chain

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Lead a request at one of our ports to its upstream, and through an office proxy."""
        port = self._port(flow)
        route = self._routes.get(port)
        target = route.target(flow.request.path) if route is not None else None
        if target is not None:
            flow.metadata[_TARGET] = target
            flow.metadata[_PORT] = port
            request = flow.request
            request.scheme, request.host, request.port = (
                target.scheme,
                target.host,
                target.port,
            )
            request.path = target.path
        elif route is not None:
            self._recording.turned_away += 1
            flow.response = http.Response.make(404, b"mcprec: no such door\n")
            return
        request = flow.request
        if _is_socket(request) and _SOCKET_PATHS.search(request.path):
            self._recording.sockets += 1
            flow.response = http.Response.make(426, b"", {"upgrade": "h2c"})
            return
        chain = self._chain
        via = chain(request.scheme, request.host, request.port) if chain is not None else None
        if via is not None:
            flow.server_conn.via = via

    def _port(self, flow: http.HTTPFlow) -> int:
        """Return the port a request was meant for: the listener's, or ours through the proxy."""
        if flow.request.host in LOOPBACK and flow.request.port in self._routes:
            return flow.request.port
        return int(flow.client_conn.sockname[1])

    def request(self, flow: http.HTTPFlow) -> None:
        """Show the whole request to the recording."""
        if flow.response is not None:
            return
        tap = self._recording.guarded(lambda: self._recording.request(request_of(flow)))
        if tap is not None:
            flow.metadata[_TAP] = tap

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Tap the answer; every answer streams, also those that are not recorded."""
        response = flow.response
        if response is None:
            return
        tap: Tap | None = flow.metadata.get(_TAP)
        response.stream = True if tap is None else self._stream(flow, tap)
        if tap is not None:
            lines = lines_of(response.headers)
            status = response.status_code
            self._recording.guarded(lambda: tap.head(status, lines))
        self._keep_redirect_inside(flow, response)

    def _keep_redirect_inside(self, flow: http.HTTPFlow, response: http.Response) -> None:
        """Lead a redirect within the upstream through our port, or it would escape recording."""
        inside = _inside(flow)
        location = first_header(lines_of(response.headers), "location")
        if inside is not None and location is not None and location.startswith(f"{inside[0]}/"):
            response.headers["location"] = inside[1] + location.removeprefix(inside[0])

    def _stream(self, flow: http.HTTPFlow, tap: Tap) -> Callable[[bytes], Iterable[bytes] | bytes]:
        lead = _endpoint_lead(flow)

        def pass_on(chunk: bytes) -> Iterable[bytes] | bytes:
            if chunk:
                self._recording.guarded(lambda: tap.data(chunk, self._recording.now_ms()))
            # mitmproxy would write no bytes at all as an empty chunk, the end of the body.
            return chunk if lead is None else filter(None, [lead.feed(chunk)])

        return pass_on

    def response(self, flow: http.HTTPFlow) -> None:
        """End an exchange whose answer arrived whole."""
        self._end(flow, "complete")

    def error(self, flow: http.HTTPFlow) -> None:
        """End an exchange that broke, by whoever broke it."""
        client_left = flow.client_conn.state is ConnectionState.CLOSED
        if flow.server_conn.timestamp_tcp_setup is None and not client_left:
            self._unreached(flow)
        elif flow.response is None and flow.killable:
            # The client is to see what its own connection would have shown it: no 502 of ours.
            flow.kill()
        self._end(flow, "left" if client_left else "reset")

    def _unreached(self, flow: http.HTTPFlow) -> None:
        """Give up a call whose server was never there: that is no answer to record."""
        tap: Tap | None = flow.metadata.pop(_TAP, None)
        if tap is None:
            return
        reason = flow.error.msg if flow.error is not None else "no connection"
        address = urlsplit(request_of(flow).url)
        self._recording.unreached[f"{address.scheme}://{address.netloc}: {reason}"] += 1
        self._recording.guarded(tap.drop)
        self._recording.end(tap)

    def _end(self, flow: http.HTTPFlow, ending: Ending) -> None:
        tap: Tap | None = flow.metadata.pop(_TAP, None)
        if tap is None:
            return
        self._recording.guarded(lambda: tap.finish(ending, self._recording.now_ms()))
        self._recording.end(tap)

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """Count a client that does not trust our certificate."""
        self._recording.distrusted[data.conn.sni or "unknown host"] += 1


def _inside(flow: http.HTTPFlow) -> tuple[str, str] | None:
    """Return the origin of a server that has a port of ours, and what stands for it there."""
    target: Target | None = flow.metadata.get(_TARGET)
    if target is None or target.label is None:
        return None
    return target.origin, f"http://{HOST}:{flow.metadata[_PORT]}"


def _endpoint_lead(flow: http.HTTPFlow) -> EndpointLead | None:
    """Return what keeps an absolute endpoint of HTTP+SSE inside, as a redirect is kept."""
    inside = _inside(flow)
    if inside is None or flow.response is None or flow.request.method.upper() != "GET":
        return None
    lines = lines_of(flow.response.headers)
    is_stream = media_type(first_header(lines, "content-type")) == "text/event-stream"
    is_packed = first_header(lines, "content-encoding") is not None
    return EndpointLead(*inside) if is_stream and not is_packed else None


def request_of(flow: http.HTTPFlow) -> HttpRequest:
    """Return a flow's request as a value, its URL the upstream's."""
    request = flow.request
    target: Target | None = flow.metadata.get(_TARGET)
    plain = Target(scheme=request.scheme, host=request.host, port=request.port, path=request.path)
    is_reverse = flow.client_conn.proxy_mode.type_name == "reverse"
    return HttpRequest(
        method=request.method.upper(),
        url=(target or plain).url,
        headers=tuple(lines_of(request.headers)),
        body=request.raw_content or b"",
        label=target.label if target is not None else None,
        via="base-url" if target is not None or is_reverse else "proxy",
        provider=target.provider if target is not None else None,
    )


def lines_of(headers: http.Headers) -> list[tuple[str, str]]:
    """Return header lines, names in lower case, repeated ones as several."""
    return [
        (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers.fields
    ]


def _is_socket(request: http.Request) -> bool:
    return (first_header(lines_of(request.headers), "upgrade") or "").lower() == "websocket"


def force_options() -> None:
    """Set what recording depends on: upstreams on demand, one request per connection, trailers."""
    let_trailers_pass()
    ctx.options.update(  # pyright: ignore[reportUnknownMemberType] (untyped in mitmproxy)
        connection_strategy="lazy", http2=False
    )
