"""Ollama: JSON lines, and it streams unless it is told not to."""

from typing import Final

from mcprec_addon.exchange import Json
from mcprec_addon.wire.deltas import channel, tool_call
from mcprec_addon.wire.provider import ANY, Api, Provider, ends_at, members


def _error(message: str, _kind: str, _code: str, _status: int) -> dict[str, Json]:
    return {"error": message}


def _asks(name: str, *markers: str) -> Api:
    return Api(
        name=name,
        path=f"/api/{name}",
        markers=members("model", *markers),
        temperature=("options", "temperature"),
        end_at=ends_at({"/done": ANY}),
        volatile=("/request/keep_alive",),
        ids=("/messages/*/tool_call_id", "/messages/*/tool_calls/*/id"),
    )


OLLAMA: Final = Provider(
    name="ollama",
    error=_error,
    kinds={400: "bad request", 404: "not found", 429: "too many requests", 500: "server error"},
    apis=(
        _asks("chat", "messages"),
        _asks("generate"),  # one without a prompt loads the model
        _asks("embed", "input"),
        _asks("embeddings", "prompt"),
        Api(
            name="show",
            path="/api/show",
            markers=(frozenset({"model"}), frozenset({"name"})),
            is_lookup=True,
        ),
        Api(
            name="pull",
            path="/api/pull",
            markers=(frozenset({"model"}), frozenset({"name"})),
            end_at=ends_at({"/status": frozenset({"success"})}),
        ),
    ),
    base_urls={"OLLAMA_HOST": "", "OLLAMA_API_BASE": ""},
    upstream="http://127.0.0.1:11434",
    resources=("/api/ps", "/api/tags", "/api/version"),
    channels=(
        channel("/message/content"),
        channel("/message/thinking", "thinking"),
        channel("/response"),
        channel("/thinking", "thinking"),
    ),
    tools=(tool_call("/message/tool_calls/*/function/name", arguments="arguments"),),
)
