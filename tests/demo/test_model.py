"""The demo's stub model: a scripted turn for each state of the conversation."""

from collections.abc import Callable

import httpx
import pytest

from mcprec_addon.demo.model import QUERY, ToolCall, chunks, completion, next_turn
from mcprec_addon.exchange import Json
from tests.peers.process import Peer

USER: Json = {"role": "user", "content": "Any open bugs?"}
FOUND: Json = {"role": "tool", "content": '{"total":1,"issues":[{"number":7,"title":"T"}]}'}
ISSUE: Json = {"role": "tool", "content": '{"number":7,"title":"T","reporter":"ana@acme.com"}'}


def delta_text(events: list[Json]) -> str:
    match events:
        case [{"choices": [{"delta": {"content": str(text)}}]}, *rest]:
            return text + delta_text(rest)
        case [_, *rest]:
            return delta_text(rest)
        case _:
            return ""


def test_model_searches_then_looks_then_answers() -> None:
    """The agent's tool loop goes round twice."""
    assert next_turn([USER]) == ToolCall(name="search_issues", arguments={"query": QUERY})
    assert next_turn([USER, FOUND]) == ToolCall(name="get_issue", arguments={"number": 7})
    assert next_turn([USER, FOUND, ISSUE]) == (
        "1 open bugs. The newest is #7, 'T'; ask ana@acme.com."
    )


@pytest.mark.parametrize("content", ['{"total":0,"issues":[]}', "no JSON", None])
def test_model_finds_an_end_whatever_a_tool_says(content: Json) -> None:
    """A stub that asked on would be an endless loop."""
    nothing: Json = {"role": "tool", "content": content}

    assert next_turn([USER, nothing]) == "No open bugs."


def test_stream_carries_the_same_text_as_the_whole() -> None:
    """An agent may ask either way."""
    request: dict[str, Json] = {"model": "gpt-5", "messages": [USER, FOUND, ISSUE]}

    match completion(request):
        case {"choices": [{"message": {"content": str(whole)}, "finish_reason": "stop"}]}:
            assert delta_text(list(chunks(request))) == whole
        case other:
            pytest.fail(str(other))


def test_address_is_split_over_deltas() -> None:
    """The demo shows that a secret is found across the pieces of a stream."""
    request: dict[str, Json] = {"messages": [USER, FOUND, ISSUE]}

    assert not [event for event in chunks(request) if "ana@acme.com" in str(event)]


def test_usage_comes_when_it_is_asked_for() -> None:
    """Some SDKs ask for it behind a proxy only, and must be given what they ask."""
    request: dict[str, Json] = {"messages": [USER], "stream_options": {"include_usage": True}}

    *_, last = chunks(request)

    assert isinstance(last, dict)
    assert last["choices"] == []
    assert "usage" in last


@pytest.mark.door
def test_stub_speaks_http_as_the_api_does(start_peer: Callable[..., Peer]) -> None:
    """Errors have OpenAI's shape, so that the SDK raises its own classes."""
    peer = start_peer("mcprec_addon.demo.model")
    url, key = f"{peer.origin}/v1/chat/completions", {"authorization": "Bearer sk-x"}
    with httpx.Client() as client:
        refused = client.post(url, json={"messages": [USER]})
        garbled = client.post(url, content=b"{", headers=key)
        lost = client.post(f"{peer.origin}/v1/nothing", headers=key)
        answers = [client.post(url, json={"messages": [USER]}, headers=key) for _ in range(2)]
        stream = client.post(url, json={"messages": [USER], "stream": True}, headers=key)

    assert [one.status_code for one in (refused, garbled, lost)] == [401, 400, 404]
    assert refused.json()["error"]["type"] == "invalid_request_error"
    assert answers[0].json()["id"] != answers[1].json()["id"]
    assert stream.text.endswith("data: [DONE]\n\n")
