"""The table of model APIs: a row for each endpoint, a row for each provider.

Adding one is adding a row and a capture; no other module knows a provider by name.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal

from mcprec_addon.exchange import Json

_VERSION = r"(?:/v\d+(?:alpha|beta)?\d*)?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One endpoint of a provider.

    Attributes:
        name: Its short name, such as ``chat``.
        path: Its path behind host, gateway prefix and version segment.
        markers: Members a JSON request must have to count as a call of this endpoint.
        conversation: Member of the request that holds the list of messages.
        end_text: Data of the event that ends a stream, where it is no JSON.
        end_types: Values of an event's ``type`` that end a stream.
        volatile: Pointers at which clients send what changes from run to run.
        ids: Pointers, rooted at the request, to ids of calls and items.
    """

    name: str
    path: str
    markers: frozenset[str]
    conversation: str
    end_text: str | None = None
    end_types: frozenset[str] = frozenset()
    volatile: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    def key_path(self, path: str) -> str | None:
        """Return the path in a match key, or None where `path` is another endpoint's."""
        bare = path.partition("?")[0]
        return self.path if re.search(f"{_VERSION}{self.path}$", bare) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One provider: its endpoints, and how clients are led to it.

    Attributes:
        name: Its name in a cassette.
        apis: Its endpoints.
        base_url_variables: Environment variables that lead its clients to another address.
        upstream: Where its clients go by themselves, as such a variable would say it.
        dummies: Credential variables, with a value of a valid shape for a replay.
        error: Builds an error body in its shape.
    """

    name: str
    apis: tuple[Api, ...]
    base_url_variables: tuple[str, ...]
    upstream: str
    dummies: Mapping[str, str] = field(default_factory=dict[str, str])
    error: Literal["openai", "anthropic"] = "openai"


_OPENAI_VOLATILE = (
    "/request/prompt_cache_key",
    "/request/prompt_cache_retention",
    "/request/safety_identifier",
    "/request/user",
    "/request/metadata",
    "/request/client_metadata",
    "/request/service_tier",
)

OPENAI = Provider(
    name="openai",
    apis=(
        Api(
            name="chat",
            path="/chat/completions",
            markers=frozenset({"messages"}),
            conversation="messages",
            end_text="[DONE]",
            volatile=_OPENAI_VOLATILE,
            ids=("/messages/*/tool_calls/*/id", "/messages/*/tool_call_id"),
        ),
        Api(
            name="responses",
            path="/responses",
            markers=frozenset({"input"}),
            conversation="input",
            end_types=frozenset(
                {
                    "response.completed",
                    "response.incomplete",
                    "response.failed",
                    "error",
                }
            ),
            volatile=_OPENAI_VOLATILE,
            ids=("/input/*/id", "/input/*/call_id", "/previous_response_id"),
        ),
    ),
    base_url_variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    upstream="https://api.openai.com/v1",
    dummies={"OPENAI_API_KEY": "sk-proj-mcprecReplaysWithoutAnyCredential00"},
)

ANTHROPIC = Provider(
    name="anthropic",
    apis=(
        Api(
            name="messages",
            path="/messages",
            markers=frozenset({"messages", "max_tokens"}),
            conversation="messages",
            end_types=frozenset({"message_stop", "error"}),
            volatile=("/request/metadata", "/request/diagnostics"),
            ids=("/messages/*/content/*/id", "/messages/*/content/*/tool_use_id"),
        ),
    ),
    base_url_variables=("ANTHROPIC_BASE_URL",),
    upstream="https://api.anthropic.com",
    dummies={"ANTHROPIC_API_KEY": "sk-ant-api03-mcprecReplaysWithoutAnyCredential00"},
    error="anthropic",
)

PROVIDERS: Mapping[str, Provider] = {row.name: row for row in (OPENAI, ANTHROPIC)}

# Credential variables of providers whose rows are still to come: a replayed agent may build
# their clients all the same, and constructors refuse an empty key.
OTHER_DUMMIES: Mapping[str, str] = {
    "AZURE_OPENAI_API_KEY": "0123456789abcdef0123456789abcdef",
    "GEMINI_API_KEY": "AIzaMcprecReplaysWithoutAnyCredential00",
    "GOOGLE_API_KEY": "AIzaMcprecReplaysWithoutAnyCredential00",
    "GROQ_API_KEY": "gsk_mcprecReplaysWithoutAnyCredential0000000000000",
    "MISTRAL_API_KEY": "0123456789abcdef0123456789abcdef",
    "OPENROUTER_API_KEY": "sk-or-v1-" + "0" * 64,
}

# Telemetry of SDKs: answered on a replay, never recorded, never a miss.
ABSORBED: tuple[re.Pattern[str], ...] = tuple(
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
    )
)

# Types of errors by status, as the providers document them.
_ANTHROPIC_KINDS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
_OPENAI_KINDS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "invalid_api_key",
    403: "insufficient_permissions",
    404: "model_not_found",
    429: "rate_limit_exceeded",
    500: "server_error",
}
_OTHER_KINDS = ((429, "insufficient_quota"), (503, "service_unavailable"))


def find_api(path: str, body: Json) -> tuple[Provider, Api] | None:
    """Return the row of a JSON request by path and body; the host says nothing."""
    if not isinstance(body, dict):
        return None
    for provider in PROVIDERS.values():
        for api in provider.apis:
            if api.key_path(path) is not None and api.markers <= body.keys():
                return provider, api
    return None


def api_of(provider: str, path: str) -> Api | None:
    """Return the row of a recorded call, or None where this version has none."""
    row = PROVIDERS.get(provider)
    apis = row.apis if row is not None else ()
    return next((api for api in apis if api.key_path(path) is not None), None)


def is_absorbed(path: str) -> bool:
    """Whether a path is known telemetry of an SDK."""
    return any(pattern.search(path.partition("?")[0]) for pattern in ABSORBED)


def error_body(
    provider: str,
    message: str,
    *,
    kind: str = "invalid_request_error",
    code: str = "mcprec_miss",
) -> dict[str, Json]:
    """Return an error in the provider's own shape.

    Args:
        provider: Name of its row.
        message: For a person.
        kind: The error's type.
        code: Its code, where the provider has codes beside types.
    """
    row = PROVIDERS.get(provider)
    if row is not None and row.error == "anthropic":
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_kind(provider: str, status: int) -> str:
    """Return the type of error that a provider sends with a status."""
    row = PROVIDERS.get(provider)
    kinds = _ANTHROPIC_KINDS if row is not None and row.error == "anthropic" else _OPENAI_KINDS
    other = 500 if status >= HTTPStatus.INTERNAL_SERVER_ERROR else 400
    return kinds.get(status, kinds[other])


def error_status(kind: str) -> int:
    """Return the status that comes with a type, or code, of error; 400 for one nobody knows."""
    known = (*_ANTHROPIC_KINDS.items(), *_OPENAI_KINDS.items(), *_OTHER_KINDS)
    return next((status for status, each in known if each == kind), 400)
