"""What a row of the table of model APIs says: of an endpoint, and of a provider."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final
from urllib.parse import parse_qsl, unquote, urlencode

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import Pointer, parse_pointer
from mcprec_addon.wire.deltas import Channel, ToolCall

_VERSION: Final = r"(?:/v\d+(?:alpha|beta)?\d*)?"

ANY: Final = frozenset[str]()
"""Any value that is true."""

type ErrorShape = Callable[[str, str, str, int], dict[str, Json]]
"""Makes an error body of message, kind, code and HTTP status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One endpoint of a provider.

    Attributes:
        name: Its short name, such as ``chat``.
        path: Pattern of its path behind host, gateway prefix and version segment; a group
            ``model`` is the model's name. Other groups do not capture.
        markers: Sets of members: a JSON request must have one of them whole to count as a call
            of this endpoint.
        asked: Parameters of the query that are in the match key.
        conversation: Member of the request that holds the list of messages.
        temperature: Members that lead to the temperature.
        end_text: Data of the event that ends a stream, where it is no JSON.
        end_at: Where an event says that it is the last, and by which values.
        end_events: Names of events that end a stream.
        may_end_unmarked: Whether a stream is whole without such an event.
        streams_array: Whether a stream may come as the elements of one JSON array.
        is_lookup: Whether clients ask in no fixed place and number, as for what a model can do:
            an answer is given as often as asked, and none has to be asked for.
        volatile: Pointers at which clients send what changes from run to run.
        volatile_texts: Members of the request, lists, and how the texts of those elements begin
            that count for nothing.
        ids: Pointers, rooted at the request, to ids of calls and items.
    """

    name: str
    path: str
    markers: tuple[frozenset[str], ...]
    asked: frozenset[str] = frozenset()
    conversation: str = "messages"
    temperature: tuple[str, ...] = ("temperature",)
    end_text: str | None = None
    end_at: tuple[tuple[Pointer, frozenset[str]], ...] = ()
    end_events: frozenset[str] = frozenset()
    may_end_unmarked: bool = False
    streams_array: bool = False
    is_lookup: bool = False
    volatile: tuple[str, ...] = ()
    volatile_texts: tuple[tuple[str, str], ...] = ()
    ids: tuple[str, ...] = ()

    def takes(self, path: str, body: Mapping[str, Json]) -> bool:
        """Whether a JSON request is a call of this endpoint."""
        return any(each <= body.keys() for each in self.markers) and self.is_at(path)

    def is_at(self, path: str) -> bool:
        """Whether a path is this endpoint's."""
        return self._found(path) is not None

    def key_path(self, path: str) -> str | None:
        """Return the path in a match key, or None where `path` is another endpoint's."""
        found = self._found(path)
        if found is None:
            return None
        pairs = parse_qsl(path.partition("?")[2], keep_blank_values=True)
        asked = sorted(pair for pair in pairs if pair[0] in self.asked)
        return unquote(found["key"]) + (f"?{urlencode(asked)}" if asked else "")

    def model(self, path: str, request: Json) -> str | None:
        """Return the name of the model that a call asks for, from its path or its body."""
        found = self._found(path)
        if found is not None and "model" in found.re.groupindex:
            return unquote(found["model"])
        name = request.get("model") if isinstance(request, dict) else None
        return name if isinstance(name, str) else None

    def heat(self, request: Json) -> Json:
        """Return the temperature that a request asks for, or None."""
        return next(values_at(request, self.temperature), None)

    def ends(self, data: str, value: Json, event: str | None = None) -> bool:
        """Whether an event is the last of a stream: the end marker, or an error.

        Args:
            data: Its data as text.
            value: The same, where it is JSON.
            event: Its name.
        """
        if event is not None and event in self.end_events:
            return True
        if not isinstance(value, dict):
            return data == self.end_text
        return bool(value.get("error")) or any(
            found in values if values else bool(found)
            for pointer, values in self.end_at
            for found in values_at(value, pointer)
        )

    def _found(self, path: str) -> re.Match[str] | None:
        return _pattern(self.path).search(path.partition("?")[0])


@cache
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(f"{_VERSION}(?P<key>{path})/?$")


