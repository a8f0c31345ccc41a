"""What a miss says: the nearest call, what differs, the likely cause, the remedy."""

import time

from mcprec_addon.exchange import (
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
)
from mcprec_addon.jsonvalue import loads, parse_pointer
from mcprec_addon.replay.diagnosis import era_miss, find_miss
from mcprec_addon.replay.miss import Miss

CHAT = "/v1/chat/completions"


def search(args: Json, *, name: str = "search", server: str = "tracker") -> McpCall:
    return McpCall(server=server, method="tools/call", name=name, args=args)


def recorded(seq: int, call: McpCall) -> McpExchange:
    return McpExchange(seq=seq, call=call, answer=McpAnswer(kind="result", value={}))


def chat(request: Json, *, path: str = CHAT) -> ModelCall:
    return ModelCall(provider="openai", path=path, request=request)


def recorded_chat(seq: int, request: Json) -> ModelExchange:
    return ModelExchange(seq=seq, call=chat(request), answer=ModelAnswer(kind="none"))


def pointers(miss: Miss) -> list[str]:
    return ["/" + "/".join(each.pointer) for each in miss.differences]


def test_miss_in_full() -> None:
    """The report is what a person reads first, so its layout is part of the product."""
    tape = [recorded(14, search({"query": "label:bug state:open"}, name="search_issues"))]
    asked = search({"query": "label:bug state:open sort:updated"}, name="search_issues")

    text = find_miss(asked, tape).text(record_command="mcprec record --out triage.mcp -- ./run.sh")

    assert text.splitlines() == [
        "MISS tools/call search_issues (server tracker)",
        '  asked:   {"query":"label:bug state:open sort:updated"}',
        '  nearest: recorded #14, {"query":"label:bug state:open"}',
        "  differs: /args/query",
        '           "label:bug state:open| sort:updated" (added at character 20)',
        "  the agent asks something new: record again (mcprec record --out triage.mcp -- ./run.sh)",
    ]


def test_nearest_has_fewest_differing_leaves_of_the_same_tool() -> None:
    """A call of another order or tool must not pass for the nearest."""
    tape = [
        recorded(1, search({"kind": "flights", "to": "OSL"})),
        recorded(2, search({"kind": "hotels", "to": "OSL"})),
        recorded(3, search({"kind": "flights", "to": "BGO"}, name="book")),
    ]

    miss = find_miss(search({"to": "BGO", "kind": "flights"}), tape)

    assert miss.cause == "differs"
    assert miss.nearest is tape[0]
    assert pointers(miss) == ["/args/to"]


def test_most_text_in_common_decides_among_equals() -> None:
    """Every search differs in one leaf: the alike one tells what went wrong."""
    tape = [
        recorded(1, search({"q": "weather in Oslo"})),
        recorded(2, search({"q": "label:bug state:open"})),
        recorded(3, search({"q": "weather in Bergen"})),
    ]

    miss = find_miss(search({"q": "label:bug state:closed"}), tape)

    assert miss.nearest is tape[1]


def test_cursor_of_a_list_is_named() -> None:
    """Cursors are opaque text and shown as such."""
    tape = [recorded(1, McpCall(server="t", method="tools/list", params={"cursor": "8"}))]

    miss = find_miss(McpCall(server="t", method="tools/list", params={"cursor": "9"}), tape)

    assert pointers(miss) == ["/params/cursor"]
    assert 'recorded "|8"' in miss.text()


def test_true_is_not_one_and_both_are_shown() -> None:
    """Python takes them for equal, so the sieve must not decide."""
    tape = [recorded(1, search({"amount": 1, "in": {"deep": [1]}}))]

    miss = find_miss(search({"amount": True, "in": {"deep": [True]}}), tape)

    assert pointers(miss) == ["/args/amount", "/args/in/deep/0"]
    assert "recorded 1, asked true" in miss.text()


def test_exact_numbers_are_shown_as_written() -> None:
    """Two numbers that are one double must not be printed alike."""
    tape = [recorded(1, search(loads('{"amount":0.1}')))]

    miss = find_miss(search(loads('{"amount":0.10000000000000001}')), tape)

    assert "recorded 0.1, asked 0.10000000000000001" in miss.text()


def test_null_is_not_absent() -> None:
    """Clients differ in whether they send a null, and the report has to say so."""
    miss = find_miss(search({"q": "x", "since": None}), [recorded(1, search({"q": "x"}))])

    assert "recorded absent, asked null" in miss.text()


def test_used_up_says_how_often() -> None:
    """'No difference found' would send the reader looking for one."""
    tape = [recorded(2, search({"id": 4}, name="get"))]

    miss = find_miss(search({"id": 4}, name="get"), tape, used_up=1, asked=2)

    assert miss.cause == "used up"
    assert "recorded 1 time, this is call 2" in miss.text()
    assert "recorded 1 time, this is call 2" in miss.message()


