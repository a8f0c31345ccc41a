"""A report is written in the kind its suffix tells."""

from pathlib import Path

import pytest

from mcprec_addon.doors.report_file import check_report, write_report
from mcprec_addon.errors import CassetteFileError, UsageError
from mcprec_addon.replay.report import RunReport

pytestmark = pytest.mark.door


@pytest.mark.parametrize(("name", "begins"), [("r.json", b'{"exit":'), ("r.xml", b"<")])
def test_the_suffix_tells_the_kind(name: str, begins: bytes, tmp_path: Path) -> None:
    """CI reads JUnit, programs read JSON."""
    check_report(tmp_path / name)
    write_report(tmp_path / name, RunReport())

    assert (tmp_path / name).read_bytes().startswith(begins)


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Before the run where that can be known, else in one line behind it."""
    with pytest.raises(UsageError, match="suffix"):
        check_report(tmp_path / "r.txt")
    with pytest.raises(UsageError, match="no such folder"):
        check_report(tmp_path / "none" / "r.json")
    (tmp_path / "r.json").mkdir()
    with pytest.raises(CassetteFileError, match="cannot be written"):
        write_report(tmp_path / "r.json", RunReport())
