"""Answers one HTTP request of a replay from the player, whichever door it came by.

What belongs to neither replayed half is refused, named and counted; a miss never goes live.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from urllib.parse import urlsplit

from mcprec_addon.exchange import (
    Cassette,
    Half,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    Via,
)
from mcprec_addon.replay.advice import OnAnswer, missed_answer, unheard
from mcprec_addon.replay.faults import broken_mcp, broken_model
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import Hit
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.streams import Streams
from mcprec_addon.wire import mcp, mcp_reply, model
from mcprec_addon.wire.coding import decoded
from mcprec_addon.wire.http import HttpRequest, Piece, Reply, server_address
from mcprec_addon.wire.jsonrpc import (
    Notification,
    Request,
    Response,
    RpcMessage,
    error_bytes,
    is_batch,
    read_body,
)
from mcprec_addon.wire.providers import is_absorbed
from mcprec_addon.wire.resources import Origins, resource_call, without_prefix

_SOCKET_PATHS = re.compile(r"/(?:responses|realtime)(?:\?|$)")
_SESSION_GONE = -32001
_IS_OFF = "is not replayed and nothing goes live"


@dataclass(slots=True, kw_only=True)
class Turned:
    """What came in and was not answered from the cassette.

    Attributes:
        refused: Requests that belong to no replayed half, by host.
        absorbed: Telemetry that was swallowed, by host.
        live_model: A model call was refused because the model half is not replayed.
        sockets: WebSocket upgrades of model APIs that were turned down.
        ways: Halves that came in another way than they were recorded.
    """

    refused: Counter[str] = field(default_factory=Counter[str])
    absorbed: Counter[str] = field(default_factory=Counter[str])
    live_model: bool = False
    sockets: int = 0
    ways: dict[Half, Via] = field(default_factory=dict[Half, Via])


class Responder:
    """Turns requests into replies; one for each replay run.

    Attributes:
        turned: What came in and was not answered.
        feed: Hands out what servers sent on their own.
        on_answer: Told of each MCP call and what it gets.
        pace: How many times faster than recorded a model client tries again; None: at once.
        on_model: Told of each model call.
    """

    def __init__(
        self,
        cassette: Cassette,
        player: Player,
        *,
        halves: frozenset[Half],
        on_miss: Callable[[Miss], None] = lambda _: None,
    ) -> None:
        """Prepare.

        Args:
            cassette: What is replayed.
            player: Finds the answers.
            halves: Which halves are replayed.
            on_miss: Told of each miss as it happens.
        """
        self._cassette = cassette
        self._player = player
        self._halves = halves
        self._on_miss = on_miss
        self.on_answer: OnAnswer = unheard
        self.pace: float | None = None
        self.on_model: Callable[[ModelCall], None] = lambda _: None
        self._sessions: dict[str, set[str]] = {}
        self._minted = 0
        self._labels = {
            server_address(server.url): label
            for label, server in cassette.header.servers.items()
            if server.url
        }
        self._origins = Origins()
        self._providers = {
            exchange.call.provider: None
            for exchange in cassette.half("model")
            if isinstance(exchange.call, ModelCall)
        }
        self._streams = Streams(cassette)
        self.feed = self._streams.feed
        self.turned = Turned()

    def know(self, addresses: Mapping[str, str]) -> None:
        """Take further addresses of recorded servers, each with its label."""
        self._labels |= {server_address(url): label for url, label in addresses.items()}

    def know_models(self, urls: Mapping[str, str]) -> None:
        """Take base URLs of model APIs that the agent was told, by provider."""
        self._origins.tell(urls)

    def takes(self, request: HttpRequest) -> bool:
        """Whether a request is of the MCP half: by its address, or by what it says."""
        if self._known_label(request) is not None:
            return True
        plain = decoded(request.body, request.header("content-encoding")) or b""
        return request.method == "POST" and read_body(plain) is not None

    def respond(self, request: HttpRequest) -> Reply:
        """Return the reply to a request."""
        if (request.header("upgrade") or "").lower() == "websocket":
            return self._turn_down_socket(request)
        plain = decoded(request.body, request.header("content-encoding")) or b""
        messages = read_body(plain) if request.method == "POST" else None
        if messages is not None:
            return self._mcp(request, messages, batch=is_batch(plain))
        call = self._model_call(without_prefix(request))
        if call is not None:
            return self._model(request, call)
        # In a proxy of one's own a server may have any address, as with its calls.
        is_bare = request.via != "proxy" and without_prefix(request) is request
        is_stream = is_bare and _asks_for_stream(request)
        label = self._label(request) if is_stream else self._known_label(request)
        if label is not None and "mcp" in self._halves:
            return self._beside_calls(request, label)
        return self._absorb_or_refuse(request)

    def _model_call(self, request: HttpRequest) -> ModelCall | None:
        if self._known_label(request) is not None:
            return model.call_of(request)
        call = self._origins.call(request)
        if call is not None:
            return call
        # A gateway's address is in no cassette: what was recorded tells that it is one.
        calls = (resource_call(request, provider) for provider in self._providers)
        return next((each for each in calls if each and self._player.knows(each)), None)

    def _turn_down_socket(self, request: HttpRequest) -> Reply:
        if not _SOCKET_PATHS.search(request.path):
            return self._refuse(request)
        self.turned.sockets += 1
        return Reply(status=426, headers=(("upgrade", "h2c"),))

    def _known_label(self, request: HttpRequest) -> str | None:
        if request.label is not None:
            return request.label
        return self._labels.get(server_address(request.url))

    def _label(self, request: HttpRequest) -> str | None:
        known = self._known_label(request)
        servers = {
            exchange.call.server
            for exchange in self._cassette.half("mcp")
            if isinstance(exchange, McpExchange)
        }
        return known or (next(iter(servers)) if len(servers) == 1 else None)

    def _mcp(self, request: HttpRequest, messages: list[RpcMessage], *, batch: bool) -> Reply:
        label = self._label(request)
        if label is None:
            return self._refuse(request)
        asked = [message for message in messages if isinstance(message, Request)]
        turned_away = self._turn_away(request, label, asked)
        if turned_away is not None:
            return turned_away
        if not asked:
            return self._acknowledge(label, messages)
        replies = [self._answer(request, label, one) for one in asked]
        channel = self._streams.channel(request)
        if channel is not None:
            return channel.take(replies)
        if asked[0].method in mcp.HANDSHAKES and replies[0].status == HTTPStatus.OK:
            self._streams.shaken(label)
        if not batch or replies[0].status != HTTPStatus.OK:  # a batch is refused as a whole
            return replies[0]
        return replace(mcp_reply.batch_reply(replies), sent=partial(_tell_sent, replies))

    def _turn_away(self, request: HttpRequest, label: str, asked: list[Request]) -> Reply | None:
        """Return the reply to what cannot be answered at all, or None."""
        request_id = asked[0].id if asked else None
        if "mcp" not in self._halves:
            return self._half_is_off(label, request_id)
        session = request.header(mcp.SESSION_HEADER)
        if session is not None and self._is_gone(label, session, asked):
            gone = error_bytes(request_id, _SESSION_GONE, "Session not found")
            return mcp_reply.json_reply(404, gone)
        if self._streams.is_posted(request) and self._streams.channel(request) is None:
            return Reply(status=404, pieces=(Piece(0, b"mcprec: this stream has ended\n"),))
        return None

    def _half_is_off(self, label: str, request_id: Json) -> Reply:
        self.turned.refused["the mcp half"] += 1
        return mcp_reply.miss_reply(
            request_id, f"mcprec: {label} is not answered, the mcp half {_IS_OFF}"
        )

    def _is_gone(self, label: str, session: str, asked: list[Request]) -> bool:
        is_handshake = bool(asked) and asked[0].method in mcp.HANDSHAKES
        # Where none was handed out, the recording has no sessions, and any id does.
        known = self._sessions.get(label)
        return known is not None and session not in known and not is_handshake

    def _acknowledge(self, label: str, messages: list[RpcMessage]) -> Reply:
        for message in messages:
            if isinstance(message, Response):
                self._take(self._player.client_answered(label, message))
            if not isinstance(message, Notification):
                continue
            call = McpCall(server=label, method=message.method)
            hit = self._player.play(call) if self._player.knows(call) else None
            if isinstance(hit, Hit) and isinstance(hit.answer, McpAnswer):
                return mcp_reply.reply_of(hit.answer, mcp.NOBODY)
        return Reply(status=202)

    def _take(self, miss: Miss | None) -> None:
        if miss is not None:
            self._on_miss(miss)

    def _answer(self, request: HttpRequest, label: str, one: Request) -> Reply:
        self._note_way("mcp", request.via, self._recorded_way(label))
        headers = dict(request.headers)
        prepared = any(name.startswith("mcp-param-") for name in headers)
        call, era, caller = mcp.call_of(one, label), mcp.era_of(one, headers), mcp.caller_of(one)
        plain = self._player.plain(call, era)
        if plain is not None:
            return mcp_reply.reply_of(plain, caller)
        is_posted = self._streams.is_posted(request)
        found = self._player.play(
            call, via=request.via, era=era, prepared=prepared, connected=is_posted
        )
        if isinstance(found, Miss):
            self._on_miss(found)
            advice = self._player.advice(found, era)
            self.on_answer(call, advice or missed_answer(found), era)
            if advice is not None:
                return mcp_reply.reply_of(advice, caller)
            return mcp_reply.miss_reply(one.id, found.message())
        answer = found.answer
        if not isinstance(answer, McpAnswer):
            message = f"#{found.exchange.seq} is no MCP exchange"
            raise TypeError(message)
        self.on_answer(call, answer, era)
        if one.method == mcp.LISTEN and answer.kind != "error" and found.fault is None:
            return self._streams.listen(label, one, found, answer)
        reply = mcp_reply.reply_of(
            answer, caller, ms=found.exchange.ms or 0, session=self._session(label, answer)
        )
        if found.fault is not None:
            return broken_mcp(reply, found.fault, one)
        return replace(reply, sent=partial(self.feed.answered, label, found.exchange.seq))

    def _session(self, label: str, answer: McpAnswer) -> str | None:
        if mcp.SESSION_HEADER not in answer.headers:
            return None
        self._minted += 1
        session = f"mcprec-session-{self._minted}"
        self._sessions.setdefault(label, set()).add(session)
        return session

    def _beside_calls(self, request: HttpRequest, label: str) -> Reply:
        if _asks_for_stream(request):
            return self._streams.answer_get(request, label)
        if request.method == "DELETE":
            session = request.header(mcp.SESSION_HEADER) or ""
            self._sessions.get(label, set[str]()).discard(session)
            return Reply(status=200)
        # OAuth and the like: a replay never asks for a token.
        return Reply(status=404)

    def _model(self, request: HttpRequest, call: ModelCall) -> Reply:
        if "model" not in self._halves:
            self.turned.live_model = True
            self.turned.refused["the model half"] += 1
            text = f"mcprec: the model half {_IS_OFF}; mcprec eval lets a live model play"
            return model.miss_reply(call, text)
        self.on_model(call)
        self._note_way("model", request.via, self._cassette.model_via)
        found = self._player.play(call, via=request.via)
        if isinstance(found, Miss):
            self._on_miss(found)
            return model.miss_reply(call, found.message())
        if not isinstance(found.answer, ModelAnswer):
            message = f"#{found.exchange.seq} is no model exchange"
            raise TypeError(message)
        reply = model.reply_of(found.answer, ms=found.exchange.ms or 0, pace=self.pace)
        return reply if found.fault is None else broken_model(reply, found.fault, call)

    def _recorded_way(self, label: str) -> Via | None:
        server = self._cassette.header.servers.get(label)
        return server.via if server is not None else None

    def _note_way(self, half: Half, asked: Via | None, recorded: Via | None) -> None:
        if asked is not None and recorded is not None and asked != recorded:
            self.turned.ways.setdefault(half, asked)

    def _absorb_or_refuse(self, request: HttpRequest) -> Reply:
        if is_absorbed(without_prefix(request).path):
            self.turned.absorbed[urlsplit(request.url).netloc] += 1
            return mcp_reply.json_reply(200, b"{}")
        return self._refuse(request)

    def _refuse(self, request: HttpRequest) -> Reply:
        host = urlsplit(request.url).netloc
        self.turned.refused[host] += 1
        text = f"mcprec: {host} is not in this replay and nothing goes live\n"
        headers = (
            ("content-type", "text/plain; charset=utf-8"),
            ("x-should-retry", "false"),
        )
        return Reply(status=403, headers=headers, pieces=(Piece(0, text.encode()),))


def _asks_for_stream(request: HttpRequest) -> bool:
    return request.method == "GET" and "text/event-stream" in (request.header("accept") or "")


def _tell_sent(replies: list[Reply]) -> None:
    for reply in replies:
        if reply.sent is not None:
            reply.sent()
