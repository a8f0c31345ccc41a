"""What three model APIs look like on the wire: a scripted turn as a body or as a stream.

The last frame of a stream is the API's end marker. Ids are new in every answer.
"""

import json
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

type Body = dict[str, Any]

_EMAIL_TEXT = "Write to ana@acme.com or to Ben <ben@acme.com>, not before 10."
_ARGUMENTS = {"a": 2, "b": 3}
_PIECE = 4  # characters in a delta: any e-mail address is in several
_THOUGHT = "Two and three; I am to add them."


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the model says: a text, or a call of a tool where `tool` is given."""

    text: str = ""
    tool: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """An answer in the shape of one API."""

    whole: Body
    frames: list[bytes]
    error_frame: bytes


def scripted_turn(behaviour: str, *, asked: str, result: str | None, tool: str | None) -> Turn:
    """Return what the model says.

    Args:
        behaviour: ``tool``, ``think`` and ``email`` have their own turns; all others echo the
            question.
        asked: Text of the last message of the user.
        result: Text of the last tool result, or None.
        tool: Name of the first tool offered, or None.
    """
    if behaviour == "email":
        return Turn(text=_EMAIL_TEXT)
    if behaviour not in ("tool", "think") or tool is None:
        return Turn(text=f"You asked: {asked}")
    return Turn(tool=tool) if result is None else Turn(text=f"The tool said {result}.")


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def _new(prefix: str) -> str:
    return prefix + uuid4().hex[:24]


def _sealed(behaviour: str) -> str:
    """Return what only the API can read: opaque, new in every answer."""
    return b64encode(f"{behaviour} {uuid4()} {uuid4()} {uuid4()}".encode()).decode()


def _frame(data: object, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part.get("text", "") for part in parts if isinstance(part, dict))


def _last(texts: list[str]) -> str | None:
    return texts[-1] if texts else None


# OpenAI chat completions


def chat(request: Body, behaviour: str) -> Shape:
    """Answer a chat completion request."""
    messages = request.get("messages", [])
    tools = request.get("tools") or []
    turn = scripted_turn(
        behaviour,
        asked=_last([_text_of(one["content"]) for one in messages if one["role"] == "user"]) or "",
        result=_last([_text_of(one["content"]) for one in messages if one["role"] == "tool"]),
        tool=tools[0]["function"]["name"] if tools else None,
    )
    frame = {"id": _new("chatcmpl-"), "created": int(time.time()), "model": request.get("model")}
    usage = {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}
    call: Body = {
        "id": _new("call_"),
        "type": "function",
        "function": {"name": turn.tool, "arguments": json.dumps(_ARGUMENTS)},
    }
    message: Body = {"role": "assistant", "content": turn.text or None, "refusal": None}
    if turn.tool:
        message["tool_calls"] = [call]
    reason = "tool_calls" if turn.tool else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    whole = {**frame, "object": "chat.completion", "choices": [choice], "usage": usage}
    chunk = {**frame, "object": "chat.completion.chunk"}
    events = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in _chat_deltas(turn, call)
    ]
    events.append({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if (request.get("stream_options") or {}).get("include_usage"):
        events.append({**chunk, "choices": [], "usage": usage})
    return Shape(
        whole=whole,
        frames=[*map(_frame, events), b"data: [DONE]\n\n"],
        error_frame=_frame(openai_error("server_error", "The stub breaks off.")),
    )


def _chat_deltas(turn: Turn, call: Body) -> Iterator[Body]:
    if not turn.tool:
        yield {"role": "assistant", "content": ""}
        yield from ({"content": piece} for piece in _pieces(turn.text))
        return
    function = {"name": turn.tool, "arguments": ""}
    yield {"role": "assistant", "tool_calls": [{"index": 0, **call, "function": function}]}
    for piece in _pieces(json.dumps(_ARGUMENTS)):
        yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}


def openai_error(kind: str, message: str) -> Body:
    """Return an error in OpenAI's shape."""
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


# OpenAI responses


