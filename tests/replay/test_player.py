"""Which recorded answer a call gets: by key, in recorded order, and never by a guess."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import (
    Call,
    Cassette,
    End,
    Era,
    Exchange,
    Header,
    Json,
    Matching,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Redaction,
    Server,
)
from mcprec_addon.jsonvalue import parse_pointer, pointer_text
from mcprec_addon.match.keys import match_key
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import Hit, PlayOptions, Strategy
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.report import Demands, RunReport
from tests.test_jsonvalue import json_values

CHAT = "/v1/chat/completions"


def tool(
    seq: int,
    name: str,
    args: Json,
    text: Json = None,
    *,
    server: str = "s",
    end: End | None = None,
) -> McpExchange:
    call = McpCall(server=server, method="tools/call", name=name, args=args)
    answer = McpAnswer(kind="result", value=text, end=end)
    return McpExchange(seq=seq, call=call, answer=answer)


def listing(seq: int, *tools: Json, era: Era | None = None) -> McpExchange:
    answer = McpAnswer(kind="result", value={"tools": list(tools)})
    return McpExchange(
        seq=seq, call=McpCall(server="s", method="tools/list"), answer=answer, era=era
    )


def model(seq: int, prompt: str, text: str) -> ModelExchange:
    request: Json = {"messages": [{"role": "user", "content": prompt}]}
    call = ModelCall(provider="openai", path=CHAT, request=request)
    return ModelExchange(seq=seq, call=call, answer=ModelAnswer(kind="body", value=text))


def player(*exchanges: Exchange, header: Header | None = None, **options: object) -> Player:
    cassette = Cassette(header=header or Header(), exchanges=exchanges)
    bindings = Bindings(cassette.header.redaction, default_rules())
    chosen = PlayOptions(**options)  # type: ignore[arg-type]
    return Player(cassette, bindings=bindings, options=chosen)


def said(found: Hit | Miss) -> Json:
    return found.answer.value if isinstance(found, Hit) else found.cause


def missed(found: Hit | Miss) -> Miss:
    assert isinstance(found, Miss)
    return found


def differing(found: Hit | Miss) -> list[str]:
    return [pointer_text(each.pointer) for each in missed(found).differences]


def seqs(exchanges: Sequence[Exchange]) -> list[int]:
    return [exchange.seq for exchange in exchanges]


ONE = tool(1, "list", {"state": "open"}, "2 open")
MADE = tool(2, "create", {"title": "x"}, "#3 made")
TWO = tool(3, "list", {"state": "open"}, "3 open")


@pytest.mark.parametrize("strategy", ["auto", "ordered"])
def test_a_keys_answers_come_in_recorded_order(strategy: Strategy) -> None:
    """A second read sees the change in between."""
    made = player(ONE, MADE, TWO, strategy=strategy)

    answers = [said(made.play(each.call)) for each in (ONE, MADE, TWO)]

    assert answers == ["2 open", "#3 made", "3 open"]
    assert made.unused() == []


def test_order_counts_per_key_and_knows_nothing_of_causes() -> None:
    """An agent that lists twice before it creates gets the second list all the same."""
    made = player(ONE, MADE, TWO, strategy="ordered")

    answers = [said(made.play(each.call)) for each in (ONE, TWO, MADE)]

    assert answers == ["2 open", "3 open", "#3 made"]


def test_ordered_misses_once_a_key_is_used_up() -> None:
    """A silent repeat would hide an endless loop; the line says how often it was recorded."""
    made = player(ONE, MADE, TWO, strategy="ordered")
    for each in (ONE, TWO):
        made.play(each.call)

    found = made.play(ONE.call)

    assert "recorded 2 times, this is call 3" in missed(found).message()
    assert differing(found) == []
    assert seqs(made.unused()) == [2]


def test_every_replay_starts_at_the_first_answer() -> None:
    """Runs share nothing, or the second run of a test would fail."""
    first, second = player(ONE, TWO, strategy="ordered"), player(ONE, TWO, strategy="ordered")

    assert said(first.play(ONE.call)) == said(second.play(ONE.call)) == "2 open"


def test_a_used_up_call_is_repeated_and_counted() -> None:
    """A write that is asked again is no silent success; strict misses."""
    lenient, strict = player(MADE), player(MADE, strict=True)

    assert [said(lenient.play(MADE.call)) for _ in range(3)] == ["#3 made"] * 3
    assert lenient.tally.repeated == {2: 2}
    assert [said(strict.play(MADE.call)) for _ in range(2)] == ["#3 made", "used up"]
    assert strict.tally.repeated == {}


@pytest.mark.parametrize(
    ("annotations", "counted"),
    [
        ({"readOnlyHint": True}, {}),
        ({"idempotentHint": True}, {}),
        ({"readOnlyHint": False}, {2: 1}),
        ({"readOnlyHint": "yes"}, {2: 1}),
        ({"destructiveHint": False}, {2: 1}),
        (None, {2: 1}),
    ],
    ids=repr,
)
def test_a_tool_that_says_so_may_be_repeated_uncounted(
    annotations: Json, counted: dict[int, int]
) -> None:
    """Reading twice changes nothing, so a report that counts it would only be noise."""
    made = player(listing(1, {"name": "create", "annotations": annotations}), MADE)

    for _ in range(2):
        made.play(MADE.call)

    assert made.tally.repeated == counted


def test_what_is_repeated_is_the_last_answer() -> None:
    """A read after the last change must not show the state before it."""
    made = player(ONE, MADE, TWO)

    answers = [said(made.play(each.call)) for each in (ONE, TWO, ONE)]

    assert answers == ["2 open", "3 open", "3 open"]
    assert made.tally.repeated == {3: 1}


def test_strict_repeats_no_tool_call_at_all() -> None:
    """Also where the tool says that it only reads: strict means as recorded."""
    made = player(listing(1, {"name": "create", "annotations": {"readOnlyHint": True}}), MADE)
    strict = player(
        listing(1, {"name": "create", "annotations": {"readOnlyHint": True}}), MADE, strict=True
    )

    assert [said(made.play(MADE.call)) for _ in range(2)] == ["#3 made", "#3 made"]
    assert [said(strict.play(MADE.call)) for _ in range(2)] == ["#3 made", "used up"]


@pytest.mark.parametrize("method", ["tools/list", "ping", "initialize", "completion/complete"])
def test_no_strategy_governs_what_agents_ask_at_every_start(method: str) -> None:
    """Lists come again after every list_changed, and a strict run must survive that."""
    call = McpCall(server="s", method=method)
    exchange = McpExchange(seq=1, call=call, answer=McpAnswer(kind="result", value="it"))
    made = player(exchange, strategy="ordered", strict=True)

    assert [said(made.play(call)) for _ in range(3)] == ["it"] * 3
    assert made.tally.repeated == {}


@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
def test_reads_and_prompts_repeat_their_last_answer(method: str) -> None:
    """Only `ordered` counts them; `auto` takes them for reads."""
    call = McpCall(server="s", method=method, name="x")
    exchange = McpExchange(seq=1, call=call, answer=McpAnswer(kind="result", value="it"))
    auto, ordered = player(exchange, strict=True), player(exchange, strategy="ordered")

    assert [said(auto.play(call)) for _ in range(2)] == ["it", "it"]
    assert [said(ordered.play(call)) for _ in range(2)] == ["it", "used up"]


def test_a_model_answer_is_never_repeated() -> None:
    """A repeated answer is an endless tool loop."""
    exchange = model(1, "hi", "hello")
    made = player(exchange)

    assert said(made.play(exchange.call)) == "hello"
    assert "recorded 1 time, this is call 2" in missed(made.play(exchange.call)).message()


def test_exact_is_a_table() -> None:
    """The first recorded answer, always; the others under its key are not left over."""
    made = player(ONE, TWO, model(4, "hi", "hello"), strategy="exact", model_strategy="exact")

    assert [said(made.play(ONE.call)) for _ in range(3)] == ["2 open"] * 3
    assert [said(made.play(model(0, "hi", "").call)) for _ in range(2)] == ["hello"] * 2
    assert made.unused() == []
    assert made.tally.used == {"mcp": 1, "model": 1}
    assert made.tally.repeated == {}


def test_keys_with_several_answers_are_named() -> None:
    """Under `exact` only one of them is ever seen, which a person should know."""
    same = tool(4, "get", {"id": 1}, "a")

    recorded = (ONE, TWO, MADE, same, replace(same, seq=5))

    assert seqs(list(player(*recorded, strategy="exact").several_answers())) == [1]
    assert seqs(list(player(*recorded).several_answers())) == []


def test_different_people_are_no_several_answers() -> None:
    """Two recorded calls that differ in their placeholder alone are two keys."""
    header = Header(redaction=Redaction(placeholders={"email": 2}))
    made = player(
        tool(1, "lookup", {"mail": "email-1@mcprec.example"}, "id 7"),
        tool(2, "lookup", {"mail": "email-2@mcprec.example"}, "id 8"),
        header=header,
        strategy="exact",
    )

    assert list(made.several_answers()) == []


def test_sequence_ignores_the_prompt() -> None:
    """The Nth model call gets the Nth answer, and the miss behind the last says just that."""
    made = player(model(1, "a", "1"), model(2, "b", "2"), model_strategy="sequence")

    answers = [said(made.play(model(0, prompt, "").call)) for prompt in ("x", "b")]

    assert answers == ["1", "2"]
    assert "recorded 2 times, this is call 3" in missed(made.play(model(0, "a", "").call)).message()


def test_sequence_is_recorded_order_and_nothing_else() -> None:
    """Neither an answer that the client left nor a placeholder moves what comes when."""
    hanging = model(1, "ask email-2@mcprec.example", "1")
    tape = [
        replace(hanging, answer=replace(hanging.answer, end="left")),
        model(2, "ask email-1@mcprec.example", "2"),
    ]
    made = player(*tape, header=PEOPLE, model_strategy="sequence")

    answers = [said(made.play(model(0, f"ask {name}@x.test", "").call)) for name in ("bo", "cy")]

    assert answers == ["1", "2"]
    assert made.tally.guessed == []


def test_sequence_governs_the_model_half_alone() -> None:
    """Tool answers by position would be wrong answers."""
    made = player(ONE, MADE, model(4, "hi", "hello"), model_strategy="sequence")

    assert said(made.play(MADE.call)) == "#3 made"


def test_the_order_of_different_calls_does_not_matter() -> None:
    """Answers are filed by what was asked, never by tool name alone; a miss uses nothing up."""
    flights = tool(1, "search", {"kind": "flights", "to": "OSL"}, "SK4035")
    hotels = tool(2, "search", {"kind": "hotels", "to": "OSL"}, "Hotel Fjord")
    made = player(flights, hotels, strategy="ordered")

    first = made.play(tool(0, "search", {"to": "OSL", "kind": "hotels"}).call)
    other = made.play(tool(0, "search", {"to": "BGO", "kind": "flights"}).call)
    last = made.play(tool(0, "search", {"to": "OSL", "kind": "flights"}).call)

    assert (said(first), said(last)) == ("Hotel Fjord", "SK4035")
    assert differing(other) == ["/args/to"]
    assert missed(other).nearest is not None
    assert missed(other).nearest.seq == 1  # type: ignore[union-attr]


def test_servers_with_one_tool_name_have_counters_of_their_own() -> None:
    """Two sequences on one counter hand out each other's answers."""
    made = player(
        *(tool(seq, "search", {"q": "vpn"}, f"notes-{seq}", server="notes") for seq in (1, 2)),
        *(tool(seq, "search", {"q": "vpn"}, f"wiki-{seq}", server="wiki") for seq in (3, 4)),
        strategy="ordered",
    )

    asked = [tool(0, "search", {"q": "vpn"}, server=server) for server in ("wiki", "notes") * 2]

    assert [said(made.play(each.call)) for each in asked] == [
        "wiki-3",
        "notes-1",
        "wiki-4",
        "notes-2",
    ]


