"""A stdio conversation becomes exchanges, however its bytes are cut."""

import json
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import End, EventGroup, Json, McpExchange, Message, Noise
from mcprec_addon.long_events import GROUP_BYTES
from mcprec_addon.record.lines import LineIntake, LineSplitter, Side
from mcprec_addon.record.recorder import Item, Recorder

type Kept = list[Item]


def intake() -> tuple[LineIntake, Kept, Recorder]:
    kept: Kept = []
    recorder = Recorder(kept.append)
    return LineIntake(recorder, "s"), kept, recorder


def line(**fields: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


def exchanges(kept: Kept) -> list[McpExchange]:
    return [each for each in kept if isinstance(each, McpExchange)]


TALK: list[tuple[Side, bytes]] = [
    ("client", line(id=1, method="tools/call", params={"name": "a"})),
    ("client", line(id="1", method="tools/call", params={"name": "b"}).replace(b"\n", b"\r\n")),
    ("server", b"tracker-mcp 2.1 listening\n"),
    ("server", line(id="1", result={"said": "Größe"})),
    ("server", line(id=1, error={"code": -1})),
]


def test_answers_find_their_calls_by_id_and_type() -> None:
    """Responses come out of order, and "1" is not 1."""
    made, kept, _ = intake()
    for side, chunk in TALK:
        made.feed(side, chunk, 3)

    found = [(each.call.name, each.answer.kind) for each in exchanges(kept)]
    assert found == [("b", "result"), ("a", "error")]
    assert [each.text for each in kept if isinstance(each, Noise)] == ["tracker-mcp 2.1 listening"]


@given(cuts=st.lists(st.integers(0, 200), max_size=8))
def test_any_split_of_the_bytes_gives_the_same_lines(cuts: list[int]) -> None:
    """A pipe hands over what it has."""
    data = b"".join(chunk for _, chunk in TALK) + b"no end"
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    splitter = LineSplitter()

    lines = [found for start, end in pairwise(edges) for found in splitter.feed(data[start:end])]

    assert [*lines, *splitter.rest()] == [each.removesuffix(b"\r") for each in data.split(b"\n")]


@pytest.mark.parametrize("end", ["reset", "stopped"])
def test_what_is_open_at_the_end_has_that_end(end: str) -> None:
    """A server that exited is told from a recorder that was stopped."""
    made, kept, _ = intake()
    made.feed("client", TALK[0][1], 0)

    made.finish(cast("End", end), 5)

    assert [each.answer.end for each in exchanges(kept)] == [end]


def test_a_cancelled_call_was_left() -> None:
    """No response follows a cancellation."""
    made, kept, _ = intake()
    made.feed("client", TALK[0][1], 0)
    cancelled = {"requestId": 1, "reason": "user"}
    made.feed("client", line(method="notifications/cancelled", params=cancelled), 2)

    assert [each.answer.end for each in exchanges(kept)] == ["left"]


def test_what_comes_in_between_belongs_to_its_call() -> None:
    """Progress by its token, a question with the client's answer, a change of lists to nobody."""
    made, kept, _ = intake()
    meta: Json = {"progressToken": "t"}
    made.feed("client", line(id=1, method="tools/call", params={"name": "a", "_meta": meta}), 0)
    progress = {"progressToken": "t", "progress": 1}
    made.feed("server", line(method="notifications/progress", params=progress), 1)
    made.feed("server", line(id=1, method="roots/list"), 2)
    made.feed("client", line(id=1, result={"roots": []}), 3)
    made.feed("server", line(method="notifications/tools/list_changed"), 4)
    made.feed("server", line(id=1, result={}), 5)

    events = exchanges(kept)[0].answer.events
    assert [(each.at_ms, each.message["method"]) for each in events] == [
        (1, "notifications/progress"),
        (2, "roots/list"),
    ]
    assert events[1].answer == {"roots": []}
    assert [each.method for each in kept if isinstance(each, Message)] == [
        "notifications/tools/list_changed"
    ]


def test_an_answer_to_nothing_is_noise() -> None:
    """It is kept and counted, and matched to nothing."""
    made, kept, _ = intake()

    made.feed("server", line(id=99, result={"stray": True}), 0)

    assert made.noise == 1
    assert exchanges(kept) == []


def test_noise_is_bounded() -> None:
    """A server may print without end."""
    made, kept, _ = intake()

    made.feed("server", b"log\n" * 1000, 0)

    assert made.noise == 1000
    assert len(kept) == 200


def test_a_handshake_tells_who_the_server_is() -> None:
    """Name and version reach the header."""
    made, _, recorder = intake()
    info = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "files", "version": "3"}}
    made.feed("client", line(id=0, method="initialize", params={}), 0)
    made.feed("server", line(id=0, result=info), 1)

    assert recorder.seen.servers["s"].name == "files"
    assert recorder.seen.protocol == ["2025-06-18"]


def test_very_many_messages_of_a_call_go_ahead_of_it() -> None:
    """They are not held until the answer comes; a question waits for its own answer."""
    made, kept, _ = intake()
    text = "x" * (GROUP_BYTES // 4)
    made.feed("client", line(id=1, method="tools/call", params={"name": "a"}), 0)
    made.feed("server", line(method="notifications/message", params={"data": text}) * 2, 1)
    made.feed("server", line(id=9, method="roots/list"), 1)
    made.feed("server", line(method="notifications/message", params={"data": text}) * 3, 2)
    made.feed("client", line(id=9, result={"roots": []}), 3)
    made.feed("server", line(id=1, result={}), 4)

    early, exchange = kept
    assert isinstance(early, EventGroup)
    assert isinstance(exchange, McpExchange)
    assert (early.seq, len(early.events)) == (1, 2)
    assert [event.answer for event in exchange.answer.events] == [{"roots": []}, None, None, None]


def test_a_batch_is_an_exchange_for_each_request() -> None:
    """Either side may pack messages into one line, and a server need not do as its client."""
    made, kept, _ = intake()
    asked = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name}}
        for number, name in enumerate("abc")
    ]
    packed = [{"jsonrpc": "2.0", "id": number, "result": number} for number in (2, 0)]

    made.feed("client", json.dumps(asked).encode() + b"\n", 1)
    made.feed("server", line(id=1, result=1) + json.dumps(packed).encode() + b"\n", 2)

    found = [(each.call.name, each.answer.value) for each in exchanges(kept)]
    assert found == [("b", 1), ("c", 2), ("a", 0)]
    assert made.noise == 0


def test_a_question_outside_of_any_call_keeps_its_answer() -> None:
    """Some servers ask for roots as soon as the client has shaken hands."""
    made, kept, _ = intake()

    made.feed("server", line(id=0, method="roots/list") + line(id=1, method="ping"), 1)
    made.feed("client", line(id=0, result={"roots": []}), 2)
    made.finish("left", 3)

    messages = [each for each in kept if isinstance(each, Message)]
    assert [(each.method, each.id, each.answer) for each in messages] == [
        ("roots/list", 0, {"roots": []}),
        ("ping", 1, None),
    ]
