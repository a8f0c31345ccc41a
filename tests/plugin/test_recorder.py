"""What a run of pytest may record."""

from pathlib import Path

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.plugin.known import Known
from mcprec_addon.plugin.recorder import Recorder


def test_a_cassette_that_tests_share_is_recorded_by_one_process(tmp_path: Path) -> None:
    """Two workers that write one file would lose what one of them recorded."""
    path, known = tmp_path / "a.mcp", Known()
    known.add("t.py::test_a", [path], tmp_path)
    workers = Recorder(mode="once", known=known, is_one_of_several=True)
    assert workers.mode_for([path]) == "all"

    known.add("t.py::test_b", [path], tmp_path)

    with pytest.raises(UsageError, match="add -n0"):
        workers.mode_for([path])
    assert Recorder(mode="once", known=known).mode_for([path]) == "all"
    path.touch()
    assert workers.mode_for([path]) == "none"


def test_cassettes_that_are_played_as_one_are_recorded_alone(tmp_path: Path) -> None:
    """What a test asks does not say which of them it belongs to."""
    paths = [tmp_path / "a.mcp", tmp_path / "b.mcp"]
    recorder = Recorder(mode="once", known=Known())

    with pytest.raises(UsageError, match="record each alone"):
        recorder.mode_for(paths)
    for path in paths:
        path.touch()
    assert recorder.mode_for(paths) == "none"


def test_what_this_run_has_recorded_is_added_to(tmp_path: Path) -> None:
    """The second test of a cassette must not throw away what the first one asked."""
    path = tmp_path / "a.mcp"
    recorder = Recorder(mode="all", known=Known())
    assert recorder.mode_for([path]) == "all"

    recorder.written.add(path)

    assert recorder.mode_for([path]) == "new"