def test_a_call_recorded_for_another_server_says_so() -> None:
    """A server renamed in the config is a common cause."""
    made = player(tool(1, "search", {"q": "vpn"}, "n", server="notes"))

    found = made.play(tool(0, "search", {"q": "vpn"}, server="wiki").call)

    assert "recorded for server notes" in missed(found).message()


def test_a_doubled_seq_loses_no_exchange() -> None:
    """Git merges two branches without a word; what drifted on one of them is named."""
    made = player(
        tool(1, "list", {"api": "2026-01"}, "l"),
        tool(2, "get", {"id": 4, "api": "2026-01"}, "four"),
        tool(2, "get", {"id": 5, "api": "2025-11"}, "five"),
        tool(3, "get", {"id": 6, "api": "2025-11"}, "six"),
    )

    found = [made.play(tool(0, "get", {"id": n, "api": "2026-01"}).call) for n in (4, 5, 6)]

    assert said(found[0]) == "four"
    assert [differing(each) for each in found[1:]] == [["/args/api"], ["/args/api"]]
    assert seqs(made.unused()) == [1, 2, 3]


CLEAN: dict[str, Json] = {
    "model": "m",
    "max_tokens": 64,
    "tools": [{"name": "find", "input_schema": {"type": "object"}}],
    "messages": [{"role": "user", "content": "hi"}],
}


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        (
            {"tools": [{"name": "find", "input_schema": {"type": "object", "required": ["q"]}}]},
            "/request/tools/0/input_schema/required",
        ),
        ({"max_tokens": 65}, "/request/max_tokens"),
        ({"thinking": {"type": "disabled"}}, "/request/thinking"),
        ({"tools": None}, "/request/tools"),
    ],
    ids=["schema", "max_tokens", "thinking", "tools"],
)
def test_a_request_that_drifted_misses(changed: dict[str, Json], pointer: str) -> None:
    """A cassette that answers requests nobody sends any more keeps a broken test green."""
    recorded = ModelCall(provider="anthropic", path="/v1/messages", request=CLEAN)
    exchange = ModelExchange(seq=1, call=recorded, answer=ModelAnswer(kind="body", value="hello"))
    fields: Json = {key: value for key, value in {**CLEAN, **changed}.items() if value is not None}
    drifted = replace(recorded, request=fields)
    loose = player(exchange, ignore=(parse_pointer("/request/max_tokens"),))

    assert said(player(exchange).play(recorded)) == "hello"
    assert differing(player(exchange).play(drifted)) == [pointer]
    assert isinstance(loose.play(drifted), Hit) is (pointer == "/request/max_tokens")


