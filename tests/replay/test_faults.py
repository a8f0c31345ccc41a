"""An answer is broken the first time, where it was said, and whole the next."""

import re

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import (
    Cassette,
    Exchange,
    Half,
    Header,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Server,
    StreamEvent,
    Transport,
)
from mcprec_addon.jsonvalue import loads
from mcprec_addon.long_events import LongEvents
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.faults import (
    Fault,
    Faults,
    broken_lines,
    broken_mcp,
    broken_model,
    check_faults,
    ends_server,
    faults_of,
)
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import ModelStrategy, PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.wire.http import Piece, Reply
from mcprec_addon.wire.jsonrpc import Request

BOTH: frozenset[Half] = frozenset({"mcp", "model"})
CALL = McpCall(server="s", method="tools/call", name="t")
CHAT = ModelCall(provider="openai", path="/v1/chat/completions", request={"messages": []})
CLAUDE = ModelCall(provider="anthropic", path="/v1/messages", request={"messages": []})
STREAM = Reply(status=200, pieces=tuple(Piece(at, b"%d" % at) for at in range(3)), streamed=True)
WHOLE = Reply(status=200, pieces=(Piece(5, b"0123456789"),))
ASKED = Request(7, "tools/call", {"name": "t"})


def tool(seq: int, **answer: object) -> McpExchange:
    given = McpAnswer(kind="result", value={"n": seq})
    made = answer.get("answer", given)
    assert isinstance(made, McpAnswer)
    return McpExchange(seq=seq, call=CALL, answer=made)


def chat(seq: int, events: int = 0) -> ModelExchange:
    stream = tuple(StreamEvent(at_ms=at, kind="json", value={"n": at}) for at in range(events))
    if events:
        answer = ModelAnswer(kind="events", events=stream)
    else:
        answer = ModelAnswer(kind="body", value={"n": seq})
    return ModelExchange(seq=seq, call=CHAT, answer=answer)


def one(text: str) -> Fault:
    return faults_of([text])[0]


def cassette(*exchanges: Exchange, transport: Transport = "http") -> Cassette:
    return Cassette(header=Header(servers={"s": Server(transport=transport)}), exchanges=exchanges)


def player(*exchanges: Exchange, faults: str, strategy: ModelStrategy = "auto") -> Player:
    made = cassette(*exchanges)
    options = PlayOptions(faults=faults_of([faults]), model_strategy=strategy)
    return Player(made, bindings=Bindings(made.header.redaction, default_rules()), options=options)


@pytest.mark.parametrize(
    ("text", "kind", "place", "code"),
    [
        ("14:cut@2", "cut", 2, ""),
        ("14:reset@0", "reset", 0, ""),
        ("14:rst@10", "rst", 10, ""),
        ("14:status=429", "status", 0, "429"),
        ("14:error=-32000", "error", 0, "-32000"),
        ("14:error=overloaded_error", "error", 0, "overloaded_error"),
        ("14:hang", "hang", 0, ""),
    ],
)
def test_a_fault_is_written_short(text: str, kind: str, place: int, code: str) -> None:
    """A place is after so many events; a code is what the client sees."""
    fault = one(text)

    assert (fault.seq, fault.kind, fault.place, fault.code) == (14, kind, place, code)


@pytest.mark.parametrize(
    "text",
    ["", "14", "cut@2", "14:cut", "14:cut@x", "14:cut@-1", "14:status=42", "14:hang@1", "x:hang"],
)
def test_what_is_no_fault_says_how_to_write_one(text: str) -> None:
    """The line quotes what was given."""
    with pytest.raises(UsageError, match=f"--fault {re.escape(repr(text))}: write it as 14:cut@2"):
        one(text)


def test_a_status_that_breaks_nothing_is_refused() -> None:
    """A 200 with no answer in it would be another fault than the one that was meant."""
    with pytest.raises(UsageError, match="one from 400 to 599"):
        one("14:status=204")


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["9:hang"], "the cassette has no #9; its last is #6"),
        (["2:hang"], "#2 stands in the cassette 2 times"),
        (["1:hang", "1:cut@0"], "#1 is given two faults"),
        (
            ["1:status=500"],
            "#1 tools/call t (server s) was recorded on stdio, which knows no status",
        ),
        (["1:error=oops"], "a whole number for its code"),
        (["1:cut@200"], "#1 tools/call t (server s) has 41 bytes; cut it at 0 to 40"),
        (
            ["3:cut@4"],
            "#3 model call /v1/chat/completions (provider openai) has 4 events; cut it at 0 to 3",
        ),
        (["4:cut@0"], "#4 subscriptions/listen (server s) stays open and has no answer to break"),
        (["5:rst@2"], "#5 tools/call t (server s) has 2 events; cut it at 0 to 1"),
    ],
)
def test_a_fault_that_cannot_happen_is_named(texts: list[str], says: str) -> None:
    """A test that waits for a fault that never comes proves nothing."""
    told = McpAnswer(kind="result", value={}, events=(McpEvent(at_ms=0, message={"method": "n"}),))
    listen = McpCall(server="s", method="subscriptions/listen")
    made = cassette(
        tool(1),
        tool(2),
        tool(2),
        chat(3, events=4),
        McpExchange(seq=4, call=listen, answer=McpAnswer(kind="none")),
        tool(5, answer=told),
        chat(6),
        transport="stdio",
    )

    with pytest.raises(UsageError, match=re.escape(says)):
        check_faults(faults_of(texts), made, halves=BOTH)


def test_faults_of_a_half_that_is_off_are_refused() -> None:
    """They could not happen."""
    with pytest.raises(UsageError, match="of the model half, which is not replayed"):
        check_faults(faults_of(["1:hang"]), cassette(chat(1)), halves=frozenset({"mcp"}))


