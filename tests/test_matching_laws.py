"""Laws of matching: a key says all that is asked, a recording answers itself under any rules."""

import math
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import assume, example, given
from hypothesis import strategies as st

from mcprec_addon.exchange import Call, Json, McpCall, ModelCall
from mcprec_addon.match.keys import match_key
from mcprec_addon.match.normal import NAMED, Normal, Pattern, Places, named
from mcprec_addon.match.rules import Rule, parse_rule
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import Hit
from tests.replay.test_player import CHAT, cassette_of, mcp_calls, model_calls, player, seqs

PIECES = (
    "2026-10-05", "10:30", "0d7f9e3c-1111-4222-8333-444455556666", "/home/ana/proj",
    "/var/folders/x1", "1760000000", "ana@example.test", "⟨date⟩", "⟨", "run-17", " ",
    "é", "e\u0301", "\n",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
LEAVES = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, -0.0, 0.5, 1e21])
    | st.sampled_from(["", "1", "true", "null"]) | TEXTS
)  # fmt: skip
VALUES: st.SearchStrategy[Json] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["q", "", "0", "a/b", "id", "_meta"]), inner, max_size=3)
    ),
    max_leaves=6,
)
PLACES = Places(cwd="/builds/x/proj", home="/home/ci")


def is_same(one: Json, other: Json) -> bool:
    """Whether two values are one, told without canonical JSON."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=0, abs_tol=0)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return type(one) is type(other) and one == other


def changed(value: Json, at: Sequence[int], leaf: Json) -> Json:
    """Return a value with what a way leads to made another one."""
    if isinstance(value, dict) and value and at:
        key = sorted(value)[at[0] % len(value)]
        return {**value, key: changed(value[key], at[1:], leaf)}
    if isinstance(value, list) and value and at:
        place = at[0] % len(value)
        return [*value[:place], changed(value[place], at[1:], leaf), *value[place + 1 :]]
    return leaf


def calls_of(value: Json) -> list[Call]:
    """Return a call of each kind that asks for a value, nothing of which is volatile."""
    return [
        McpCall(server="s", method="tools/call", name="t", args={"x": value}),
        McpCall(server="s", method="tools/list", params={"x": value}),
        ModelCall(provider="openai", path=CHAT, request={"messages": [], "x": value}),
        ModelCall(provider="other", path="/embed", request={"x": value}),
    ]


@given(value=VALUES, way=st.lists(st.integers(0, 2), max_size=3), leaf=VALUES)
@example(value=[1], way=[0], leaf=True)
@example(value={"": 0}, way=[0], leaf=-0.0)
def test_two_different_values_never_share_a_key(value: Json, way: list[int], leaf: Json) -> None:
    """One answer for two questions would be a wrong answer that looks right."""
    other = changed(value, way, leaf)

    for one, two in zip(calls_of(value), calls_of(other), strict=True):
        assert (match_key(one) == match_key(two)) is is_same(value, other)


POINTERS = (
    "/args", "/args/q", "/args/*", "/args/q/*", "/params", "/name", "/server", "/request",
    "/request/messages", "/request/messages/0/content", "/request/messages/*/tool_call_id",
    "/request/messages/*", "server=notes:/args/q", "provider=openai:/request/messages/0", "/gone",
)  # fmt: skip
PATTERNS = (*NAMED, "name=find:date", "[a-z]+", "([0-9])[0-9]", "method=prompts/get:.*", "x*")
RULES = st.sampled_from(POINTERS).map(lambda text: parse_rule("ignore", text)) | st.sampled_from(
    PATTERNS
).map(lambda text: parse_rule("normalize", text))


PROMPTS = st.lists(TEXTS, max_size=3).map(
    lambda texts: list[Json]({"role": "user", "content": text} for text in texts)
)


@st.composite
def varied_calls(draw: st.DrawFn) -> Call:
    """Return a call with texts that rules find something in."""
    call = draw(mcp_calls() | model_calls())
    if isinstance(call, McpCall):
        return replace(call, args={"q": draw(TEXTS), "n": draw(LEAVES)})
    shape = draw(st.sampled_from(["chat", "gemini", "file"]))
    if shape == "file":
        path = f"/v1/files/file-{draw(st.sampled_from('ab'))}"
        return ModelCall(provider="openai", path=path, http_method="GET")
    if shape == "gemini":
        path = f"/v1beta/models/{draw(st.sampled_from(['pro', 'flash']))}:generateContent"
        return ModelCall(provider="gemini", path=path, request={"contents": draw(PROMPTS)})
    return replace(call, request={"messages": draw(PROMPTS)})


@given(calls=st.lists(varied_calls(), max_size=4), rules=st.lists(RULES, max_size=3))
def test_a_recording_answers_itself_under_any_rules(calls: list[Call], rules: list[Rule]) -> None:
    """What does not count can only make calls equal, and equal ones come in recorded order."""
    tape = cassette_of(calls)
    made = player(*tape, strategy="ordered", model_strategy="ordered", rules=rules, places=PLACES)

    found = [made.play(exchange.call) for exchange in tape]

    assert [each.exchange.seq for each in found if isinstance(each, Hit)] == seqs(tape)
    assert [*made.unused(), *made.tally.misses] == []


@given(recorded=varied_calls(), asked=varied_calls(), rules=st.lists(RULES, max_size=3))
def test_a_miss_says_what_differs(recorded: Call, asked: Call, rules: list[Rule]) -> None:
    """'Used up' of a call that was never recorded sends its reader counting."""
    made = player(*cassette_of([recorded]), rules=rules, places=PLACES)
    found = made.play(asked)
    assume(isinstance(found, Miss))
    assert isinstance(found, Miss)

    assert found.cause != "used up"
    assert found.differences or found.cause in ("never recorded", "other server")
    assert found.text()


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=6), name=st.sampled_from([*NAMED, "e"]))
def test_a_normal_form_is_that_of_no_other_text(pieces: list[str], name: str) -> None:
    """What was found is gone from it, everything else can be read back from it."""
    made = named(name, PLACES) if name in NAMED else Pattern("pattern 1", (name,))
    normal = Normal([made])
    text = "".join(pieces)
    form = normal.form(text)

    kept = [
        part.replace("\0", "⟨") for part in form.text.replace("⟨⟨", "\0").split(f"⟨{made.name}⟩")
    ]
    at = 0
    for part in kept:
        at = text.find(part, at) + len(part)
        assert at >= len(part)
    assert bool(form.found) is (len(kept) > 1)
