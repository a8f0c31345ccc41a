"""The command line of `mcprec merge`."""

from pathlib import Path

import pytest

from mcprec_addon.cli import status_of
from tests.test_cli import CASSETTE

pytestmark = pytest.mark.door


def test_other_answers_are_said_and_are_no_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A note goes to stderr, the result to stdout."""
    first, second, out = (tmp_path / name for name in ("a.mcp", "b.mcp", "c.mcp"))
    first.write_text(CASSETTE)
    second.write_text(CASSETTE.replace('"result":', '"result":{"new":1},"was":', 1))

    status = status_of(["merge", str(first), str(second), "-o", str(out)])

    told = capfd.readouterr()
    assert status == 0
    assert f"{second} has another answer" in told.err
    assert told.out.startswith(f"{out}: ")


def test_a_target_must_be_named(tmp_path: Path) -> None:
    """Which of the cassettes would be the one to lose?"""
    assert status_of(["merge", str(tmp_path / "a.mcp")]) == 2