def test_unknown_name_offers_the_nearest_name() -> None:
    """A misspelt tool has no nearest call, but it has a nearest name."""
    miss = find_miss(search({"q": "x"}, name="serch"), [recorded(1, search({"q": "x"}))])

    assert (miss.cause, miss.nearest, miss.nearest_name) == ("never recorded", None, "search")
    assert 'nearest recorded name is "search"' in miss.text()


def test_same_call_of_another_server_is_named() -> None:
    """A server renamed in the config is a common cause."""
    tape = [recorded(1, search({"q": "vpn"}, server="notes"))]

    miss = find_miss(search({"q": "vpn"}, server="wiki"), tape)

    assert (miss.cause, miss.other_server) == ("other server", "notes")
    assert "recorded for server notes" in miss.text()


def test_nearest_of_the_same_server_comes_before_the_other_server() -> None:
    """The equal call elsewhere is a hint; the nearest stays one of the same server."""
    tape = [
        recorded(1, search({"q": "vpn"}, server="notes")),
        recorded(2, search({"q": "dns"}, server="wiki")),
    ]

    miss = find_miss(search({"q": "vpn"}, server="wiki"), tape)

    assert miss.nearest is tape[1]
    assert miss.other_server == "notes"


def test_ignored_pointer_is_no_difference() -> None:
    """What is in no key did not cause the miss."""
    tape = [recorded(1, search({"q": "a", "since": "2026-10-05"}))]
    asked = search({"q": "b", "since": "2026-10-09"})

    miss = find_miss(asked, tape, ignore=[parse_pointer("/args/since")])

    assert pointers(miss) == ["/args/q"]


def test_rule_is_offered_where_the_span_looks_volatile() -> None:
    """A date is worth a rule; anything else is worth a recording."""
    tape = [recorded(1, search({"q": "state:open", "since": "2026-10-05"}))]

    dated = find_miss(search({"q": "state:open", "since": "2026-10-09"}), tape).text()
    other = find_miss(search({"q": "state:shut", "since": "2026-10-05"}), tape).text()

    assert "--ignore /args/since" in dated
    assert "record again" not in dated
    assert "--ignore" not in other
    assert "record again" in other


def test_other_way_in_is_said() -> None:
    """The way in changes what some agents send."""
    exchange = McpExchange(
        seq=1, call=search({"q": "a"}), answer=McpAnswer(kind="result"), via="proxy"
    )

    miss = find_miss(search({"q": "b"}), [exchange], via="base-url")

    assert miss.cause == "other way in"
    assert "replay with --via proxy" in miss.text()


def test_other_era_is_said() -> None:
    """An answer of the other era that may not be mapped is not 'never recorded'."""
    exchange = recorded(3, search({"q": "a"}))

    miss = era_miss(search({"q": "a"}), exchange, "classic")

    assert miss.cause == "other era"
    assert "recorded in the classic era only" in miss.text()


def test_conversation_diverges_at_the_tool_result() -> None:
    """The prompt is only the messenger: the tool that produced the message is to blame."""
    head: list[Json] = [{"role": "user", "content": "Sum?"}]
    call: Json = {"role": "assistant", "tool_calls": [{"id": "call_1"}]}
    old: Json = {"role": "tool", "tool_call_id": "call_1", "content": "3"}
    new: Json = {"role": "tool", "tool_call_id": "call_1", "content": "4"}
    tape = [
        recorded_chat(1, {"model": "m", "messages": head}),
        recorded_chat(2, {"model": "m", "messages": [*head, call, old]}),
    ]

    miss = find_miss(chat({"model": "m", "messages": [*head, call, new]}), tape)

    assert (miss.cause, miss.message_index, miss.nearest) == ("diverged", 2, tape[1])
    assert pointers(miss) == ["/request/messages/2/content"]
    assert "diverged at message 2 of the conversation, a tool result: look at" in miss.text()


def test_diverged_conversation_shows_where_it_began_only() -> None:
    """Everything behind the first differing message is a consequence of it."""
    old: list[Json] = [{"role": "user", "content": f"old {at}"} for at in range(50)]
    other: list[Json] = [{"role": "user", "content": f"new {at}"} for at in range(47)]
    new = old[:3] + other

    miss = find_miss(chat({"messages": new}), [recorded_chat(1, {"messages": old})])
    text = miss.text()

    assert miss.message_index == 3
    assert "/request/messages/3/content" in text
    assert "/request/messages/4/content" not in text
    assert "and 46 more differences" in text


