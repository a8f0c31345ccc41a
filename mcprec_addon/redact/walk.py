"""Goes over every text of an exchange, in the order in which a cassette has them.

What happens to a text is a `Change`. Values come back as they were where nothing changed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from mcprec_addon.exchange import (
    Answer,
    Call,
    Exchange,
    Half,
    Input,
    Json,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    Message,
    ModelAnswer,
    ModelCall,
    Noise,
    Opaque,
    Pairs,
    StreamEvent,
)
from mcprec_addon.long_events import changed_each
from mcprec_addon.wire.multipart import is_binary

Root = Literal[
    "args", "params", "input", "meta", "result", "error", "message", "answer", "request", "body"
]
"""Member of a record at which a value stands."""


class Change:
    """What happens to the texts of an exchange; by default all of them go through `text`."""

    def text(self, text: str) -> str:
        """Return a text, changed."""
        raise NotImplementedError

    def json(self, value: Json, root: Root, half: Half) -> Json:  # noqa: ARG002  # for those who care
        """Return a value, changed."""
        return mapped(value, self.text)

    def uri(self, uri: str) -> str:
        """Return a path or the URI of a resource, changed."""
        return self.text(uri)

    def header(self, name: str, value: str) -> str:  # noqa: ARG002
        """Return the value of a header, changed."""
        return self.text(value)

    def state(self, state: Json) -> Json:
        """Return a request state, changed."""
        return self.json(state, "input", "mcp")

    def events(self, events: Sequence[StreamEvent], provider: str) -> Sequence[StreamEvent]:  # noqa: ARG002
        """Return the events of a stream, changed; those of a long one whenever it is looked at."""
        return changed_each(
            events, lambda event: replace(event, value=self.json(event.value, "body", "model"))
        )

    def mcp_events(self, events: Sequence[McpEvent]) -> Sequence[McpEvent]:
        """Return the messages before an answer, changed; many of them whenever looked at."""
        return changed_each(events, lambda event: mcp_event(event, self))


def mapped(
    value: Json, text: Callable[[str], str], leaf: Callable[[str | int], Json] | None = None
) -> Json:
    """Return a value with every string and every key changed.

    Args:
        value: The value.
        text: Changes a string.
        leaf: Changes a string or whole number that is no key, where they may become each other.
    """
    match value:
        case str() | int() if not isinstance(value, bool):
            return _leaf(value, text, leaf)
        case dict():
            return {text(key): mapped(member, text, leaf) for key, member in value.items()}
        case list():
            return [mapped(member, text, leaf) for member in value]
        case Pairs():
            return Pairs(
                tuple((text(key), mapped(member, text, leaf)) for key, member in value.members)
            )
        case Opaque():
            return opaque(value, text)
        case _:
            return value


def _leaf(
    value: str | int, text: Callable[[str], str], leaf: Callable[[str | int], Json] | None
) -> Json:
    if leaf is not None:
        return leaf(value)
    return text(value) if isinstance(value, str) else value


def opaque(value: Opaque, text: Callable[[str], str]) -> Opaque:
    """Return a body that is no JSON, changed; bytes are read as UTF-8 as far as they are.

    Sound, pictures and archives stay: what looks like a secret there is chance, and a change
    would break them.
    """
    if isinstance(value.content, str):
        return Opaque(text(value.content))
    if is_binary(value.content):
        return value
    read = value.content.decode("utf-8", "surrogateescape")
    changed = text(read)
    return value if changed == read else Opaque(changed.encode("utf-8", "surrogateescape"))


def exchange(exchange: Exchange, change: Change) -> Exchange:
    """Return an exchange, changed: the call before its answer."""
    if isinstance(exchange, McpExchange):
        asked = _mcp_call(exchange.call, change)
        return replace(exchange, call=asked, answer=_mcp_answer(exchange.answer, change))
    model = _model_call(exchange.call, change)
    answered = _model_answer(exchange.answer, change, exchange.call.provider)
    return replace(exchange, call=model, answer=answered)


def call(call: Call, change: Change) -> Call:
    """Return a call, changed."""
    return _mcp_call(call, change) if isinstance(call, McpCall) else _model_call(call, change)


def answer(answer: Answer, change: Change, *, provider: str = "") -> Answer:
    """Return an answer, changed."""
    if isinstance(answer, McpAnswer):
        return _mcp_answer(answer, change)
    return _model_answer(answer, change, provider)


def message(message: Message, change: Change) -> Message:
    """Return a message, changed."""
    return replace(
        message,
        params=change.json(message.params, "params", "mcp"),
        answer=change.json(message.answer, "answer", "mcp"),
    )


def noise(noise: Noise, change: Change) -> Noise:
    """Return a line of noise, changed."""
    return replace(noise, text=change.text(noise.text))


def _mcp_call(call: McpCall, change: Change) -> McpCall:
    is_task = call.method.startswith("tasks/")  # its name is a task id, minted by the server
    return replace(
        call,
        name=call.name if call.name is None or is_task else change.uri(call.name),
        args=change.json(call.args, "args", "mcp"),
        params=change.json(call.params, "params", "mcp"),
        input=call.input if call.input is None else _input(call.input, change),
        meta=_object(call.meta, change, "meta"),
    )


def _input(given: Input, change: Change) -> Input:
    responses = change.json(given.responses, "input", "mcp")
    return Input(state=change.state(given.state), responses=responses)


def _object(value: dict[str, Json], change: Change, root: Root) -> dict[str, Json]:
    changed = change.json(value, root, "mcp")
    return changed if isinstance(changed, dict) else {}


def _mcp_answer(answer: McpAnswer, change: Change) -> McpAnswer:
    roots: dict[str, Root] = {"result": "result", "error": "error"}
    root = roots.get(answer.kind, "body")
    return replace(
        answer,
        events=change.mcp_events(answer.events),
        value=change.json(answer.value, root, "mcp"),
        headers=_headers(answer.headers, change),
    )


def mcp_event(event: McpEvent, change: Change) -> McpEvent:
    """Return a message before an answer, changed."""
    told = _object(event.message, change, "message")
    return replace(event, message=told, answer=change.json(event.answer, "answer", "mcp"))


def _model_call(call: ModelCall, change: Change) -> ModelCall:
    path = change.uri(call.path)
    return replace(call, path=path, request=change.json(call.request, "request", "model"))


def _model_answer(answer: ModelAnswer, change: Change, provider: str) -> ModelAnswer:
    return replace(
        answer,
        events=change.events(answer.events, provider),
        value=change.json(answer.value, "body", "model"),
        tail=answer.tail if answer.tail is None else change.text(answer.tail),
        headers=_headers(answer.headers, change),
    )


def _headers(headers: Mapping[str, str | list[str]], change: Change) -> dict[str, str | list[str]]:
    return {
        name: change.header(name, value)
        if isinstance(value, str)
        else [change.header(name, each) for each in value]
        for name, value in headers.items()
    }
