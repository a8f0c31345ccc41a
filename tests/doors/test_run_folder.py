"""A run's folder is private, short, and gone afterwards."""

import stat
import tempfile
from pathlib import Path

import pytest

from mcprec_addon.doors.run_folder import run_folder, write_environment
from mcprec_addon.doors.stdio_relay import server_environment

pytestmark = pytest.mark.door


def test_nobody_else_can_enter_and_nothing_is_left() -> None:
    """Configs with tokens are in it, and a socket that would take anybody's word."""
    with run_folder() as folder:
        (folder / "x").touch()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    assert not folder.exists()


def test_a_long_temporary_folder_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of a socket has to be shorter than 104 bytes."""
    long = tmp_path / ("long" * 30)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))

    with run_folder() as folder:
        assert len(str(folder / "run")) < 104


def test_what_the_run_changed_is_undone(tmp_path: Path) -> None:
    """Added, changed, and left alone; a value that a server's entry sets wins."""
    before = {"A": "1", "B": "=odd\nvalue", "EMPTY": ""}
    ours = {"A": "ours", "B": "ours", "EMPTY": "ours", "C": "ours", "D": "ours"}
    write_environment(tmp_path, before=before, ours=ours)

    assert server_environment(str(tmp_path), ours | {"D": "entry"}) == before | {"D": "entry"}
    assert server_environment(str(tmp_path / "none"), ours) == ours
