"""What `mcprec inspect` shows."""

from pathlib import Path

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.look import look
from tests.test_cli import CASSETTE

pytestmark = pytest.mark.door


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.mcp"
    made.write_text(CASSETTE)
    return made


def test_each_view_has_text_and_json(path: Path) -> None:
    """A person reads one, a program the other."""
    whole = look(path, seq=None, self_check=False, placeholders=False)
    one = look(path, seq=1, self_check=False, placeholders=False)
    check = look(path, seq=None, self_check=True, placeholders=False)
    hidden = look(path, seq=None, self_check=False, placeholders=True)

    assert "tracker" in whole.text()
    assert "search" in one.text()
    assert check.holds
    assert hidden.text() == "no placeholders"
    assert all(view.json() is not None for view in (whole, one, check, hidden))


def test_a_seq_that_is_not_there_is_named(path: Path) -> None:
    """The line says which is the last."""
    with pytest.raises(UsageError, match="the last is 1"):
        look(path, seq=7, self_check=False, placeholders=False)
