"""What counts in a match, from the bytes of a recording to those of a replay."""

import json
import random
import sys
from pathlib import Path

import pytest

from mcprec_addon.cli import status_of
from mcprec_addon.exchange import Json
from mcprec_addon.match.rules import rules_of
from mcprec_addon.replay.play import PlayOptions
from tests.test_stdio_doors import odd_value, shuffled
from tests.whole_way import (
    Call,
    World,
    post,
    record_of,
    recorded,
    replayed,
    result,
    rpc,
    tool_call,
)

ORDERED = PlayOptions(strategy="ordered")
META = '"_meta":{"progressToken":6,"io.modelcontextprotocol/clientInfo":{"name":"a"}},'
CHAT = "/v1/chat/completions"
HELLO = '{"choices":[{"message":{"role":"assistant","content":"hello"}}]}'


def find(id_: str, meta: str, page: int) -> str:
    arguments = f'{{"q":"open","_meta":{{"page":{page}}}}}'
    params = f'{{{meta}"name":"find","arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":{id_},"method":"tools/call","params":{params}}}'


def test_only_the_meta_of_params_is_skipped() -> None:
    """It changes with every request and every framework; the tool's own data does not."""
    answer = '{"jsonrpc":"2.0","id":6,"result":{"content":[],"_meta":{"cost":1}}}'
    world = replayed(recorded([(rpc("t", find("6", META, 1)), answer)]))

    first = world.ask(rpc("t", find('"r1"', META.replace('"a"', '"b"').replace("6", "7"), 1)))
    second = world.ask(rpc("t", find('"r2"', "", 1)))
    world.ask(rpc("t", find('"r3"', "", 2)))

    said: Json = {"content": [], "_meta": {"cost": 1}}
    assert first == {"jsonrpc": "2.0", "id": "r1", "result": said}
    assert second == {"jsonrpc": "2.0", "id": "r2", "result": said}
    assert world.pointers() == ["/args/_meta/page"]


def turn(id_: str, *, content: str = "3", arguments: str = '{"a":1,"b":2}') -> Json:
    function: Json = {"name": "sum", "arguments": arguments}
    return {
        "model": "m",
        "messages": [
            {"role": "assistant", "tool_calls": [{"id": id_, "function": function}]},
            {"role": "tool", "tool_call_id": id_, "content": content},
        ],
    }


def test_ids_made_by_the_client_are_no_reason_to_miss() -> None:
    """A framework mints them anew each run; what they stand for still counts."""
    answer = '{"choices":[{"message":{"content":"It is 3","tool_calls":[{"id":"call_srv7"}]}}]}'
    world = replayed(recorded([(post(CHAT, turn("call_aa11")), answer)]))

    hit = world.ask(post(CHAT, turn("call_zz99")))
    world.ask(post(CHAT, turn("call_zz99", content="4")))
    other_result = world.pointers(), world.misses[-1].reasons()
    world.ask(post(CHAT, turn("call_aa11", arguments='{"b": 2, "a": 1}')))

    assert hit == json.loads(answer)
    assert other_result == (
        ["/request/messages/1/content"],
        [
            (
                "diverged at message 1 of the conversation, the result of sum, called in turn 1:"
                " look at that tool"
            )
        ],
    )
    assert "same JSON, different text: key order" not in world.misses[0].text()
    assert "same JSON, different text" in world.misses[-1].text()


def test_answers_go_by_arguments_and_not_by_the_queue_of_a_tool() -> None:
    """Handing out the next one would answer another question, and the run would pass."""
    flights: Json = {"kind": "flights", "to": "OSL"}
    hotels: Json = {"to": "OSL", "kind": "hotels"}
    bergen: Json = {"to": "BGO", "kind": "flights"}
    tape = record_of(
        (("travel", "search", flights), "SK4035"), (("travel", "search", hotels), "Hotel Fjord")
    )
    world = replayed(tape, ORDERED)

    said = [
        world.says(tool_call("travel", "search", args))
        for args in (hotels, flights, bergen, flights)
    ]

    assert said == ["Hotel Fjord", "SK4035", None, None]
    unknown, again = world.misses
    assert (unknown.cause, again.cause) == ("differs", "used up")
    assert unknown.nearest is not None
    assert (unknown.nearest.seq, unknown.differences[0].pointer) == (1, ("args", "to"))


def test_servers_with_one_tool_name_are_apart() -> None:
    """Each key has a counter of its own, and the server is in it."""
    vpn: Json = {"q": "vpn"}
    tape = record_of(
        *(((label, "search", vpn), f"{label}-{at}") for label in ("notes", "wiki") for at in (1, 2))
    )
    world = replayed(tape, ORDERED)

    said = [
        world.says(tool_call(label, "search", vpn)) for label in ("wiki", "notes", "wiki", "notes")
    ]

    assert said == ["wiki-1", "notes-1", "wiki-2", "notes-2"]