def test_all_problems_are_named_at_once() -> None:
    """One run of the command shows them all."""
    with pytest.raises(UsageError) as raised:
        check_faults(faults_of(["8:hang", "9:hang"]), cassette(chat(1)), halves=BOTH)

    assert len(str(raised.value).splitlines()) == 2


def test_faults_that_fit_are_fine() -> None:
    """The last place is the one before the end."""
    made = cassette(tool(1), chat(2, events=4))

    check_faults(faults_of(["1:cut@40", "2:cut@3"]), made, halves=BOTH)


def test_a_place_counts_events_of_a_stream_and_bytes_of_the_rest() -> None:
    """Half a JSON body is what a broken connection leaves."""
    stream = broken_mcp(STREAM, one("1:cut@2"), ASKED)
    whole = broken_model(WHOLE, one("1:reset@4"), CHAT)

    assert [piece.data for piece in stream.pieces] == [b"0", b"1"]
    assert stream.end == "complete"
    assert (whole.body, whole.end, whole.whole) == (b"0123", "reset", False)
    assert broken_model(WHOLE, one("1:rst@0"), CHAT).end == "rst"


def test_a_long_stream_is_cut_too() -> None:
    """Only what is left of it is read."""
    stream = Reply(status=200, pieces=LongEvents(lambda: iter([STREAM.pieces])), streamed=True)

    assert broken_mcp(stream, one("1:cut@1"), ASKED).pieces == STREAM.pieces[:1]


def test_a_hang_sends_nothing() -> None:
    """Not even a status: the server took the call and that was it."""
    reply = broken_model(STREAM, one("1:hang"), CHAT)

    assert (reply.end, reply.pieces) == ("hang", ())


@pytest.mark.parametrize(
    ("call", "spec", "status", "kind"),
    [
        (CHAT, "status=429", 429, "rate_limit_exceeded"),
        (CHAT, "status=502", 502, "server_error"),
        (CHAT, "error=insufficient_quota", 429, "insufficient_quota"),
        (CHAT, "error=anything", 400, "anything"),
        (CLAUDE, "status=529", 529, "overloaded_error"),
        (CLAUDE, "status=418", 418, "invalid_request_error"),
        (CLAUDE, "error=overloaded_error", 529, "overloaded_error"),
    ],
)
def test_an_error_has_the_shape_of_its_provider(
    call: ModelCall, spec: str, status: int, kind: str
) -> None:
    """SDKs choose the exception by status and type."""
    reply = broken_model(STREAM, one(f"1:{spec}"), call)

    body = loads(reply.body)
    assert reply.status == status
    assert isinstance(body, dict)
    assert isinstance(body["error"], dict)
    assert body["error"]["type"] == kind
    assert ("retry-after-ms", "1") in reply.headers


def test_an_error_of_mcp_is_under_the_callers_id() -> None:
    """Or the client would wait for its answer."""
    reply = broken_mcp(WHOLE, one("1:error=-32000"), ASKED)
    refused = broken_mcp(WHOLE, one("1:status=503"), ASKED)

    assert (reply.status, refused.status) == (200, 503)
    assert loads(reply.body) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32000, "message": "mcprec: fault 1:error=-32000"},
    }


def test_lines_are_broken_like_streams() -> None:
    """On stdio a broken answer is a server that exits."""
    lines = [Piece(0, b"one"), Piece(1, b"two"), Piece(2, b"answer")]

    assert [each.data for each in broken_lines(lines, one("1:cut@1"), ASKED)] == [b"one"]
    assert broken_lines(lines[:1], one("1:cut@1"), ASKED) == ()
    assert broken_lines(lines, one("1:hang"), ASKED) == ()
    assert b"-32000" in broken_lines(lines, one("1:error=-32000"), ASKED)[0].data
    assert b"status=500" in broken_lines(lines, one("1:status=500"), ASKED)[0].data
    assert [ends_server(one(f"1:{each}")) for each in ("rst@0", "hang", "status=500")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("strategy", ["auto", "exact", "ordered", "sequence"])
def test_a_call_that_is_tried_again_gets_the_answer_whole(strategy: ModelStrategy) -> None:
    """That is what is tested: whether the agent gets over it."""
    made = player(chat(1), faults="1:status=429", strategy=strategy)

    first, second = made.play(CHAT), made.play(CHAT)

    assert not isinstance(first, Miss)
    assert not isinstance(second, Miss)
    assert first.fault == one("1:status=429")
    assert (second.fault, second.repeated, second.exchange.seq) == (None, False, 1)
    assert made.tally.used == {"model": 1}
    assert made.tally.misses == []


def test_the_answers_behind_a_fault_keep_their_order() -> None:
    """The retry takes the place of the broken call, not that of the next."""
    made = player(tool(1), tool(2), faults="1:reset@0")

    seqs = [found.exchange.seq for _ in range(3) if not isinstance(found := made.play(CALL), Miss)]

    assert seqs == [1, 1, 2]


def test_an_agent_that_gives_up_has_used_the_answer() -> None:
    """A fault that ends a run leaves nothing unused by itself."""
    made = player(tool(1), faults="1:hang")

    made.play(CALL)

    assert made.unused() == []


def test_what_became_of_each_fault_is_said() -> None:
    """A fault that was never reached is a test that tested nothing."""
    faults = Faults(faults_of(["1:hang", "2:cut@0"]))

    taken = [faults.take(1), faults.take(1), faults.take(3)]

    assert taken == [one("1:hang"), None, None]
    assert [*faults.lines()] == [
        "fault 1:hang: applied",
        "fault 2:cut@0: never reached, #2 was not asked for",
    ]
