"""Gemini, and Vertex with Gemini and Claude: model and streaming stand in the path."""

from typing import Final

from mcprec_addon.exchange import Json
from mcprec_addon.wire.deltas import channel, tool_call
from mcprec_addon.wire.provider import Api, Provider, members
from mcprec_addon.wire.rows import anthropic

_KINDS: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _error(message: str, kind: str, _code: str, status: int) -> dict[str, Json]:
    return {"error": {"code": status, "message": message, "status": kind}}


_WHOLE: Final = "generateContent|countTokens|computeTokens|embedContent|batchEmbedContents"


def _asks(name: str, model: str, methods: str, *markers: str) -> Api:
    return Api(
        name=name,
        path=f"{model}:(?:{methods})",
        markers=members(*markers),
        asked=frozenset({"alt"}),  # a client that reads events cannot read an array
        conversation="contents",
        temperature=("generationConfig", "temperature"),
        may_end_unmarked=True,
        streams_array=name == "stream",
        volatile=("/request/labels",),
        ids=(
            "/contents/*/parts/*/functionCall/id",
            "/contents/*/parts/*/functionResponse/id",
        ),
    )


def _generating(model: str) -> tuple[Api, ...]:
    return (
        _asks("generate", model, _WHOLE),
        _asks("stream", model, "streamGenerateContent", "contents"),
    )


_PART: Final = "/candidates/*/content/parts/*"
_CHANNELS: Final = (
    channel(f"{_PART}/text", beside=("thought", False)),
    channel(f"{_PART}/text", "thinking", beside=("thought", True)),
    channel(f"{_PART}/executableCode/code", "code"),
)
_TOOLS: Final = (tool_call(f"{_PART}/functionCall/name", arguments="args"),)
_OPAQUE: Final = frozenset({"thoughtSignature", "thought_signature"})
_KEY: Final = "AIzaMcprecReplaysWithoutAnyCredential00"

GEMINI: Final = Provider(
    name="gemini",
    error=_error,
    kinds=_KINDS,
    apis=_generating("/(?:models|tunedModels)/(?P<model>[^/:]+)"),
    base_urls={"GOOGLE_GEMINI_BASE_URL": "", "GEMINI_API_BASE": "/v1beta"},
    upstream="https://generativelanguage.googleapis.com",
    dummies={"GEMINI_API_KEY": _KEY, "GOOGLE_API_KEY": _KEY},
    resources=("/batches/*", "/cachedContents/*", "/files/*", "/models", "/tunedModels"),
    channels=_CHANNELS,
    tools=_TOOLS,
    opaque=_OPAQUE,
)

VERTEX: Final = Provider(
    name="vertex",
    error=_error,
    kinds=_KINDS,
    apis=(
        *_generating("/(?:publishers/google/models|endpoints)/(?P<model>[^/:]+)"),
        Api(
            name="predict",
            path="/(?:publishers/google/models|endpoints)/(?P<model>[^/:]+):predict",
            markers=members("instances"),
            conversation="instances",
            volatile=("/request/labels",),
        ),
        Api(
            name="claude",
            path=("/publishers/anthropic/models/(?P<model>[^/:]+):(?:rawPredict|streamRawPredict)"),
            markers=members("messages"),
            end_at=anthropic.ENDS,
            volatile=anthropic.VOLATILE,
            volatile_texts=anthropic.BILLING,
            ids=anthropic.IDS,
        ),
    ),
    base_urls={"GOOGLE_VERTEX_BASE_URL": "", "ANTHROPIC_VERTEX_BASE_URL": "/v1"},
    channels=(*_CHANNELS, *anthropic.CHANNELS),
    tools=(*_TOOLS, *anthropic.TOOLS),
    opaque=_OPAQUE | anthropic.OPAQUE,
)
