"""A line of a report is read back as it was written, or refused by what it lacks."""

import pytest

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import dumps, loads
from mcprec_addon.replay.score_lines import score_of
from tests.replay.test_scores import score


def test_a_line_is_read_back() -> None:
    """Reports are joined on another machine than the runs were on."""
    written = score(3, of=7, child=1)

    read = score_of(loads(dumps(written.whole)))

    assert read == written
    assert (read.number, read.of, read.status, read.ms) == (3, 7, 1, 1500)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ([], "a JSON object was expected"),
        ({}, "no line of an eval's report"),
        ({"mcprec_eval": 2}, "no line of an eval's report"),
        ({"mcprec_eval": 1}, "a JSON object was expected here"),
        ({"mcprec_eval": 1, "cassette": {"path": "a"}, "exit": {}}, 'member "digest" is no str'),
    ],
)
def test_what_is_no_line_is_named(line: Json, says: str) -> None:
    """A report of another kind, or of another version, must not be counted as no runs."""
    with pytest.raises(ValueError, match=says):
        score_of(line)