def test_pointers_to_ignore_come_with_the_cassette_too() -> None:
    """Who replays a cassette need not know what its recorder left out; lists are joined."""
    header = Header(match=Matching(ignore=["/args/since"]))
    monday = tool(1, "list", {"q": "a", "since": "2026-10-05", "trace": "x"}, "found")
    asked = tool(0, "list", {"q": "a", "since": "2026-10-09", "trace": "y"})
    other = tool(0, "list", {"q": "b", "since": "2026-10-09", "trace": "y"})
    made = player(monday, header=header, ignore=(parse_pointer("/args/trace"),))

    assert said(made.play(asked.call)) == "found"
    assert differing(made.play(other.call)) == ["/args/q"]


def test_only_the_date_changed() -> None:
    """The miss prints a rule, with which the same call is a hit; other words still miss."""
    said_then: Json = {"messages": [{"role": "user", "content": "It is 2026-10-05. Any bugs?"}]}
    said_now: Json = {"messages": [{"role": "user", "content": "It is 2026-11-30. Any bugs?"}]}
    more: Json = {"messages": [{"role": "user", "content": "It is 2026-11-30. Any bugs!"}]}
    recorded = ModelCall(provider="openai", path="/v1/chat/completions", request=said_then)
    exchange = ModelExchange(seq=1, call=recorded, answer=ModelAnswer(kind="body", value="hello"))
    header = Header(match=Matching(normalize=["date"]))
    now = replace(recorded, request=said_now)

    miss = missed(player(exchange).play(now))

    assert "--normalize date" in miss.text()
    assert said(player(exchange, header=header).play(now)) == "hello"
    other = player(exchange, header=header).play(replace(recorded, request=more))
    assert differing(other) == ["/request/messages/0/content"]


