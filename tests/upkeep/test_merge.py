"""Recordings joined into one: what is one in it, what stays apart, and that each replays."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.cassette.format import read_cassette
from mcprec_addon.cassette.writing import write_cassette
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import (
    Call,
    Cassette,
    Exchange,
    Header,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    Message,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Redaction,
    Server,
)
from mcprec_addon.redact import walk
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.self_check import self_check
from mcprec_addon.upkeep.merge import Merged, merge
from mcprec_addon.upkeep.merged_header import Source
from tests.test_jsonvalue import json_values


class _Live(walk.Change):
    """Puts secrets in the place of placeholders."""

    def __init__(self, secrets: dict[str, str]) -> None:
        self._secrets = secrets

    def text(self, text: str) -> str:
        return self._secrets.get(text, text)


def mail(number: int) -> str:
    return f"email-{number}@mcprec.example"


def tool(seq: int, args: Json, value: Json = None, name: str = "get") -> McpExchange:
    call = McpCall(server="s", method="tools/call", name=name, args=args)
    return McpExchange(seq=seq, call=call, answer=McpAnswer(kind="result", value=value))


def chat(seq: int, *said: Json, answer: Json = "ok") -> ModelExchange:
    request: Json = {"messages": list(said)}
    call = ModelCall(provider="openai", path="/v1/chat/completions", request=request)
    return ModelExchange(seq=seq, call=call, answer=ModelAnswer(kind="body", value=answer))


def tape(*exchanges: Exchange, emails: int = 0, **header: object) -> Cassette:
    redaction = Redaction(placeholders={"email": emails} if emails else {})
    made = Header(redaction=redaction)
    return Cassette(header=replace(made, **header), exchanges=exchanges)  # type: ignore[arg-type]


def joined(*cassettes: Cassette, same: tuple[str, ...] = ()) -> Merged:
    names = "abcdef"
    sources = [Source(name=f"{names[at]}.mcp", cassette=each) for at, each in enumerate(cassettes)]
    return merge(sources, same=same)


def asked(cassette: Cassette) -> list[tuple[int, Json]]:
    return [(each.seq, each.call.record().get("args")) for each in cassette.exchanges]


def misses(cassette: Cassette, run: Cassette, secrets: dict[str, str]) -> list[Miss]:
    """Play the calls of one recording, with its secrets back in them, against a cassette."""
    redaction = cassette.header.redaction
    player = Player(
        cassette,
        bindings=Bindings(redaction, default_rules(redaction.builtin)),
        options=PlayOptions(),
    )

    def live(call: Call) -> Call:
        return walk.call(call, _Live(secrets))

    in_order = sorted(run.exchanges, key=lambda each: each.seq)
    played = [player.play(live(each.call)) for each in in_order]
    return [found for found in played if isinstance(found, Miss)]


def test_what_is_new_comes_behind_and_what_is_equal_stands_once() -> None:
    """A second run adds its own paths, and costs nothing where it went the same way."""
    first = tape(tool(2, {"id": 4}, "four"), tool(3, {"id": 5}, "five"))
    second = tape(tool(1, {"id": 5}, "five"), tool(2, {"id": 6}, "six"))

    found = joined(first, second)

    assert asked(found.cassette) == [(2, {"id": 4}), (3, {"id": 5}), (4, {"id": 6})]
    assert (found.shared, found.notes) == (1, ())
    assert found.line("c.mcp", 2) == "c.mcp: 3 exchanges of 2 cassettes; 1 in more than one"


def test_one_name_may_be_two_secrets() -> None:
    """Two recordings have an email-1 each, and nothing says that they are one person."""
    first = tape(tool(1, {"to": mail(1)}, mail(1), "invite"), emails=1)
    second = tape(tool(1, {"who": mail(1)}, "other", "remove"), emails=1)

    found = joined(first, second).cassette

    assert asked(found) == [(1, {"to": mail(1)}), (2, {"who": mail(2)})]
    assert found.header.redaction.placeholders == {"email": 2}
    assert misses(found, second, {mail(1): "ben@corp.com"}) == []


def test_in_the_same_place_of_the_same_call_they_are_one() -> None:
    """Else the value would be bound to one name there, and miss where the other one stands."""
    shared = tool(1, {"to": mail(1)}, "sent", "invite")
    first = tape(shared, tool(2, {"a": mail(1)}, 1), emails=1)
    second = tape(shared, tool(2, {"b": mail(1)}, 2), emails=1)

    found = joined(first, second).cassette

    assert asked(found) == [(1, {"to": mail(1)}), (2, {"a": mail(1)}), (3, {"b": mail(1)})]
    for run in (first, second):
        assert misses(found, run, {mail(1): "ben@corp.com"}) == []


def test_sources_that_agree_are_one_secret_and_others_never() -> None:
    """A variable of one name holds one role; two of different names are two."""

    def with_sources(exchange: Exchange, **names: list[str]) -> Cassette:
        sources = {name.replace("_", "-"): held for name, held in names.items()}
        redaction = Redaction(placeholders={"api-key": len(names)}, sources=sources)
        return Cassette(header=Header(redaction=redaction), exchanges=(exchange,))

    first = with_sources(tool(1, {"k": "api-key-1"}, 1), api_key_1=["env:A"])
    same = with_sources(tool(1, {"x": "api-key-2"}, 1), api_key_1=["env:Z"], api_key_2=["env:A"])
    other = with_sources(tool(1, {"k": "api-key-1"}, 1), api_key_1=["env:B"])

    assert asked(joined(first, same).cassette)[1] == (2, {"x": "api-key-1"})
    apart = joined(first, other).cassette
    assert asked(apart) == [(1, {"k": "api-key-1"}), (2, {"k": "api-key-2"})]
    assert apart.header.redaction.sources == {"api-key-1": ["env:A"], "api-key-2": ["env:B"]}


def test_different_answers_to_one_call_are_named() -> None:
    """A replay gives the first one first, which its author should know."""
    found = joined(tape(tool(1, {"id": 4}, "old")), tape(tool(7, {"id": 4}, "new")))

    assert len(found.cassette.exchanges) == 2
    assert found.notes == ("#1 tools/call get (server s): b.mcp has another answer, its #7",)


def test_a_read_behind_a_new_write_stays_where_it_was() -> None:
    """It is what the world looks like after that write, though it looks as it did before."""
    first = tape(tool(1, {"q": 1}, []))
    second = tape(tool(1, {"t": 1}, "ok", "add"), tool(2, {"q": 1}, []))

    found = joined(first, second).cassette

    assert asked(found) == [(1, {"q": 1}), (2, {"t": 1}), (3, {"q": 1})]


def test_an_answer_that_is_needed_twice_stands_twice() -> None:
    """A used-up model call misses."""
    found = joined(tape(chat(1, "hi")), tape(chat(1, "hi"), chat(2, "hi")))

    assert [each.seq for each in found.cassette.exchanges] == [1, 2]


def test_messages_follow_their_exchange() -> None:
    """`after` and `on` name exchanges by number, and those have new ones."""
    told = Message(server="s", sender="server", method="n", params={"x": 1}, after=3, on=3)
    second = replace(tape(tool(3, {"id": 9}, 9)), messages=(told,))

    (message,) = joined(tape(tool(1, {"id": 4}, 4)), second).cassette.messages

    assert (message.after, message.on) == (2, 2)


def test_a_doubled_number_of_a_merge_is_made_good() -> None:
    """Two branches that added an exchange each give one number twice when git joins them."""
    lines = (
        b'{"mcprec":1,"servers":{"tracker":{}}}\n'
        b'{"seq":1,"method":"tools/call","name":"list","args":{"api":"2026-01"},"result":{}}\n'
        b'{"seq":2,"method":"tools/call","name":"get","args":{"id":4},"result":{}}\n'
        b'{"seq":2,"method":"tools/call","name":"get","args":{"id":5},"result":{}}\n'
        b'{"seq":3,"method":"tools/call","name":"get","args":{"id":6},"result":{}}\n'
    )
    broken = read_cassette(lines, path="t.mcp")

    found = joined(broken).cassette

    assert len(broken.warnings) == 1
    assert [each.seq for each in found.exchanges] == [1, 2, 3, 4]
    assert read_cassette(write_cassette(found), path="t.mcp").warnings == ()


def test_what_cannot_be_one_is_refused_with_all_reasons() -> None:
    """A label leads to one server, and calls are redacted by one set of rules."""
    one = tape(servers={"s": Server(url="https://a.example/mcp")})
    other = tape(servers={"s": Server(url="https://b.example/mcp")})
    rules = replace(other, header=replace(other.header, redaction=Redaction(custom="sha256:1")))

    with pytest.raises(UsageError) as caught:
        joined(one, rules)

    first, second = str(caught.value).splitlines()
    assert first.startswith("b.mcp: recorded under redaction rules of its own (sha256:1…)")
    assert second.startswith('b.mcp: server "s" is https://b.example/mcp, in a.mcp it is https://a')
    assert joined(one, other, same=("s",)).cassette.header.servers == one.header.servers


emails = st.sampled_from([mail(1), mail(2), "x"])
tapes = st.lists(st.tuples(st.integers(0, 2), emails, st.one_of(emails, json_values)), max_size=6)


def recorded(calls: list[tuple[int, str, Json]]) -> Cassette:
    exchanges: list[Exchange] = []
    for seq, (key, to, value) in enumerate(calls, 1):
        exchanges.append(
            chat(2 * seq, {"role": "user", "content": to}, answer=[value])
            if key == 2
            else tool(2 * seq, {"key": key, "to": to}, {"v": value})
        )
    halves = sorted(exchanges, key=lambda each: each.call.half)
    return tape(*halves, emails=2)


@given(tapes)
def test_a_cassette_merged_with_itself_is_the_cassette(calls: list[tuple[int, str, Json]]) -> None:
    """Nothing is lost, doubled or renumbered."""
    one = recorded(calls)

    assert joined(one, one).cassette == one


@given(tapes, tapes)
def test_a_merged_cassette_answers_its_own_calls(
    first: list[tuple[int, str, Json]], second: list[tuple[int, str, Json]]
) -> None:
    """As those did of which it was made."""
    one, two = recorded(first), recorded(second)
    assert self_check(one, name="a").holds
    assert self_check(two, name="b").holds

    found = self_check(joined(one, two).cassette, name="c")

    assert found.holds, found.text()


@given(tapes, tapes)
def test_each_run_replays_from_the_merged_cassette(
    first: list[tuple[int, str, Json]], second: list[tuple[int, str, Json]]
) -> None:
    """With the secrets of whoever replays it, and without a miss."""
    one, two = recorded(first), recorded(second)
    whole = joined(one, two).cassette

    for run in (one, two):
        assert misses(whole, run, {mail(1): "ana@corp.com", mail(2): "ben@corp.com"}) == []
