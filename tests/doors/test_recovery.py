"""What a killed recording left behind becomes a cassette."""

from pathlib import Path

import pytest

from mcprec_addon.doors.cassette_file import journal_path, load_cassette
from mcprec_addon.doors.recording import Recording
from mcprec_addon.doors.recovery import recover
from mcprec_addon.errors import UsageError
from tests.doors.test_recording import ask

pytestmark = pytest.mark.door


def left_behind(folder: Path, *, torn: bytes = b"") -> Path:
    """Return the journal of a recording that was killed."""
    recording = Recording(folder / "a.mcp", urls={})
    ask(recording, "write to ana@acme.com")
    ask(recording, "and to bo@acme.com")
    journal = journal_path(folder / "a.mcp")
    journal.write_bytes(journal.read_bytes() + torn)
    return journal


@pytest.mark.parametrize("torn", [b"", b'{"kind":"model","seq":3,"provi'])
def test_a_journal_becomes_a_cassette(torn: bytes, tmp_path: Path) -> None:
    """Every exchange that had ended is there; a torn tail is dropped with a warning."""
    recovered = recover(left_behind(tmp_path, torn=torn))

    cassette = load_cassette(tmp_path / "a.mcp")
    text = (tmp_path / "a.mcp").read_text()
    assert recovered.exchanges == len(cassette.exchanges) == 2
    assert cassette.header.recovered
    assert cassette.header.redaction.placeholders == {"email": 2}
    assert "email-2@mcprec.example" in text
    assert bool(recovered.warnings) is bool(torn)
    assert not journal_path(tmp_path / "a.mcp").exists()


def test_a_cassette_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    """Which of the two is worth more only a person knows."""
    journal = left_behind(tmp_path)
    (tmp_path / "a.mcp").write_text("mine")

    with pytest.raises(UsageError, match="move it away"):
        recover(journal)

    assert (tmp_path / "a.mcp").read_text() == "mine"
    assert journal.exists()


def test_anything_else_is_no_journal(tmp_path: Path) -> None:
    """The name tells where the cassette goes."""
    with pytest.raises(UsageError, match="no journal"):
        recover(tmp_path / "a.mcp")
