"""Rules that a replay was run with are kept in the cassette, and nothing else of it changes."""

from pathlib import Path

import pytest

from mcprec_addon.cli import status_of
from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.header_file import save_rules
from mcprec_addon.match.rules import parse_rule
from tests.test_cli import CASSETTE

pytestmark = pytest.mark.door

SINCE = parse_rule("ignore", "/args/since")
DATE = parse_rule("normalize", "provider=openai:date")


def test_rules_are_added_and_the_other_lines_stay(tmp_path: Path) -> None:
    """Also what a person wrote into them, and how."""
    path = tmp_path / "a.mcp"
    head, _, rest = CASSETTE.partition("\n")
    rest = rest.replace('{"seq"', '{ "note":"mine", "seq"', 1).replace("\n", "\r\n")
    path.write_bytes(f"{head}\r\n{rest}".encode())

    saved = save_rules(path, load_cassette(path).header, [SINCE, DATE, SINCE])

    assert saved == (SINCE, DATE)
    match = load_cassette(path).header.match
    assert (match.ignore, match.normalize) == (["/args/since"], ["provider=openai:date"])
    assert path.read_bytes().partition(b"\n")[2] == rest.encode()


def test_rules_that_are_there_change_nothing(tmp_path: Path) -> None:
    """A replay with --save in CI must not make a diff each time."""
    path = tmp_path / "a.mcp"
    path.write_text(CASSETTE)
    save_rules(path, load_cassette(path).header, [SINCE])
    before = path.stat().st_mtime_ns, path.read_bytes()

    assert save_rules(path, load_cassette(path).header, [SINCE]) == ()
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before


def test_a_replay_saves_the_rules_that_matched_and_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the command line and of the project; one for nothing would only be warned about."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mcprec.toml").write_text('ignore = ["/args/q", "/args/at"]\n')
    (tmp_path / "a.mcp").write_text(CASSETTE)

    status_of(["replay", "a.mcp", "--normalize", "(zebra)", "--save", "--", "true"])

    match = load_cassette(tmp_path / "a.mcp").header.match
    assert (match.ignore, match.normalize) == (["/args/q"], [])
    said = capfd.readouterr().err
    assert "mcprec: a.mcp: saved --ignore /args/q\n" in said
    assert "saved --ignore /args/at" not in said
