"""The text of a config is read as leniently as agents read it, and an error says where it is."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.doors.config_text import parse, written
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Json, Pairs
from tests.test_jsonvalue import json_values

JSON, TOML = Path("mcp.json"), Path("config.toml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, // one\n "b": 2}', {"a": 1, "b": 2}),
        ('{/* "a": 1,\n */ "b": 2}', {"b": 2}),
        ('{"a": [1, 2,], }', {"a": [1, 2]}),
        ('{"a": [1, // the last\n /* is\n 1 */ ],\n}', {"a": [1]}),
        ('{"a": 1 /**/}', {"a": 1}),
        ('{"a": 1} // the end', {"a": 1}),
    ],
)
def test_comments_and_spare_commas_are_no_error(text: str, value: Json) -> None:
    """Editors write them, and their own parsers take them."""
    assert parse(text, JSON) == value


@pytest.mark.parametrize(
    "string", ["https://a.test//b", "/* a */", "[1,]", "{ ,}", 'a "//" b', "\\", "\\// ,]", ",\n]"]
)
def test_what_looks_like_a_comment_in_a_string_stays(string: str) -> None:
    """An address has two slashes in it."""
    text = json.dumps({"url": string, "b": [string]}) + "// end"

    assert parse(text, JSON) == {"url": string, "b": [string]}


@given(value=st.dictionaries(st.text(alphabet='/*,]}"\\\n a'), json_values))
def test_plain_json_means_what_it_says(value: dict[str, Json]) -> None:
    """Leniency must not change a text that needs none."""
    assert parse(json.dumps(value), JSON) == value


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        (JSON, '{\n  "a": 1,\n  "b" 2\n}', "mcp.json:3:7: expecting ':' delimiter; mend it first"),
        (JSON, '{ // a\n/* b\n */ "a": x}', "mcp.json:3:10: expecting value; mend it first"),
        (JSON, "", "mcp.json:1:1: expecting value; mend it first"),
        (JSON, '{"a": "x\ny"}', "mcp.json:1:9: invalid control character; mend it first"),
        (JSON, '{"a": 1} /* open', "mcp.json:1:10: extra data; mend it first"),
        (TOML, "a = 1\nb = x", "config.toml:2:5: invalid value; mend it first"),
        (TOML, "a = 1\n[b", "config.toml:2:3: expected ']' at the end of a table declaration"),
        (JSON, "[" * 100_000, "mcp.json: nested too deeply; mend it first"),
        (JSON, "[" * 2_000 + "]" * 2_000, "mcp.json: nested too deeply; mend it first"),
        (TOML, "a = " + "[" * 5_000, "config.toml: nested too deeply; mend it first"),
    ],
)
def test_an_error_says_where_it_is(path: Path, text: str, message: str) -> None:
    """A config is mended in an editor, which wants line and column."""
    with pytest.raises(UsageError) as raised:
        parse(text, path)

    assert str(raised.value).startswith(message)
    assert str(raised.value).endswith("; mend it first")


def test_an_error_at_the_end_of_toml_is_on_its_last_line() -> None:
    """Python's parser says no more than that it came to the end."""
    with pytest.raises(UsageError, match=r"^config\.toml:2:5: invalid value"):
        parse("a = 1\nb = ", TOML)


@given(value=st.dictionaries(st.text(), json_values))
def test_what_is_written_reads_back(value: dict[str, Json]) -> None:
    """The copy says what the original says."""
    assert parse(written(value, JSON).decode(), JSON) == value


def test_json_is_written_for_a_reader() -> None:
    """A config that is swapped in place is looked at by people; odd values keep their text."""
    value: Json = {"a": [1, {"b": None}], "c": {}, "d": [], "e": Pairs((("x", 1), ("x", 2)))}

    text = written(value, JSON).decode()

    assert text == (
        '{\n  "a": [\n    1,\n    {\n      "b": null\n    }\n  ],\n  "c": {},\n  "d": [],\n'
        '  "e": {\n    "x": 1,\n    "x": 2\n  }\n}\n'
    )


def test_numbers_are_written_as_they_were() -> None:
    """An id of many digits must not be rounded on its way into a copy."""
    text = '{\n  "id": 123456789012345678901234567890,\n  "ratio": 0.10000000000000000001\n}\n'

    assert written(parse(text, JSON), JSON).decode() == text


def test_toml_has_no_null() -> None:
    """A value that came from JSON may hold one."""
    value: Json = {"a": None, "b": [1, None], "c": {"d": None, "e": 1.5}}

    assert tomllib.loads(written(value, TOML).decode()) == {"b": [1], "c": {"e": 1.5}}


def test_toml_dates_stay_dates() -> None:
    """Agents keep times in their settings."""
    text = "at = 2026-12-01T10:00:00Z\nday = 2026-12-01\n"

    again = tomllib.loads(written(parse(text, TOML), TOML).decode())

    assert again == tomllib.loads(text)


def test_an_integer_that_is_too_long_is_one_line(tmp_path: Path) -> None:
    """Python refuses more than 4300 digits with an error of its own kind."""
    with pytest.raises(UsageError, match="mend it first"):
        parse("x = " + "1" * 5000, tmp_path / "config.toml")
