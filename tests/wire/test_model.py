"""Model calls and answers come through the cassette as they happened."""

import json

import pytest

from mcprec_addon.exchange import Json, ModelAnswer, ModelCall, Opaque, StreamEvent
from mcprec_addon.wire.http import Ending, HttpRequest
from mcprec_addon.wire.model import (
    call_of,
    miss_reply,
    public_path,
    reply_of,
)
from mcprec_addon.wire.model_answer import ModelAnswerReader

CHAT = ModelCall(provider="openai", path="/v1/chat/completions", request={"stream": True})
MESSAGES = ModelCall(provider="anthropic", path="/v1/messages", request={})
SSE = [("content-type", "text/event-stream; charset=utf-8")]


def post(path: str, body: object, **headers: str) -> HttpRequest:
    return HttpRequest(
        method="POST",
        url=f"https://api.example.com{path}",
        headers=tuple(headers.items()),
        body=json.dumps(body).encode(),
    )


def read(call: ModelCall, *chunks: bytes, ending: str = "complete") -> ModelAnswer:
    reader = ModelAnswerReader(call)
    reader.head(200, SSE)
    for at_ms, chunk in enumerate(chunks):
        reader.feed(chunk, at_ms)
    return reader.finish("left") if ending == "left" else reader.finish("complete")


def test_a_request_is_a_call() -> None:
    """Credentials in the query stay out."""
    request = post("/v1/chat/completions?key=s3cret&x=1", {"messages": []})

    call = call_of(request)

    assert call == ModelCall(
        provider="openai", path="/v1/chat/completions?x=1", request={"messages": []}
    )
    assert public_path("/a?api-key=1") == "/a"


@pytest.mark.parametrize("end", [b"data: [DONE]\n\n", b""])
def test_a_stream_ends_at_its_marker(end: bytes) -> None:
    """Clients hang up at the marker; without it the stream was cut."""
    answer = read(CHAT, b'data: {"i":0}\n\n', end)

    assert answer.end == (None if end else "cut")
    assert answer.events[0] == StreamEvent(at_ms=0, kind="json", value={"i": 0})


def test_a_client_that_hangs_up_after_the_marker_lost_nothing() -> None:
    """The recorder sees an error there, and the answer is complete."""
    done = b"data: [DONE]\n\n"

    assert read(CHAT, done, ending="left").end is None
    assert read(CHAT, b"data: {}\n\n", ending="left").end == "left"


def test_named_events_end_a_stream() -> None:
    """Anthropic ends with message_stop and may fail with an error event after status 200."""
    stop = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    error = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n'

    assert read(MESSAGES, stop).end is None
    assert read(MESSAGES, error).end is None
    assert read(MESSAGES, stop).events[0].event == "message_stop"


def test_an_unfinished_event_is_kept_as_tail() -> None:
    """A stream that dies inside an event dies there again."""
    answer = read(CHAT, b'data: {"i":0}\n\ndata: {"i"')

    assert (answer.tail, answer.end) == ('data: {"i"', "cut")
    assert reply_of(answer).body.endswith(b'data: {"i"')


@pytest.mark.parametrize("data", ["[DONE]", "1e400", '{"a":1,"a":2}'])
def test_data_that_json_would_spoil_stays_text(data: str) -> None:
    """Replay is equal in characters there."""
    answer = read(CHAT, f"data: {data}\n\n".encode())

    assert answer.events[0] == StreamEvent(at_ms=0, kind="text", value=data)


def test_a_reply_has_a_piece_for_each_event() -> None:
    """Code that handles pieces is exercised by a replay too."""
    chunks = [b'data: {"i":0}\n\n', b": ping\n\n", b"data: [DONE]\n\n"]

    reply = reply_of(read(CHAT, *chunks))

    assert [piece.data for piece in reply.pieces] == chunks
    assert not reply.whole


def test_a_body_that_is_no_json_is_kept() -> None:
    """A gateway answers in HTML, and its status counts."""
    reader = ModelAnswerReader(CHAT)
    reader.head(502, [("content-type", "text/html")])
    reader.feed(b"<h1>no</h1>", 0)
    answer = reader.finish("complete")

    assert answer.value == Opaque("<h1>no</h1>")
    assert reply_of(answer).status == 502
    assert ("content-type", "text/html") in reply_of(answer).headers


def test_an_undecodable_body_is_kept_as_bytes() -> None:
    """Nothing is lost where a coding is broken."""
    reader = ModelAnswerReader(CHAT)
    reader.head(200, [])

    assert reader.finish("complete", undecoded=b"\x1f\x8b").value == Opaque(b"\x1f\x8b")


def test_a_replay_waits_no_longer_than_it_must() -> None:
    """A recorded `retry-after: 20` would cost its seconds on every replay."""
    answer = ModelAnswer(kind="body", value={}, status=429, headers={"retry-after": "20"})

    assert ("retry-after-ms", "1") in reply_of(answer).headers
    assert ("retry-after", "20") in reply_of(answer, pace=1).headers


@pytest.mark.parametrize(
    ("told", "waits"),
    [
        ({"retry-after": "20"}, {"retry-after": "2", "retry-after-ms": "2000"}),
        ({"retry-after": "1", "retry-after-ms": "50"}, {"retry-after": "1", "retry-after-ms": "5"}),
        ({"retry-after": "Mon, 07 Dec 2026 12:00:00 GMT"}, None),
    ],
)
def test_a_pace_shortens_waits_too(told: dict[str, str], waits: dict[str, str] | None) -> None:
    """At ten times the speed of the recording a client waits a tenth; a date is long over."""
    answer = ModelAnswer(kind="body", value={}, status=429, headers={**told})

    headers = dict(reply_of(answer, pace=10).headers)

    del headers["content-type"]
    assert headers == (told if waits is None else waits)


@pytest.mark.parametrize("end", ["reset", "left"])
def test_an_answer_that_never_began_has_no_head(end: Ending) -> None:
    """A stream that was never opened raises elsewhere than one that breaks."""
    reader = ModelAnswerReader(CHAT)

    answer = reader.finish(end)
    reply = reply_of(answer)

    assert (answer.kind, answer.status, answer.end) == ("none", 0, end)
    assert (reply.headless, reply.pieces) == (True, ())


def test_a_miss_is_not_retried() -> None:
    """A 5xx would be retried and hide the miss."""
    reply = miss_reply(MESSAGES, "no answer")
    body: Json = json.loads(reply.body)

    assert reply.status == 400
    assert ("x-should-retry", "false") in reply.headers
    assert body == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "no answer"},
    }
