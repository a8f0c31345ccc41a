"""A recording replayed against itself has no miss and nothing unused."""

from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import (
    Cassette,
    End,
    Era,
    Exchange,
    Header,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Redaction,
    Server,
)
from mcprec_addon.replay.diagnosis import find_miss
from mcprec_addon.self_check import SelfCheck, self_check
from tests.test_jsonvalue import json_values


def tool(seq: int, args: Json, *, end: End | None = None, era: Era | None = None) -> McpExchange:
    call = McpCall(server="s", method="tools/call", name="t", args=args)
    answer = McpAnswer(kind="result", value=seq, end=end)
    return McpExchange(seq=seq, call=call, answer=answer, era=era)


def chat(seq: int, *messages: Json) -> ModelExchange:
    request: Json = {"messages": list(messages)}
    call = ModelCall(provider="openai", path="/v1/chat/completions", request=request)
    return ModelExchange(seq=seq, call=call, answer=ModelAnswer(kind="body", value={"id": "c"}))


@given(
    arguments=st.lists(st.dictionaries(st.text(), json_values, max_size=3), max_size=6),
    prompts=st.lists(st.text(), max_size=3),
)
def test_every_recording_matches_itself(
    arguments: list[dict[str, Json]], prompts: list[str]
) -> None:
    """Recorder and matcher build one key, whatever was asked, and however often."""
    tape: list[Exchange] = [tool(seq, args or None) for seq, args in enumerate(arguments, 1)]
    tape += [
        chat(seq, {"role": "user", "content": prompt})
        for seq, prompt in enumerate(prompts, len(tape) + 1)
    ]

    found = self_check(Cassette(exchanges=tuple(tape)), name="a.mcp")

    assert found.holds, found.text()
    assert found.as_json() == {
        "cassette": "a.mcp",
        "holds": True,
        "played": len(tape),
        "misses": [],
        "unused": [],
    }


def test_placeholders_and_raw_values_find_themselves() -> None:
    """A recorded line is clean, one written by hand may hold what a rule finds."""
    header = Header(redaction=Redaction(placeholders={"email": 2}))
    tape = (
        tool(1, {"mail": "email-2@mcprec.example"}),
        tool(2, {"mail": "email-1@mcprec.example"}),
        tool(3, {"mail": "ana@example.test"}),
    )

    assert self_check(Cassette(header=header, exchanges=tape), name="a.mcp").holds


def test_each_exchange_is_asked_for_in_its_own_era() -> None:
    """One of the other era under the same key would else be asked for twice."""
    header = Header(servers={"s": Server(era="stateless")})
    tape = (tool(1, {}), tool(2, {}, era="classic"), tool(3, {}))

    assert self_check(Cassette(header=header, exchanges=tape), name="a.mcp").holds


def test_what_has_no_answer_of_its_own_is_not_asked_for() -> None:
    """Calls that the client left or the recorder stopped prove nothing, nor do GET streams."""
    call = McpCall(server="s", method="", http_method="GET")
    stream = McpExchange(seq=4, call=call, answer=McpAnswer(kind="none"))
    tape = (tool(1, {"a": 1}), tool(2, {"a": 2}, end="left"), tool(3, {}, end="stopped"), stream)

    found = self_check(Cassette(exchanges=tape), name="a.mcp")

    assert (found.holds, found.played) == (True, 1)
    assert found.text() == "a.mcp: all 1 exchanges answer their own calls"


def test_what_does_not_find_itself_is_named() -> None:
    """By seq, with the pointer that differs, so that a hand edit can be put right."""
    recorded, asked = tool(1, {"q": "a"}), tool(2, {"q": "b"})
    found = SelfCheck(
        name="a.mcp",
        played=2,
        misses=((asked, find_miss(asked.call, [recorded])),),
        unused=(recorded,),
    )

    first, second, last = found.text().splitlines()

    assert not found.holds
    assert first.startswith("#2 does not find itself: ")
    assert "/args/q" in first
    assert second == "#1 is never found"
    assert last == "a.mcp: 1 miss, 1 never found, of 2 exchanges"
    assert found.as_json()["unused"] == [1]
    assert [each["seq"] for each in found.as_json()["misses"]] == [2]  # type: ignore[index, union-attr, call-overload]


def test_either_finding_alone_does_not_hold() -> None:
    """A miss is half of the proof, nothing unused the other."""
    recorded, asked = tool(1, {"q": "a"}), tool(2, {"q": "b"})
    misses = ((asked, find_miss(asked.call, [recorded])),)

    unused = SelfCheck(name="a.mcp", played=1, misses=(), unused=(recorded,))
    missed = SelfCheck(name="a.mcp", played=1, misses=misses, unused=())

    assert not unused.holds
    assert unused.text().endswith("a.mcp: 0 misses, 1 never found, of 1 exchanges")
    assert not missed.holds
