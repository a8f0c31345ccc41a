"""A long conversation of an agent with a model, made up: what it weighs raw, new and recorded.

Each turn the model asks for a tool, and the next request holds everything so far and the tool's
answer. Words are drawn from a seed, so that sizes are the same in every run.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from mcprec_addon.cassette.records import model_record
from mcprec_addon.cassette.writing import write_cassette
from mcprec_addon.exchange import Cassette, Json, ModelCall, ModelExchange
from mcprec_addon.jsonvalue import dumps
from mcprec_addon.wire.model_answer import ModelAnswerReader

_DELTA = 4  # characters
_FIRST_MS, _EVENT_MS = 310, 17
_HEADERS = {
    "openai-processing-ms": "281",
    "openai-version": "2020-10-01",
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-limit-tokens": "30000",
    "x-ratelimit-remaining-requests": "499",
    "x-ratelimit-remaining-tokens": "29970",
    "x-ratelimit-reset-requests": "120ms",
    "x-ratelimit-reset-tokens": "60ms",
}
_ANSWER = ("status", "headers", "body", "events", "end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Bytes of one conversation.

    Attributes:
        raw: Bodies of all requests and answers as they passed.
        new: Elements of requests that were not seen before, and answers as they are stored.
        section: The model half of its cassette.
    """

    raw: int
    new: int
    section: int

    @property
    def ratio(self) -> float:
        """The section against what is new in it."""
        return self.section / self.new


def weigh(turns: int, *, result_bytes: int, is_streamed: bool) -> Weight:
    """Return what a conversation of so many turns weighs.

    Args:
        turns: How often the model is asked.
        result_bytes: Length of what each tool answers.
        is_streamed: The model streams its answers.
    """
    exchanges: list[ModelExchange] = []
    raw = 0
    for request, answer in _conversation(turns, result_bytes, is_streamed=is_streamed):
        exchanges.append(_exchange(len(exchanges) * 2 + 1, request, answer))
        raw += len(dumps(request)) + sum(map(len, answer))
    line = write_cassette(Cassette(exchanges=tuple(exchanges), model_via="base-url"))
    return Weight(
        raw=raw, new=_new(exchanges), section=len(line) - line.index(b'{"kind":"section"')
    )


def _new(exchanges: list[ModelExchange]) -> int:
    seen: set[bytes] = set()
    stored = 0
    for exchange in exchanges:
        seen.update(map(dumps, _elements(exchange.call.request)))
        record = model_record(exchange, via=None)
        stored += len(dumps({name: record[name] for name in _ANSWER if name in record}))
    return stored + sum(map(len, seen))


def _elements(request: Json) -> Iterator[Json]:
    for name, member in request.items() if isinstance(request, dict) else ():
        if name == "messages" and isinstance(member, list):
            yield from member
        else:
            yield member


def _exchange(seq: int, request: Json, answer: list[bytes]) -> ModelExchange:
    call = ModelCall(provider="openai", path="/v1/chat/completions", request=request)
    reader = ModelAnswerReader(call)
    kind = "text/event-stream; charset=utf-8" if len(answer) > 1 else "application/json"
    identity = {"content-type": kind, "x-request-id": f"req_{seq:032x}"}
    reader.head(200, [*(identity | _HEADERS).items()])
    for number, data in enumerate(answer):
        reader.feed(data, _FIRST_MS + number * _EVENT_MS)
    return ModelExchange(seq=seq, call=call, answer=reader.finish("complete"), ms=1234)


def _conversation(
    turns: int, result_bytes: int, *, is_streamed: bool
) -> Iterator[tuple[Json, list[bytes]]]:
    """Yield each request and the pieces of its answer."""
    words = _Words()
    messages: list[Json] = [
        {"role": "system", "content": words.text(3000)},
        {"role": "user", "content": words.text(200)},
    ]
    tools: Json = [_tool(number, words) for number in range(12)]
    for turn in range(turns):
        request: dict[str, Json] = {"model": "gpt-5", "messages": [*messages], "tools": tools}
        request["temperature"] = 0
        if is_streamed:
            request |= {"stream": True, "stream_options": {"include_usage": True}}
        arguments = dumps({"query": words.text(60)}).decode()
        call = _call(f"call_{turn:024x}", arguments)
        yield request, [*_events(turn, call, arguments)] if is_streamed else [_body(turn, call)]
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": words.text(result_bytes)},
        ]


def _call(call_id: str, arguments: str) -> dict[str, Json]:
    function: Json = {"name": "tool_1", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _tool(number: int, words: "_Words") -> Json:
    query: Json = {"type": "string", "description": words.text(60)}
    parameters: Json = {"type": "object", "properties": {"query": query}}
    function: Json = {"name": f"tool_{number}", "description": words.text(200)}
    assert isinstance(function, dict)
    return {"type": "function", "function": {**function, "parameters": parameters}}


_USAGE: Json = {"prompt_tokens": 900, "completion_tokens": 17, "total_tokens": 917}


def _body(turn: int, call: Json) -> bytes:
    message: Json = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]}
    choice: Json = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
    head: dict[str, Json] = {"id": f"chatcmpl-{turn:024x}", "object": "chat.completion"}
    body = head | {"created": 1, "model": "gpt-5", "choices": [choice], "usage": _USAGE}
    return dumps(body)


def _events(turn: int, call: dict[str, Json], arguments: str) -> Iterator[bytes]:
    head: dict[str, Json] = {"id": f"chatcmpl-{turn:024x}", "object": "chat.completion.chunk"}
    head |= {"created": 1, "model": "gpt-5", "system_fingerprint": "fp_1"}

    def event(delta: Json, reason: str | None = None) -> bytes:
        choice: Json = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return b"data: %b\n\n" % dumps(head | {"choices": [choice]})

    function: Json = {"name": "tool_1", "arguments": ""}
    opened: Json = {"index": 0, "id": call["id"], "type": "function", "function": function}
    yield event({"role": "assistant", "content": None, "tool_calls": [opened]})
    for start in range(0, len(arguments), _DELTA):
        piece: Json = {"arguments": arguments[start : start + _DELTA]}
        yield event({"tool_calls": [{"index": 0, "function": piece}]})
    yield event({}, "tool_calls")
    yield b"data: %b\n\n" % dumps(head | {"choices": [], "usage": _USAGE})
    yield b"data: [DONE]\n\n"


class _Words:
    """Text that does not repeat itself."""

    def __init__(self) -> None:
        self._random = random.Random(1)  # noqa: S311 - the same in every run

    def text(self, length: int) -> str:
        made = ""
        while len(made) < length:
            letters = self._random.choices(
                "abcdefghijklmnopqrstuvwxyz", k=self._random.randint(2, 9)
            )
            made += "".join(letters) + " "
        return made[:length]
