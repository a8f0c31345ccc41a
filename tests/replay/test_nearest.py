"""Which recorded call is nearest."""

from mcprec_addon.exchange import (
    Input,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
)
from mcprec_addon.jsonvalue import parse_pointer
from mcprec_addon.replay.nearest import asked_part, find_nearest, place


def exchange(seq: int, args: Json) -> McpExchange:
    call = McpCall(server="t", method="tools/call", name="find", args=args)
    return McpExchange(seq=seq, call=call, answer=McpAnswer(kind="result"))


def model(path: str, request: Json = None) -> ModelCall:
    return ModelCall(provider="openai", path=path, request=request)


def test_version_segment_is_not_part_of_the_place() -> None:
    """A gateway's prefix or another version of the API is still the same endpoint."""
    assert place(model("/v1/chat/completions")) == place(model("/proxy/v2/chat/completions?a=1"))
    assert place(model("/v1/chat/completions")) != place(model("/v1/responses"))


def test_part_of_a_call_is_what_its_key_may_differ_in() -> None:
    """Empty members count as absent, the input of a retry counts."""
    call = McpCall(server="t", method="tools/call", name="x", args={}, input=Input(state="s"))

    assert asked_part(call) == {"input": {"state": "s"}}
    assert asked_part(call, [parse_pointer("/input/state")]) == {"input": {}}


def test_volatile_member_of_a_request_does_not_count() -> None:
    """What the provider's row leaves out of the key caused no miss."""
    recorded = ModelExchange(
        seq=1,
        call=model("/v1/chat/completions", {"model": "a", "user": "u1", "messages": []}),
        answer=ModelAnswer(kind="none"),
    )

    near = find_nearest(
        model("/v1/chat/completions", {"model": "b", "user": "u2", "messages": []}), [recorded]
    )

    assert near is not None
    assert [each.pointer for each in near.differences] == [("request", "model")]


def test_first_of_equals_is_nearest() -> None:
    """The answer does not depend on chance."""
    tape = [exchange(seq, {"a": seq}) for seq in range(1, 40)]

    near = find_nearest(exchange(0, {"a": 99}).call, tape)

    assert near is not None
    assert near.exchange.seq == 1


def test_nested_and_missing_members_count_by_leaves() -> None:
    """A whole missing object is further away than one changed leaf in it."""
    tape = [
        exchange(1, {"a": 1}),
        exchange(2, {"a": 1, "deep": {"x": 1, "y": [2, 3]}}),
        exchange(3, None),
    ]

    near = find_nearest(exchange(0, {"a": 1, "deep": {"x": 1, "y": [2, 4]}}).call, tape)

    assert near is not None
    assert near.exchange.seq == 2
    assert [each.pointer for each in near.differences] == [("args", "deep", "y", "1")]


def test_many_equals_are_sieved_by_words_in_common() -> None:
    """With more ties than can be compared in full, shared words decide which are."""
    tape = [exchange(seq, {"q": [f"alpha{seq} beta{seq}"]}) for seq in range(1, 60)]

    near = find_nearest(exchange(0, {"q": ["gamma beta47"]}).call, tape)

    assert near is not None
    assert near.exchange.seq == 47


def test_nothing_of_that_place_is_none() -> None:
    """Another method is not a nearest call."""
    assert find_nearest(McpCall(server="t", method="tools/list"), [exchange(1, {})]) is None
