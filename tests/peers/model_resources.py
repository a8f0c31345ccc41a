"""What the scripted model provider keeps and makes beside conversations.

Files, batches, models, sound, pictures and stored responses, in the shapes of OpenAI and Anthropic.
A batch is done when it is asked for the second time. Ids are new on each run.
"""

import json
import re
from base64 import b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Any
from uuid import uuid4

type Body = dict[str, Any]

SOUND = b"\xff\xf3\x44\xc4" + Random(4).randbytes(30_000)  # noqa: S311 - sound, no secret
_PICTURE = b"\x89PNG\r\n\x1a\n" + Random(5).randbytes(30_000)  # noqa: S311
_JSON = "application/json"
_DAY = "2026-01-01T00:00:00Z"
_RESULTS = b'{"custom_id": "a", "result": {"type": "canceled"}}\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request: its method, path without query, headers and body."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer: status, content type and body."""

    status: int
    kind: str
    body: bytes


@dataclass(slots=True)
class Kept:
    """What was uploaded and made, by id."""

    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    batches: dict[str, int] = field(default_factory=dict)


def _json(value: object, status: int = 200) -> Answered:
    return Answered(status, _JSON, json.dumps(value).encode())


def _new(prefix: str) -> str:
    return f"{prefix}{uuid4().hex[:20]}"


def _uploaded(body: bytes) -> tuple[str, bytes]:
    """Return name and content of the file in a form."""
    boundary = body.partition(b"\r\n")[0]
    part = next(each for each in body.split(boundary) if b"filename=" in each)
    head, _, content = part.partition(b"\r\n\r\n")
    name = re.search(rb'filename="([^"]*)"', head)
    return (name[1].decode() if name else ""), content.removesuffix(b"\r\n")


def _file(kept: Kept, key: str, *, anthropic: bool) -> Body:
    name, content = kept.files[key]
    if anthropic:
        return {"id": key, "type": "file", "filename": name, "mime_type": "text/plain",
                "size_bytes": len(content), "created_at": _DAY}  # fmt: skip
    return {"id": key, "object": "file", "bytes": len(content), "created_at": 1, "filename": name,
            "purpose": "batch", "status": "processed"}  # fmt: skip


def answer(asked: Asked, kept: Kept) -> Answered | None:
    """Return the answer to a request, or None where it is for none of this."""
    steps = asked.path.removeprefix("/v1/").split("/")
    routes = {
        "models": _models,
        "files": _files,
        "batches": _batches,
        "audio": _audio,
        "images": _images,
        "responses": _responses,
        "messages": _messages,
    }
    route = routes.get(steps[0])
    return None if route is None else route(asked, steps[1:], kept)


def _is_anthropic(asked: Asked) -> bool:
    return "anthropic-version" in asked.headers


def _models(asked: Asked, _steps: list[str], _kept: Kept) -> Answered:
    if _is_anthropic(asked):
        one = {"id": "claude-x", "type": "model", "display_name": "X", "created_at": _DAY}
        return _json({"data": [one], "has_more": False, "first_id": None, "last_id": None})
    model = {"id": "gpt-x", "object": "model", "created": 1, "owned_by": "stub"}
    return _json({"object": "list", "data": [model]})


def _files(asked: Asked, steps: list[str], kept: Kept) -> Answered:
    anthropic = _is_anthropic(asked)
    match asked.method, steps:
        case "POST", []:
            key = _new("file-")
            kept.files[key] = _uploaded(asked.body)
            return _json(_file(kept, key, anthropic=anthropic))
        case "GET", [key, "content"] if key in kept.files:
            return Answered(200, "application/octet-stream", kept.files[key][1])
        case "GET", [key] if key in kept.files:
            return _json(_file(kept, key, anthropic=anthropic))
        case "DELETE", [key] if key in kept.files:
            gone: Body = {"id": key, "type": "file_deleted"}
            return _json(gone if anthropic else {"id": key, "object": "file", "deleted": True})
        case _:
            return _json({"error": {"message": "no such file", "type": "x", "code": None}}, 404)


def _batches(_asked: Asked, steps: list[str], kept: Kept) -> Answered:
    key = steps[0] if steps else _new("batch_")
    times = kept.batches[key] = kept.batches.get(key, -1) + 1
    batch: Body = {"id": key, "object": "batch", "endpoint": "/v1/responses", "created_at": 1,
                   "completion_window": "24h", "input_file_id": "x",
                   "status": "in_progress"}  # fmt: skip
    if times > 1:
        output = _new("file-")
        kept.files[output] = ("out.jsonl", _RESULTS)
        batch |= {"status": "completed", "output_file_id": output}
    return _json(batch)


def _audio(asked: Asked, steps: list[str], _kept: Kept) -> Answered:
    if steps == ["speech"]:
        return Answered(200, "audio/mpeg", SOUND)
    name, content = _uploaded(asked.body)
    text = f"{name} {len(content)} {sha256(content).hexdigest()[:8]}"
    if b'name="stream"' in asked.body:
        events = [{"type": "transcript.text.delta", "delta": text},
                  {"type": "transcript.text.done", "text": text}]  # fmt: skip
        body = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in events)
        return Answered(200, "text/event-stream", body)
    return _json({"text": text})


def _images(asked: Asked, _steps: list[str], _kept: Kept) -> Answered:
    name, content = _uploaded(asked.body)
    picture = b64encode(_PICTURE).decode()
    made = {"b64_json": picture, "revised_prompt": f"{name} {len(content)}"}
    return _json({"created": 1, "data": [made]})


def _responses(asked: Asked, steps: list[str], _kept: Kept) -> Answered | None:
    match asked.method, steps:
        case "DELETE", [key]:
            return _json({"id": key, "object": "response", "deleted": True})
        case "GET", [_, "input_items"]:
            item = {"type": "message", "id": "msg_1", "role": "user", "content": []}
            return _json({"object": "list", "data": [item], "has_more": False})
        case ("GET", [key]) | ("POST", [key, "cancel"]):
            return _json({"id": key, "object": "response", "created_at": 1, "model": "ok",
                          "output": [], "status": "cancelled", "parallel_tool_calls": True,
                          "tool_choice": "auto", "tools": []})  # fmt: skip
        case _:
            return None


def _messages(asked: Asked, steps: list[str], kept: Kept) -> Answered | None:
    match steps:
        case ["count_tokens"]:
            return _json({"input_tokens": 9})
        case ["batches", _, "results"]:
            return Answered(200, "application/x-jsonl", _RESULTS)
        case ["batches", *rest]:
            key = rest[0] if rest else _new("msgbatch_")
            times = kept.batches[key] = kept.batches.get(key, -1) + 1
            return _json(_message_batch(key, asked.headers["host"], is_done=times > 1))
        case _:
            return None


def _message_batch(key: str, host: str, *, is_done: bool) -> Body:
    counts = {"canceled": 1, "errored": 0, "expired": 0, "processing": 0, "succeeded": 0}
    return {
        "id": key,
        "type": "message_batch",
        "processing_status": "ended" if is_done else "in_progress",
        "request_counts": counts,
        "created_at": _DAY,
        "expires_at": _DAY,
        "results_url": f"http://{host}/v1/messages/batches/{key}/results" if is_done else None,
    }
