"""The table of model APIs: a row for each endpoint, a row for each provider.

Adding one is adding a row and a capture, and the channels of its streams in `redact.streams`.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus

from mcprec_addon.exchange import Json, ModelCall
from mcprec_addon.wire.provider import (
    ANTHROPIC_KINDS,
    AWS_KINDS,
    GOOGLE_KINDS,
    OPENAI_KINDS,
    Api,
    Provider,
    Resource,
    anthropic_error,
    aws_error,
    google_error,
    ollama_error,
)

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
    resources=(
        "/audio",
        "/batches/*",
        "/chat/completions/*",
        "/containers/*",
        "/conversations/*",
        "/embeddings",
        "/evals/*",
        "/files/*",
        "/fine_tuning/jobs/*",
        "/images",
        "/models",
        "/moderations",
        "/responses/*",
        "/uploads/*",
        "/vector_stores/*",
        "/videos/*",
    ),
    stream_ends=frozenset(
        {
            "transcript.text.done",
            "speech.audio.done",
            "image_generation.completed",
            "image_edit.completed",
            "response.completed",
            "response.incomplete",
            "response.failed",
            "error",
        }
    ),
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
    error=anthropic_error,
    kinds=ANTHROPIC_KINDS,
    resources=("/files/*", "/messages/batches/*", "/messages/count_tokens", "/models", "/skills/*"),
)

_GEMINI_IDS = ("/contents/*/parts/*/functionCall/id", "/contents/*/parts/*/functionResponse/id")
_GEMINI_MODEL = r"/(?:models|tunedModels)/(?P<model>[^/:]+)"
_GEMINI_KEY = "AIzaMcprecReplaysWithoutAnyCredential00"

GEMINI = Provider(
    name="gemini",
    apis=(
        Api(
            name="generate",
            path=_GEMINI_MODEL + ":(?:generateContent|countTokens|embedContent|batchEmbedContents)",
            markers=frozenset(),
            conversation="contents",
            temperature=("generationConfig", "temperature"),
            volatile=("/request/labels",),
            ids=_GEMINI_IDS,
        ),
        Api(
            name="stream",
            path=_GEMINI_MODEL + ":streamGenerateContent",
            markers=frozenset({"contents"}),
            conversation="contents",
            temperature=("generationConfig", "temperature"),
            may_end_unmarked=True,
            streams_array=True,
            volatile=("/request/labels",),
            ids=_GEMINI_IDS,
        ),
    ),
    base_url_variables=("GOOGLE_GEMINI_BASE_URL",),
    upstream="https://generativelanguage.googleapis.com",
    dummies={"GEMINI_API_KEY": _GEMINI_KEY, "GOOGLE_API_KEY": _GEMINI_KEY},
    resources=("/batches/*", "/cachedContents/*", "/files/*", "/models", "/tunedModels"),
    error=google_error,
    kinds=GOOGLE_KINDS,
)

OLLAMA = Provider(
    name="ollama",
    apis=tuple(
        Api(
            name=name,
            path=f"/api/{name}",
            markers=frozenset({"model", marker}),
            conversation="messages",
            temperature=("options", "temperature"),
            end_member="done",
            volatile=("/request/keep_alive",),
            ids=("/messages/*/tool_call_id", "/messages/*/tool_calls/*/id"),
        )
        for name, marker in (("chat", "messages"), ("generate", "model"), ("embed", "input"))
    ),
    base_url_variables=("OLLAMA_HOST",),
    upstream="http://127.0.0.1:11434",
    error=ollama_error,
)

BEDROCK = Provider(
    name="bedrock",
    apis=(
        Api(
            name="converse",
            path=r"/model/(?P<model>[^/]+)/(?:converse|converse-stream)",
            markers=frozenset({"messages"}),
            conversation="messages",
            temperature=("inferenceConfig", "temperature"),
            may_end_unmarked=True,
            volatile=("/request/requestMetadata",),
            ids=(
                "/messages/*/content/*/toolUse/toolUseId",
                "/messages/*/content/*/toolResult/toolUseId",
            ),
        ),
    ),
    base_url_variables=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
    upstream="https://bedrock-runtime.us-east-1.amazonaws.com",
    signs_host=True,
    dummies={
        "AWS_ACCESS_KEY_ID": "AKIAMCPRECREPLAYS234",
        "AWS_SECRET_ACCESS_KEY": "mcprecReplaysWithoutAnyCredential0000000",
    },
    error=aws_error,
    kinds=AWS_KINDS,
)

PROVIDERS: Mapping[str, Provider] = {
    row.name: row for row in (OPENAI, ANTHROPIC, GEMINI, OLLAMA, BEDROCK)
}

# Credential variables of providers whose rows are still to come: a replayed agent may build
# their clients all the same, and constructors refuse an empty key.
OTHER_DUMMIES: Mapping[str, str] = {
    "AZURE_OPENAI_API_KEY": "0123456789abcdef0123456789abcdef",
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


def resource_of(provider: str, path: str) -> Resource | None:
    """Return what a path is among a provider's resources, or None where it is none."""
    row = PROVIDERS.get(provider)
    return row.resource(path) if row is not None else None


def is_absorbed(path: str) -> bool:
    """Whether a path is known telemetry of an SDK."""
    return any(pattern.search(path.partition("?")[0]) for pattern in ABSORBED)


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
    tables = (ANTHROPIC_KINDS, OPENAI_KINDS, GOOGLE_KINDS, AWS_KINDS)
    known = (*(pair for table in tables for pair in table.items()), *_OTHER_KINDS)
    return next((status for status, each in known if each == kind), 400)
