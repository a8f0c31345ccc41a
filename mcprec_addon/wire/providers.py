"""The table of model APIs: a row for each provider, in `rows`, with a row for each endpoint.

Adding one is adding a row, a capture and a test; no other module knows a provider by name.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Final

from mcprec_addon.exchange import Json, ModelCall
from mcprec_addon.wire.deltas import Channel, ToolCall
from mcprec_addon.wire.provider import Api, Provider, Resource
from mcprec_addon.wire.rows.anthropic import ANTHROPIC
from mcprec_addon.wire.rows.bedrock import BEDROCK
from mcprec_addon.wire.rows.cohere import COHERE
from mcprec_addon.wire.rows.google import GEMINI, VERTEX
from mcprec_addon.wire.rows.ollama import OLLAMA
from mcprec_addon.wire.rows.openai import AZURE, GROQ, MISTRAL, OPENAI, OPENROUTER

# In the order in which they are looked through: the paths of Azure and Vertex end as those of
# OpenAI and Gemini do.
PROVIDERS: Final[Mapping[str, Provider]] = {
    row.name: row
    for row in (
        ANTHROPIC,
        AZURE,
        OPENAI,
        VERTEX,
        GEMINI,
        BEDROCK,
        OLLAMA,
        COHERE,
        GROQ,
        MISTRAL,
        OPENROUTER,
    )
}

ID_MEMBERS: Final = frozenset({"item_id"}).union(
    pointer.rpartition("/")[2]
    for row in PROVIDERS.values()
    for api in row.apis
    for pointer in api.ids
    if pointer != "/previous_response_id"  # an answer says it again, and does not mint it
)
"""Names of members that hold ids of calls and items."""

OPAQUE_MEMBERS: Final = frozenset[str]().union(*(row.opaque for row in PROVIDERS.values()))
"""Names of members that are never touched."""

# Telemetry of SDKs, and what they ask about themselves: answered on a replay, never recorded,
# never a miss.
ABSORBED: Final[tuple[re.Pattern[str], ...]] = tuple(
    re.compile(pattern)
    for pattern in (
        r"^/v1/traces/ingest$",
        r"^/api/claude_code/",
        r"^/api/claude_cli/",
        r"^/api/event_logging/",
        r"^/api/eval/",
        r"^/api/directory/",
        r"^/api/claude_code_penguin_mode",
        r"^/api/hello$",
        r"^/inference-profiles$",
    )
)

# Types of errors that come with a status other than in the tables of the rows.
_OTHER_KINDS: Final = {"insufficient_quota": 429, "service_unavailable": 503}


def find_api(path: str, body: Json) -> tuple[Provider, Api] | None:
    """Return the row of a JSON request by path and body; the host says nothing."""
    if not isinstance(body, dict):
        return None
    for provider in PROVIDERS.values():
        for api in provider.apis:
            if api.takes(path, body):
                return provider, api
    return None


@lru_cache(maxsize=4096)
def api_of(provider: str, path: str) -> Api | None:
    """Return the row of a recorded call, or None where this version has none."""
    apis = (api for row in _rows(provider) for api in row.apis)
    return next((api for api in apis if api.is_at(path)), None)


def resource_of(provider: str, path: str) -> Resource | None:
    """Return what a path is among a provider's resources, or None where it is none."""
    row = PROVIDERS.get(provider)
    return row.resource(path) if row is not None else None


def family_of(provider: str) -> str:
    """Return the name under which match keys know a provider."""
    row = PROVIDERS.get(provider)
    return row.family if row is not None else provider


def one_of(names: list[str], family: str) -> str:
    """Return the provider that requests of a family are for, given who may be meant.

    Args:
        names: Providers that are known to be there.
        family: Whose requests they are by path and body.
    """
    if family in names:
        return family
    found = [name for name in names if PROVIDERS[name].like is PROVIDERS[family]]
    return found[0] if len(found) == 1 else family


@cache
def channels_of(provider: str) -> tuple[Channel, ...]:
    """Return what streams of a provider say in pieces."""
    return tuple(each for row in _rows(provider) for each in row.channels)


@cache
def tools_of(provider: str) -> tuple[ToolCall, ...]:
    """Return where streams of a provider name the tools they call."""
    return tuple(each for row in _rows(provider) for each in row.tools)


def stream_ends_of(provider: str) -> frozenset[str]:
    """Return values of an event's ``type`` that end a stream which is no endpoint's."""
    return frozenset[str]().union(*(row.stream_ends for row in _rows(provider)))


def _rows(provider: str) -> tuple[Provider, ...]:
    row = PROVIDERS.get(provider)
    return row.rows if row is not None else ()


def is_absorbed(path: str) -> bool:
    """Whether a path is known telemetry of an SDK."""
    return any(pattern.search(path.partition("?")[0]) for pattern in ABSORBED)


def is_lookup(call: ModelCall) -> bool:
    """Whether a call asks what clients ask in no fixed place and number."""
    api = api_of(call.provider, call.path)
    return api is not None and api.is_lookup


def model_name(call: ModelCall) -> str | None:
    """Return the model a call asks for, or None where it does not say."""
    api = api_of(call.provider, call.path)
    if api is not None:
        return api.model(call.path, call.request)
    name = call.request.get("model") if isinstance(call.request, dict) else None
    return name if isinstance(name, str) else None


def temperature(call: ModelCall) -> Json:
    """Return the temperature a call asks for, or None where it does not say."""
    api = api_of(call.provider, call.path)
    if api is not None:
        return api.heat(call.request)
    return call.request.get("temperature") if isinstance(call.request, dict) else None


def error_body(
    provider: str, message: str, *, kind: str | None = None, code: str = "mcprec_miss"
) -> dict[str, Json]:
    """Return an error in the provider's own shape.

    Args:
        provider: Name of its row.
        message: For a person.
        kind: The error's type; by default that of a bad request.
        code: Its code, where the provider has codes beside types.
    """
    row = PROVIDERS.get(provider, OPENAI)
    kind = kind or row.kinds[HTTPStatus.BAD_REQUEST]
    return row.error(message, kind, code, error_status(kind))


def error_kind(provider: str, status: int) -> str:
    """Return the type of error that a provider sends with a status."""
    kinds = PROVIDERS.get(provider, OPENAI).kinds
    other = 500 if status >= HTTPStatus.INTERNAL_SERVER_ERROR else 400
    return kinds.get(status, kinds[other])


def error_status(kind: str) -> int:
    """Return the status that comes with a type, or code, of error; 400 for one nobody knows."""
    known = (*_known_kinds(), *_OTHER_KINDS.items())
    return next((status for each, status in known if each == kind), 400)


def _known_kinds() -> Iterator[tuple[str, int]]:
    for row in PROVIDERS.values():
        yield from ((kind, status) for status, kind in row.kinds.items())
