"""HTTP requests and the bytes of their answers -> the recorder, whichever door they came by.

A door shows each request once; where it belongs to a half it gets a tap to pass the answer's
bytes to. Both are pure: time comes in as milliseconds since the recording began.
"""

from collections import Counter
from collections.abc import Mapping
from urllib.parse import urlsplit

from mcprec_addon.exchange import McpCall
from mcprec_addon.record.recorder import Recorder
from mcprec_addon.record.taps import McpTap, ModelTap, NotificationTap, Tap, plain
from mcprec_addon.wire import mcp, model
from mcprec_addon.wire.coding import decoded
from mcprec_addon.wire.http import HttpRequest, server_address
from mcprec_addon.wire.jsonrpc import (
    Notification,
    Request,
    Response,
    RpcMessage,
    read_body,
)


class Intake:
    """Sorts requests into the two halves and what belongs to neither.

    Attributes:
        others: Requests that belong to neither half, by host.
        refused_oauth: Labels of servers that asked for OAuth.
    """

    def __init__(self, recorder: Recorder, urls: Mapping[str, str]) -> None:
        """Begin.

        Args:
            recorder: Where calls and answers go.
            urls: Addresses of declared servers by label.
        """
        self._recorder = recorder
        self._labels = {server_address(url): label for label, url in urls.items()}
        self._urls = {label: server_address(url) for label, url in urls.items()}
        self._taps: list[McpTap] = []
        self.others: Counter[str] = Counter()
        self.refused_oauth: set[str] = set()
        for label, url in self._urls.items():
            recorder.server(label, transport="http", url=url)

    def request(self, request: HttpRequest, at_ms: int) -> Tap | None:
        """Take a request; return the tap for its answer, or None where it is not recorded."""
        body = decoded(request.body, request.header("content-encoding")) or b""
        messages = read_body(body) if request.method == "POST" else None
        if messages is not None:
            return self._mcp(request, messages, at_ms)
        call = model.call_of(request)
        if call is not None:
            pending = self._recorder.begin(call, at_ms=at_ms, via=request.via)
            return ModelTap(self._recorder, pending)
        label = self._known_label(request)
        if label is None:
            self.others[urlsplit(request.url).netloc] += 1
            return None
        accepts = request.header("accept") or ""
        if request.method == "GET" and "text/event-stream" in accepts:
            return self._listening(request, label, at_ms)
        if request.method == "POST":
            self.others[label] += 1
        return None  # the end of a session, or OAuth beside the endpoint: never in a cassette

    def _known_label(self, request: HttpRequest) -> str | None:
        return request.label or self._labels.get(server_address(request.url))

    def _label(self, request: HttpRequest) -> str:
        known = self._known_label(request)
        if known is not None:
            return known
        url = server_address(request.url)
        label = url.partition("://")[2]
        self._labels[url] = label
        self._recorder.server(label, transport="http", url=url)
        return label

    def _mcp(self, request: HttpRequest, messages: list[RpcMessage], at_ms: int) -> Tap | None:
        label = self._label(request)
        asked = [message for message in messages if isinstance(message, Request)]
        for message in messages:
            if isinstance(message, Response) and not self._client_answered(label, message):
                self.others[f"{label} (answers to nothing asked)"] += 1
        sent = [message for message in messages if isinstance(message, Notification)]
        if asked:
            for note in sent:
                self._recorder.message(label, "client", plain(note))
            return self._calls(request, label, asked, at_ms)
        return NotificationTap(self._recorder, label, sent, at_ms, request) if sent else None

    def _calls(self, request: HttpRequest, label: str, asked: list[Request], at_ms: int) -> McpTap:
        era = mcp.era_of(asked[0], dict(request.headers))
        pending = [
            self._recorder.begin(mcp.call_of(one, label), at_ms=at_ms, via=request.via, era=era)
            for one in asked
        ]
        tap = McpTap(self, self._recorder, label, asked, pending)
        self._taps.append(tap)
        return tap

    def _listening(self, request: HttpRequest, label: str, at_ms: int) -> McpTap:
        call = McpCall(server=label, method="", http_method="GET")
        pending = self._recorder.begin(call, at_ms=at_ms, via=request.via, era="classic")
        tap = McpTap(self, self._recorder, label, [], [pending])
        self._taps.append(tap)
        return tap

    def _client_answered(self, label: str, response: Response) -> bool:
        return any(
            tap.label == label and tap.reader.client_answered(response.id, response.value)
            for tap in self._taps
        )

    def done(self, tap: McpTap) -> None:
        """Let go of a tap that has finished."""
        if tap in self._taps:
            self._taps.remove(tap)

    def asked_for_oauth(self, label: str) -> None:
        """Take note of a server that asks its client to sign in."""
        self.refused_oauth.add(label)