def test_changes_of_a_request_are_told_apart() -> None:
    """Added, removed and changed members each point at another cause."""
    tools: Json = [{"name": "find", "input_schema": {"type": "object"}}]
    stricter: Json = [{"name": "find", "input_schema": {"type": "object", "required": ["q"]}}]
    request: dict[str, Json] = {"model": "m", "max_tokens": 64, "tools": tools, "messages": []}
    tape = [recorded_chat(1, request)]
    changes: dict[str, dict[str, Json]] = {
        "b": {**request, "tools": stricter},
        "c": {**request, "max_tokens": 65},
        "d": {**request, "thinking": {"type": "disabled"}},
        "e": {key: value for key, value in request.items() if key != "tools"},
    }

    kinds = {
        change: [(each.pointer[1:], each.kind) for each in find_miss(chat(asked), tape).differences]
        for change, asked in changes.items()
    }

    assert kinds == {
        "b": [(("tools", "0", "input_schema", "required"), "added")],
        "c": [(("max_tokens",), "changed")],
        "d": [(("thinking",), "added")],
        "e": [(("tools",), "removed")],
    }


def test_renamed_ids_are_no_difference_beside_others() -> None:
    """Clients mint new ids in every run; naming them all would bury the one difference."""

    def request(identifier: str, content: str) -> Json:
        return {
            "messages": [
                {"role": "assistant", "tool_calls": [{"id": identifier}]},
                {"role": "tool", "tool_call_id": identifier, "content": content},
            ]
        }

    tape = [recorded_chat(1, request("call_aa11", "3"))]

    other = find_miss(chat(request("call_zz99", "4")), tape)
    only_ids = find_miss(chat(request("call_zz99", "3")), tape)

    assert pointers(other) == ["/request/messages/1/content"]
    assert len(only_ids.differences) == 2


def test_message_is_one_line_and_names_the_pointers() -> None:
    """It travels inside an error message of the client."""
    tape = [recorded(1, search({"a": 1, "b": 1, "c": 1, "d": "x\ny"}))]

    message = find_miss(search({"a": 2, "b": 2, "c": 2, "d": "x\nz"}), tape).message()

    assert message == (
        "mcprec: no recorded answer for tools/call search (server tracker);"
        " nearest is recorded #1, which differs at /args/a, /args/b, /args/c and 1 more"
    )


def test_control_characters_do_not_reach_the_terminal() -> None:
    """A value is text of a stranger: no escape sequence, no line of its own."""
    tape = [recorded(1, search({"q": "a"}))]

    text = find_miss(search({"q": "a\x1b[31m\nb\u202e"}), tape).text()

    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text.splitlines()) == 6


def test_meta_that_differs_is_shown_as_not_compared() -> None:
    """What of `_meta` may matter to a reader is in no key."""
    asked = McpCall(
        server="tracker", method="tools/call", name="search", args={"q": 2}, meta={"logLevel": "x"}
    )

    text = find_miss(asked, [recorded(1, search({"q": 1}))]).text()

    assert '_meta:   {"logLevel":"x"}, recorded {} (not compared)' in text


def test_json_of_a_miss_names_its_parts() -> None:
    """Programs read the report too."""
    report = find_miss(search({"q": 2}), [recorded(1, search({"q": 1}))]).as_json()

    assert report["cause"] == "differs"
    assert report["nearest"] == 1
    assert report["differences"] == [
        {
            "pointer": "/args/q",
            "kind": "changed",
            "shown": ["recorded 1, asked 2"],
            "volatile": None,
        }
    ]


def test_nothing_recorded_is_said_for_each_kind_of_call() -> None:
    """There is no nearest call in an empty cassette, and no crash either."""
    assert "no call of this endpoint" in find_miss(chat({"messages": []}), []).text()
    assert (
        "no tools/list of this server"
        in find_miss(McpCall(server="t", method="tools/list"), []).message()
    )
    assert 'no tools/call named "search"' in find_miss(search({"q": 1}), []).text()


def test_nearest_among_ten_thousand_is_found_at_once() -> None:
    """A miss answers a waiting client."""
    tape = [
        recorded(seq, search({"q": f"label:bug number:{seq} state:open", "limit": seq % 7}))
        for seq in range(1, 10_001)
    ]

    start = time.monotonic()
    miss = find_miss(search({"q": "label:bug number:4321 state:closed", "limit": 2}), tape)
    seconds = time.monotonic() - start

    assert miss.nearest is tape[4320]
    assert seconds < 1  # 30 ms where it was measured; the rest is for a busy machine


def test_long_conversations_are_compared_at_once() -> None:
    """An agent of a thousand turns sends the whole conversation each time."""
    turns: list[Json] = [{"role": "user", "content": f"turn {at} " * 20} for at in range(200)]
    tape = [recorded_chat(seq, {"messages": [*turns[: 1 + seq % 200]]}) for seq in range(1, 1_001)]
    asked: list[Json] = [*turns[:150], {"role": "user", "content": "another"}]

    start = time.monotonic()
    miss = find_miss(chat({"messages": asked}), tape)
    seconds = time.monotonic() - start

    assert (miss.cause, miss.message_index) == ("diverged", 150)
    assert seconds < 1
