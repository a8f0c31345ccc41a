"""An MCP answer is complete once its response was seen, whatever the connection does."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import Json, McpAnswer
from mcprec_addon.wire.mcp import SESSION_HEADER, Caller
from mcprec_addon.wire.mcp_answer import McpAnswerReader

SSE = [("content-type", "text/event-stream")]
JSON = [("content-type", "application/json")]
PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 5}}
RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "Größe"}]}}


def event(message: object) -> bytes:
    return f"event: message\r\ndata: {json.dumps(message, ensure_ascii=False)}\r\n\r\n".encode()


def reader(*callers: Caller, lines: list[tuple[str, str]] | None = None) -> McpAnswerReader:
    made = McpAnswerReader(list(callers) or [Caller(id=1, token=5)])
    made.head(200, SSE if lines is None else lines)
    return made


STREAM = event(PROGRESS) + event(RESULT)


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=6))
def test_any_split_of_a_stream_gives_the_same_answer(cuts: list[int]) -> None:
    """Chunks are cut between CR and LF and inside characters."""
    made = reader()
    edges = [0, *sorted(cuts), len(STREAM)]
    for start, end in pairwise(edges):
        made.feed(STREAM[start:end], 0)

    answer = made.finish("complete")[0]

    assert answer.value == RESULT["result"]
    assert [each.message["method"] for each in answer.events] == ["notifications/progress"]
    assert answer.end is None


@pytest.mark.parametrize("ending", ["complete", "left", "reset"])
def test_an_answer_that_was_seen_is_complete(ending: str) -> None:
    """SDKs hang up as soon as they have the response."""
    made = reader()
    made.feed(STREAM, 0)
    endings = {"left": made.finish("left"), "reset": made.finish("reset")}

    assert endings.get(ending, made.finish("complete"))[0].end is None


def test_a_stream_without_an_answer_is_cut() -> None:
    """A clean end that says nothing is a failure all the same."""
    made = reader()
    made.feed(event(PROGRESS), 0)

    answer = made.finish("complete")[0]

    assert (answer.kind, answer.end, len(answer.events)) == ("none", "cut", 1)


def test_who_broke_the_stream_is_kept() -> None:
    """A server that breaks and a client that leaves make an agent behave differently."""
    assert reader().finish("reset")[0].end == "reset"
    assert reader().finish("left")[0].end == "left"
    assert reader().finish("stopped")[0].end == "stopped"


@pytest.mark.parametrize("answered", ["server-error", None, "1"])
def test_a_wrong_id_still_answers_the_only_request(answered: Json) -> None:
    """Servers answer "1" to 1, and null where they could not read the request."""
    made = reader(lines=JSON)
    made.feed(json.dumps({"jsonrpc": "2.0", "id": answered, "error": {"code": -1}}).encode(), 0)

    assert made.finish("complete")[0] == McpAnswer(kind="error", value={"code": -1})


def test_the_answers_of_a_batch_find_their_requests() -> None:
    """A batch may be answered out of order."""
    made = reader(Caller(id=1), Caller(id="1"), lines=JSON)
    answers = [
        {"jsonrpc": "2.0", "id": "1", "result": "b"},
        {"jsonrpc": "2.0", "id": 1, "result": "a"},
    ]
    made.feed(json.dumps(answers).encode(), 0)

    assert [answer.value for answer in made.finish("complete")] == ["a", "b"]


def test_what_is_no_jsonrpc_is_kept_as_text() -> None:
    """A gateway's error page is an answer too."""
    made = McpAnswerReader([Caller(id=1)])
    made.head(502, [("content-type", "text/html"), ("retry-after", "3"), ("date", "now")])
    made.feed(b"<h1>Bad gateway</h1>", 0)

    answer = made.finish("complete")[0]

    assert (answer.kind, answer.value, answer.status) == ("body", "<h1>Bad gateway</h1>", 502)
    assert answer.headers == {"content-type": "text/html", "retry-after": "3"}


def test_nan_in_a_result_is_kept_as_it_came() -> None:
    """Python servers write NaN; the answer is no less an answer."""
    made = reader(lines=JSON)
    made.feed(b'{"jsonrpc":"2.0","id":1,"result":{"std":NaN}}', 0)

    assert made.finish("complete")[0].kind == "result"


def test_a_clients_answer_joins_the_servers_request() -> None:
    """In the classic era a server asks its client in the middle of a call."""
    made = reader()
    made.feed(event({"jsonrpc": "2.0", "id": 0, "method": "roots/list"}), 2)

    assert made.client_answered(0, {"roots": []})
    assert not made.client_answered(0, {"roots": []})
    assert made.finish("complete")[0].events[0].answer == {"roots": []}


def test_a_session_is_noted_without_its_id() -> None:
    """The id is a secret of the live session."""
    made = reader(lines=[*JSON, (SESSION_HEADER, "3f1c-aa")])
    made.mint_session()
    made.feed(json.dumps(RESULT).encode(), 0)

    assert made.finish("complete")[0].headers == {SESSION_HEADER: "$session"}
