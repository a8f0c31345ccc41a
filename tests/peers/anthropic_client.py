"""Clients of the Anthropic SDK: messages, whole and streamed, sync and async."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
from anthropic import Anthropic, AsyncAnthropic

from tests.peers.transcript import Transcript

type Sdk = Any
"""An object of the SDK, whose attributes are read as a user would."""

_SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
_TOOLS: list[Any] = [{"name": "add", "description": "Add two numbers.", "input_schema": _SCHEMA}]


def _request(model: str, conversation: list[Any]) -> dict[str, Any]:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    return {
        **({"thinking": thinking} if model == "think" else {}),
        "model": model,
        "max_tokens": 2000,
        "system": "You are terse.",
        "messages": conversation,
        "tools": _TOOLS,
    }


def _seen(message: Sdk) -> dict[str, object]:
    sealed = {"id", "signature", "data"}
    blocks = [block.model_dump(exclude=sealed, exclude_none=True) for block in message.content]
    usage = [message.usage.input_tokens, message.usage.output_tokens]
    return {"content": blocks, "stop": message.stop_reason, "usage": usage}


def _answered(conversation: list[Any], message: Sdk) -> bool:
    """Append the turn and its tool results; False where the model asks for no tool."""
    calls = [block for block in message.content if block.type == "tool_use"]
    if not calls:
        return False
    blocks = [
        block.model_dump(exclude={"caller", "citations"}, exclude_none=True)
        for block in message.content
    ]
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": str(sum(call.input.values()))}
        for call in calls
    ]
    conversation.append({"role": "assistant", "content": blocks})
    conversation.append({"role": "user", "content": results})
    return True


def _ask(client: Anthropic, model: str, *, stream: bool) -> list[object]:
    conversation: list[Any] = [{"role": "user", "content": f"What is {model}?"}]
    seen: list[object] = []
    while True:
        request = _request(model, conversation)
        message: Any
        if stream:
            with client.messages.stream(**request) as events:
                message = events.get_final_message()
        else:
            message = client.messages.create(**request)
        seen.append(_seen(message))
        if not _answered(conversation, message):
            return seen


async def _ask_async(client: AsyncAnthropic, model: str, *, stream: bool) -> list[object]:
    conversation: list[Any] = [{"role": "user", "content": f"What is {model}?"}]
    seen: list[object] = []
    while True:
        request = _request(model, conversation)
        message: Any
        if stream:
            async with client.messages.stream(**request) as events:
                message = await events.get_final_message()
        else:
            message = await client.messages.create(**request)
        seen.append(_seen(message))
        if not _answered(conversation, message):
            return seen


def run(kind: str, _url: str, models: Sequence[str]) -> Transcript:
    """Run one client against the API its environment names and return what it saw."""
    log = Transcript()
    stream = kind.endswith("-stream")
    if "async" not in kind:
        with Anthropic() as client:
            for model in models:
                log.plain_step(model, partial(_ask, client, model, stream=stream))
        return log

    async def session() -> None:
        async with AsyncAnthropic() as client:
            for model in models:
                await log.step(model, _ask_async(client, model, stream=stream))

    anyio.run(session)
    return log