@pytest.mark.parametrize(("end", "plays"), [("stopped", False), ("left", True), ("cut", True)])
def test_what_the_recorder_stopped_is_never_handed_out(end: End, plays: bool) -> None:  # noqa: FBT001
    """It says nothing about the server; neither it nor what the client left counts as unused."""
    exchange = tool(1, "slow", {}, "x", end=end)
    made = player(exchange)

    assert bool(made.unused()) is (end == "cut")
    assert isinstance(made.play(exchange.call), Hit) is plays


def test_a_get_stream_does_not_count_as_unused() -> None:
    """A client opens it or not; nothing of the test depends on that."""
    call = McpCall(server="s", method="", http_method="GET")
    stream = McpExchange(seq=1, call=call, answer=McpAnswer(kind="none"))

    assert player(stream).unused() == []


def test_unused_is_listed_by_seq() -> None:
    """A person reads the list beside the cassette."""
    made = player(TWO, model(2, "hi", "x"), ONE)

    assert seqs(made.unused()) == [1, 2, 3]


def test_a_half_that_is_off_is_not_missed() -> None:
    """With `--half mcp` the model's exchanges neither answer nor count as unused."""
    exchange = model(1, "hi", "hello")
    made = player(exchange, MADE, halves=frozenset({"mcp"}))

    assert isinstance(made.play(exchange.call), Miss)
    assert seqs(made.unused()) == [2]


