"""The units every part shares: calls, answers, exchanges, messages and the header.

They hold parsed values, never wire bytes, and know nothing of files, keys or placeholders.
Where JSON cannot carry a value there and back, its exact form stands in its place: a
`Number`, `Pairs` or `Opaque` leaf.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

type Json = bool | int | float | str | list[Json] | dict[str, Json] | Number | Pairs | Opaque | None
type Headers = Mapping[str, str | list[str]]

Half = Literal["mcp", "model"]
Era = Literal["stateless", "classic"]
Via = Literal["base-url", "proxy"]
End = Literal["cut", "reset", "left", "stopped"]
"""How an answer ended that is not complete; a complete one has None."""

Transport = Literal["http", "stdio", "sse"]


@dataclass(frozen=True, slots=True)
class Number:
    """A JSON number that no double or 64-bit integer carries, as it was written."""

    text: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """A JSON object with a doubled key, its members in the order they came."""

    members: tuple[tuple[str, Json], ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """A whole body that is no JSON: text, or bytes that are not UTF-8."""

    content: str | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What a retry brings to an interim result; either may be absent (None).

    Attributes:
        state: The request state, to the character as the server gave it.
        responses: The client's answers by key, or None.
    """

    state: Json = None
    responses: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpCall:
    """What an agent asks of an MCP server, without request id and progress token.

    Attributes:
        server: Label of the server in the cassette.
        method: JSON-RPC method; empty for a classic GET stream.
        http_method: ``POST``, or ``GET`` for a classic GET stream.
        name: What ``Mcp-Name`` carries: tool, prompt, resource URI or task id.
        args: Arguments of a tool or prompt; None where absent or empty.
        params: The params that are left; empty where there are none.
        input: Set on the retry of an interim result.
        meta: What of ``_meta`` may matter to a reader; never part of the match key.
    """

    server: str
    method: str
    http_method: str = "POST"
    name: str | None = None
    args: Json = None
    params: Json = field(default_factory=dict[str, Json])
    input: Input | None = None
    meta: dict[str, Json] = field(default_factory=dict[str, Json])

    @property
    def half(self) -> Half:
        """The kind of traffic this call belongs to."""
        return "mcp"

    def record(self) -> dict[str, Json]:
        """Return the fields of the call as the cassette names them, absent ones left out."""
        fields: dict[str, Json] = {"server": self.server}
        if self.http_method != "POST":
            fields["http_method"] = self.http_method
        if self.method:
            fields["method"] = self.method
        if self.name is not None:
            fields["name"] = self.name
        if self.args not in (None, {}):
            fields["args"] = self.args
        if self.params not in (None, {}):
            fields["params"] = self.params
        if self.input is not None:
            parts: dict[str, Json] = {"state": self.input.state, "responses": self.input.responses}
            fields["input"] = {name: part for name, part in parts.items() if part is not None}
        return fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """What an agent asks of a model API.

    Attributes:
        provider: Name of the provider's row.
        path: Path with query, credentials removed.
        http_method: HTTP method.
        request: The parsed body; None where there is none, `Opaque` where it is no JSON.
    """

    provider: str
    path: str
    http_method: str = "POST"
    request: Json = None

    @property
    def half(self) -> Half:
        """The kind of traffic this call belongs to."""
        return "model"

    def record(self) -> dict[str, Json]:
        """Return the fields of the call as the cassette names them, absent ones left out."""
        fields: dict[str, Json] = {"provider": self.provider}
        if self.http_method != "POST":
            fields["http_method"] = self.http_method
        fields["path"] = self.path
        if self.request is not None:
            fields["request"] = self.request
        return fields


type Call = McpCall | ModelCall


@dataclass(frozen=True, slots=True, kw_only=True)
class McpEvent:
    """A message a server sent inside a call, before its answer.

    Attributes:
        at_ms: Whole milliseconds since the call arrived.
        message: The JSON-RPC message without ``jsonrpc``; a progress token is ``"$token"``.
        answer: The client's answer where the message is a classic server-to-client request.
    """

    at_ms: int
    message: dict[str, Json]
    answer: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpAnswer:
    """What came back from an MCP server.

    Attributes:
        kind: ``result`` or ``error`` of JSON-RPC; ``body``: an HTTP answer that is no JSON-RPC;
            ``none``: the answer ended before either.
        value: The result, the error object, or the body's text.
        events: Messages before it, in order; `LongEvents` where there are very many.
        status: HTTP status.
        headers: Only those a client acts on, names in lower case.
        end: Set where the answer is not complete.
    """

    kind: Literal["result", "error", "body", "none"]
    value: Json = None
    events: Sequence[McpEvent] = ()
    status: int = 200
    headers: Headers = field(default_factory=dict[str, str | list[str]])
    end: End | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    """One event of a streamed model answer.

    Attributes:
        at_ms: Whole milliseconds since the call arrived.
        kind: ``json``, ``text`` (no JSON, or JSON would lose something) or ``comment``.
        value: The parsed JSON, or the text.
        event: The event's name, where the stream has names.
    """

    at_ms: int
    kind: Literal["json", "text", "comment"]
    value: Json
    event: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """What came back from a model API.

    Attributes:
        kind: ``body``: one JSON or opaque body; ``events``: a stream; ``none``: no body at all.
        value: The parsed body where `kind` is ``body``.
        events: The stream's events, in order; `LongEvents` where there are very many.
        tail: An unfinished last event, as text.
        status: HTTP status; 0 where it ended before one came.
        headers: Only those a client acts on, names in lower case.
        end: Set where the answer is not complete.
    """

    kind: Literal["body", "events", "none"]
    value: Json = None
    events: Sequence[StreamEvent] = ()
    tail: str | None = None
    status: int = 200
    headers: Headers = field(default_factory=dict[str, str | list[str]])
    end: End | None = None


