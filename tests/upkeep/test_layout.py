"""Columns, JSON over several lines, long text."""

from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import dumps, loads
from mcprec_addon.upkeep.layout import WIDTH, columns, count_text, cut, json_lines, text_lines

LEAVES = st.none() | st.booleans() | st.integers(-1000, 1000) | st.sampled_from(["a", "b c", ""])


def values(children: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.lists(children, max_size=6) | st.dictionaries(st.text("abc", max_size=3), children)


JSON_VALUES: st.SearchStrategy[Json] = st.recursive(LEAVES, values, max_leaves=60)


def test_columns_are_aligned() -> None:
    """Numbers below each other are compared at a glance."""
    assert columns([("a", "1"), ("long", "22")], indent=2) == ["  a     1", "  long  22"]
    assert columns([]) == []


def test_text_stands_behind_bars() -> None:
    """The bar tells a line of the text from one that only did not fit."""
    lines = text_lines("one\n" + "x" * 150, indent=2)

    assert lines[0] == "  | one"
    assert lines[1] == "  | " + "x" * 96
    assert lines[2] == "    " + "x" * 54


def test_long_value_is_laid_out() -> None:
    """What does not fit on a line is taken apart, commas and all."""
    value: Json = {"list": [1, "y" * 90], "object": {"k": None}, "text": "z" * 90}

    assert json_lines(value) == [
        "{",
        '  "list": [',
        "    1,",
        f'    "{"y" * 90}"',
        "  ],",
        '  "object": {"k":null},',
        '  "text":',
        "    | " + "z" * 90,
        "}",
    ]


def test_small_things() -> None:
    """Nouns agree with their number, and cuts are shown."""
    assert [count_text(1, "call"), count_text(2, "call")] == ["1 call", "2 calls"]
    assert cut("x" * 101) == "x" * 99 + "…"


@given(value=JSON_VALUES)
def test_layout_of_short_texts_is_still_json(value: Json) -> None:
    """Nothing is lost or added where nothing had to be wrapped."""
    lines = json_lines(value, indent=2)

    assert dumps(loads("\n".join(lines))) == dumps(value)
    assert max(map(len, lines)) <= WIDTH
