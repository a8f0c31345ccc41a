"""What a miss says of its differences: who changed something, and where to look."""

import json
from pathlib import Path

import pytest

from mcprec_addon.exchange import Json, McpCall, ModelCall
from mcprec_addon.jsonvalue import loads
from mcprec_addon.replay.causes import explained
from mcprec_addon.replay.differing import call_differences
from mcprec_addon.replay.nearest import asked_part
from mcprec_addon.wire.providers import find_api

CAPTURES = sorted((Path(__file__).parent.parent / "fixtures" / "model").glob("*.json"))
HEAD: Json = {"role": "user", "content": "Any open bugs?"}


def lines(old: Json, new: Json, *, path: str = "/v1/chat/completions") -> list[str]:
    """Return what is said of two requests that differ."""
    found = find_api(path, new)
    provider = found[0].name if found else "other"
    recorded, asked = (ModelCall(provider=provider, path=path, request=each) for each in (old, new))
    return explained(
        asked, recorded, call_differences(asked_part(recorded), asked_part(asked), asked)
    )


def chat(*messages: Json, **fields: Json) -> dict[str, Json]:
    return {"model": "gpt-5", "messages": [HEAD, *messages], **fields}


def tool(name: str, *, description: str = "", **fields: Json) -> Json:
    return {"type": "function", "function": {"name": name, "description": description, **fields}}


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.stem)
def test_the_tool_of_a_result_is_named_for_every_sdk(capture: Path) -> None:
    """The prompt is only the messenger; who is to blame stands somewhere else in it."""
    for each in json.loads(capture.read_text()):
        body = json.dumps(each["body"])
        if "sunny" not in body or each["path"] == "/v1/traces/ingest":
            continue
        (said,) = lines(loads(body), loads(body.replace("sunny", "rainy")), path=each["path"])

        if "previous_response_id" in body:  # the call is not in the request
            assert "a tool result: look at the tool that produced it" in said
        else:
            assert said.startswith("diverged at message ")
            assert said.endswith("the result of get_weather, called in turn 1: look at that tool")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"model": "gpt-6"}, ["a parameter changed: model"]),
        ({"model": "gpt-6", "temperature": 1}, ["parameters changed: model, temperature"]),
        ({"options": {"seed": 1}}, ["a parameter changed: options"]),
        ({"tools": [tool("get"), tool("find")]}, ["the tools changed: another order"]),
        ({"tools": [tool("find")]}, ["the tools changed: get removed"]),
        (
            {"tools": [tool("new"), tool("find"), tool("get")]},
            ["the tools changed: new added"],
        ),
        (
            {"tools": [tool("find", description="Finds"), tool("get")]},
            ["the tools changed: function/description of find"],
        ),
    ],
)
def test_what_changed_beside_the_conversation_is_told_by_its_name(
    changed: dict[str, Json], says: list[str]
) -> None:
    """A pointer with a number in it does not say which tool."""
    recorded = chat(tools=[tool("find"), tool("get")])

    assert lines(recorded, {**recorded, **changed}) == says


def test_one_change_in_all_tools_is_another_framework() -> None:
    """Nobody edits every tool in one commit; an upgrade does."""
    recorded = chat(tools=[tool("find"), tool("get")])
    asked = chat(tools=[tool("find", strict=True), tool("get", strict=True)])

    assert lines(recorded, asked) == [
        "the tools changed: function/strict of find, get",
        "that looks like another version of the agent's framework or SDK",
    ]


def test_what_the_model_said_is_sent_back_otherwise() -> None:
    """A replayed model says what it said, so only the framework can have changed it."""
    old: Json = {"role": "assistant", "content": "Let me look."}
    new: Json = {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}]}

    assert lines(chat(old, HEAD), chat(new, HEAD)) == [
        (
            "diverged at message 1 of the conversation,"
            " what the model said, as the agent sends it back"
        ),
        "that looks like another version of the agent's framework or SDK",
    ]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ([HEAD], [HEAD, HEAD], "message 1 of the conversation, where the recorded one ends"),
        ([HEAD, HEAD], [HEAD], "message 1 of the conversation, where the recorded one goes on"),
        (
            [{"role": "system", "content": "a"}],
            [{"role": "system", "content": "b"}],
            "message 0 of the conversation, the system prompt",
        ),
        (
            [{"role": "user", "content": "a"}],
            [{"role": "user", "content": "b"}],
            "message 0 of the conversation, what the user says",
        ),
        (
            [{"role": "tool", "content": "a"}],
            [{"role": "tool", "content": "b"}],
            "message 0 of the conversation, a tool result: look at the tool that produced it",
        ),
    ],
)
def test_where_a_conversation_diverged(old: Json, new: Json, says: str) -> None:
    """What stands at that message says who changed it."""
    assert lines({"messages": old}, {"messages": new}) == [f"diverged at {says}"]


def test_results_of_parallel_tools_in_another_order() -> None:
    """Each is right, so nobody should look at the tools; the order is chance."""
    calls: Json = {
        "role": "assistant",
        "tool_calls": [
            {"id": "a", "function": {"name": "find"}},
            {"id": "b", "function": {"name": "get"}},
        ],
    }
    one: Json = {"role": "tool", "tool_call_id": "a", "content": "1"}
    other: Json = {"role": "tool", "tool_call_id": "b", "content": "2"}

    (said,) = lines(chat(calls, one, other), chat(calls, other, one))

    assert said.endswith("results of tools that ran at once came in another order")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ({"q": "x"}, {"q": "x", "n": None}, ["null against absent"]),
        ({"q": "x", "n": None}, {"q": "x"}, ["null against absent"]),
        ({"n": 4}, {"n": "4"}, ["the same number, once as text"]),
        ({"n": "true"}, {"n": True}, ["the same truth value, once as text"]),
        ({"n": "4"}, {"n": 5}, []),
        ({"n": 1}, {"n": True}, []),
    ],
)
def test_what_is_hard_to_see_is_said(old: Json, new: Json, says: list[str]) -> None:
    """Beside all that is alike, a reader passes it over."""
    recorded, asked = (
        McpCall(server="t", method="tools/call", name="find", args=each) for each in (old, new)
    )

    found = explained(
        asked, recorded, call_differences(asked_part(recorded), asked_part(asked), asked)
    )

    assert [line.partition(":")[0] for line in found] == says
