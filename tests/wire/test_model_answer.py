"""Live answers of every framing are read whole, cut and damaged as they came."""

import json
from base64 import b64encode

import pytest

from mcprec_addon.exchange import Json, ModelAnswer, ModelCall, StreamEvent
from mcprec_addon.wire.eventstream import encode_frame
from mcprec_addon.wire.http import Ending
from mcprec_addon.wire.model import reply_of
from mcprec_addon.wire.model_answer import ModelAnswerReader

OLLAMA = ModelCall(provider="ollama", path="/api/chat", request={})
GEMINI = ModelCall(provider="gemini", path="/v1beta/models/g:streamGenerateContent", request={})
CONVERSE = ModelCall(provider="bedrock", path="/model/m/converse-stream", request={})
INVOKE = ModelCall(provider="bedrock", path="/model/m/invoke-with-response-stream", request={})
LINES, ARRAY = "application/x-ndjson", "application/json"
FRAMES = "application/vnd.amazon.eventstream"


def read(call: ModelCall, kind: str, *chunks: bytes, ending: Ending = "complete") -> ModelAnswer:
    reader = ModelAnswerReader(call)
    reader.head(200, [("content-type", kind)])
    for at_ms, chunk in enumerate(chunks):
        reader.feed(chunk, at_ms)
    return reader.finish(ending)


def values(answer: ModelAnswer) -> list[object]:
    return [event.value for event in answer.events]


def test_a_last_line_without_its_end_is_an_event() -> None:
    """Some servers write none behind the last line, and clients do not miss it."""
    answer = read(OLLAMA, LINES, b'{"done":false}\n{"do', b'ne":true}')

    assert values(answer) == [{"done": False}, {"done": True}]
    assert (answer.end, answer.tail) == (None, None)
    assert answer.events[-1].at_ms == 1


@pytest.mark.parametrize("last", [b'{"done":', b"12"])
def test_half_a_line_is_a_tail(last: bytes) -> None:
    """Half a number is a number too, so only an object is taken for a line."""
    answer = read(OLLAMA, LINES, b'{"done":false}\n' + last)

    assert (answer.end, answer.tail) == ("cut", last.decode())
    assert reply_of(answer).body.endswith(last)


def test_lines_go_by_several_names() -> None:
    """Gateways in front of Ollama name its lines otherwise."""
    for kind in ("application/ndjson", "application/jsonl", "application/stream+json"):
        assert read(OLLAMA, kind, b'{"done":true}\n').kind == "events"


def test_an_array_is_a_stream_and_another_value_is_a_body() -> None:
    """A gateway may answer a stream with one object, of an error for instance."""
    stream = read(GEMINI, ARRAY, b" ", b'\n[{"a":1}', b',\n{"b":[2]}]')
    body = read(GEMINI, ARRAY, b" ", b'{"candidates":', b"[]}")

    assert values(stream) == [{"a": 1}, {"b": [2]}]
    assert stream.end is None
    assert (body.kind, body.value, body.end) == ("body", {"candidates": []}, None)


def test_an_array_that_is_cut_is_no_whole_stream() -> None:
    """Its closing bracket is the only end it has."""
    answer = read(GEMINI, ARRAY, b'[{"a":1}')

    assert (values(answer), answer.end) == ([{"a": 1}], "cut")
    assert reply_of(answer).body == b'[{"a":1}'


def test_a_stream_of_frames_ends_at_its_metadata() -> None:
    """Without it a client never learns what the answer cost."""
    start = encode_frame('{"role":"assistant"}', "messageStart")
    metadata = encode_frame('{"usage":{}}', "metadata")

    assert read(CONVERSE, FRAMES, start, metadata).end is None
    assert read(CONVERSE, FRAMES, start).end == "cut"


def test_a_frame_that_fails_ends_the_stream() -> None:
    """Whatever the service calls it."""
    for name in ("throttlingException", "somethingNewException", "error:InternalFailure"):
        assert read(CONVERSE, FRAMES, encode_frame('{"message":"no"}', name)).end is None


@pytest.mark.parametrize("at", [9, -1, -6])
def test_a_damaged_frame_is_kept_as_it_came(at: int) -> None:
    """A client fails at it, and must fail at it again."""
    whole, damaged = (bytearray(encode_frame('{"a":"ö"}', "a")) for _ in range(2))
    damaged[at] ^= 0x80
    sent = bytes(whole + damaged + whole)

    answer = read(CONVERSE, FRAMES, sent[:50], sent[50:])

    assert values(answer) == [{"a": "ö"}]
    assert answer.end == "cut"
    assert reply_of(answer).body == sent


def test_what_an_invoked_model_says_is_kept_open() -> None:
    """On the wire it is base64, in which nothing is read, compared or redacted."""
    said: Json = {"type": "content_block_delta", "index": 0, "delta": {"text": "Hi"}}
    code = b64encode(json.dumps(said).encode()).decode()
    last = b64encode(b'{"type":"message_stop"}').decode()
    frames = [
        encode_frame(json.dumps({"bytes": each, "p": "ab"}), "chunk") for each in (code, last)
    ]

    answer = read(INVOKE, FRAMES, *frames)

    assert answer.events[0] == StreamEvent(
        at_ms=0, kind="json", value={"bytes": said, "p": "ab"}, event="chunk"
    )
    assert answer.end is None
    again = read(INVOKE, FRAMES, reply_of(answer).body)
    assert values(again) == values(answer)
    assert b"content_block_delta" not in reply_of(answer).body
