"""The causes of a miss are told apart, because their remedies differ."""

import pytest

from mcprec_addon.exchange import (
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
)
from mcprec_addon.jsonvalue import pointer_text
from mcprec_addon.replay.diagnosis import find_miss
from mcprec_addon.replay.miss import Cause

TALK: Json = [{"role": "user", "content": "hi"}]


def call(request: dict[str, Json], path: str = "/v1/messages") -> ModelCall:
    provider = "anthropic" if path == "/v1/messages" else "gemini"
    return ModelCall(provider=provider, path=path, request=request)


def recorded(asked: ModelCall) -> ModelExchange:
    return ModelExchange(seq=1, call=asked, answer=ModelAnswer(kind="none"))


@pytest.mark.parametrize(
    ("changed", "cause", "index"),
    [
        ({"messages": []}, "diverged", 0),
        ({"messages": [], "max_tokens": 65}, "differs", 0),
        ({"max_tokens": 65}, "differs", None),
    ],
)
def test_a_conversation_diverged_where_nothing_else_differs(
    changed: dict[str, Json], cause: Cause, index: int | None
) -> None:
    """A parameter that changed as well is nearer to the cause than what was said."""
    request: dict[str, Json] = {"max_tokens": 64, "messages": TALK}

    miss = find_miss(call({**request, **changed}), [recorded(call(request))])

    assert (miss.cause, miss.message_index) == (cause, index)


def test_a_model_that_is_named_in_the_path_is_a_difference() -> None:
    """Everything else is equal, and 'used up' would send the reader counting."""
    path = "/v1beta/models/gemini-2.5-flash:generateContent"
    tape = [recorded(call({"contents": TALK}, path))]

    miss = find_miss(call({"contents": TALK}, path.replace("flash", "pro")), tape)

    assert (miss.cause, [pointer_text(each.pointer) for each in miss.differences]) == (
        "differs",
        ["/path"],
    )
    assert "a parameter changed: model" in miss.reasons()


def test_a_resource_in_another_persons_folder_is_offered_a_rule() -> None:
    """Its address is its name, so that there is no nearest call, only a nearest name."""

    def read(address: str) -> McpCall:
        return McpCall(server="t", method="resources/read", name=address)

    tape = [McpExchange(seq=1, call=read("file:///home/ana/a"), answer=McpAnswer(kind="result"))]

    text = find_miss(read("file:///home/bob/a"), tape).text()

    assert "looks like a home folder that changes by itself: --normalize home" in text
    assert "record again" not in text
    assert "record again" in find_miss(read("file:///home/bob/b"), tape).text()
