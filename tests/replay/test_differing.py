"""Differences as a person would tell them: by name, by order, without renamed ids."""

import pytest

from mcprec_addon.exchange import Json, McpCall, ModelCall
from mcprec_addon.jsonvalue import pointer_text
from mcprec_addon.replay.differing import call_differences, is_reordered, name_of, weight

CALL = McpCall(server="t", method="tools/call", name="find", args={})


def pointers(old: Json, new: Json) -> list[tuple[str, str]]:
    found = call_differences({"args": old}, {"args": new}, CALL)
    return [(pointer_text(each.pointer), each.kind) for each in found]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("abc", "xabc", [("/args/0", "added")]),
        ("abc", "ac", [("/args/1", "removed")]),
        ("abc", "cab", [("/args", "changed")]),
        ("ab", "bax", [("/args/2", "added"), ("/args", "changed")]),
        ("", "a", [("/args/0", "added")]),
    ],
)
def test_named_elements_are_compared_by_name(
    old: str, new: str, found: list[tuple[str, str]]
) -> None:
    """One tool added at the front must not make all others differ."""
    one, other = ([{"name": name} for name in each] for each in (old, new))

    assert pointers(one, other) == found  # type: ignore[arg-type]


def test_elements_without_names_are_compared_by_place() -> None:
    """Where nothing else tells which one is meant."""
    assert pointers([1, 2, 3], [1, 5, 3, 4]) == [("/args/1", "changed"), ("/args/3", "added")]
    assert pointers([1, 1, 2], [2, 1, 1]) == [("/args", "changed")]
    assert pointers([1, True], [True, True]) == [("/args/0", "changed")]


def test_a_conversation_is_compared_by_place() -> None:
    """What stands where is all that it is."""
    call = ModelCall(provider="openai", path="/v1/chat/completions", request={"messages": [1, 2]})

    found = call_differences(
        {"request": {"messages": [1, 2]}}, {"request": {"messages": [2, 1]}}, call
    )

    assert [each.pointer[-1] for each in found] == ["0", "1"]


@pytest.mark.parametrize(
    ("element", "name"),
    [
        ({"name": "find"}, "find"),
        ({"type": "function", "function": {"name": "find"}}, "find"),
        ({"toolSpec": {"name": "find"}}, "find"),
        ({"type": "web_search"}, "web_search"),
        ({"function": "find"}, None),
        ("find", None),
    ],
)
def test_tools_of_every_provider_have_a_name(element: Json, name: str | None) -> None:
    """As their requests spell it."""
    assert name_of(element) == name


def test_another_order_weighs_as_one_difference() -> None:
    """Else a call that differs in ten fields would pass for nearer."""
    long: list[Json] = [{"name": f"t{at}", "n": at} for at in range(20)]
    (found,) = call_differences({"args": long}, {"args": long[::-1]}, CALL)

    assert weight(found) == 1
    assert is_reordered(long, long[::-1])
    assert not is_reordered(long, long)
