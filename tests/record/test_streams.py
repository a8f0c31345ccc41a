"""Streams behind a GET: listening, HTTP+SSE, and the rest of a stream that was cut."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import Exchange, Json, Message, Noise, Via
from mcprec_addon.record.intake import Intake
from mcprec_addon.record.recorder import Recorder
from mcprec_addon.record.taps import Tap
from mcprec_addon.wire.http import Ending, HttpRequest
from tests.record.test_intake import JSON, MCP, SSE, Kept, intake, post, result, rpc

CAPTURE = Path(__file__).parents[1] / "fixtures" / "sse" / "legacy_http_sse_py130.json"
ORIGIN = "http://127.0.0.1:8000"
STREAM, ENDPOINT = f"{ORIGIN}/sse", f"{ORIGIN}/messages/?session_id=1"
TOLD = b"event: endpoint\ndata: /messages/?session_id=1\n\n"
ROOTS: dict[str, Json] = {"jsonrpc": "2.0", "id": 7, "method": "roots/list"}
CANCELLED: Json = {
    "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1},
}  # fmt: skip


def get(url: str = MCP, *, via: Via = "proxy", **headers: str) -> HttpRequest:
    lines = {"accept": "text/event-stream", **headers}
    named = tuple((name.replace("_", "-"), value) for name, value in lines.items())
    return HttpRequest(method="GET", url=url, headers=named, via=via)


def event(message: Json, event_id: str | None = None) -> bytes:
    head = f"id: {event_id}\n" if event_id else ""
    data = json.dumps(message) if message is not None else ""
    return f"{head}data: {data}\n\n".encode()


def answered(value: Json, request_id: Json = 1) -> bytes:
    return event(json.loads(result(value, request_id)))


def opened(made: Intake, request: HttpRequest, *bodies: bytes) -> Tap:
    tap = made.request(request, 0)
    assert tap is not None
    tap.head(200, SSE)
    for body in bodies:
        tap.data(body, 2)
    return tap


def posted(made: Intake, message: Json, url: str = ENDPOINT, ending: Ending = "complete") -> None:
    """Post a message as a client of HTTP+SSE does."""
    tap = made.request(post(message, url), 1)
    if tap is not None:
        tap.head(202, [("content-length", "8")])
        tap.data(b"Accepted", 1)
        tap.finish(ending, 1)


@pytest.mark.parametrize("ending", ["complete", "left", "reset"])
def test_an_answer_on_the_stream_is_that_of_the_call(ending: Ending) -> None:
    """Over HTTP+SSE a POST gets 202 and nothing else, which some SDKs do not even read."""
    made, kept = intake(tracker=STREAM)
    stream = opened(made, get(STREAM), TOLD)

    posted(made, rpc("tools/list", 4), ending=ending)
    posted(made, rpc("ping", "4"))
    stream.data(answered({"ok": True}, "4"), 8)
    stream.data(answered({"tools": []}, 4), 9)
    stream.finish("left", 10)

    found = [(each.call.method, each.answer.value, each.ms) for each in kept.exchanges()]
    assert found == [("ping", {"ok": True}, 7), ("tools/list", {"tools": []}, 8)]
    assert {(each.answer.status, each.answer.end) for each in kept.exchanges()} == {(200, None)}


def test_an_answer_may_come_before_the_202() -> None:
    """They travel on two connections."""
    made, kept = intake(tracker=STREAM)
    stream = opened(made, get(STREAM), TOLD)
    tap = made.request(post(rpc("ping"), ENDPOINT), 1)
    assert tap is not None

    stream.data(answered({}), 2)
    tap.head(202, [])
    tap.finish("complete", 3)

    assert [each.ms for each in kept.exchanges()] == [1]


def test_messages_before_an_answer_belong_to_the_call() -> None:
    """One stream has them all: as on a pipe, by token, else to the first call that waits."""
    made, kept = intake(tracker=STREAM)
    stream = opened(made, get(STREAM), TOLD)
    said: list[tuple[str, Json]] = [
        ("notifications/progress", {"progressToken": "p", "progress": 1}),
        ("notifications/message", {"level": "info"}),
        ("notifications/tools/list_changed", {}),
    ]
    posted(made, rpc("tools/call", 1, name="first"))
    posted(made, rpc("tools/call", 2, name="second", _meta={"progressToken": "p"}))

    for method, params in said:
        stream.data(event({"jsonrpc": "2.0", "method": method, "params": params}), 2)
    stream.data(event(ROOTS), 3)
    posted(made, {"jsonrpc": "2.0", "id": 7, "result": {"roots": []}})
    for number in (1, 2):
        stream.data(answered({}, number), 4)

    events = {
        each.call.name: [(one.message["method"], one.answer) for one in each.answer.events]
        for each in kept.exchanges()
    }
    assert events == {
        "first": [("notifications/message", None), ("roots/list", {"roots": []})],
        "second": [("notifications/progress", None)],
    }
    assert [(each.method, each.on) for each in kept.messages()] == [
        ("notifications/tools/list_changed", None)
    ]


def test_the_header_says_how_the_server_was_reached() -> None:
    """A server that was not declared is known by its first event."""
    kept = Kept()
    recorder = Recorder(kept.append)
    made = Intake(recorder, {})
    stream = opened(made, get(STREAM), TOLD[:20], TOLD[20:])

    posted(made, rpc("ping"))
    stream.data(answered({}), 2)
    stream.finish("left", 3)

    assert kept.exchanges()[0].call.server == "127.0.0.1:8000/sse"
    server = recorder.seen.servers["127.0.0.1:8000/sse"]
    assert (server.transport, server.url, server.era) == ("sse", STREAM, "classic")
    assert made.others == {}


def test_a_stream_of_somebody_else_is_counted() -> None:
    """Event streams are no privilege of MCP; they pass unrecorded, and the summary says so."""
    made, kept = intake()

    opened(made, get("http://news.example/feed"), b"event: endpoint\ndata: http://x/\n\n").finish(
        "complete", 3
    )
    made.request(get("http://news.example/feed"), 0)

    assert kept == []
    assert made.others == {"news.example": 1}


@pytest.mark.parametrize(
    ("ending", "end"),
    [("complete", "cut"), ("reset", "reset"), ("left", "left"), ("stopped", "stopped")],
)
def test_a_call_without_an_answer_ends_as_its_stream(ending: Ending, end: str) -> None:
    """What the client waits for comes on the stream or not at all."""
    made, kept = intake(tracker=STREAM)
    stream = opened(made, get(STREAM), TOLD)
    posted(made, rpc("ping"))

    stream.finish(ending, 5)
    made.close()

    assert [(each.answer.end, each.ms) for each in kept.exchanges()] == [(end, 4)]


def test_a_refused_post_is_the_answer() -> None:
    """A session that the server has forgotten, for one."""
    made, kept = intake(tracker=STREAM)
    opened(made, get(STREAM), TOLD)
    tap = made.request(post(rpc("ping"), ENDPOINT), 1)
    assert tap is not None

    tap.head(404, [("content-type", "text/plain")])
    tap.data(b"Could not find session", 1)
    tap.finish("complete", 2)

    answer = kept.exchanges()[0].answer
    assert (answer.status, answer.value) == (404, "Could not find session")


def test_a_cancelled_call_is_left() -> None:
    """As on a pipe: whatever a server says to it later is no answer."""
    made, kept = intake(tracker=STREAM)
    stream = opened(made, get(STREAM), TOLD)
    posted(made, rpc("tools/call", 1, name="slow"))

    posted(made, CANCELLED)
    stream.data(answered({}), 5)

    assert [each.answer.end for each in kept.exchanges()] == ["left"]
    assert kept.messages() == []
    assert made.others == {"tracker (answers to nothing asked)": 1}


def test_a_call_that_a_session_cancelled_is_left() -> None:
    """What a server says to it later is no answer: a replay must not give up before the client."""
    made, kept = intake(tracker=MCP)
    call = opened(made, post(rpc("tools/call", 1, name="slow"), mcp_session_id="s"))

    made.request(post(CANCELLED, mcp_session_id="s"), 3)
    call.data(event({"jsonrpc": "2.0", "id": 1, "error": {"code": 0, "message": "stopped"}}), 4)
    call.finish("complete", 5)

    ended = [(each.answer.kind, each.answer.end, each.ms) for each in kept.exchanges()]
    assert ended == [("none", "left", 3)]
    assert kept.messages() == []


@pytest.mark.parametrize("headers", [{}, {"mcp_session_id": "other"}])
def test_a_client_cancels_no_call_of_another(headers: dict[str, str]) -> None:
    """Ids are small numbers that every client uses; without a session nobody knows whose it is."""
    made, kept = intake(tracker=MCP)
    session = {"mcp_session_id": "s"} if headers else {}
    call = opened(made, post(rpc("tools/call", 1, name="slow"), **session))

    note = made.request(post(CANCELLED, **headers), 3)
    call.data(answered("done"), 4)
    call.finish("complete", 5)

    assert note is not None
    assert [(each.answer.value, each.answer.end) for each in kept.exchanges()] == [("done", None)]


def test_the_rest_of_a_batch_outlives_a_cancelled_call() -> None:
    """The other calls are answered as if nothing had been said."""
    made, kept = intake(tracker=MCP)
    asked = [rpc("tools/call", number, name="slow") for number in (1, 2)]
    calls = opened(made, post(asked, mcp_session_id="s"))

    made.request(post(CANCELLED, mcp_session_id="s"), 3)
    calls.data(answered("done", 2), 4)
    calls.finish("complete", 5)

    assert [each.answer.value for each in kept.exchanges()] == [None, "done"]


def test_two_clients_may_use_the_same_ids() -> None:
    """Each posts to an address of its own."""
    made, kept = intake(tracker=STREAM)
    other = TOLD.replace(b"=1", b"=2")
    first, second = opened(made, get(STREAM), TOLD), opened(made, get(STREAM), other)
    posted(made, rpc("tools/call", 1, name="a"))
    posted(made, rpc("tools/call", 1, name="b"), ENDPOINT.replace("=1", "=2"))

    second.data(answered("B"), 3)
    first.data(answered("A"), 4)

    found = [(each.call.name, each.answer.value) for each in kept.exchanges()]
    assert found == [("b", "B"), ("a", "A")]


def test_a_sign_in_on_the_stream_is_never_recorded() -> None:
    """A replay never asks for a token."""
    made, kept = intake(tracker=STREAM)
    challenge = [("www-authenticate", 'Bearer resource_metadata="https://x/m"')]
    tap = made.request(get(STREAM, via="base-url"), 0)
    assert tap is not None

    tap.head(401, challenge)
    tap.data(b"{}", 1)
    tap.finish("complete", 2)

    assert kept == []
    assert made.refused_oauth == {"tracker"}


def test_a_question_on_the_listening_stream_is_part_of_the_call() -> None:
    """Servers ask there for what they need to answer a call that came by POST."""
    made, kept = intake(tracker=MCP)
    listening = opened(made, get(mcp_session_id="s"))
    call = made.request(post(rpc("tools/call", 3, name="roots"), mcp_session_id="s"), 1)
    log: Json = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
    assert call is not None
    call.head(200, SSE)

    listening.data(event(log) + event(ROOTS), 2)
    answer: Json = {"jsonrpc": "2.0", "id": 7, "result": {"roots": []}}
    made.request(post(answer, mcp_session_id="s"), 3)
    call.data(answered({}, 3), 4)
    call.finish("complete", 5)

    (exchange,) = kept.exchanges()
    assert [(each.message["method"], each.at_ms) for each in exchange.answer.events] == [
        ("roots/list", 1)
    ]
    assert exchange.answer.events[0].answer == {"roots": []}
    assert [(each.method, each.on) for each in kept.messages()] == [("notifications/message", 1)]


def test_a_question_outside_of_any_call_keeps_its_answer() -> None:
    """It is a message, whose id a client answers under in a replay as well."""
    made, kept = intake(tracker=MCP)
    listening = opened(made, get(mcp_session_id="s"))
    answer: Json = {"jsonrpc": "2.0", "id": 7, "result": {"roots": []}}

    listening.data(event(ROOTS), 2)
    made.request(post(answer, mcp_session_id="other"), 3)
    made.request(post(answer, mcp_session_id="s"), 3)

    (message,) = kept.messages()
    assert (message.method, message.id, message.answer) == ("roots/list", 7, {"roots": []})
    assert made.others == {"tracker (answers to nothing asked)": 1}


@pytest.mark.parametrize("ending", ["complete", "left", "reset"])
def test_a_resumed_stream_is_one_exchange(ending: Ending) -> None:
    """The client asks for what comes behind the last event it saw; its call goes on there."""
    made, kept = intake(tracker=MCP)
    cut = opened(made, post(rpc("tools/call", 3, name="polled")), event(None, "ev-1"))
    log: Json = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}

    cut.finish(ending, 4)
    refused = made.request(get(last_event_id="ev-1"), 5)
    assert refused is not None
    refused.head(503, JSON)
    refused.data(b"busy", 5)
    refused.finish("complete", 5)
    rest = opened(made, get(last_event_id="ev-1"), event(None, "ev-2"), event(log, "ev-3"))
    rest.finish("complete", 6)
    opened(made, get(last_event_id="ev-3"), answered({"done": 1}, 3)).finish("left", 9)

    (exchange,) = kept.exchanges()
    assert (exchange.answer.value, exchange.answer.end, exchange.ms) == ({"done": 1}, None, 9)
    assert len(exchange.answer.events) == 1


def test_a_stream_that_is_not_resumed_ends_as_it_broke() -> None:
    """Known at the end of the session, or of the recording."""
    made, kept = intake(tracker=MCP)
    for number, (name, session) in enumerate((("a", "s"), ("b", "t"))):
        first = event(None, f"ev-{number}")
        asked = post(rpc("tools/call", 3, name=name), mcp_session_id=session)
        opened(made, asked, first).finish("complete", 4)

    made.request(HttpRequest(method="DELETE", url=MCP, headers=(("mcp-session-id", "s"),)), 5)
    ended = [each.call.name for each in kept.exchanges()]
    made.close()

    assert ended == ["a"]
    assert [(each.call.name, each.answer.end, each.ms) for each in kept.exchanges()] == [
        ("a", "cut", 4),
        ("b", "cut", 4),
    ]


def test_a_stream_that_goes_on_is_not_given_up() -> None:
    """Its answer may come behind the end of the session."""
    made, kept = intake(tracker=MCP)
    asked = post(rpc("tools/call", 3, name="polled"), mcp_session_id="s")
    opened(made, asked, event(None, "ev-1")).finish("complete", 4)
    rest = opened(made, get(last_event_id="ev-1", mcp_session_id="s"))

    made.request(HttpRequest(method="DELETE", url=MCP, headers=(("mcp-session-id", "s"),)), 5)
    rest.data(answered({"done": 1}, 3), 6)
    rest.finish("complete", 7)

    assert [each.answer.value for each in kept.exchanges()] == [{"done": 1}]


def test_a_resumed_listening_stream_is_one_exchange() -> None:
    """A server that closes it to poll does not make it two."""
    made, kept = intake(tracker=MCP)
    changed: Json = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}

    opened(made, get(), event(changed, "ev-1")).finish("complete", 3)
    opened(made, get(last_event_id="ev-1"), event(changed, "ev-2")).finish("left", 4)
    opened(made, get(last_event_id="unheard-of")).finish("left", 5)
    made.close()

    assert [each.on for each in kept.messages()] == [1, 1]
    assert [(each.call.http_method, each.seq) for each in kept.exchanges()] == [
        ("GET", 2),
        ("GET", 1),
    ]


def test_a_refused_stream_is_no_exchange() -> None:
    """Servers that offer none answer 405; a replay does so by itself."""
    made, kept = intake(tracker=MCP)
    tap = made.request(get(), 0)
    assert tap is not None

    tap.head(405, JSON)
    tap.finish("complete", 1)
    made.close()

    assert kept == []


def replayed(capture: list[dict[str, Any]], cuts: list[int]) -> list[Exchange | Message | Noise]:
    """Record a captured session whose stream comes in pieces."""
    made, kept = intake(tracker=STREAM)
    stream, *posts = capture
    url = ORIGIN + posts[0]["request"]["path"]
    body = stream["response"]["body_text"].encode()
    told = body.index(b"\r\n\r\n") + 4
    tap = opened(made, get(STREAM), body[:told])
    for each in posts:
        posted(made, json.loads(each["request"]["body"]), url)
    at = [told, *sorted(min(told + cut, len(body)) for cut in cuts), len(body)]
    for start, end in pairwise(at):
        tap.data(body[start:end], 3)
    tap.finish("left", 4)
    made.close()
    return [*kept]


@given(cuts=st.lists(st.integers(0, 2000), max_size=8))
def test_any_split_of_a_captured_stream_gives_the_same_exchanges(cuts: list[int]) -> None:
    """Of the 1.x SDK, with an initialize, two calls and a notification."""
    capture: list[dict[str, Any]] = json.loads(CAPTURE.read_text())

    found = replayed(capture, cuts)

    assert found == replayed(capture, [])
    exchanges = [each for each in found if not isinstance(each, Message | Noise)]
    assert [(each.answer.kind, each.answer.end) for each in exchanges] == [("result", None)] * 3


@given(cut=st.integers(0, 400), pieces=st.lists(st.integers(0, 400), max_size=5))
def test_any_split_of_a_resumed_stream_gives_the_same_exchange(cut: int, pieces: list[int]) -> None:
    """Wherever between two events it broke, and however the network cut it."""
    log: Json = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "é"}}
    events = [event(None, "e0"), *(event(log, f"e{number}") for number in (1, 2, 3))]
    events.append(answered({"done": 1}, 3))
    before = cut % (len(events) - 1) + 1

    made, kept = intake(tracker=MCP)
    bodies = b"".join(events[:before]), b"".join(events[before:])
    requests = post(rpc("tools/call", 3, name="polled")), get(last_event_id=f"e{before - 1}")
    for request, body in zip(requests, bodies, strict=True):
        at = [0, *sorted(piece % (len(body) + 1) for piece in pieces), len(body)]
        chunks = [body[start:end] for start, end in pairwise(at)]
        opened(made, request, *chunks).finish("complete", 5)

    (exchange,) = kept.exchanges()
    assert [each.message for each in exchange.answer.events] == [
        {"method": "notifications/message", "params": {"data": "é"}}
    ] * 3
    assert exchange.answer.value == {"done": 1}
