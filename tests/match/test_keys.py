"""A match key holds what stays the same from run to run, and nothing else."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import (
    Input,
    Json,
    McpCall,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    StreamEvent,
)
from mcprec_addon.jsonvalue import parse_pointer
from mcprec_addon.match.keys import Keys, match_key, minted_ids
from tests.test_jsonvalue import json_values


def search(args: Json) -> McpCall:
    return McpCall(server="tracker", method="tools/call", name="search_issues", args=args)


def chat(*messages: Json, path: str = "/v1/chat/completions", **fields: Json) -> ModelCall:
    request: dict[str, Json] = {"model": "m", "messages": list(messages), **fields}
    return ModelCall(provider="openai", path=path, request=request)


def tool_turn(call_id: str, content: str = "3") -> tuple[Json, Json]:
    function: Json = {"name": "sum", "arguments": '{"a":1}'}
    asked: Json = {"role": "assistant", "tool_calls": [{"id": call_id, "function": function}]}
    answered: Json = {"role": "tool", "tool_call_id": call_id, "content": content}
    return asked, answered


def test_ignored_pointer_does_not_change_the_key() -> None:
    """A volatile argument can be left out of the key by its pointer."""
    monday = search({"query": "state:open", "since": "2026-10-05"})
    friday = search({"query": "state:open", "since": "2026-10-09"})
    since = parse_pointer("/args/since")

    assert match_key(monday) != match_key(friday)
    assert match_key(monday, ignore=[since]) == match_key(friday, ignore=[since])


def test_one_ignored_field_does_not_loosen_the_rest() -> None:
    """With `/request/max_tokens` ignored, tools still count."""
    ignore = [parse_pointer("/request/max_tokens")]

    assert match_key(chat(max_tokens=64), ignore=ignore) == match_key(
        chat(max_tokens=65), ignore=ignore
    )
    assert match_key(chat(), ignore=ignore) != match_key(chat(tools=[]), ignore=ignore)


@given(args=st.dictionaries(st.text(), json_values, max_size=5))
def test_key_ignores_the_order_of_fields(args: dict[str, Json]) -> None:
    """The key is a function of the value, not of how an agent happened to spell it."""
    reversed_args: Json = dict(reversed(args.items()))

    assert match_key(search(args)) == match_key(search(reversed_args))


@pytest.mark.parametrize(
    "other",
    [
        replace(search({"q": 1}), server="wiki"),
        replace(search({"q": 1}), name="find"),
        replace(search({"q": 1}), method="prompts/get"),
        replace(search({"q": 1}), input=Input(state="st-1")),
        replace(search({"q": 1}), input=Input(responses={})),
        replace(search({"q": 1}), params={"cursor": "8"}),
        search({"q": True}),
        search({"q": "1"}),
    ],
    ids=lambda call: repr(call.record()),
)
def test_everything_that_is_asked_is_in_the_key(other: McpCall) -> None:
    """Two different questions never get one answer."""
    assert match_key(search({"q": 1})) != match_key(other)


def test_request_state_is_part_of_the_key() -> None:
    """Two chains of the same call are told apart by their state alone."""
    first = replace(search({}), input=Input(state="st-1"))
    second = replace(search({}), input=Input(state="st-2"))

    assert match_key(first) != match_key(second)


def test_meta_is_not_in_the_key() -> None:
    """An upgrade of the agent's framework must not miss."""
    assert match_key(replace(search({}), meta={"capabilities": {}})) == match_key(search({}))


@pytest.mark.parametrize("path", ["/chat/completions", "/openai/v1/chat/completions"])
def test_the_version_segment_is_not_in_the_key(path: str) -> None:
    """Some clients leave /v1 out."""
    assert match_key(chat(path=path)) == match_key(chat())


def test_volatile_fields_are_not_in_the_key() -> None:
    """The provider's row names what changes from run to run."""
    assert match_key(chat(prompt_cache_key="run:1", user="me")) == match_key(chat())


def test_ids_made_by_the_client_count_by_first_appearance() -> None:
    """A framework that makes up call ids sends the same conversation under other names."""
    first = chat(*tool_turn("call_aa"), *tool_turn("call_bb"))
    again = chat(*tool_turn("call_yy"), *tool_turn("call_zz"))
    mixed = chat(*tool_turn("call_yy"), *tool_turn("call_yy"))

    assert match_key(first) == match_key(again)
    assert match_key(first) != match_key(mixed)
    assert match_key(chat(*tool_turn("x", "4"))) != match_key(chat(*tool_turn("x", "3")))


def test_ids_that_an_answer_minted_must_match_themselves() -> None:
    """Another call's answer under the same number would be a wrong answer."""
    keys = Keys(answer_ids=frozenset({"call_aa", "call_bb"}))

    assert keys.canonical(keys.compared(chat(*tool_turn("call_aa")))) != keys.canonical(
        keys.compared(chat(*tool_turn("call_bb")))
    )


def test_minted_ids_are_those_that_came_in_an_answer_and_went_out_again() -> None:
    """Streamed answers mint ids in their deltas."""
    delta: Json = {"choices": [{"delta": {"tool_calls": [{"id": "call_srv"}]}}], "id": "chatcmpl-1"}
    answer = ModelAnswer(kind="events", events=(StreamEvent(at_ms=0, kind="json", value=delta),))
    first = ModelExchange(seq=1, call=chat(), answer=answer)
    second = ModelExchange(
        seq=2, call=chat(*tool_turn("call_srv"), *tool_turn("own")), answer=ModelAnswer(kind="none")
    )

    assert minted_ids([first, second]) == {"call_srv"}
