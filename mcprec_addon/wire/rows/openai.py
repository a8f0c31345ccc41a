"""OpenAI, Azure OpenAI, and the many that speak as OpenAI does."""

from collections.abc import Mapping
from typing import Final

from mcprec_addon.exchange import Json
from mcprec_addon.wire.deltas import Says, channel, tool_call
from mcprec_addon.wire.provider import Api, Provider, ends_at, members

KINDS: Final = {
    400: "invalid_request_error",
    401: "invalid_api_key",
    403: "insufficient_permissions",
    404: "model_not_found",
    429: "rate_limit_exceeded",
    500: "server_error",
}


def error(message: str, kind: str, code: str, _status: int) -> dict[str, Json]:
    """Return an error as OpenAI and those compatible with it send it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


_VOLATILE: Final = (
    "/request/prompt_cache_key",
    "/request/prompt_cache_retention",
    "/request/safety_identifier",
    "/request/user",
    "/request/metadata",
    "/request/client_metadata",
    "/request/service_tier",
)
_RESPONSE_ENDS: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "error"}
)
_RESPONSE_IDS: Final = ("/input/*/id", "/input/*/call_id", "/previous_response_id")


def _chat(path: str, *, asked: frozenset[str] = frozenset()) -> Api:
    return Api(
        name="chat",
        path=path,
        markers=members("messages"),
        asked=asked,
        end_text="[DONE]",
        volatile=_VOLATILE,
        ids=("/messages/*/tool_calls/*/id", "/messages/*/tool_call_id"),
    )


def _completions(path: str, *, asked: frozenset[str] = frozenset()) -> Api:
    return Api(
        name="completions",
        path=path,
        markers=members("prompt"),
        asked=asked,
        end_text="[DONE]",
        volatile=_VOLATILE,
    )


def _of_input(name: str, path: str, *more: str, asked: frozenset[str] = frozenset()) -> Api:
    return Api(
        name=name,
        path=path,
        markers=members("input", *more),
        asked=asked,
        conversation="input",
        volatile=_VOLATILE,
    )


_ITEM: Final = ("/type", "/item_id", "/output_index", "/content_index", "/summary_index")
_ITEM_EVENTS: Final[Mapping[str, Says]] = {
    "output_text.delta": "text",
    "refusal.delta": "refusal",
    "reasoning_text.delta": "reasoning",
    "reasoning_summary_text.delta": "reasoning summary",
    "function_call_arguments.delta": "tool call",
    "custom_tool_call_input.delta": "tool call",
    "mcp_call_arguments.delta": "tool call",
    "code_interpreter_call_code.delta": "code",
    "audio.transcript.delta": "text",
    "transcript.text.delta": "text",
}

OPENAI: Final = Provider(
    name="openai",
    error=error,
    kinds=KINDS,
    apis=(
        _chat("/chat/completions"),
        Api(
            name="responses",
            path="/responses",
            markers=(
                frozenset({"input"}),
                frozenset({"model", "prompt"}),
                frozenset({"model", "previous_response_id"}),
            ),
            conversation="input",
            end_at=ends_at({"/type": _RESPONSE_ENDS}),
            volatile=_VOLATILE,
            ids=_RESPONSE_IDS,
        ),
        Api(
            name="input_tokens",
            path="/responses/(?:input_tokens|compact)",
            markers=(frozenset({"input"}), frozenset({"model", "previous_response_id"})),
            conversation="input",
            volatile=_VOLATILE,
            ids=_RESPONSE_IDS,
        ),
        _completions("(?<!/chat)(?:/fim)?/completions"),
        _of_input("embeddings", "/embeddings", "model"),
    ),
    base_urls={"OPENAI_BASE_URL": "/v1", "OPENAI_API_BASE": "/v1"},
    upstream="https://api.openai.com",
    dummies={"OPENAI_API_KEY": "sk-proj-mcprecReplaysWithoutAnyCredential00"},
    resources=(
        "/audio",
        "/batches/*",
        "/chat/completions/*",
        "/containers/*",
        "/conversations/*",
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
    stream_ends=_RESPONSE_ENDS
    | {
        "transcript.text.done",
        "speech.audio.done",
        "image_generation.completed",
        "image_edit.completed",
    },
    channels=(
        channel("/choices/*/delta/content"),
        channel("/choices/*/delta/refusal", "refusal"),
        channel("/choices/*/delta/reasoning_content", "reasoning"),
        channel("/choices/*/delta/reasoning", "reasoning"),
        channel("/choices/*/delta/audio/transcript"),
        channel("/choices/*/delta/function_call/arguments", "tool call"),
        channel("/choices/*/delta/tool_calls/*/function/arguments", "tool call"),
        channel("/choices/*/delta/tool_calls/*/custom/input", "tool call"),
        channel("/choices/*/text"),
        *(
            channel("/delta", says, by=_ITEM, suffix=suffix, number="/output_index")
            for suffix, says in _ITEM_EVENTS.items()
        ),
    ),
    tools=(
        tool_call("/choices/*/delta/tool_calls/*/function/name"),
        tool_call("/choices/*/delta/tool_calls/*/custom/name"),
        tool_call("/item/name", number="/output_index"),
    ),
    opaque=frozenset(
        {
            "encrypted_content",
            "prompt_cache_key",
            "obfuscation",
            "b64_json",
            "partial_image_b64",
        }
    ),
)

_DEPLOYMENT: Final = "/deployments/(?P<model>[^/]+)"
_AT_VERSION: Final = frozenset({"api-version"})

AZURE: Final = Provider(
    name="azure",
    error=error,
    kinds=KINDS,
    apis=(
        _chat(f"{_DEPLOYMENT}/chat/completions", asked=_AT_VERSION),
        _completions(f"{_DEPLOYMENT}/completions", asked=_AT_VERSION),
        _of_input("embeddings", f"{_DEPLOYMENT}/embeddings", asked=_AT_VERSION),
        _of_input("speech", f"{_DEPLOYMENT}/audio/speech", "voice", asked=_AT_VERSION),
    ),
    like=OPENAI,
    base_urls={"AZURE_OPENAI_ENDPOINT": "", "AZURE_API_BASE": ""},
    dummies={
        "AZURE_OPENAI_API_KEY": "0123456789abcdef0123456789abcdef",
        "AZURE_API_KEY": "0123456789abcdef0123456789abcdef",
    },
    needed={"OPENAI_API_VERSION": ("2024-10-21", ("AZURE_API_VERSION",))},
    resources=("/deployments",),
)

GROQ: Final = Provider(
    name="groq",
    error=error,
    kinds=KINDS,
    like=OPENAI,
    base_urls={"GROQ_BASE_URL": ""},
    upstream="https://api.groq.com",
    dummies={"GROQ_API_KEY": "gsk_mcprecReplaysWithoutAnyCredential0000000000000"},
)


def _mistral_error(message: str, kind: str, code: str, _status: int) -> dict[str, Json]:
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


MISTRAL: Final = Provider(
    name="mistral",
    error=_mistral_error,
    kinds={**KINDS, 429: "rate_limited"},
    like=OPENAI,
    upstream="https://api.mistral.ai",
    dummies={"MISTRAL_API_KEY": "0123456789abcdef0123456789abcdef"},
    resources=("/agents", "/batch/jobs/*", "/classifications", "/ocr"),
    channels=(
        # What a reasoning model says is a list of what it thinks and what it answers.
        channel("/choices/*/delta/content/*/text"),
        channel("/choices/*/delta/content/*/thinking/*/text", "thinking"),
    ),
)


def _openrouter_error(message: str, kind: str, _code: str, status: int) -> dict[str, Json]:
    return {"error": {"code": status, "message": message, "metadata": {"kind": kind}}}


OPENROUTER: Final = Provider(
    name="openrouter",
    error=_openrouter_error,
    kinds=KINDS,
    like=OPENAI,
    upstream="https://openrouter.ai",
    dummies={"OPENROUTER_API_KEY": "sk-or-v1-" + "0" * 64},
    resources=("/credits", "/generation", "/key"),
)
