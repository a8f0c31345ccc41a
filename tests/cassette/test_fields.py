"""Fields of a record are read with their types."""

import pytest

from mcprec_addon.cassette.fields import Fields, RecordProblemError, object_of, whole_number
from mcprec_addon.exchange import Json


def test_what_nobody_took_is_left() -> None:
    """A field of a newer version is kept and written back."""
    fields = Fields({"name": "t", "colour": "red"})

    assert fields.text("name") == "t"
    assert fields.rest == {"colour": "red"}


def test_absent_fields_are_empty() -> None:
    """A hand-written record gives only what matters."""
    fields = Fields({})

    assert fields.text("a") is None
    assert fields.whole("a") is None
    assert fields.choice("a", ("x", "y")) is None
    assert fields.flag("a") is False
    assert fields.members("a") == {}
    assert fields.elements("a") == []
    assert fields.texts("a") == []
    assert fields.headers() == {}


def test_repeated_headers_are_lists() -> None:
    """A header that came twice is replayed twice."""
    fields = Fields({"headers": {"retry-after": "1", "warning": ["a", "b"]}})

    assert fields.headers() == {"retry-after": "1", "warning": ["a", "b"]}


@pytest.mark.parametrize("value", [True, -1, 1.0, "1", [], {}])
def test_only_whole_numbers_count(value: Json) -> None:
    """A boolean is an integer to Python alone."""
    with pytest.raises(RecordProblemError, match='"ms" must be a whole number from 0'):
        whole_number(value, "ms")


def test_a_wrong_type_is_named() -> None:
    """Whoever edited the line reads which field and what belongs there."""
    fields = Fields({"a": 1, "b": 1, "c": 1, "d": 1, "e": ["x", 1], "f": 1, "headers": {"h": 1}})

    with pytest.raises(RecordProblemError, match='"a" must be a string'):
        fields.text("a")
    with pytest.raises(RecordProblemError, match='"b" must be true or false'):
        fields.flag("b")
    with pytest.raises(RecordProblemError, match='"c" must be an object'):
        fields.members("c")
    with pytest.raises(RecordProblemError, match='"d" must be a list'):
        fields.elements("d")
    with pytest.raises(RecordProblemError, match='"e" must be made of strings'):
        fields.texts("e")
    with pytest.raises(RecordProblemError, match='"f" must be "x" or "y"'):
        fields.choice("f", ("x", "y"))
    with pytest.raises(RecordProblemError, match='"headers" must be made of strings'):
        fields.headers()
    with pytest.raises(RecordProblemError, match='"of" must be an object'):
        object_of([], "of")


def test_a_needed_field_is_asked_for() -> None:
    """A record without it is not read as something else."""
    with pytest.raises(RecordProblemError, match='the record has no "path"; give it one'):
        Fields({}).needed_text("path")
