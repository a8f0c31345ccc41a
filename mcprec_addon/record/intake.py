"""HTTP requests and the bytes of their answers -> the recorder, whichever door they came by.

A door shows each request once; where it belongs to a half it gets a tap to pass the answer's
bytes to. Time comes in as milliseconds since the recording began.
"""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urlsplit

from mcprec_addon.exchange import ModelCall
from mcprec_addon.record.conversation import Conversation
from mcprec_addon.record.recorder import Recorder
from mcprec_addon.record.streams import ResumedTap, StreamTap
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
from mcprec_addon.wire.resources import Origins


class Intake:
    """Sorts requests into the two halves and what belongs to neither.

    Attributes:
        others: Requests that belong to neither half, by host.
    """

    def __init__(
        self,
        recorder: Recorder,
        urls: Mapping[str, str],
        *,
        models: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Begin.

        Args:
            recorder: Where calls and answers go.
            urls: Addresses of declared servers by label.
            models: Base URLs of model APIs that the agent was told, by provider.
        """
        self._recorder = recorder
        self._labels = {server_address(url): label for label, url in urls.items()}
        self._conversations: dict[tuple[str, str | None], Conversation] = {}
        self._channels: dict[str, Conversation] = {}
        self.others: Counter[str] = Counter()
        self._origins = Origins(models)
        for label, url in urls.items():
            recorder.server(label, transport="http", url=server_address(url))

    @property
    def refused_oauth(self) -> set[str]:
        """Labels of servers that asked for OAuth."""
        return {each.label for each in self._every() if each.asked_for_oauth}

    def _every(self) -> list[Conversation]:
        return [*self._conversations.values(), *self._channels.values()]

    def request(self, request: HttpRequest, at_ms: int) -> Tap | None:
        """Take a request; return the tap for its answer, or None where it is not recorded."""
        body = decoded(request.body, request.header("content-encoding")) or b""
        messages = read_body(body) if request.method == "POST" else None
        if messages is not None:
            return self._mcp(request, messages, at_ms)
        call = self._model_call(request)
        if call is not None:
            pending = self._recorder.begin(call, at_ms=at_ms, via=request.via)
            return ModelTap(self._recorder, pending)
        if request.method == "GET" and "text/event-stream" in (request.header("accept") or ""):
            return self._stream(request, at_ms)
        self._beside(request)
        return None

    def _model_call(self, request: HttpRequest) -> ModelCall | None:
        is_server = self._known_label(request) is not None
        return model.call_of(request) if is_server else self._origins.call(request)

    def _beside(self, request: HttpRequest) -> None:
        """Take what is no call: the end of a session, or OAuth beside the endpoint, and others."""
        label = self._known_label(request)
        if label is None:
            self.pass_over(request)
        elif request.method == "DELETE":
            self._conversation(request, label).close()
        elif request.method == "POST":
            self.others[label] += 1

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

    def _conversation(self, request: HttpRequest, label: str) -> Conversation:
        session = request.header(mcp.SESSION_HEADER)
        made = Conversation(label, is_of_one=session is not None)
        return self._conversations.setdefault((label, session), made)

    def _mcp(self, request: HttpRequest, messages: list[RpcMessage], at_ms: int) -> Tap | None:
        channel = self._channels.get(request.url)
        conversation = channel or self._conversation(request, self._label(request))
        label = conversation.label
        asked = [message for message in messages if isinstance(message, Request)]
        for message in messages:
            if isinstance(message, Response) and not conversation.client_answered(message):
                self.unclaimed(label)
        notes = [message for message in messages if isinstance(message, Notification)]
        sent = [note for note in notes if not self._gives_up(conversation, note, at_ms)]
        if asked:
            for note in sent:
                self._recorder.message(label, "client", plain(note))
            return self._calls(request, conversation, asked, at_ms)
        if not sent:
            return None
        return NotificationTap(conversation, self._recorder, sent, at_ms, request)

    def _gives_up(self, conversation: Conversation, note: Notification, at_ms: int) -> bool:
        """Whether a notification ends a call of its client; several may use the same ids."""
        cancelled = mcp.cancelled_id(note) if conversation.is_of_one else None
        return cancelled is not None and conversation.cancelled(cancelled, at_ms)

    def _calls(
        self, request: HttpRequest, conversation: Conversation, asked: list[Request], at_ms: int
    ) -> McpTap:
        era = mcp.era_of(asked[0], dict(request.headers))
        calls = [mcp.call_of(one, conversation.label) for one in asked]
        pending = [
            self._recorder.begin(call, at_ms=at_ms, via=request.via, era=era) for call in calls
        ]
        return McpTap(conversation, self._recorder, asked, pending)

    def _stream(self, request: HttpRequest, at_ms: int) -> Tap:
        label = self._known_label(request)
        conversation = None if label is None else self._conversation(request, label)
        last = request.header("last-event-id")
        cut = conversation.resumed(last) if conversation is not None and last else None
        if cut is not None:
            return ResumedTap(cut)
        return StreamTap(self, self._recorder, request, at_ms, conversation)

    def open_channel(self, request: HttpRequest, url: str) -> Conversation:
        """Return the conversation of an HTTP+SSE client, which posts to `url` from now on."""
        label = self._label(request)
        self._recorder.server(label, transport="sse", url=server_address(request.url))
        return self._channels.setdefault(url, Conversation(label, is_shared=True, is_of_one=True))

    def unclaimed(self, label: str) -> None:
        """Count an answer that nothing asked for."""
        self.others[f"{label} (answers to nothing asked)"] += 1

    def pass_over(self, request: HttpRequest) -> None:
        """Count a request that belongs to neither half."""
        self.others[urlsplit(request.url).netloc] += 1

    def close(self) -> None:
        """End what waits for a cut stream to go on."""
        for conversation in self._every():
            conversation.close()
