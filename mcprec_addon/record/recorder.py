"""Pairs answers with calls, numbers and times them, and learns what the header says.

Each call gets its seq when it arrives and ends exactly once.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from mcprec_addon.exchange import (
    Answer,
    Call,
    Era,
    EventGroup,
    Exchange,
    Json,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    Message,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    ModelUse,
    Noise,
    Server,
    StreamEvent,
    Transport,
    Via,
)
from mcprec_addon.wire import mcp
from mcprec_addon.wire.providers import model_name, temperature

type Item = Exchange | Message | Noise | EventGroup
"""What a recording is made of, in the order in which it becomes known."""

type Sink = Callable[[Item], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A call that has arrived and has no answer yet."""

    seq: int
    call: Call
    at_ms: int
    via: Via | None = None
    era: Era | None = None


@dataclass(slots=True, kw_only=True)
class Seen:
    """What a recording saw and its header tells.

    Attributes:
        servers: By label.
        contacted: Labels of servers that were asked anything.
        models: Each model once, in order of appearance.
        protocol: MCP protocol versions, in order of appearance.
        ends: How many answers ended in which way, other than complete.
        exchanges: Exchanges by half.
    """

    servers: dict[str, Server] = field(default_factory=dict[str, Server])
    contacted: set[str] = field(default_factory=set[str])
    models: list[ModelUse] = field(default_factory=list[ModelUse])
    protocol: list[str] = field(default_factory=list[str])
    ends: Counter[str] = field(default_factory=Counter[str])
    exchanges: Counter[str] = field(default_factory=Counter[str])


class Recorder:
    """The numbering and pairing of one recording; what is finished goes to `sink` at once."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._seq = 0
        self._open: dict[int, Pending] = {}
        self._answered: dict[str, int] = {}
        self.seen = Seen()

    def server(
        self,
        label: str,
        *,
        transport: Transport,
        url: str | None = None,
        command: str | None = None,
    ) -> None:
        """Note how a server is reached; what is known of it already stays."""
        known = self.seen.servers.get(label, Server())
        self.seen.servers[label] = replace(
            known, transport=transport, url=known.url or url, command=known.command or command
        )

    def begin(self, call: Call, *, at_ms: int, via: Via | None, era: Era | None = None) -> Pending:
        """Number a call that arrived `at_ms` after the recording began."""
        self._seq += 1
        pending = Pending(seq=self._seq, call=call, at_ms=at_ms, via=via, era=era)
        self._open[pending.seq] = pending
        if isinstance(call, ModelCall):
            self._see_model(call)
        else:
            self._see_server(call, era, via)
        return pending

    def early(self, pending: Pending, events: Sequence[McpEvent | StreamEvent]) -> None:
        """Hand on some events of a stream that is still running; a call that has ended has none."""
        if pending.seq not in self._open or not events:
            return
        call = pending.call
        provider = call.provider if isinstance(call, ModelCall) else ""
        group = EventGroup(seq=pending.seq, half=call.half, provider=provider, events=events)
        self._sink(group)

    def finish(self, pending: Pending, answer: Answer, *, at_ms: int) -> None:
        """Hand on the exchange; a call that has ended already is left alone."""
        if self._open.pop(pending.seq, None) is None:
            return
        exchange = _exchange(pending, answer, at_ms - pending.at_ms)
        self.seen.exchanges[exchange.call.half] += 1
        if answer.end is not None:
            self.seen.ends[answer.end] += 1
        if isinstance(pending.call, McpCall):
            self._answered[pending.call.server] = pending.seq
        self._sink(exchange)

    def drop(self, pending: Pending) -> None:
        """Forget a call that is not to be recorded; its number stays unused."""
        self._open.pop(pending.seq, None)

    def message(
        self,
        server: str,
        sender: Literal["client", "server"],
        message: dict[str, Json],
        *,
        on: Pending | None = None,
        at_ms: int | None = None,
    ) -> None:
        """Hand on what one side sent on its own; `at_ms` counts from the call it came on."""
        self._sink(self._message(server, sender, message, on=on, at_ms=at_ms))

    def question(
        self,
        server: str,
        message: dict[str, Json],
        *,
        on: Pending | None = None,
        at_ms: int | None = None,
    ) -> Message:
        """Return what a server asks outside of any call, for `hand_on` once it is answered."""
        return self._message(server, "server", message, on=on, at_ms=at_ms)

    def hand_on(self, message: Message) -> None:
        """Hand on a message that is whole."""
        self._sink(message)

    def _message(
        self,
        server: str,
        sender: Literal["client", "server"],
        message: dict[str, Json],
        *,
        on: Pending | None,
        at_ms: int | None,
    ) -> Message:
        return Message(
            server=server,
            sender=sender,
            method=str(message.get("method", "")),
            params=message.get("params"),
            after=self._answered.get(server, 0),
            on=on.seq if on is not None else None,
            at_ms=at_ms,
            id=message.get("id"),
        )

    def noise(self, server: str, text: str) -> None:
        """Hand on a line of a stdio server that is no JSON-RPC."""
        self._sink(Noise(server=server, text=text, after=self._answered.get(server, 0)))

    def observe(self, exchange: Exchange) -> None:
        """Learn for the header from an exchange that was finished by another recorder."""
        self.seen.exchanges[exchange.call.half] += 1
        if exchange.answer.end is not None:
            self.seen.ends[exchange.answer.end] += 1
        if isinstance(exchange, ModelExchange):
            self._see_model(exchange.call)
            return
        call = exchange.call
        self._see_server(call, exchange.era, exchange.via)
        if call.method in mcp.HANDSHAKES and exchange.answer.kind == "result":
            name, version = mcp.identity(exchange.answer.value)
            self.handshake(call.server, name=name, version=version)

    def handshake(self, label: str, *, name: str | None, version: str | None) -> None:
        """Note a server's own name and version."""
        known = self.seen.servers.get(label, Server())
        self.seen.servers[label] = replace(
            known, name=name or known.name, version=version or known.version
        )

    def spoke(self, protocol: str) -> None:
        """Note a protocol version."""
        if protocol not in self.seen.protocol:
            self.seen.protocol.append(protocol)

    def _see_server(self, call: McpCall, era: Era | None, via: Via | None) -> None:
        known = self.seen.servers.get(call.server, Server())
        self.seen.contacted.add(call.server)
        # A probe in the newer era that is refused does not make the server one of that era.
        settled = era if call.method != "server/discover" else None
        self.seen.servers[call.server] = replace(
            known, era=known.era or settled, via=known.via or via
        )

    def _see_model(self, call: ModelCall) -> None:
        use = ModelUse(
            provider=call.provider,
            name=model_name(call),
            temperature=temperature(call),
        )
        if use not in self.seen.models:
            self.seen.models.append(use)


def _exchange(pending: Pending, answer: Answer, ms: int) -> Exchange:
    match pending.call, answer:
        case McpCall() as call, McpAnswer():
            return McpExchange(
                seq=pending.seq,
                call=call,
                answer=answer,
                ms=ms,
                via=pending.via,
                era=pending.era,
            )
        case ModelCall() as call, ModelAnswer():
            return ModelExchange(seq=pending.seq, call=call, answer=answer, ms=ms, via=pending.via)
        case _:
            message = f"#{pending.seq} is answered in the other half"
            raise TypeError(message)