def test_an_answer_the_client_left_comes_last_and_is_not_repeated() -> None:
    """Among equals the one that says something is better, however often it is asked."""
    made = player(tool(1, "slow", {}, "left", end="left"), tool(2, "slow", {}, "whole"))

    answers = [said(made.play(tool(0, "slow", {}).call)) for _ in range(3)]

    assert answers == ["whole", "left", "whole"]


def test_answers_of_the_callers_era_come_first() -> None:
    """Where an exchange says nothing of its era it has the server's."""
    header = Header(servers={"s": Server(era="stateless")})
    both = [listing(1, "new"), listing(2, "old", era="classic")]

    eras: list[Era] = ["classic", "stateless"]
    first = {era: said(player(*both, header=header).play(both[0].call, era=era)) for era in eras}
    made = player(*both, header=header)
    thrice = [said(made.play(both[0].call, era="classic")) for _ in range(3)]

    assert first == {"classic": {"tools": ["old"]}, "stateless": {"tools": ["new"]}}
    assert thrice == [{"tools": ["old"]}, {"tools": ["new"]}, {"tools": ["old"]}]


def test_strict_takes_no_answer_of_the_other_era() -> None:
    """What is mapped was never said to a client of this era."""
    header = Header(servers={"s": Server(era="stateless")})
    made = player(MADE, header=header, strict=True)

    found = made.play(MADE.call, era="classic")

    assert missed(found).cause == "other era"
    assert "recorded in the stateless era only" in missed(found).message()
    assert said(made.play(MADE.call, era="stateless")) == "#3 made"
    assert said(player(MADE, header=header).play(MADE.call, era="classic")) == "#3 made"


def refusal(seq: int, code: int) -> McpExchange:
    error: Json = {"code": code, "message": "Header mismatch"}
    return replace(MADE, seq=seq, answer=McpAnswer(kind="error", value=error, status=400))


