"""Where the conversation of a model request stands, and which messages are tool results."""

import pytest

from mcprec_addon.exchange import Json, McpCall, ModelCall
from mcprec_addon.replay.conversation import (
    ToolTurn,
    conversation_member,
    is_tool_result,
    messages,
    tool_turn,
)


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


CALLS: Json = {
    "role": "assistant",
    "tool_calls": [{"function": {"name": "find"}}, {"function": {"name": "get"}}],
}


@pytest.mark.parametrize(
    ("talk", "steps", "turn"),
    [
        ([CALLS, {"role": "tool"}, {"role": "tool"}], (), ToolTurn("get", 1)),
        ([CALLS, {"role": "tool"}, {"role": "tool", "name": "find"}], (), ToolTurn("find", 1)),
        ([{"role": "tool", "tool_name": "sum"}], (), ToolTurn("sum")),
        ([{"role": "user", "content": "x"}], (), None),
        ([CALLS, {"role": "user", "content": "x"}], (), None),
    ],
)
def test_results_without_ids_come_in_the_order_of_calls(
    talk: list[Json], steps: tuple[str, ...], turn: ToolTurn | None
) -> None:
    """Ollama mints no ids, and clients of it may make some up for the results alone."""
    assert tool_turn(talk, len(talk) - 1, steps) == turn


def test_one_of_several_results_in_a_message_is_told_by_its_place() -> None:
    """Anthropic's clients send all results of a turn in one message."""

    def turn(*ids: str) -> list[Json]:
        called: Json = [{"type": "tool_use", "id": each, "name": f"t{each}"} for each in ids]
        results: Json = [{"type": "tool_result", "tool_use_id": each} for each in ids]
        return [{"role": "assistant", "content": called}, {"role": "user", "content": results}]

    talk = [*turn("1"), *turn("2", "3")]

    assert tool_turn(talk, 3, ("content", "1", "content")) == ToolTurn("t3", 2)
    assert tool_turn(talk, 3) == ToolTurn("t2", 2)
    assert tool_turn(talk, 1) == ToolTurn("t1", 1)


def test_items_of_one_answer_are_one_turn() -> None:
    """Responses send reasoning and each call as an item of its own."""
    talk: list[Json] = [
        {"role": "user", "content": "Sum?"},
        {"type": "reasoning"},
        {"type": "function_call", "call_id": "a", "name": "sum"},
        {"type": "local_shell_call", "call_id": "b"},
        {"type": "function_call_output", "call_id": "a", "output": "3"},
        {"type": "local_shell_call_output", "call_id": "b", "output": "x"},
        {"type": "function_call", "call_id": "c", "name": "get"},
        {"type": "function_call_output", "call_id": "c", "output": "4"},
    ]

    assert tool_turn(talk, 4) == ToolTurn("sum", 1)
    assert tool_turn(talk, 5) == ToolTurn("local_shell", 1)
    assert tool_turn(talk, 7) == ToolTurn("get", 2)
