"""A recording is in the journal as it goes, and in place whole or not at all."""

import json
import stat
from pathlib import Path

import pytest

from mcprec_addon.doors.cassette_file import journal_path, load_cassette
from mcprec_addon.doors.recording import Known, Recording
from mcprec_addon.errors import CassetteFileError, McprecError
from mcprec_addon.wire.http import HttpRequest

pytestmark = pytest.mark.door

KEY = "sk-proj-" + "k9Zq" * 6
MCP = "http://127.0.0.1:9/mcp"
JSON = [("content-type", "application/json")]


def ask(recording: Recording, text: str, *, answer: bytes | None = b'{"id":"x"}') -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    tap = recording.request(
        HttpRequest(
            method="POST",
            url="https://api.openai.com/v1/chat/completions",
            headers=(("authorization", f"Bearer {KEY}"),),
            body=json.dumps(body).encode(),
        )
    )
    assert tap is not None
    tap.head(200, JSON)
    if answer is not None:
        tap.data(answer, recording.now_ms())
        tap.finish("complete", recording.now_ms())
        recording.end(tap)


def test_an_exchange_is_in_the_journal_before_the_end(tmp_path: Path) -> None:
    """A kill of the recorder loses nothing that had ended."""
    recording = Recording(tmp_path / "a.mcp", urls={})

    ask(recording, "Any open bugs?")

    journal = journal_path(tmp_path / "a.mcp")
    assert "Any open bugs?" in journal.read_text()
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    recording.close()
    assert not journal.exists()


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    """Neither the journal nor the cassette shows a key, an address or a known value."""
    known = Known(secret="tt-4410-nobody-knows", source="env:TRACKER_TOKEN")
    recording = Recording(tmp_path / "a.mcp", urls={}, known=[known])
    ask(recording, f"{KEY} for ana@acme.com with tt-4410-nobody-knows")
    during = journal_path(tmp_path / "a.mcp").read_text()

    recorded = recording.close()

    after = (tmp_path / "a.mcp").read_text()
    for secret in (KEY, "ana@acme.com", "tt-4410-nobody-knows"):
        assert secret not in during
        assert secret not in after
    assert "email-1@mcprec.example" in after
    assert recorded.redaction.placeholders["email"] == 1
    assert ["env:TRACKER_TOKEN"] in recorded.redaction.sources.values()


def test_what_was_redacted_can_be_said_masked(tmp_path: Path) -> None:
    """Who recorded it knows which it was; a log shows nothing."""
    known = Known(secret="tt-4410-nobody-knows", source="env:TRACKER_TOKEN")
    recording = Recording(tmp_path / "a.mcp", urls={}, known=[known])
    ask(recording, "for ana@acme.com with tt-4410-nobody-knows")

    recorded = recording.close()

    assert [*recorded.redaction_lines()] == [
        "email-1 stands for an…om",
        "api-key-1 stands for tt…ws, from env:TRACKER_TOKEN",
    ]
    assert "ana@acme.com" not in repr(recorded)


def test_a_secret_learned_late_is_gone_from_what_came_before(tmp_path: Path) -> None:
    """A header may tell a token that an earlier body held already."""
    token = "plain-words-no-shape-77"
    recording = Recording(tmp_path / "a.mcp", urls={})
    ask(recording, f"my token is {token}")
    recording.request(HttpRequest(method="GET", url="http://x/", headers=(("x-api-key", token),)))

    recording.close()

    assert token not in (tmp_path / "a.mcp").read_text()


def test_what_is_open_at_the_end_was_stopped(tmp_path: Path) -> None:
    """The recorder ended first; that is nobody's failure and never handed out."""
    recording = Recording(tmp_path / "a.mcp", urls={})
    ask(recording, "slow", answer=None)

    recorded = recording.close()

    assert [each.answer.end for each in load_cassette(tmp_path / "a.mcp").exchanges] == ["stopped"]
    assert recorded.ends == {"stopped": 1}


def test_a_recording_of_nothing_is_no_cassette(tmp_path: Path) -> None:
    """An empty cassette would be a false green later."""
    recorded = Recording(tmp_path / "a.mcp", urls={"tracker": MCP}).close()

    assert not recorded.is_complete
    assert list(recorded.problems()) == [
        "tracker was declared and never contacted",
        "0 exchanges recorded; does the agent use the addresses it was given?",
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_is_told_at_once_and_keeps_what_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent's run goes on, unrecorded, and the status says so."""
    told: list[McprecError] = []
    recording = Recording(tmp_path / "a.mcp", urls={}, on_failure=told.append)
    ask(recording, "first")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.write", full)
        ask(recording, "second")
    assert len(told) == 1
    assert "No space left" in str(told[0])
    recorded = recording.close()

    assert not recorded.is_complete
    assert len(load_cassette(tmp_path / "a.mcp").exchanges) == 1


def test_a_journal_of_an_earlier_run_is_not_written_over(tmp_path: Path) -> None:
    """It holds what a killed recording left behind."""
    recording = Recording(tmp_path / "a.mcp", urls={})

    with pytest.raises(CassetteFileError, match="mcprec recover"):
        Recording(tmp_path / "a.mcp", urls={})
    recording.close()


def test_the_header_says_what_was_recorded(tmp_path: Path) -> None:
    """A reader sees recorder, time, servers and models in the first line."""
    recording = Recording(tmp_path / "a.mcp", urls={"tracker": f"{MCP}?key=s3cret"})
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    tap = recording.request(
        HttpRequest(method="POST", url=MCP, body=json.dumps(body).encode(), label="tracker")
    )
    assert tap is not None
    tap.head(200, JSON)
    tap.data(b'{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}', 1)
    tap.finish("complete", 2)
    ask(recording, "hi")

    recording.close()

    header = load_cassette(tmp_path / "a.mcp").header
    assert (header.recorder or "").startswith("mcprec ")
    assert header.servers["tracker"].url == MCP
    assert [use.name for use in header.model] == ["m"]


def test_a_stream_that_nobody_resumed_is_written_at_the_close(tmp_path: Path) -> None:
    """Until then its client might still come back for the rest."""
    recording = Recording(tmp_path / "a.mcp", urls={"tracker": MCP})
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export"}}'
    tap = recording.request(HttpRequest(method="POST", url=MCP, body=body))
    assert tap is not None
    tap.head(200, [("content-type", "text/event-stream")])
    tap.data(b"id: ev-1\ndata:\n\n", 1)
    tap.finish("reset", 2)
    recording.end(tap)
    during = journal_path(tmp_path / "a.mcp").read_text()

    recorded = recording.close()

    assert "export" not in during
    assert recorded.exchanges == 1
    assert [each.answer.end for each in load_cassette(tmp_path / "a.mcp").exchanges] == ["reset"]
