"""A program that a test starts: options become a command line, and reports a result."""

import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from mcprec_addon.doors.cassette_options import CassetteOptions
from mcprec_addon.errors import UsageError
from mcprec_addon.plugin import agent_run
from mcprec_addon.plugin.agent_run import Agent, replay_agent
from tests.in_process_cassette import write_cassette


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a program in the place of mcprec that says how it was called."""
    code = "import sys; sys.exit('mcprec: ' + ' '.join(sys.argv[1:]))"
    monkeypatch.setattr(agent_run, "_MODULE", (sys.executable, "-c", code))


@pytest.mark.door
@pytest.mark.usefixtures("echo")
def test_every_option_of_a_mark_is_one_of_the_command(tmp_path: Path) -> None:
    """What a mark says must not hold for clients in the test alone."""
    options: CassetteOptions = {
        "half": "model",
        "match": "exact",
        "model_match": "sequence",
        "ignore": ["/args/since"],
        "normalize": ["date", "uuid"],
        "strict": True,
        "faults": ["3:reset"],
        "secrets": {"email-1": "a@b.c"},
        "servers": {"tracker": "http://127.0.0.1:1/mcp", "files": "files-server ."},
        "check_answers": True,
        "on_miss": "fail",
        "allow": ["localhost:1"],
        "all_used": False,
        "redact": tmp_path / "rules.toml",
    }
    assert options.keys() == CassetteOptions.__annotations__.keys()

    with pytest.raises(UsageError) as caught:
        replay_agent(
            Agent(command=["agent", "-x"], config=[tmp_path / "mcp.json"]), tmp_path, options
        )

    said = str(caught.value)
    for words in (
        "--half model",
        "--match exact",
        "--model-match sequence",
        "--ignore /args/since",
        "--normalize date --normalize uuid",
        "--strict",
        "--fault 3:reset",
        "--secret email-1=a@b.c",
        "--http tracker=http://127.0.0.1:1/mcp",
        "--stdio files=files-server .",
        "--check-answers",
        "--allow localhost:1",
        f"--redact {tmp_path / 'rules.toml'}",
        f"--config {tmp_path / 'mcp.json'} -- agent -x",
    ):
        assert words in said
    assert "all-used" not in said


@pytest.mark.parametrize("options", [{"on_miss": "advise"}])
def test_what_a_program_cannot_have_is_refused(options: Mapping[str, str], tmp_path: Path) -> None:
    """Advice is for live models, which a replay has none of."""
    with pytest.raises(UsageError, match="on_miss='advise'"):
        replay_agent(Agent(command=["agent"]), tmp_path, CassetteOptions(**options))  # type: ignore[typeddict-item]


@pytest.mark.door
def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """A test that hangs says nothing, and holds the whole suite up."""
    path = write_cassette(tmp_path)
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    with pytest.raises(TimeoutExpired):
        replay_agent(Agent(command=[sys.executable, "-c", code], timeout=3), path, {})

    assert not Path(f"/proc/{pid.read_text()}").exists()