type Answer = McpAnswer | ModelAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exchange:
    """What exchanges of both halves carry.

    Attributes:
        seq: Its number in the cassette, from 1; 0 while it has none.
        ms: Whole milliseconds from the arrival of the call to the end of the answer, or None.
        via: The way the call came in, where it is known.
        note: A person's remark.
        pin: Never to be overwritten by an update.
        extra: Fields of the record that this version does not know.
    """

    seq: int
    ms: int | None = None
    via: Via | None = None
    note: Json = None
    pin: bool = False
    extra: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class McpExchange(_Exchange):
    """A call to an MCP server and its answer; `era` is None where it is the server's."""

    call: McpCall
    answer: McpAnswer
    era: Era | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelExchange(_Exchange):
    """A call to a model API and its answer."""

    call: ModelCall
    answer: ModelAnswer


type Exchange = McpExchange | ModelExchange


@dataclass(frozen=True, slots=True, kw_only=True)
class EventGroup:
    """Some events of a stream that is still running; they stand before those of its exchange.

    Attributes:
        seq: Number of the exchange.
        half: Its half.
        provider: Name of the provider's row; empty in the MCP half.
        events: The events, in order.
    """

    seq: int
    half: Half
    provider: str = ""
    events: Sequence[McpEvent | StreamEvent]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What one side of an MCP connection sent on its own.

    Attributes:
        server: Label of the server.
        sender: ``client`` or ``server`` (``from`` in the cassette).
        method: JSON-RPC method.
        params: Its params without progress tokens; empty where there are none.
        after: Seq of the last answered exchange of that server, 0 at the start.
        on: Seq of the listen or GET exchange it came on, or None.
        at_ms: Whole milliseconds since that exchange's call arrived, or None.
        id: Where a server asks something outside of any call: the id of its request.
        answer: What the client answered to it.
        extra: Fields of the record that this version does not know.
    """

    server: str
    sender: Literal["client", "server"]
    method: str
    params: Json = None
    after: int = 0
    on: int | None = None
    at_ms: int | None = None
    id: Json = None
    answer: Json = None
    extra: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Output of a stdio server that is no JSON-RPC."""

    server: str
    text: str
    after: int = 0
    extra: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What the header says of one MCP server; None where it is not known.

    Attributes:
        transport: How it was reached.
        url: Its address without credentials and query.
        command: The program's name alone.
        era: The protocol era it answered in.
        via: The way its calls came in.
        name: Its own name, from ``server/discover`` or ``initialize``.
        version: Its own version, likewise.
    """

    transport: Transport | None = None
    url: str | None = None
    command: str | None = None
    era: Era | None = None
    via: Via | None = None
    name: str | None = None
    version: str | None = None
    extra: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """One model the recording saw; `temperature` is None where none was sent."""

    provider: str
    name: str | None = None
    temperature: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What the header says of redaction.

    Attributes:
        builtin: Version of the built-in rules.
        custom: Hash over the user's own rules and switched-off classes, or None.
        placeholders: How many placeholders of each class the cassette holds.
        sources: Placeholder name to the names of what held the secret, such as ``env:TOKEN``.
        inside: Pointers of known values left in exempt fields.
    """

    builtin: int = 1
    custom: str | None = None
    placeholders: dict[str, int] = field(default_factory=dict[str, int])
    sources: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    inside: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Rules a cassette brings along for its own replay: ignore pointers, normalize patterns."""

    ignore: list[str] = field(default_factory=list[str])
    normalize: list[str] = field(default_factory=list[str])
    extra: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of a cassette; `recorded` is an ISO 8601 time in UTC."""

    recorder: str | None = None
    recorded: str | None = None
    protocol: list[str] = field(default_factory=list[str])
    servers: dict[str, Server] = field(default_factory=dict[str, Server])
    model: list[ModelUse] = field(default_factory=list[ModelUse])
    redaction: Redaction = field(default_factory=Redaction)
    match: Matching = field(default_factory=Matching)
    config: list[str] = field(default_factory=list[str])
    recovered: bool = False
    extra: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    """A recording: header, exchanges of both halves by seq, and what stands beside them.

    Attributes:
        exchanges: All exchanges in file order within a half, MCP first.
        messages: What either side sent on its own, in order.
        noise: Output of stdio servers that was no JSON-RPC.
        model_via: The way the model half came in, from its section line, or None.
        warnings: What the reader noticed and went on with, one sentence each.
    """

    header: Header = field(default_factory=Header)
    exchanges: tuple[Exchange, ...] = ()
    messages: tuple[Message, ...] = ()
    noise: tuple[Noise, ...] = ()
    model_via: Via | None = None
    warnings: tuple[str, ...] = ()

    def half(self, half: Half) -> tuple[Exchange, ...]:
        """Return the exchanges of one half."""
        return tuple(exchange for exchange in self.exchanges if exchange.call.half == half)

    @property
    def providers(self) -> frozenset[str]:
        """The providers of the model calls."""
        calls = (exchange.call for exchange in self.exchanges)
        return frozenset(call.provider for call in calls if isinstance(call, ModelCall))