@pytest.mark.parametrize(
    ("code", "prepared", "answer", "unused"),
    [
        (-32020, True, "#3 made", []),
        (-32020, False, {"code": -32020, "message": "Header mismatch"}, [2]),
        (-32602, True, {"code": -32602, "message": "Header mismatch"}, [2]),
    ],
    ids=["prepared", "unprepared", "another error"],
)
def test_a_caller_that_sends_the_headers_is_not_refused(
    code: int, *, prepared: bool, answer: Json, unused: list[int]
) -> None:
    """A client that has listed the tools before starts where another ended its recovery."""
    made = player(refusal(1, code), MADE)

    found = made.play(MADE.call, prepared=prepared)

    assert said(found) == answer
    assert seqs(made.unused()) == unused


def test_a_refusal_that_is_all_there_is_comes_back() -> None:
    """Prepared or not, a recorded refusal is a recorded answer."""
    made = player(refusal(1, -32020))

    assert isinstance(made.play(MADE.call, prepared=True), Hit)


PEOPLE = Header(redaction=Redaction(placeholders={"email": 2}))


def lookup(seq: int, mail: str, text: Json = None) -> McpExchange:
    return tool(seq, "lookup", {"mail": mail}, text)


ANA = lookup(2, "email-1@mcprec.example", "id 7 of email-1@mcprec.example")
BO = lookup(3, "email-2@mcprec.example", "id 8 of email-2@mcprec.example")
FIND = model(1, "Find email-1@mcprec.example", "ask email-1@mcprec.example")


@pytest.mark.parametrize("asked", ["email-1@mcprec.example", "ana@example.test"])
def test_a_raw_request_finds_its_clean_recording(asked: str) -> None:
    """The cassette is clean, the wire is not: the test's own values and the replayed model's."""
    made = player(FIND, ANA, BO, header=PEOPLE)

    first = made.play(model(0, "Find ana@example.test", "").call)
    second = made.play(lookup(0, asked).call)
    third = made.play(lookup(0, "bo@example.test").call)

    assert said(first) == "ask ana@example.test"
    assert said(second) == "id 7 of ana@example.test"
    assert said(third) == "id 8 of bo@example.test"
    assert made.tally.guessed == []


def test_one_persons_answer_is_never_anothers() -> None:
    """A wrong answer that looks right is the worst a replay can do; the miss names the field."""
    made = player(FIND, ANA, header=PEOPLE)
    made.play(model(0, "Find ana@example.test", "").call)

    found = made.play(lookup(0, "bo@example.test").call)

    assert differing(found) == ["/args/mail"]
    assert "bo@example.test" not in missed(found).text()


def test_a_binding_that_is_a_guess_is_counted() -> None:
    """Of several that fit recorded order decides, and the report says where."""
    made = player(ANA, BO, header=PEOPLE)

    found = [made.play(lookup(0, f"{name}@x.test").call) for name in ("bo", "ana", "bo")]

    assert list(map(said, found)) == [
        "id 7 of bo@x.test",
        "id 8 of ana@x.test",
        "id 7 of bo@x.test",
    ]
    assert made.tally.guessed == [2]


def test_strict_does_not_guess() -> None:
    """An ambiguous binding misses, and it is no used-up call."""
    made = player(ANA, BO, header=PEOPLE, strict=True)

    found = made.play(lookup(0, "bo@example.test").call)

    assert missed(found).cause == "differs"


def test_a_live_value_is_counted_under_its_placeholder() -> None:
    """`this is call 2` must be right for two people who ask the same tool."""
    made = player(FIND, ANA, BO, header=PEOPLE, strategy="ordered")
    made.play(model(0, "Find ana@example.test", "").call)
    for mail in ("ana@example.test", "bo@example.test"):
        made.play(lookup(0, mail).call)

    found = made.play(lookup(0, "bo@example.test").call)

    assert "recorded 1 time, this is call 2" in missed(found).message()


