"""The streams of a replay that stay open: subscriptions, classic GETs and HTTP+SSE clients."""

from dataclasses import replace

from mcprec_addon.exchange import Cassette, McpAnswer, McpExchange
from mcprec_addon.replay.channels import Channel, Channels
from mcprec_addon.replay.feed import Feed
from mcprec_addon.replay.play import Hit
from mcprec_addon.wire import mcp, mcp_reply
from mcprec_addon.wire.http import HttpRequest, Piece, Reply
from mcprec_addon.wire.jsonrpc import Request, message_bytes

_VERSION_HEADER = "mcp-protocol-version"
# A client that has shaken hands sends one of these with its GET.
_OF_A_SESSION = (mcp.SESSION_HEADER, _VERSION_HEADER, "last-event-id")


class Streams:
    """Opens streams and knows which posts belong to one.

    Attributes:
        feed: Hands out what servers sent on their own.
    """

    def __init__(self, cassette: Cassette) -> None:
        self.feed = Feed(cassette)
        self._servers = cassette.header.servers
        self._recorded = [
            exchange
            for exchange in cassette.half("mcp")
            if isinstance(exchange, McpExchange) and exchange.call.http_method == "GET"
        ]
        self._channels = Channels()
        self._shaken: set[str] = set()

    def shaken(self, label: str) -> None:
        """Take note of a handshake over Streamable HTTP."""
        self._shaken.add(label)

    def is_posted(self, request: HttpRequest) -> bool:
        """Whether a request comes from a client of HTTP+SSE."""
        return self._channels.is_post(request)

    def channel(self, request: HttpRequest) -> Channel | None:
        """Return the stream on which a posted request is answered; None where it is gone."""
        return self._channels.of(request)

    def listen(self, label: str, one: Request, found: Hit, answer: McpAnswer) -> Reply:
        """Return the reply to a subscription: what was missed, or a stream that stays open."""
        caller, seq = mcp.caller_of(one), found.exchange.seq
        if answer.end is not None:
            missed = [
                Piece(each.at_ms or 0, mcp_reply.as_event(message_bytes(live)))
                for each in self.feed.take(label, seq)
                if (live := mcp.notification_of(each, caller)) is not None
            ]
            reply = mcp_reply.reply_of(answer, caller)
            return replace(reply, pieces=(*missed, *reply.pieces))
        stream = self.feed.stream(
            label, caller=caller, encode=mcp_reply.as_event, of=seq, asked=mcp.asked_for(one)
        )
        stream.ends_with(mcp.last_message(answer, caller))
        return mcp_reply.stream_reply(stream)

    def answer_get(self, request: HttpRequest, label: str) -> Reply:
        """Return the stream that answers a GET, or the refusal of one."""
        if self._is_channel(request, label):
            stream = self.feed.stream(label, encode=mcp_reply.as_event)
            stream.era = "classic"
            return self._channels.open(request, stream)
        recorded = next((each for each in self._recorded if each.call.server == label), None)
        if recorded is not None:
            self._recorded.remove(recorded)
        elif not self.feed.has(label):
            return Reply(status=405, headers=(("allow", "POST, DELETE"),))
        of = None if recorded is None else recorded.seq
        stream = self.feed.stream(label, encode=mcp_reply.as_event, of=of)
        stream.era = "classic"
        return mcp_reply.stream_reply(stream)

    def _is_channel(self, request: HttpRequest, label: str) -> bool:
        """Whether a GET opens HTTP+SSE: it is what such a client begins with."""
        if any(request.header(name) is not None for name in _OF_A_SESSION):
            return False
        server = self._servers.get(label)
        is_recorded_so = server is not None and server.transport == "sse"
        return is_recorded_so or label not in self._shaken
