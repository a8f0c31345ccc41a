"""Cohere, version 2 of its API."""

from typing import Final

from mcprec_addon.exchange import Json
from mcprec_addon.wire.deltas import channel, tool_call
from mcprec_addon.wire.provider import Api, Provider, ends_at, members


def _error(message: str, _kind: str, _code: str, _status: int) -> dict[str, Json]:
    return {"message": message}


_MESSAGE: Final = "/delta/message"
_ARGUMENTS: Final = f"{_MESSAGE}/tool_calls/function/arguments"
_KEY: Final = "mcprecReplaysWithoutAnyCredential0000000"

COHERE: Final = Provider(
    name="cohere",
    error=_error,
    kinds={
        400: "invalid_request",
        401: "unauthorized",
        403: "forbidden",
        404: "not_found",
        429: "too_many_requests",
        500: "internal_server_error",
    },
    apis=(
        Api(
            name="chat",
            path="/v2/chat",
            markers=members("model", "messages"),
            end_at=ends_at({"/type": frozenset({"message-end"})}),
            ids=("/messages/*/tool_calls/*/id", "/messages/*/tool_call_id"),
        ),
        Api(name="embed", path="/v2/embed", markers=members("model", "input_type")),
        Api(name="rerank", path="/v2/rerank", markers=members("query", "documents")),
    ),
    base_urls={"CO_API_URL": ""},
    upstream="https://api.cohere.com",
    dummies={"CO_API_KEY": _KEY, "COHERE_API_KEY": _KEY},
    resources=("/datasets/*", "/embed-jobs/*", "/models", "/tokenize", "/detokenize"),
    channels=(
        channel(f"{_MESSAGE}/content/text", by=("/index",), number="/index"),
        channel(f"{_MESSAGE}/content/thinking", "thinking", by=("/index",), number="/index"),
        channel(f"{_MESSAGE}/tool_plan", "reasoning"),
        channel(_ARGUMENTS, "tool call", by=("/index",), number="/index"),
    ),
    tools=(tool_call(f"{_MESSAGE}/tool_calls/function/name", number="/index"),),
)
