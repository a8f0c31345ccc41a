"""Cassettes that no test has are found, whichever process knew of the tests."""

from pathlib import Path

import pytest

from mcprec_addon.jsonvalue import dumps, loads
from mcprec_addon.plugin.known import Known


def test_what_one_process_knew_another_may_take(tmp_path: Path) -> None:
    """Workers of xdist collect the tests, and their controller speaks to the user."""
    shared, alone = tmp_path / "shared.mcp", tmp_path / "alone.mcp"
    first, second = Known(), Known()
    first.add("t.py::test_a", [shared], tmp_path)
    second.add("t.py::test_b", [shared, alone], tmp_path)

    told = loads(dumps(first.told()))  # type: ignore[arg-type] # as xdist sends it
    assert isinstance(told, dict)
    second.take(told)

    assert second.is_shared(shared)
    assert not second.is_shared(alone)
    assert not first.is_shared(shared)


def test_a_cassette_without_a_test_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read in every review, and proves nothing."""
    monkeypatch.chdir(tmp_path)
    for name in ("used.mcp", "left.mcp"):
        (tmp_path / name).touch()
    known = Known()
    known.add("t.py::test_a", [tmp_path / "used.mcp"], tmp_path)

    assert list(known.orphan_lines()) == [
        "1 cassette that no test has (--mcprec-orphans)",
        "  left.mcp",
    ]
    known.add("t.py::test_b", [tmp_path / "left.mcp"], tmp_path)
    assert list(known.orphan_lines()) == []