def responses(request: Body, behaviour: str) -> Shape:
    """Answer a responses request."""
    given = request.get("input", "")
    items = given if isinstance(given, list) else [{"role": "user", "content": given}]
    tools = request.get("tools") or []
    outputs = [one for one in items if one.get("type") == "function_call_output"]
    turn = scripted_turn(
        behaviour,
        asked=_last([_text_of(one["content"]) for one in items if one.get("role") == "user"]) or "",
        result=_last([_text_of(one["output"]) for one in outputs]),
        tool=tools[0]["name"] if tools else None,
    )
    said = [_call_item(turn.tool) if turn.tool else _message_item(turn.text)]
    if behaviour == "think":
        said.insert(0, _reasoning_item(_sealed(behaviour)))
    response: Body = {
        "id": _new("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": request.get("model"),
        "output": said,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": tools,
        "error": None,
        "incomplete_details": None,
        "usage": {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 16,
        },
    }
    events = [
        {"type": kind, "sequence_number": number, **fields}
        for number, (kind, fields) in enumerate(_response_events(response, said))
    ]
    error = {"type": "error", "code": "server_error", "message": "The stub breaks off."}
    return Shape(
        whole=response,
        frames=[_frame(event, event["type"]) for event in events],
        error_frame=_frame({**error, "param": None, "sequence_number": 99}, "error"),
    )


def _message_item(text: str) -> Body:
    part: Body = {"type": "output_text", "text": text, "annotations": []}
    head: Body = {"type": "message", "id": _new("msg_"), "status": "completed", "role": "assistant"}
    return {**head, "content": [part]}


def _call_item(tool: str) -> Body:
    head: Body = {"type": "function_call", "id": _new("fc_"), "status": "completed"}
    return {**head, "call_id": _new("call_"), "name": tool, "arguments": json.dumps(_ARGUMENTS)}


def _reasoning_item(sealed: str) -> Body:
    part: Body = {"type": "summary_text", "text": _THOUGHT}
    head: Body = {"type": "reasoning", "id": _new("rs_"), "summary": [part]}
    return {**head, "encrypted_content": sealed}


def _response_events(response: Body, items: list[Body]) -> Iterator[tuple[str, Body]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(items):
        empty, events = _ITEMS[item["type"]]
        opened = {**item, "status": "in_progress", **empty}
        yield "response.output_item.added", {"output_index": index, "item": opened}
        yield from events(item, {"item_id": item["id"], "output_index": index})
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield "response.completed", {"response": response}


def _reasoning_events(item: Body, at: Body) -> Iterator[tuple[str, Body]]:
    part = item["summary"][0]
    at = {**at, "summary_index": 0}
    yield "response.reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
    for piece in _pieces(part["text"]):
        yield "response.reasoning_summary_text.delta", {**at, "delta": piece}
    yield "response.reasoning_summary_text.done", {**at, "text": part["text"]}
    yield "response.reasoning_summary_part.done", {**at, "part": part}


def _text_events(item: Body, at: Body) -> Iterator[tuple[str, Body]]:
    part = item["content"][0]
    at = {**at, "content_index": 0}
    yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
    for piece in _pieces(part["text"]):
        yield "response.output_text.delta", {**at, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**at, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**at, "part": part}


def _call_events(item: Body, at: Body) -> Iterator[tuple[str, Body]]:
    for piece in _pieces(item["arguments"]):
        yield "response.function_call_arguments.delta", {**at, "delta": piece}
    done = {"arguments": item["arguments"], "name": item["name"]}
    yield "response.function_call_arguments.done", {**at, **done}


type _Events = Callable[[Body, Body], Iterator[tuple[str, Body]]]

_ITEMS: dict[str, tuple[Body, _Events]] = {
    "message": ({"content": []}, _text_events),
    "function_call": ({"arguments": ""}, _call_events),
    "reasoning": ({"summary": []}, _reasoning_events),
}


# Anthropic messages


def messages(request: Body, behaviour: str) -> Shape:
    """Answer a messages request."""
    said = [one["content"] for one in request.get("messages", []) if one["role"] == "user"]
    blocks = [block for content in said if isinstance(content, list) for block in content]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    tools = request.get("tools") or []
    turn = scripted_turn(
        behaviour,
        asked=_last([text for text in map(_text_of, said) if text]) or "",
        result=_last([_text_of(block.get("content")) for block in results]),
        tool=tools[0]["name"] if tools else None,
    )
    block: Body = {"type": "text", "text": turn.text}
    if turn.tool:
        block = {"type": "tool_use", "id": _new("toolu_"), "name": turn.tool, "input": _ARGUMENTS}
    said_now = [*(_thoughts(behaviour) if behaviour == "think" else ()), block]
    whole: Body = {
        "id": _new("msg_"),
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": said_now,
        "stop_reason": "tool_use" if turn.tool else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 7},
    }
    events = [{"type": kind, **fields} for kind, fields in _message_events(whole)]
    return Shape(
        whole=whole,
        frames=[_frame(event, event["type"]) for event in events],
        error_frame=_frame(anthropic_error("api_error", "The stub breaks off."), "error"),
    )


def _thoughts(behaviour: str) -> list[Body]:
    return [
        {"type": "thinking", "thinking": _THOUGHT, "signature": _sealed(behaviour)},
        {"type": "redacted_thinking", "data": _sealed(behaviour)},
    ]


def _message_events(whole: Body) -> Iterator[tuple[str, Body]]:
    usage = {"input_tokens": 9, "output_tokens": 1}
    begun = {**whole, "content": [], "stop_reason": None, "usage": usage}
    yield "message_start", {"message": begun}
    for index, block in enumerate(whole["content"]):
        empty = _EMPTY_BLOCKS[block["type"]]
        yield "content_block_start", {"index": index, "content_block": {**block, **empty}}
        yield "ping", {}
        for delta in _block_deltas(block):
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": ending, "usage": {"output_tokens": 7}}
    yield "message_stop", {}


_EMPTY_BLOCKS: dict[str, Body] = {
    "text": {"text": ""},
    "tool_use": {"input": {}},
    "thinking": {"thinking": "", "signature": ""},
    "redacted_thinking": {},
}


def _block_deltas(block: Body) -> Iterator[Body]:
    match block["type"]:
        case "text":
            yield from ({"type": "text_delta", "text": each} for each in _pieces(block["text"]))
        case "thinking":
            for piece in _pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use":
            for piece in _pieces(json.dumps(block["input"])):
                yield {"type": "input_json_delta", "partial_json": piece}
        case _:
            return


def anthropic_error(kind: str, message: str) -> Body:
    """Return an error in Anthropic's shape."""
    return {"type": "error", "error": {"type": kind, "message": message}}
