"""Clients of the OpenAI SDK: chat completions and responses, whole and streamed."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anyio
from openai import AsyncOpenAI, OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState

from tests.peers.transcript import Transcript

type Sdk = Any
"""An object of the SDK, whose attributes are read as a user would."""

_PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
_FUNCTION = {"name": "add", "description": "Add two numbers.", "parameters": _PARAMETERS}
_CHAT_TOOLS: list[Any] = [{"type": "function", "function": _FUNCTION}]
_RESPONSE_TOOLS: list[Any] = [{"type": "function", "strict": False, **_FUNCTION}]
_SYSTEM = "You are terse."


def _question(model: str) -> str:
    return f"What is {model}?"


def _use(arguments: str) -> str:
    return str(sum(json.loads(arguments).values()))


def _messages(model: str) -> list[Any]:
    return [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": _question(model)},
    ]


def _chat_request(model: str, conversation: list[Any]) -> dict[str, Any]:
    return {"model": model, "messages": conversation, "tools": _CHAT_TOOLS, "temperature": 0}


def _chat_seen(completion: Sdk) -> dict[str, object]:
    choice = completion.choices[0]
    calls = [
        [call.function.name, call.function.arguments] for call in choice.message.tool_calls or ()
    ]
    text = choice.message.content
    return {"text": text, "calls": calls, "finish": choice.finish_reason}


def _chat_answered(conversation: list[Any], completion: Sdk) -> bool:
    """Append the turn and its tool results; False where the model asks for no tool."""
    message = completion.choices[0].message
    if not message.tool_calls:
        return False
    calls = [call.model_dump(exclude={"parsed_arguments"}) for call in message.tool_calls]
    for call in calls:
        call.pop("index", None)
        call["function"].pop("parsed_arguments", None)
    conversation.append({"role": "assistant", "content": message.content, "tool_calls": calls})
    for call in message.tool_calls:
        result = _use(call.function.arguments)
        conversation.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return True


def _chat(client: OpenAI, model: str, *, stream: bool) -> list[object]:
    conversation, seen = _messages(model), []
    while True:
        request = _chat_request(model, conversation)
        completion: Any
        if stream:
            state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
            for chunk in client.chat.completions.create(**request, stream=True):
                state.handle_chunk(chunk)
            completion = state.current_completion_snapshot
        else:
            completion = client.chat.completions.create(**request)
        seen.append(_chat_seen(completion))
        if not _chat_answered(conversation, completion):
            return list(seen)


async def _chat_async(client: AsyncOpenAI, model: str, *, stream: bool) -> list[object]:
    conversation, seen = _messages(model), []
    while True:
        request = _chat_request(model, conversation)
        completion: Any
        if stream:
            state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
            async for chunk in await client.chat.completions.create(**request, stream=True):
                state.handle_chunk(chunk)
            completion = state.current_completion_snapshot
        else:
            completion = await client.chat.completions.create(**request)
        seen.append(_chat_seen(completion))
        if not _chat_answered(conversation, completion):
            return list(seen)


def _responses(client: OpenAI, model: str, *, stream: bool) -> list[object]:
    conversation: list[Any] = [{"role": "user", "content": _question(model)}]
    seen: list[object] = []
    while True:
        request: dict[str, Any] = {
            "model": model,
            "instructions": _SYSTEM,
            "input": conversation,
            "tools": _RESPONSE_TOOLS,
        }
        if model == "think":
            request |= {"store": False, "include": ["reasoning.encrypted_content"]}
        response, kinds = _response(client, request, stream=stream)
        calls = [item for item in response.output if item.type == "function_call"]
        asked = [[call.name, call.arguments] for call in calls]
        thoughts = [item.summary[0].text for item in response.output if item.type == "reasoning"]
        told = {"calls": asked, "events": kinds, "thoughts": thoughts}
        seen.append({"text": response.output_text, **told})
        if not calls:
            return seen
        conversation += [item.model_dump(exclude_none=True) for item in response.output]
        conversation += [
            {
                "type": "function_call_output",
                "call_id": call.call_id,
                "output": _use(call.arguments),
            }
            for call in calls
        ]


def _response(client: OpenAI, request: dict[str, Any], *, stream: bool) -> tuple[Any, list[str]]:
    if not stream:
        return client.responses.create(**request), []
    kinds: list[str] = []
    response: Any = None
    for event in client.responses.create(**request, stream=True):
        kinds.append(event.type)
        response = getattr(event, "response", response)
    return response, kinds


_SYNC: dict[str, tuple[Callable[..., list[object]], bool]] = {
    "openai": (_chat, False),
    "openai-stream": (_chat, True),
    "responses": (_responses, False),
    "responses-stream": (_responses, True),
}


def run(kind: str, _url: str, models: Sequence[str]) -> Transcript:
    """Run one client against the API its environment names and return what it saw."""
    log = Transcript()
    if kind in _SYNC:
        ask, stream = _SYNC[kind]
        with OpenAI() as client:
            for model in models:
                log.plain_step(model, partial(ask, client, model, stream=stream))
        return log

    async def session() -> None:
        async with AsyncOpenAI() as client:
            for model in models:
                await log.step(model, _chat_async(client, model, stream=kind.endswith("-stream")))

    anyio.run(session)
    return log