def test_a_raw_value_in_a_hand_written_cassette_is_found() -> None:
    """No one who writes a line by hand knows what a rule takes for a secret."""
    ana, bo = lookup(1, "ana@example.test", "a"), lookup(2, "bo@example.test", "b")
    made = player(ana, bo)

    assert [said(made.play(each.call)) for each in (bo, ana)] == ["b", "a"]
    assert isinstance(made.play(lookup(0, "cy@example.test").call), Miss)


def test_a_raw_value_goes_before_a_placeholder_that_it_might_be() -> None:
    """What stands there to the letter needs no guess."""
    header = Header(redaction=Redaction(placeholders={"email": 1}))
    made = player(
        lookup(1, "email-1@mcprec.example", "a"), lookup(2, "bo@x.test", "b"), header=header
    )

    found = made.play(lookup(0, "bo@x.test").call)

    assert said(found) == "b"
    assert made.tally.guessed == []


def test_ids_that_an_answer_minted_tell_calls_apart() -> None:
    """Two tool calls of one replayed model are not each other's, whatever comes back first."""
    ids: list[Json] = [{"id": "call_srv_1"}, {"id": "call_srv_2"}]
    minting = replace(model(1, "hi", ""), answer=ModelAnswer(kind="body", value={"calls": ids}))

    def followed(seq: int, call_id: str) -> ModelExchange:
        request: Json = {"messages": [{"role": "tool", "tool_call_id": call_id, "content": "3"}]}
        exchange = model(seq, "", f"after {call_id}")
        return replace(exchange, call=replace(exchange.call, request=request))

    first, second = followed(2, "call_srv_1"), followed(3, "call_srv_2")
    made = player(minting, first, second)

    answers = [said(made.play(each.call)) for each in (second, first)]

    assert answers == ["after call_srv_2", "after call_srv_1"]


def test_looking_hands_nothing_out() -> None:
    """A door may ask whether there is an answer before it decides."""
    made = player(MADE)

    assert made.knows(MADE.call)
    assert not made.knows(ONE.call)
    assert seqs(made.unused()) == [2]


def report(made: Player, calls: Sequence[Call], child: int, *, all_used: bool = False) -> RunReport:
    for call in calls:
        made.play(call)
    return RunReport(
        misses=made.tally.misses,
        unused=made.unused(),
        used=made.tally.used,
        halves=frozenset({"mcp"}),
        child=child,
        demands=Demands(all_used=all_used),
    )


SEARCH = tool(1, "search", {"q": "label:bug"}, "s")
FOUR = tool(2, "get", {"id": 4}, "4")
FIVE = tool(3, "get", {"id": 5}, "5")


def test_the_miss_comes_before_what_was_left_over() -> None:
    """The cause first, then its consequences; the status is ours whatever the child's was."""
    asked = tool(0, "search", {"q": "label:bug sort:new"}).call

    found = report(player(SEARCH, FOUR, FIVE), [asked], 1)

    text = found.text()
    assert found.exit.status == 3
    assert text.index("/args/q") < text.index("never used: 3 recorded exchanges")
    assert found.exit.cause.startswith("1 miss, 3 recorded exchanges never used")


def test_leftovers_alone_fail_only_where_that_was_asked_for() -> None:
    """An agent that took a shorter way is no failure by itself."""
    asked = [SEARCH.call, FOUR.call]

    lenient = report(player(SEARCH, FOUR, FIVE), asked, 0)
    demanding = report(player(SEARCH, FOUR, FIVE), asked, 0, all_used=True)

    assert (lenient.exit.status, seqs(lenient.unused)) == (0, [3])
    assert demanding.exit.status == 3


def test_a_used_up_call_does_not_say_that_nothing_differs() -> None:
    """The number of calls is what differs."""
    made = player(SEARCH, FOUR, FIVE, strategy="ordered")

    found = report(made, [SEARCH.call, FOUR.call, FIVE.call, FOUR.call], 0)

    assert "recorded 1 time, this is call 2" in found.text()
    assert (found.exit.status, seqs(found.unused)) == (3, [])


