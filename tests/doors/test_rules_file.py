"""Redaction rules of a project and of a file, in a recording, a replay and a clean-up."""

import json
from pathlib import Path

import pytest

from mcprec_addon.cli import status_of
from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.recording import Recording
from mcprec_addon.doors.rules_file import own_rules, read_rules
from mcprec_addon.doors.settings_file import Settings, read_settings
from mcprec_addon.errors import UsageError
from mcprec_addon.redact.own_rules import OwnRules, with_own
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.wire.http import HttpRequest

pytestmark = pytest.mark.door

OWN = OwnRules(patterns={"employee": "EMP-[0-9]{6}"})
RULES = 'patterns = { employee = "EMP-[0-9]{6}" }\n'


@pytest.mark.parametrize("text", [RULES, f"[redact]\n{RULES}", f"[tool.mcprec.redact]\n{RULES}"])
def test_rules_stand_in_any_of_the_files(text: str, tmp_path: Path) -> None:
    """A file of settings can be given as a file of rules."""
    (tmp_path / "r.toml").write_text(text)

    assert read_rules(tmp_path / "r.toml") == OWN


def test_a_project_and_a_file_are_joined(tmp_path: Path) -> None:
    """What all runs need stands in the project."""
    (tmp_path / "mcprec.toml").write_text('[redact]\noff = ["email"]\n')
    (tmp_path / "r.toml").write_text(RULES)

    found = own_rules(read_settings(tmp_path, known={}), tmp_path / "r.toml")

    assert found == OwnRules(patterns=OWN.patterns, off=("email",))
    assert own_rules(Settings(), None) == OwnRules()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the option to mend."""
    with pytest.raises(UsageError, match=r"cannot be read, no such file.*--redact"):
        read_rules(tmp_path / "none.toml")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cassette that was recorded under rules of one's own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.toml").write_text(RULES)
    recording = Recording(tmp_path / "a.mcp", urls={}, rules=with_own(default_rules(), OWN))
    body = {"model": "m", "messages": [{"role": "user", "content": "who is EMP-004711?"}]}
    url = "https://api.openai.com/v1/chat/completions"
    tap = recording.request(HttpRequest(method="POST", url=url, body=json.dumps(body).encode()))
    assert tap is not None
    tap.head(200, [("content-type", "application/json")])
    tap.data(b'{"id":"x"}', recording.now_ms())
    tap.finish("complete", recording.now_ms())
    recording.end(tap)
    recording.close()
    return tmp_path / "a.mcp"


def test_a_recording_names_its_rules(path: Path) -> None:
    """By their hash, which says nothing of them."""
    assert "who is employee-1?" in path.read_text()
    assert load_cassette(path).header.redaction.custom == OWN.digest


def test_other_rules_are_refused(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Calls would come in redacted another way than they were recorded."""
    without = status_of(["replay", str(path), "--", "true"])
    other = path.with_name("other.toml")
    other.write_text('off = ["email"]\n')
    with_other = status_of(["replay", str(path), "--redact", str(other), "--", "true"])
    same = status_of(["replay", str(path), "--redact", "r.toml", "--", "true"])

    lines = capfd.readouterr().err.splitlines()
    assert (without, with_other, same) == (2, 2, 3)  # 3: `true` asks for nothing
    assert "recorded under rules of one's own (sha256:" in lines[0]
    assert "use --redact FILE with those rules" in lines[0]
    assert f"use mcprec redact {path}" in lines[1]


def test_an_old_cassette_is_brought_under_new_rules(path: Path) -> None:
    """Then it replays under them."""
    (path.parent / "new.toml").write_text('[patterns]\nquestion = "who is"\n')

    status = status_of(["redact", str(path), "--redact", "new.toml"])
    replayed = status_of(["replay", str(path), "--redact", "new.toml", "--", "true"])

    assert (status, replayed) == (0, 3)
    assert "question-1 employee-1?" in path.read_text()


def test_a_cassette_of_older_built_in_rules_replays(path: Path) -> None:
    """A rule that came later finds nothing in what was recorded before it."""
    older = default_rules(0)

    assert older.patterns == ()
    assert default_rules().version > older.version
    text = path.read_text().replace('"builtin":1', '"builtin":0')
    path.write_text(text)
    assert status_of(["replay", str(path), "--redact", "r.toml", "--", "true"]) == 3
