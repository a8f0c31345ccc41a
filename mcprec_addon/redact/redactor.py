"""Takes secrets out of what is recorded: placeholders while it runs, final ones at its close.

A secret is found by shape, by the place it stands in, or because it is a known value; each
distinct one has one placeholder throughout both halves. The table dies with the recording.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mcprec_addon.exchange import (
    Call,
    EventGroup,
    Exchange,
    Half,
    Json,
    McpEvent,
    McpExchange,
    Message,
    ModelExchange,
    Noise,
    Redaction,
    StreamEvent,
)
from mcprec_addon.jsonvalue import JsonError, loads
from mcprec_addon.long_events import Groups, LongEvents
from mcprec_addon.redact import walk
from mcprec_addon.redact.fields import DATA, FORM, MCP, MODEL, Fields, Scope
from mcprec_addon.redact.finder import Finder
from mcprec_addon.redact.forms import covering, private
from mcprec_addon.redact.hits import applied
from mcprec_addon.redact.personal import plain
from mcprec_addon.redact.placeholders import Mint, Table, masked, renumber
from mcprec_addon.redact.rules import (
    KNOWN_CLASS,
    Rules,
    basic_parts,
    cookie_values,
    key_class,
    without_scheme,
)
from mcprec_addon.redact.streams import MCP as MCP_STREAM
from mcprec_addon.redact.streams import redact_deltas
from mcprec_addon.redact.windows import Window

_MOST_SEEN = 10_000  # header lines remembered, so that a repeated one costs nothing
_NO_COUNTS: Final[Mapping[str, int]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """A recording with final placeholders, and what its header says of them.

    Attributes:
        samples: Each secret, masked, by the name of its placeholder; for no file.
    """

    exchanges: tuple[Exchange, ...]
    messages: tuple[Message, ...]
    noise: tuple[Noise, ...]
    redaction: Redaction
    samples: Mapping[str, str]


class Redactor(walk.Change):
    """Redacts one recording, or the calls of one replay."""

    def __init__(
        self,
        rules: Rules,
        *,
        nonce: str,
        mint: Mint | None = None,
        recorded: Mapping[str, int] = _NO_COUNTS,
    ) -> None:
        """Set the rules.

        Args:
            rules: What counts as a secret.
            nonce: 8 hex digits that make this run's placeholders unlike anything in the traffic.
            mint: Builds placeholders; by default those private to the run.
            recorded: Placeholders by class of a finished cassette; they are no secrets.
        """
        self._rules = rules
        self._recorded = recorded
        self.table = Table(mint or (lambda cls, number: private(nonce, cls, number)))
        self._finder = Finder(rules, self._placeholder, covered=covering(nonce, recorded))
        self._fields = Fields(self._finder)
        self._sources: dict[str, list[str]] = {}
        self._seen: set[tuple[str, str]] = set()
        self._learned = 0
        self._windows: dict[int, Window[StreamEvent]] = {}
        self._told: dict[int, Window[McpEvent]] = {}
        self._written: dict[int, int] = {}  # seq of a long stream to how much was learned by then

    def _placeholder(self, secret: str, cls: str) -> str:
        return self.table.placeholder(secret, cls)

    def learn(self, secret: str, *, source: str | None = None, cls: str = KNOWN_CLASS) -> None:
        """Search for a value everywhere from now on, and at close in everything before.

        Args:
            secret: The value; short and plain ones are ignored. Of ``Bearer …`` the token counts.
            source: Name of what holds it, such as ``env:TOKEN``.
            cls: Its class where it has no shape.
        """
        bare = without_scheme(secret)
        parts = [bare] + [part for part in basic_parts(bare) if part != bare]
        for part in parts:
            self._learned += self._finder.learn(part, cls)
            secret = plain(self._rules.class_of(part, cls), part)
            held = self._sources.setdefault(secret, [])
            if source is not None and source not in held:
                held.append(source)

    def learn_headers(self, headers: Iterable[tuple[str, str]]) -> None:
        """Learn the values of credential headers, without the name of their scheme."""
        for line in headers:
            name, value = line
            cls = self._rules.header_class(name)
            if cls is None or line in self._seen:
                continue
            if len(self._seen) >= _MOST_SEEN:
                self._seen.clear()
            self._seen.add(line)
            for secret in cookie_values(value) if cls == "cookie" else [value]:
                self.learn(secret, source=f"header:{name.lower()}", cls=cls)

    def group(self, group: EventGroup) -> EventGroup:
        """Return what is ready of a running stream without its secrets; the rest waits."""
        self._written.setdefault(group.seq, self._learned)
        if group.half == "model":
            streamed = [event for event in group.events if isinstance(event, StreamEvent)]
            window = self._windows.setdefault(group.seq, self._window(group.provider))
            return replace(group, events=window.push(streamed))
        messages = [event for event in group.events if isinstance(event, McpEvent)]
        told = self._told.setdefault(group.seq, Window(self._messages))
        return replace(group, events=told.push(messages))

    def exchange(self, exchange: Exchange) -> Exchange:
        """Return an exchange of the same shape without its secrets.

        What `group` held back of its stream is put before its events.
        """
        window = self._windows.pop(exchange.seq, None)
        if window is not None and isinstance(exchange, ModelExchange):
            events = (*window.rest(), *exchange.answer.events)
            exchange = replace(exchange, answer=replace(exchange.answer, events=events))
        told = self._told.pop(exchange.seq, None)
        if told is not None and isinstance(exchange, McpExchange):
            messages = (*told.rest(), *exchange.answer.events)
            exchange = replace(exchange, answer=replace(exchange.answer, events=messages))
        return walk.exchange(exchange, self)

    def _window(self, provider: str) -> Window[StreamEvent]:
        return Window(lambda events, first: self._streamed(events, provider, first))

    def message(self, message: Message) -> Message:
        """Return a message without its secrets."""
        return walk.message(message, self)

    def noise(self, noise: Noise) -> Noise:
        """Return a line of noise without its secrets."""
        return walk.noise(noise, self)

    def call(self, call: Call) -> Call:
        """Return a call without its secrets."""
        return walk.call(call, self)

    def value(self, value: Json) -> Json:
        """Return a value without its secrets; nothing in it is exempt."""
        return self._fields.redacted(value, DATA, "value")

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        return self._finder.text(text)

    def url(self, url: str) -> str:
        """Return a URL less its user, password and credential parameters, other secrets hidden."""
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        kept = [(name, value) for name, value in pairs if not _is_credential(name)]
        query = parts.query if len(kept) == len(pairs) else urlencode(kept)
        return self.text(urlunsplit(parts._replace(netloc=host, query=query)))

    def json(self, value: Json, root: walk.Root, half: Half) -> Json:
        """Return a value of an exchange without its secrets."""
        is_form = half == "model" and root == "request" and isinstance(value, list)
        return self._fields.redacted(value, FORM if is_form else _scope(root, half), root)

    def header(self, name: str, value: str) -> str:
        """Return a header's value without its secrets."""
        cls = self._rules.header_class(name)
        if cls is None:
            return self.text(value)
        if cls != "cookie":
            return applied(value, self._finder.placed(cls, value))
        for secret in cookie_values(value):
            edits = self._finder.placed(cls, secret)
            value = value.replace(secret, applied(secret, edits))
        return self.text(value)

    def state(self, state: Json) -> Json:
        """Return a request state to the character; note a known value inside."""
        self._fields.exempt(state, ["input", "state"])
        return state

    def events(self, events: Sequence[StreamEvent], provider: str) -> Sequence[StreamEvent]:
        """Return the events of a stream without their secrets, also those split over several."""
        if isinstance(events, LongEvents):
            return events.changed(lambda groups: _by_window(groups, self._window(provider)))
        return self._streamed(events, provider)

    def mcp_events(self, events: Sequence[McpEvent]) -> Sequence[McpEvent]:
        """Return the messages before an answer without their secrets, also those split."""
        if isinstance(events, LongEvents):
            return events.changed(lambda groups: _by_window(groups, Window(self._messages)))
        return self._messages(events)

    def _messages(
        self, events: Sequence[McpEvent], first: int | None = None
    ) -> tuple[McpEvent, ...]:
        values: list[Json] = [event.message for event in events]
        joined, _ = redact_deltas(values, MCP_STREAM, self._finder, first=first)
        messages = [value if isinstance(value, dict) else {} for value in joined]
        return tuple(
            walk.mcp_event(replace(event, message=message), self)
            for event, message in zip(events, messages, strict=True)
        )

    def _streamed(
        self, events: Sequence[StreamEvent], provider: str, first: int | None = None
    ) -> tuple[StreamEvent, ...]:
        values = [event.value if event.kind == "json" else None for event in events]
        joined, places = redact_deltas(values, provider, self._finder, first=first)
        return tuple(
            self._event(event, value if event.kind == "json" else event.value, place)
            for event, value, place in zip(events, joined, places, strict=True)
        )

    def _event(self, event: StreamEvent, value: Json, place: set[str]) -> StreamEvent:
        value = self._fields.redacted(value, MODEL, "events", untouched=place)
        return event if value is event.value else replace(event, value=value)

    def close(
        self,
        exchanges: Sequence[Exchange],
        messages: Sequence[Message] = (),
        noise: Sequence[Noise] = (),
    ) -> Closed:
        """Return the whole recording with final placeholders.

        Everything is redacted once more first, so that a secret recognised late is gone from
        what came before.
        """
        noted = list(self._fields.inside) if self._written else []
        self._fields.inside.clear()
        self._fields.inside.update(dict.fromkeys(map(self.text, noted)))
        done = renumber(
            [self._again(each) for each in exchanges],
            [self.message(each) for each in messages],
            [self.noise(each) for each in noise],
            behind=self._recorded,
        )
        secrets = self.table.secrets()
        sources = {
            name: sorted(self._sources[secret])
            for placeholder, name in done.names.items()
            if (secret := secrets.get(placeholder)) in self._sources and self._sources[secret]
        }
        redaction = Redaction(
            builtin=self._rules.version,
            custom=self._rules.custom,
            placeholders=done.counts,
            sources=sources,
            inside=list(self._fields.inside),
        )
        return Closed(
            exchanges=done.exchanges,
            messages=done.messages,
            noise=done.noise,
            redaction=redaction,
            samples={
                name: masked(secrets[placeholder])
                for placeholder, name in done.names.items()
                if placeholder in secrets
            },
        )

    def _again(self, exchange: Exchange) -> Exchange:
        """Return an exchange redacted again; a long stream where something was learned since."""
        events = exchange.answer.events
        if self._written.get(exchange.seq) != self._learned:
            return self.exchange(exchange)
        return _with_events(self.exchange(_with_events(exchange, ())), events)

    def leaks(self, line: str) -> tuple[str, ...]:
        """Return where known values stand in a finished line, in any spelling.

        Args:
            line: A record of a cassette. Members that are never touched do not count.

        Returns:
            Pointers into the record; empty where the line may be written.
        """
        try:
            record = loads(line)
        except JsonError:
            return ("",) if self._finder.knows(line) else ()
        is_model = isinstance(record, dict) and record.get("kind") in ("model", "part")
        return tuple(self._fields.leaks(record, MODEL if is_model else MCP))


def _by_window[E](groups: Groups[E], window: Window[E]) -> Iterator[Sequence[E]]:
    for group in groups:
        yield window.push(group)
    yield window.last()


def _with_events(exchange: Exchange, events: Sequence[McpEvent | StreamEvent]) -> Exchange:
    answer = replace(exchange.answer, events=events)  # type: ignore[arg-type]  # those of its half
    return replace(exchange, answer=answer)  # type: ignore[arg-type]


def _scope(root: walk.Root, half: Half) -> Scope:
    if half == "model":
        return MODEL
    return DATA if root == "args" else MCP


def _is_credential(name: str) -> bool:
    return key_class(name) is not None or name.lower() in ("key", "sig", "signature", "code")