def values_at(value: Json, pointer: Pointer) -> Iterator[Json]:
    """Yield the values at a pointer; a ``*`` in it steps through a list."""
    if not pointer:
        yield value
        return
    step, rest = pointer[0], pointer[1:]
    if isinstance(value, dict) and step in value:
        yield from values_at(value[step], rest)
    elif isinstance(value, list) and step == "*":
        for member in value:
            yield from values_at(member, rest)


def members(*names: str) -> tuple[frozenset[str], ...]:
    """Return the markers of an endpoint whose requests have all these members."""
    return (frozenset(names),)


def ends_at(places: Mapping[str, frozenset[str]]) -> tuple[tuple[Pointer, frozenset[str]], ...]:
    """Return where streams end, of pointers that are given as text."""
    return tuple((parse_pointer(pointer), values) for pointer, values in places.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Where a path stands among a provider's resources.

    Attributes:
        path: The path without gateway prefix, version segment and query.
        ids: Steps of it that are ids, counted from 0 behind the first slash.
    """

    path: str
    ids: tuple[int, ...] = ()

    @property
    def place(self) -> str:
        """The path with a star for every id."""
        steps = self.path.split("/")[1:]
        return "/" + "/".join("*" if at in self.ids else step for at, step in enumerate(steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One provider: its endpoints, and how clients are led to it.

    Attributes:
        name: Its name in a cassette, and in the path of a door.
        error: Builds an error body in its shape.
        kinds: Types of its errors by status, as it documents them.
        apis: Its endpoints.
        like: The provider whose endpoints, resources and streams it has beside its own; requests
            do not tell the two apart.
        base_urls: Environment variables that lead its clients to another address, each with what
            its value has behind the address of the service.
        upstream: The address of the service where its clients go by themselves; None where it
            differs from one customer or region to the next.
        signs_host: Whether clients sign the address: a live call by another one is refused.
        dummies: Credential variables, with a value of a valid shape for a replay.
        credentials: Further ones, whose names do not say so: a replay stands in for one that is
            there, and sets none.
        needed: Variables without which its clients do not start, with a value for a replay that
            has none, and the names of others that do as well.
        resources: Paths, behind host, gateway prefix and version segment, of what it keeps or
            makes beside conversations; each with all below it. Behind ``/*`` every second step
            is an id that it minted.
        stream_ends: Values of an event's ``type`` that end a stream of these.
        channels: What its streams say in pieces.
        tools: Where its streams name the tools they call.
        opaque: Names of members that are never touched: signatures, what is encrypted.
    """

    name: str
    error: ErrorShape
    kinds: Mapping[int, str]
    apis: tuple[Api, ...] = ()
    like: "Provider | None" = None
    base_urls: Mapping[str, str] = field(default_factory=dict[str, str])
    upstream: str | None = None
    signs_host: bool = False
    dummies: Mapping[str, str] = field(default_factory=dict[str, str])
    credentials: frozenset[str] = frozenset()
    needed: Mapping[str, tuple[str, tuple[str, ...]]] = field(
        default_factory=dict[str, tuple[str, tuple[str, ...]]]
    )
    resources: tuple[str, ...] = ()
    stream_ends: frozenset[str] = frozenset()
    channels: tuple[Channel, ...] = ()
    tools: tuple[ToolCall, ...] = ()
    opaque: frozenset[str] = frozenset()

    @property
    def rows(self) -> "tuple[Provider, ...]":
        """Itself, and what it is like."""
        return (self,) if self.like is None else (self, *self.like.rows)

    @property
    def family(self) -> str:
        """The name under which match keys know it."""
        return self.rows[-1].name

    def resource(self, path: str) -> Resource | None:
        """Return what a path is among its resources, or None where it is none."""
        bare = path.partition("?")[0].rstrip("/")
        found = [_resource(each, bare) for row in self.rows for each in row.resources]
        # Files of a vector store are no files: what says more of the path counts.
        return max(filter(None, found), key=lambda each: len(each.path), default=None)


def _resource(resource: str, path: str) -> Resource | None:
    base = resource.removesuffix("/*")
    found = re.search(rf"^(?:/[^/]+)*?{_VERSION}({re.escape(base)}(?:/[^/]+)*)$", path)
    if found is None:
        return None
    ids = range(base.count("/"), found[1].count("/"), 2) if resource != base else ()
    return Resource(path=found[1], ids=tuple(ids))
