"""Messages that recorded servers sent on their own, handed out where they stood in the recording.

A message is due once the exchange behind which it came has been handed out. It goes to the stream
it came on; where the caller speaks another way (stdio, a classic GET, a listen of the stateless
era) to the stream that stands for it there. What never becomes due, or finds no stream, is not
sent, and does not count as unused.
"""

from collections import defaultdict
from collections.abc import Callable

from mcprec_addon.exchange import Cassette, Era, Json, McpExchange, Message
from mcprec_addon.wire import mcp
from mcprec_addon.wire.jsonrpc import message_bytes

type Send = Callable[[bytes, int], None]
"""Writes bytes, given how many milliseconds after the call they came."""

# Calls that clients leave out as they please; what came behind one must not wait for it.
_NEEDED = frozenset({"tools/call", "prompts/get", "resources/read"})
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
# Which member of a listen request asks for which message.
_ASKED_BY = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
}


class Stream:
    """One open stream of one client, from its opening until the client has gone.

    Attributes:
        label: The server's label in the cassette.
        of: Seq of the recorded listen or GET exchange it stands for, or None.
        listens: It answers a listen request.
        era: The era its client speaks, as far as that is known.
    """

    def __init__(
        self,
        feed: "Feed",
        label: str,
        *,
        caller: mcp.Caller,
        encode: Callable[[bytes], bytes],
        of: int | None,
        asked: Json = None,
    ) -> None:
        """Prepare; use `Feed.stream`."""
        self.label = label
        self.of = of
        self.listens = caller.id is not None
        self.era: Era | None = "stateless" if self.listens else None
        self._feed = feed
        self._caller = caller
        self._encode = encode
        self._asked = asked if isinstance(asked, dict) else {}
        self._send: Send | None = None
        self._close: Callable[[], None] | None = None
        self._last: bytes | None = None

    def open(self, send: Send, close: Callable[[], None]) -> None:
        """Begin to be fed.

        Args:
            send: Writes to the client.
            close: Ends the stream as complete.
        """
        self._send, self._close = send, close
        self._feed.opened(self)

    def gone(self) -> None:
        """Take note that the client has left."""
        self._send = None
        self._feed.closed(self)

    def ends_with(self, last: bytes | None) -> None:
        """Set what is sent when there is nothing more to come; the stream then ends."""
        self._last = last

    def takes(self, message: Message, *, listened: bool) -> bool:
        """Whether a message that came another way may go out on this stream.

        Args:
            message: As recorded.
            listened: It came on a listen stream.
        """
        if not self.listens and not listened:
            return message.on is None or self.of is None
        if not self.listens:
            return self.era == "classic" and message.method != _ACKNOWLEDGED
        wanted = self._asked.get(_ASKED_BY.get(message.method, ""))
        if isinstance(wanted, list):
            params = message.params if isinstance(message.params, dict) else {}
            return params.get("uri") in wanted
        return wanted is True

    def feed(self, message: Message) -> None:
        """Send one message as it goes to this client."""
        live = mcp.notification_of(message, self._caller, listens=self.listens)
        if live is not None and self._send is not None:
            self._send(self._encode(message_bytes(live)), message.at_ms or 0)

    def end(self) -> None:
        """End it as recorded, after its last message."""
        if self._last is None or self._send is None or self._close is None:
            return
        self._send(self._encode(self._last), 0)
        self._close()


class Feed:
    """All messages of one replay."""

    def __init__(self, cassette: Cassette) -> None:
        self._waiting: dict[str, list[Message]] = defaultdict(list)
        for message in cassette.messages:
            if message.sender == "server":
                self._waiting[message.server].append(message)
        self._streams: dict[str, list[Stream]] = defaultdict(list)
        self._handed: set[int] = set()
        self._highest: dict[str, int] = {}
        methods = {
            exchange.seq: exchange.call.method
            for exchange in cassette.half("mcp")
            if isinstance(exchange, McpExchange)
        }
        self._needed = {seq for seq, method in methods.items() if method in _NEEDED}
        self._listened = {seq for seq, method in methods.items() if method == mcp.LISTEN}

    def stream(
        self,
        label: str,
        *,
        caller: mcp.Caller = mcp.NOBODY,
        encode: Callable[[bytes], bytes] = bytes,
        of: int | None = None,
        asked: Json = None,
    ) -> Stream:
        """Return a stream for a client, still to be opened.

        Args:
            label: The server's label in the cassette.
            caller: Whose listen request it answers; nobody's for a classic stream or a pipe.
            encode: Puts a JSON-RPC message into the stream's framing.
            of: Seq of the recorded listen or GET exchange it stands for.
            asked: The `notifications` member of the listen request.
        """
        return Stream(self, label, caller=caller, encode=encode, of=of, asked=asked)

    def opened(self, stream: Stream) -> None:
        """Take note of a stream and send what is due on it."""
        self._streams[stream.label].append(stream)
        self._deliver(stream.label)
        self._end_what_is_over(stream.label)

    def closed(self, stream: Stream) -> None:
        """Forget a stream."""
        if stream in self._streams[stream.label]:
            self._streams[stream.label].remove(stream)

    def has(self, label: str) -> bool:
        """Whether a server has messages that were not sent yet."""
        return bool(self._waiting.get(label))

    def take(self, label: str, on: int) -> list[Message]:
        """Return what came on one listen stream and was not sent yet, which then is."""
        found = [each for each in self._waiting[label] if each.on == on]
        self._waiting[label] = [each for each in self._waiting[label] if each.on != on]
        return found

    def answered(self, label: str, seq: int) -> None:
        """Take note that a recorded answer is with its client, and send what came behind it."""
        self._handed.add(seq)
        self._highest[label] = max(seq, self._highest.get(label, 0))
        if self._waiting.get(label):
            self._deliver(label)
        self._end_what_is_over(label)

    def _deliver(self, label: str) -> None:
        left: list[Message] = []
        for message in self._waiting[label]:
            stream = self._stream_for(message) if self._is_due(message) else None
            if stream is None:
                left.append(message)
            else:
                stream.feed(message)
        self._waiting[label] = left

    def _is_due(self, message: Message) -> bool:
        if message.after in self._handed or message.after == 0:
            return True
        may_be_left_out = message.after not in self._needed
        return may_be_left_out and self._highest.get(message.server, 0) > message.after

    def _stream_for(self, message: Message) -> Stream | None:
        streams = self._streams[message.server]
        own = [each for each in streams if message.on is not None and each.of == message.on]
        listened = message.on in self._listened
        fitting = own or [each for each in streams if each.takes(message, listened=listened)]
        return fitting[-1] if fitting else None

    def _end_what_is_over(self, label: str) -> None:
        waited_for = {message.on for message in self._waiting[label]}
        for stream in [*self._streams[label]]:
            if stream.listens and stream.of not in waited_for:
                stream.end()