CLEAN: dict[str, Json] = {
    "model": "m",
    "max_tokens": 64,
    "tools": [{"name": "find", "input_schema": {"type": "object", "properties": {"q": {}}}}],
    "messages": [{"role": "user", "content": "hi"}],
}
STRICTER: Json = [
    {"name": "find", "input_schema": {"type": "object", "properties": {"q": {}}, "required": ["q"]}}
]
DRIFTED: dict[str, tuple[dict[str, Json], str, str]] = {
    "schema": ({**CLEAN, "tools": STRICTER}, "/request/tools/0/input_schema/required", "added"),
    "limit": ({**CLEAN, "max_tokens": 65}, "/request/max_tokens", "changed"),
    "thinking": ({**CLEAN, "thinking": {"type": "disabled"}}, "/request/thinking", "added"),
    "tools": ({key: CLEAN[key] for key in CLEAN if key != "tools"}, "/request/tools", "removed"),
}


@pytest.mark.parametrize("drift", DRIFTED)
def test_a_request_that_drifted_is_not_answered(drift: str) -> None:
    """A cassette that answers what nobody sends any more keeps a broken test green."""
    asked, pointer, kind = DRIFTED[drift]
    tape = recorded([(post("/v1/messages", CLEAN), '{"content":[]}')])
    ignore = rules_of("ignore", ["/request/max_tokens"], origin="--ignore")
    world, loose = replayed(tape), replayed(tape, PlayOptions(rules=ignore))

    assert world.ask(post("/v1/messages", CLEAN)) == {"content": []}
    world.ask(post("/v1/messages", asked))
    loose.ask(post("/v1/messages", asked))

    assert (world.pointers(), world.misses[-1].differences[0].kind) == ([pointer], kind)
    assert len(loose.misses) == (drift != "limit")


def test_every_call_finds_its_own_answer_however_it_is_spelled() -> None:
    """Recorder and matcher make one key, whatever JSON allows."""
    chance = random.Random(7)  # noqa: S311 (any odd values do)
    calls = [
        {"name": f"t{n % 5}", "arguments": {"x": odd_value(chance), "n": n}} for n in range(200)
    ]

    def asked(n: int, params: object, *, is_ascii: bool) -> str:
        call = {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}
        return json.dumps(call, ensure_ascii=is_ascii, indent=n % 3 or None)

    tape = recorded(
        [
            (rpc("t", asked(n, call, is_ascii=bool(n % 2))), result(str(n), id_=n))
            for n, call in enumerate(calls)
        ]
    )
    world = replayed(tape)
    order = list(range(200))
    chance.shuffle(order)

    said = [
        world.says(rpc("t", asked(n, shuffled(calls[n], chance), is_ascii=not n % 2)))
        for n in order
    ]

    assert said == list(map(str, order))
    assert world.player.unused() == []


def pay(amount: str) -> str:
    arguments = f'{{"amount":{amount},"in":{{"deep":[{amount}]}}}}'
    params = f'{{"name":"pay","arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'


def paid(left: str, right: str) -> World:
    answer = '{"jsonrpc":"2.0","id":1,"result":{"content":[],"paid":275.0}}'
    world = replayed(recorded([(rpc("t", pay(left)), answer)]))
    reply = world.responder.respond(rpc("t", pay(right)))
    assert bool(world.misses) is not (b'"paid":275.0' in reply.body)
    return world


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("275.0", "275"), ("1e2", "100"), ("1E+2", "100.00"), ("0.10", "0.1"), ("-0", "0"),
        ("-0.0", "0"), ("1.5e-3", "0.0015"), ("1e400", "1E400"), ("1e-400", "1e-400"),
        ("1E999999999", "1e999999999"),
    ],
)  # fmt: skip
def test_equal_numbers_are_one_and_answers_keep_their_spelling(left: str, right: str) -> None:
    """By exact decimal value, whatever a language makes of them."""
    assert paid(left, right).misses == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1", "true"), ("0", "false"), ("1", '"1"'), ("0", "null"),
        ("275", "275.0000000000001"), ("0.1", "0.10000000000000001"),
    ],
)  # fmt: skip
def test_other_values_miss_and_are_shown_as_written(left: str, right: str) -> None:
    """Python takes some of them for equal, and a diff that prints both alike helps nobody."""
    world = paid(left, right)

    assert world.pointers() == ["/args/amount", "/args/in/deep/0"]
    assert f"recorded {left}, asked {right}" in world.misses[0].text()