def test_a_child_that_fails_with_our_number_is_told_apart() -> None:
    """Both statuses are 3; the line says that no call was missed and the command exited 3."""
    found = report(player(SEARCH, FOUR, FIVE), [], 3)

    assert found.exit.status == 3
    assert "0 misses" in found.exit.cause
    assert "3 recorded exchanges never used" in found.exit.cause
    assert found.exit.cause.endswith("the command exited 3")


def test_a_misspelt_tool_is_offered_the_nearest_name() -> None:
    """No call of that name means no nearest call, yet the reader needs a hint."""
    made = player(SEARCH, FOUR, FIVE)

    found = report(made, [tool(0, "serch", {"q": "label:bug"}).call], 0)

    assert found.exit.status == 3
    assert 'the nearest recorded name is "search"' in found.text()


CALL_IDS = ("call_a", "call_b", "call_c")


@st.composite
def mcp_calls(draw: st.DrawFn) -> McpCall:
    arguments = st.dictionaries(st.sampled_from(["q", "_meta", "password", ""]), json_values)
    args: Json = draw(st.none() | arguments) or None  # type: ignore[assignment]
    name = draw(st.sampled_from(["find", "get"]))
    return McpCall(
        server=draw(st.sampled_from(["notes", "wiki"])),
        method=draw(st.sampled_from(["tools/call", "prompts/get"])),
        name=name,
        args=args,
    )


@st.composite
def model_calls(draw: st.DrawFn) -> ModelCall:
    texts = st.sampled_from(["", "hi", "write to ana@example.test"]) | st.text()
    turns = st.tuples(st.sampled_from(CALL_IDS), texts)
    messages: list[Json] = [
        {"role": "tool", "tool_call_id": call_id, "content": text}
        for call_id, text in draw(st.lists(turns, max_size=3))
    ]
    return ModelCall(provider="openai", path=CHAT, request={"messages": messages})


def cassette_of(calls: Sequence[Call]) -> list[Exchange]:
    """Return a recording of these calls; the answers of the model mint ids now and then."""
    made: list[Exchange] = []
    for seq, call in enumerate(calls, 1):
        if isinstance(call, McpCall):
            answer = McpAnswer(kind="result", value=seq)
            made.append(McpExchange(seq=seq, call=call, answer=answer))
        else:
            body: Json = {"seq": seq, "id": CALL_IDS[seq % 3]} if seq % 2 else {"seq": seq}
            answered = ModelAnswer(kind="body", value=body)
            made.append(ModelExchange(seq=seq, call=call, answer=answered))
    return made


@given(calls=st.lists(mcp_calls() | model_calls(), max_size=8))
def test_a_recording_answers_itself(calls: list[Call]) -> None:
    """No miss and nothing unused: recorder and player build one key, whatever was asked."""
    tape = cassette_of(calls)
    made = player(*tape, strategy="ordered", strict=True)

    found = [made.play(exchange.call) for exchange in tape]

    assert [each.exchange.seq for each in found if isinstance(each, Hit)] == seqs(tape)
    assert [*made.unused(), *made.tally.misses, *made.tally.guessed] == []


@given(
    calls=st.lists(mcp_calls() | model_calls(), max_size=8, unique_by=match_key),
    chance=st.randoms(use_true_random=False),
)
def test_the_order_of_calls_with_keys_of_their_own_is_free(
    calls: list[Call], chance: random.Random
) -> None:
    """An agent that asks in parallel gets the same answers every time."""
    tape = cassette_of(calls)
    made = player(*tape, strategy="ordered", strict=True)
    asked = chance.sample(tape, len(tape))

    found = [made.play(exchange.call) for exchange in asked]

    assert [each.exchange.seq for each in found if isinstance(each, Hit)] == seqs(asked)
    assert made.unused() == []
