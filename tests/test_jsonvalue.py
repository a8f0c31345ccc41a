"""A parsed JSON value keeps what JSON says, and equal values have equal canonical bytes."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import Json, Number, Pairs
from mcprec_addon.jsonvalue import (
    JsonError,
    canonical,
    differences,
    dumps,
    is_plain,
    loads,
    matches,
    parse_pointer,
    pointer_text,
    without,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("275.0", "275"),
        ("1e2", "100"),
        ("1E+2", "100.00"),
        ("0.10", "0.1"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("1.5e-3", "0.0015"),
        ("1e21", "1000000000000000000000"),
        ("9007199254740993.0", "9007199254740993"),
    ],
)
def test_equal_numbers_have_equal_canonical_bytes(left: str, right: str) -> None:
    """A number's spelling differs between SDKs; its value does not."""
    assert canonical(loads(left)) == canonical(loads(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1", "true"),
        ("0", "false"),
        ("1", '"1"'),
        ("0", "null"),
        ("275", "275.0000000000001"),
        ("[1]", "1"),
        ("0.1", "0.10000000000000001"),
        ('{"a":1,"a":1}', '{"a":1}'),
        ('"\\u00e9"', '"e\\u0301"'),
        ("NaN", "null"),
        ('"NaN"', "NaN"),
    ],
)
def test_different_values_have_different_canonical_bytes(left: str, right: str) -> None:
    """Two different values never share a key, also where Python thinks them equal."""
    assert canonical(loads(left)) != canonical(loads(right))


@pytest.mark.parametrize("text", ["1e400", "1e-400", "1E999999999", "1E99999999999999999999999"])
def test_numbers_beyond_doubles_keep_their_spelling(text: str) -> None:
    """A number that no double carries neither becomes infinity nor 0."""
    value = loads(text)

    assert value == Number(text)
    assert dumps(value) == text.encode()
    assert not is_plain(value)


def test_a_doubled_key_is_kept() -> None:
    """Plain parsing drops the first of two members without a word."""
    text = '{"a":1,"b":{"c":1,"c":2}}'

    value = loads(text)

    assert value == {"a": 1, "b": Pairs((("c", 1), ("c", 2)))}
    assert dumps(value) == text.encode()


def test_a_lone_surrogate_survives() -> None:
    """JavaScript servers cut emoji in half."""
    text = r'{"cut":"\ud83d"}'

    value = loads(text)

    assert dumps(value) == text.encode()
    assert not is_plain(value)


def test_a_whole_number_float_stays_a_float() -> None:
    """A result `275.0` is replayed as `275.0`."""
    assert dumps(loads('{"total": 275.0}')) == b'{"total":275.0}'


@pytest.mark.parametrize("text", ["", "{", "nul", "[1,]", b"\xff\xfe"])
def test_what_is_no_json_raises(text: str | bytes) -> None:
    """A caller can tell JSON from anything else."""
    with pytest.raises(JsonError):
        loads(text)


def test_what_is_nested_too_deeply_to_be_written_is_no_json() -> None:
    """A body that nobody could write down again is kept as text instead."""
    with pytest.raises(JsonError, match="nested"):
        loads("[" * 300 + "]" * 300)


@given(value=json_values)
def test_reading_what_was_written_gives_it_back(value: Json) -> None:
    """Nothing is lost on the way to a file and back."""
    assert canonical(loads(dumps(value))) == canonical(value)


@given(value=json_values)
def test_spelling_does_not_change_a_value(value: Json) -> None:
    """White space, escapes and key order are the writer's business."""
    spelled = json.dumps(value, indent=2, sort_keys=True)

    assert canonical(loads(spelled)) == canonical(value)


NUMBER = r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][-+]?[0-9]{1,3})?"


@given(text=st.from_regex(NUMBER, fullmatch=True), other=st.integers(-5, 5))
def test_canonical_numbers_follow_exact_decimal_value(text: str, other: int) -> None:
    """Comparing by double would call 0.1 and 0.10000000000000001 the same."""
    is_same = Decimal(text) == Decimal(other)

    assert (canonical(loads(text)) == canonical(other)) is is_same


def test_differences_name_each_place() -> None:
    """A miss says which field differs, and how."""
    old: Json = {"q": "bug", "page": 1, "tags": ["a", "b"], "x": None}
    new: Json = {"q": "bug!", "page": 1.0, "tags": ["a"], "y": True}

    found = [(pointer_text(each.pointer), each.kind) for each in differences(old, new)]

    assert found == [
        ("/q", "changed"),
        ("/tags/1", "removed"),
        ("/x", "removed"),
        ("/y", "added"),
    ]


@given(value=json_values)
def test_a_value_does_not_differ_from_itself(value: Json) -> None:
    """The law behind every diff."""
    assert differences(value, loads(dumps(value))) == []


@pytest.mark.parametrize(
    ("pointer", "left"),
    [
        ("/a", {"b": [1, {"c": 2}]}),
        ("/b/0", {"a": 1, "b": [{"c": 2}]}),
        ("/b/*/c", {"a": 1, "b": [1, {}]}),
        ("/nowhere/x", {"a": 1, "b": [1, {"c": 2}]}),
        ("/b/7", {"a": 1, "b": [1, {"c": 2}]}),
    ],
)
def test_without_leaves_out_what_a_pointer_names(pointer: str, left: Json) -> None:
    """An ignored field is gone for matching, and a pointer that names nothing is skipped."""
    value: Json = {"a": 1, "b": [1, {"c": 2}]}

    assert without(value, [parse_pointer(pointer)]) == left
    assert value == {"a": 1, "b": [1, {"c": 2}]}


@pytest.mark.parametrize("text", ["", "args/query", "~2"])
def test_a_bad_pointer_is_refused(text: str) -> None:
    """A pointer that names everything or nothing is a mistake."""
    with pytest.raises(ValueError, match="pointer"):
        parse_pointer(text)


def test_a_star_stands_for_one_step() -> None:
    """`*` names every element, no deeper."""
    rule = parse_pointer("/tools/*/strict")

    assert matches(rule, ("tools", "0", "strict"))
    assert matches(rule, ("tools", "0", "strict", "deeper"))
    assert not matches(rule, ("tools", "0", "other"))