def test_a_list_is_not_its_element() -> None:
    """Here the whole value differs, and not its leaves."""
    assert paid("[1]", "1").pointers() == ["/args/amount", "/args/in/deep/0"]


SEARCH: Call = ("s", "search", {"q": "label:bug"})
OTHER: Call = ("s", "search", {"q": "label:bug sort:new"})
SERCH: Call = ("s", "serch", {"q": "label:bug"})
FOUR: Call = ("s", "get", {"id": 4})
FIVE: Call = ("s", "get", {"id": 5})


@pytest.mark.parametrize(
    ("calls", "child", "status", "says"),
    [
        ([OTHER], 1, 3, ["/args/q", "never used: 3", "1 miss, 3 recorded exchanges never used"]),
        ([SEARCH, FOUR], 0, 0, ["never used: 1", "mcprec: 0 misses, 2 of 3"]),
        ([SEARCH, FOUR, FIVE, FOUR], 0, 3, ["recorded 1 time, this is call 2", "1 miss"]),
        ([], 3, 3, ["never used: 3", "0 misses, nothing", "the command exited 3"]),
        ([SERCH], 0, 3, ['nearest recorded name is "search"', "never used: 3", "1 miss"]),
    ],
)
def test_first_the_miss_then_what_was_left_over(
    calls: list[Call], child: int, status: int, says: list[str]
) -> None:
    """What was never used is most often the consequence of a call that nobody knows."""
    tape = record_of(*((call, "x") for call in (SEARCH, FOUR, FIVE)))
    world = replayed(tape, ORDERED)
    for call in calls:
        world.ask(tool_call(*call))

    report = world.report(child=child)

    text = report.text()
    assert report.exit.status == status
    assert sorted(says, key=text.index) == says


PROMPT: dict[str, Json] = {
    "model": "gpt-5",
    "temperature": 0,
    "tools": [{"type": "function", "function": {"name": name}} for name in ("find", "get")],
    "messages": [{"role": "user", "content": "It is 2026-10-05. Any bugs?"}],
}


@pytest.mark.parametrize(
    ("changed", "pointer", "says"),
    [
        (
            {"messages": [{"role": "user", "content": "It is 2026-10-05. Any bugs!"}]},
            "/request/messages/0/content",
            "what the user says",
        ),
        ({"model": "gpt-6"}, "/request/model", "a parameter changed: model"),
        ({"temperature": 0.1}, "/request/temperature", "a parameter changed: temperature"),
        (
            {"tools": [{"type": "function", "function": {"name": n}} for n in ("get", "find")]},
            "/request/tools",
            "the tools changed: another order",
        ),
    ],
)
def test_one_change_is_one_pointer_and_no_rule(
    changed: dict[str, Json], pointer: str, says: str
) -> None:
    """What a person changed must miss, and say what it was."""
    world = replayed(recorded([(post(CHAT, PROMPT), HELLO)]))

    world.ask(post(CHAT, {**PROMPT, **changed}))

    text = world.misses[0].text()
    assert world.pointers() == [pointer]
    assert says in text
    assert "--normalize" not in text
    assert "--ignore" not in text


AGENT = """
import http.client, json, os, sys
from urllib.parse import urlsplit
url = urlsplit(os.environ["OPENAI_BASE_URL"])
body = json.loads(sys.argv[1])
body["messages"][0]["content"] = body["messages"][0]["content"].replace("2026-10-05", sys.argv[2])
connection = http.client.HTTPConnection(url.netloc)
connection.request(
    "POST", url.path + "/chat/completions", json.dumps(body), {"content-type": "application/json"}
)
answer = connection.getresponse()
print(answer.status, answer.read().decode())
"""


@pytest.mark.door
def test_another_day_needs_a_rule_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The miss prints it, with it the call is a hit, and with --save it need not be given again."""
    path = tmp_path / "a.mcp"
    path.write_text(recorded([(post(CHAT, PROMPT), HELLO)]))

    def replay(day: str, *options: str) -> tuple[int, str, str]:
        agent = [sys.executable, "-S", "-c", AGENT, json.dumps(PROMPT), day]
        status = status_of(["replay", str(path), *options, "--", *agent])
        said = capfd.readouterr()
        return status, said.out, said.err

    missed = replay("2026-11-30")
    saved = replay("2026-11-30", "--normalize", "date", "--save")
    later = replay("2027-01-31")

    assert missed[0] == 3
    assert "looks like a date that changes by itself: --normalize date" in missed[2]
    assert (saved[0], later[0]) == (0, 0), later
    assert '"content":"hello"' in later[1]
    assert "saved --normalize date" in saved[2]
