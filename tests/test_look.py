"""What `mcprec inspect` shows."""

import json
from pathlib import Path

import pytest

from mcprec_addon.errors import CassetteFormatError, McprecError, UsageError
from mcprec_addon.jsonvalue import dumps
from mcprec_addon.look import Look, look
from tests.test_cli import CASSETTE

pytestmark = pytest.mark.door


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.mcp"
    made.write_text(CASSETTE)
    return made


def look_at(
    path: Path, *, seq: int | None = None, self_check: bool = False, placeholders: bool = False
) -> Look:
    return look(path, seq=seq, self_check=self_check, placeholders=placeholders)


def test_a_cassette_is_summed_up(path: Path) -> None:
    """Without an option: what was recorded, from whom, and how large it is."""
    found = look_at(path)

    assert "tracker" in found.text()
    assert str(path) in found.text()
    assert found.holds


def test_one_exchange_is_shown_by_its_number(path: Path) -> None:
    """The number is what misses and reports name."""
    found = look_at(path, seq=1)

    assert "search" in found.text()
    assert json.loads(dumps(found.json()))["seq"] == 1


def test_a_number_that_is_not_there_is_named(path: Path) -> None:
    """The line says which is the last."""
    with pytest.raises(UsageError, match="no exchange has seq 7; the last is 1"):
        look_at(path, seq=7)


def test_a_cassette_without_exchanges_has_no_last(tmp_path: Path) -> None:
    """A header alone is a cassette."""
    path = tmp_path / "a.mcp"
    path.write_text('{"mcprec":1}\n')

    with pytest.raises(UsageError, match="the last is 0"):
        look_at(path, seq=1)


def test_placeholders_are_listed_with_their_sources(tmp_path: Path) -> None:
    """A replay needs to know what each of them stands for."""
    path = tmp_path / "a.mcp"
    path.write_text(
        '{"mcprec":1,"redaction":{"builtin":1,"placeholders":{"api-key":1},'
        '"sources":{"api-key-1":["env:TRACKER_TOKEN"]}}}\n'
    )

    found = look_at(path, placeholders=True)

    assert "env:TRACKER_TOKEN" in found.text()
    assert "env:TRACKER_TOKEN" in dumps(found.json()).decode()


def test_no_placeholders_are_said_to_be_none(path: Path) -> None:
    """An empty answer looks like a failed command."""
    found = look_at(path, placeholders=True)

    assert (found.text(), found.json()) == ("no placeholders", [])


def test_the_self_check_goes_before_the_rest(path: Path) -> None:
    """It decides the exit status, so another option must not hide it."""
    found = look_at(path, seq=7, self_check=True, placeholders=True)

    assert found.text() == f"{path}: all 1 exchanges answer their own calls"
    assert found.holds


@pytest.mark.parametrize("text", ["", "no cassette\n"], ids=["empty", "no cassette"])
def test_what_cannot_be_read_is_an_error(text: str, tmp_path: Path) -> None:
    """One line with the file, and no traceback."""
    path = tmp_path / "a.mcp"
    path.write_text(text)

    with pytest.raises(McprecError, match=r"a\.mcp"):
        look_at(path)


def test_a_conflict_marker_is_named_with_its_line(tmp_path: Path) -> None:
    """Git leaves it where two branches recorded into one cassette."""
    path = tmp_path / "a.mcp"
    path.write_text(CASSETTE + "<<<<<<< ours\n")

    with pytest.raises(CassetteFormatError, match="conflict marker") as caught:
        look_at(path)

    assert caught.value.line == 3
