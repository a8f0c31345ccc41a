"""`mcprec redact` on files."""

import json
from pathlib import Path

import pytest

from mcprec_addon.cli import status_of
from tests.test_cli import CASSETTE

pytestmark = pytest.mark.door

DIRTY = CASSETTE.replace('"bug"', '"ask ana@corp.com"')


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.mcp"
    made.write_text(DIRTY)
    return made


def test_an_old_cassette_is_cleaned_in_its_place(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """And is clean then."""
    status = status_of(["redact", str(path)])
    again = status_of(["redact", str(path)])

    assert (status, again) == (0, 0)
    assert capfd.readouterr().out.splitlines() == [
        f"{path}: 1 secret redacted (1 email)",
        f"{path}: no secrets found",
    ]
    assert "ana@corp.com" not in path.read_text()
    assert "ask email-1@mcprec.example" in path.read_text()


def test_the_clean_one_may_go_elsewhere(path: Path, tmp_path: Path) -> None:
    """The old one is as it was, and a file that is there is not overwritten."""
    out = str(tmp_path / "b.mcp")

    statuses = [status_of(["redact", str(path), "-o", out]) for _ in range(2)]

    assert statuses == [0, 2]
    assert path.read_text() == DIRTY
    assert "ana@corp.com" not in Path(out).read_text()


def test_a_scan_writes_nothing_and_fails_where_it_finds(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A step of CI, or a hook, that stops what must not be committed."""
    status = status_of(["redact", str(path), "--scan"])
    as_json = status_of(["redact", str(path), "--scan", "--format", "json"])

    first, last, shown = capfd.readouterr().out.splitlines()
    assert (status, as_json) == (1, 1)
    assert first == f"{path}:2: #1 /args/q: email, an…om"
    assert last == f"{path}: 1 secret found"
    assert json.loads(shown)["findings"][0]["line"] == 2
    assert path.read_text() == DIRTY


def test_what_looks_like_a_secret_fails_nothing(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is for a person to judge, and only where it was asked for."""
    path.write_text(CASSETTE.replace('"bug"', '"x9Kq2vTz8LmP4wRb7NcY"'))

    plain = status_of(["redact", str(path), "--scan"])
    looked = status_of(["redact", str(path), "--scan", "--suspicious"])
    wrong = status_of(["redact", str(path), "--suspicious"])

    assert (plain, looked, wrong) == (0, 0, 2)
    assert capfd.readouterr().out.splitlines() == [
        f"{path}: no secrets found",
        f"{path}:2: #1 /args/q: suspicious, x9…cY",
        f"{path}: no secrets found, 1 text that may be one",
    ]


def test_a_clean_cassette_passes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Status 0, and a line that says so."""
    path = tmp_path / "a.mcp"
    path.write_text(CASSETTE)

    assert status_of(["redact", str(path), "--scan"]) == 0
    assert capfd.readouterr().out == f"{path}: no secrets found\n"


def test_rules_can_be_checked_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Before a recording, and in a hook: what is in force, or what is wrong."""
    (tmp_path / "good.toml").write_text('off = ["email"]\n[patterns]\na = "A-[0-9]+"\n')
    (tmp_path / "bad.toml").write_text('[patterns]\na = "(?=x)"\n')

    good = status_of(["redact", "--check-config", "--redact", str(tmp_path / "good.toml")])
    bad = status_of(["redact", "--check-config", "--redact", str(tmp_path / "bad.toml")])
    none = status_of(["redact", "--check-config"])

    told = capfd.readouterr()
    assert (good, bad, none) == (0, 2, 0)
    first, last = told.out.splitlines()
    assert first.startswith(
        "built-in rules 1, and 1 pattern, 0 names, 0 allowed values, 1 class off (sha256:"
    )
    assert last == "built-in rules 1, and none of your own"
    assert "patterns.a: RE2 cannot run it" in told.err
