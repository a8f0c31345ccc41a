"""JSON-RPC 2.0 messages and their ids, on a line or in a body."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import JsonError, dumps, loads

MISS_CODE = 4001  # outside -32768..-32000, which the specification keeps for itself


@dataclass(frozen=True, slots=True)
class Request:
    """A message that wants an answer; its id comes back in value and type."""

    id: Json
    method: str
    params: Json


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that wants none."""

    method: str
    params: Json


@dataclass(frozen=True, slots=True)
class Response:
    """An answer to a request; `id` is None where the sender could not read the request's."""

    id: Json
    kind: Literal["result", "error"]
    value: Json


type RpcMessage = Request | Notification | Response


def read_body(body: bytes) -> list[RpcMessage] | None:
    """Return the messages of a body, several where it is a batch.

    Returns:
        None where the body is no JSON-RPC, or a batch with a member that is none.
    """
    try:
        value = loads(body)
    except JsonError:
        return None
    members = value if isinstance(value, list) else [value]
    messages = [message_of(member) for member in members]
    found = [message for message in messages if message is not None]
    return found if found and len(found) == len(messages) else None


def is_batch(body: bytes) -> bool:
    """Whether a body that is JSON-RPC is a batch."""
    return body.lstrip()[:1] == b"["


def message_of(value: Json) -> RpcMessage | None:
    """Return the message that a parsed value is, or None."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        return None
    method = value.get("method")
    if isinstance(method, str):
        params = value.get("params")
        is_request = "id" in value
        return Request(value["id"], method, params) if is_request else Notification(method, params)
    if "result" in value:
        return Response(value.get("id"), "result", value["result"])
    return Response(value.get("id"), "error", value["error"]) if "error" in value else None


def response_bytes(request_id: Json, kind: Literal["result", "error"], value: Json) -> bytes:
    """Return the answer to the request with this id as compact JSON."""
    return dumps({"jsonrpc": "2.0", "id": request_id, kind: value})


def error_bytes(request_id: Json, code: int, message: str) -> bytes:
    """Return an error answer as compact JSON."""
    return response_bytes(request_id, "error", {"code": code, "message": message})


def message_bytes(message: Mapping[str, Json]) -> bytes:
    """Return a message without ``jsonrpc`` as compact JSON, with it."""
    return dumps({"jsonrpc": "2.0", **message})
