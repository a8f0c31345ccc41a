"""Where the conversation of a model request stands, and which messages are tool results."""

import pytest

from mcprec_addon.exchange import Json, McpCall, ModelCall
from mcprec_addon.replay.conversation import conversation_member, is_tool_result, messages


def test_member_is_the_one_of_the_endpoint() -> None:
    """A member named like another provider's conversation is an ordinary member."""
    call = ModelCall(
        provider="openai", path="/v1/responses", request={"messages": [], "input": [1, 2]}
    )

    assert conversation_member(call) == "input"
    assert messages(call) == [1, 2]


def test_text_input_is_no_conversation() -> None:
    """Responses takes plain text as its input too."""
    call = ModelCall(provider="openai", path="/v1/responses", request={"input": "hi"})

    assert conversation_member(call) is None
    assert messages(call) == []
    assert messages(McpCall(server="t", method="ping")) == []


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "tool", "content": "3"}, True),
        ({"type": "function_call_output", "output": "3"}, True),
        ({"role": "user", "content": [{"type": "tool_result", "content": "3"}]}, True),
        ({"role": "user", "parts": [{"functionResponse": {"name": "f"}}]}, True),
        ({"role": "user", "content": [{"type": "text", "text": "3"}, "x"]}, False),
        ({"role": "user", "content": "3"}, False),
        ("3", False),
    ],
)
def test_tool_results_of_every_provider(message: Json, *, expected: bool) -> None:
    """The hint to look at the tool depends on it."""
    assert is_tool_result(message) is expected
