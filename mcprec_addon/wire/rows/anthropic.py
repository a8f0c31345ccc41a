"""Anthropic, by itself; on Vertex and Bedrock it is called as those call their other models."""

from typing import Final

from mcprec_addon.exchange import Json
from mcprec_addon.wire.deltas import channel, tool_call
from mcprec_addon.wire.provider import Api, Provider, ends_at, members

IDS: Final = ("/messages/*/content/*/id", "/messages/*/content/*/tool_use_id")
VOLATILE: Final = ("/request/metadata", "/request/diagnostics")
# A line that Claude Code puts into the prompt, with a hash that changes on every call.
BILLING: Final = (("system", "x-anthropic-billing-header:"),)
ENDS: Final = ends_at({"/type": frozenset({"message_stop", "error"})})
CHANNELS: Final = (
    channel("/delta/text", by=("/index",), number="/index"),
    channel("/delta/thinking", "thinking", by=("/index",), number="/index"),
    channel("/delta/partial_json", "tool call", by=("/index",), number="/index"),
    channel("/completion"),
)
TOOLS: Final = (tool_call("/content_block/name", number="/index"),)
OPAQUE: Final = frozenset({"signature"})


def _error(message: str, kind: str, _code: str, _status: int) -> dict[str, Json]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _asks(name: str, path: str, *markers: str) -> Api:
    return Api(
        name=name,
        path=path,
        markers=members(*markers),
        end_at=ENDS,
        volatile=VOLATILE,
        volatile_texts=BILLING,
        ids=IDS,
    )


ANTHROPIC: Final = Provider(
    name="anthropic",
    error=_error,
    kinds={
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error",
        529: "overloaded_error",
    },
    apis=(
        _asks("messages", "/messages", "messages", "max_tokens"),
        _asks("count_tokens", "/messages/count_tokens", "model", "messages"),
        _asks("batches", "/messages/batches", "requests"),
    ),
    base_urls={"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_URL": "", "ANTHROPIC_API_BASE": ""},
    upstream="https://api.anthropic.com",
    dummies={"ANTHROPIC_API_KEY": "sk-ant-api03-mcprecReplaysWithoutAnyCredential00"},
    resources=("/files/*", "/messages/batches/*", "/models", "/skills/*"),
    channels=CHANNELS,
    tools=TOOLS,
    opaque=OPAQUE,
)
