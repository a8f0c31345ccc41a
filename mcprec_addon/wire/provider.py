"""What a row of the table of model APIs says, and the shapes in which providers report errors."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from mcprec_addon.exchange import Json

_VERSION = r"(?:/v\d+(?:alpha|beta)?\d*)?"

type ErrorShape = Callable[[str, str, str, int], dict[str, Json]]
"""Makes an error body of message, kind, code and HTTP status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One endpoint of a provider.

    Attributes:
        name: Its short name, such as ``chat``.
        path: Pattern of its path behind host, gateway prefix and version segment; a group
            ``model`` is the model's name.
        markers: Members a JSON request must have to count as a call of this endpoint.
        conversation: Member of the request that holds the list of messages.
        temperature: Members that lead to the temperature.
        end_text: Data of the event that ends a stream, where it is no JSON.
        end_types: Values of an event's ``type`` that end a stream.
        end_member: Member that is true in the event that ends a stream.
        may_end_unmarked: Whether a stream is whole without such an event.
        streams_array: Whether a stream may come as the elements of one JSON array.
        volatile: Pointers at which clients send what changes from run to run.
        ids: Pointers, rooted at the request, to ids of calls and items.
    """

    name: str
    path: str
    markers: frozenset[str]
    conversation: str
    temperature: tuple[str, ...] = ("temperature",)
    end_text: str | None = None
    end_types: frozenset[str] = frozenset()
    end_member: str | None = None
    may_end_unmarked: bool = False
    streams_array: bool = False
    volatile: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    def key_path(self, path: str) -> str | None:
        """Return the path in a match key, or None where `path` is another endpoint's.

        Of the query only what chooses the framing of a stream is in it.
        """
        bare, _, query = path.partition("?")
        found = self._found(bare)
        if found is None:
            return None
        framing = "?alt=sse" if self.streams_array and "alt=sse" in query.split("&") else ""
        return unquote(found["key"]) + framing

    def model(self, path: str, request: Json) -> str | None:
        """Return the name of the model that a call asks for, from its path or its body."""
        found = self._found(path.partition("?")[0])
        if found is not None and "model" in found.re.groupindex:
            return unquote(found["model"])
        name = request.get("model") if isinstance(request, dict) else None
        return name if isinstance(name, str) else None

    def heat(self, request: Json) -> Json:
        """Return the temperature that a request asks for, or None."""
        for step in self.temperature:
            request = request.get(step) if isinstance(request, dict) else None
        return request

    def ends(self, data: str, value: Json) -> bool:
        """Whether an event is the last of a stream: the end marker, or an error."""
        if not isinstance(value, dict):
            return data == self.end_text
        if self.end_member is not None and value.get(self.end_member) is True:
            return True
        return value.get("type") in self.end_types or bool(value.get("error"))

    def _found(self, bare: str) -> re.Match[str] | None:
        return re.search(f"{_VERSION}(?P<key>{self.path})$", bare)


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


# Types of errors by status, as the providers document them.
ANTHROPIC_KINDS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
OPENAI_KINDS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "invalid_api_key",
    403: "insufficient_permissions",
    404: "model_not_found",
    429: "rate_limit_exceeded",
    500: "server_error",
}
GOOGLE_KINDS: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
AWS_KINDS: Mapping[int, str] = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}


def openai_error(message: str, kind: str, code: str, _status: int) -> dict[str, Json]:
    """Return an error as OpenAI and those compatible with it send it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic_error(message: str, kind: str, _code: str, _status: int) -> dict[str, Json]:
    """Return an error as Anthropic sends it."""
    return {"type": "error", "error": {"type": kind, "message": message}}


def google_error(message: str, kind: str, _code: str, status: int) -> dict[str, Json]:
    """Return an error as Google's APIs send it."""
    return {"error": {"code": status, "message": message, "status": kind}}


def aws_error(message: str, kind: str, _code: str, _status: int) -> dict[str, Json]:
    """Return an error as AWS sends it; clients read its kind in the body or in a header."""
    return {"__type": kind, "message": message}


def ollama_error(message: str, _kind: str, _code: str, _status: int) -> dict[str, Json]:
    """Return an error as Ollama sends it."""
    return {"error": message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One provider: its endpoints, and how clients are led to it.

    Attributes:
        name: Its name in a cassette.
        apis: Its endpoints.
        base_url_variables: Environment variables that lead its clients to another address.
        upstream: Where its clients go by themselves, as such a variable would say it.
        signs_host: Whether clients sign the address: a live call by another one is refused.
        dummies: Credential variables, with a value of a valid shape for a replay.
        error: Builds an error body in its shape.
        kinds: Types of its errors by status.
        resources: Paths, behind host, gateway prefix and version segment, of what it keeps or
            makes beside conversations; each with all below it. Behind ``/*`` every second step
            is an id that it minted.
        stream_ends: Values of an event's ``type`` that end a stream of these.
    """

    name: str
    apis: tuple[Api, ...]
    base_url_variables: tuple[str, ...]
    upstream: str
    signs_host: bool = False
    dummies: Mapping[str, str] = field(default_factory=dict[str, str])
    error: ErrorShape = openai_error
    kinds: Mapping[int, str] = field(default_factory=lambda: OPENAI_KINDS)
    resources: tuple[str, ...] = ()
    stream_ends: frozenset[str] = frozenset()

    def resource(self, path: str) -> Resource | None:
        """Return what a path is among its resources, or None where it is none."""
        bare = path.partition("?")[0].rstrip("/")
        found = [_resource(each, bare) for each in self.resources]
        # Files of a vector store are no files: what says more of the path counts.
        return max(filter(None, found), key=lambda each: len(each.path), default=None)


def _resource(resource: str, path: str) -> Resource | None:
    base = resource.removesuffix("/*")
    found = re.search(rf"^(?:/[^/]+)*?{_VERSION}({re.escape(base)}(?:/[^/]+)*)$", path)
    if found is None:
        return None
    ids = range(base.count("/"), found[1].count("/"), 2) if resource != base else ()
    return Resource(path=found[1], ids=tuple(ids))
