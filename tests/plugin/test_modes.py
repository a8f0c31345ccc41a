"""What a mode of recording means for one test and its cassette."""

from pathlib import Path

import pytest

from mcprec_addon.plugin.modes import MODES, Mode, mode_for


@pytest.mark.parametrize(
    ("mode", "there", "own", "effect"),
    [
        ("none", True, False, "none"),
        ("none", False, False, "none"),
        ("once", True, False, "none"),
        ("once", False, False, "all"),
        ("once", True, True, "new"),
        ("new", True, False, "new"),
        ("new", False, False, "new"),
        ("all", True, False, "all"),
        ("all", True, True, "new"),
    ],
)
def test_a_cassette_that_this_run_recorded_is_added_to(
    tmp_path: Path, mode: Mode, *, there: bool, own: bool, effect: Mode
) -> None:
    """The second test of a cassette must neither be refused nor throw away the first one's."""
    path = tmp_path / "a.mcp"
    if there:
        path.touch()

    assert mode_for(path, mode, is_own=own) == effect


def test_names_of_vcrpy_are_understood() -> None:
    """People who come from there have them in their fingers, and in their CI."""
    assert MODES["new_episodes"] == "new"
    assert MODES["rewrite"] == "all"
