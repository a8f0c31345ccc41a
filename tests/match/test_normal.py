"""A normal form lets go of what changes by itself, and of nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.match.normal import NAMED, Normal, Pattern, Places, named

_PLACES = Places(cwd="/builds/x/proj", home="/github/home")


def normal(name: str, text: str) -> str:
    return Normal([named(name, _PLACES)]).form(text).text


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("date", "Today is Monday, October 5, 2026.", "Today is ⟨date⟩."),
        ("date", "2026-10-05T10:00 2026-10-06 (Tuesday)", "⟨date⟩T10:00 ⟨date⟩"),
        ("time", "at 10:30 PM, not on 127.0.0.1:8080", "at ⟨time⟩, not on 127.0.0.1:8080"),
        ("uuid", "run 123E4567-e89b-12d3-a456-426614174000", "run ⟨uuid⟩"),
        ("tmp", "in /tmp/pytest-3/x.txt, /private/var/folders/a", "in ⟨tmp⟩, ⟨tmp⟩"),
        ("home", "/home/ana/a /root/b /github/home/c", "⟨home⟩/a ⟨home⟩/b ⟨home⟩/c"),
        ("cwd", "/home/ana/proj/src/proj/a.py", "⟨cwd⟩/src/proj/a.py"),
        ("cwd", "/builds/x/proj /builds/x/project", "⟨cwd⟩ /builds/x/project"),
    ],
)
def test_named_patterns(name: str, text: str, form: str) -> None:
    """A prompt says the same tomorrow, on another machine, in another checkout."""
    assert normal(name, text) == form


def test_a_group_marks_what_is_found() -> None:
    """What stands around it goes on counting."""
    made = Normal([Pattern("pattern 1", ("run-([0-9]+)",))])

    assert made.form("run-17 of 20").text == "run-⟨pattern 1⟩ of 20"


@given(st.lists(st.sampled_from(["⟨", "⟩", "⟨date⟩", "2026-10-05", " ", "a"])))
def test_texts_of_one_form_differ_in_found_spans_alone(pieces: list[str]) -> None:
    """Two different values never share a key, whatever brackets a text has of its own."""
    text = " ".join(pieces)
    other = text.replace("2026-10-05", "2027-11-06")
    spelt = text.replace("2026-10-05", "⟨date⟩")

    assert normal("date", text) == normal("date", other)
    assert (normal("date", text) == normal("date", spelt)) is (text == spelt)


def test_every_built_in_pattern_can_be_run() -> None:
    """RE2 is the judge of each."""
    for name in NAMED:
        assert normal(name, "plain") == "plain"
