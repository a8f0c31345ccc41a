"""Evals as a person types them: what they print, what they write, how they end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from mcprec_addon.cli import status_of
from tests.peers.live_model import KEY, live_model
from tests.test_evaluation import AGENT, CASSETTE
from tests.test_run import clean_environment, mcprec

pytestmark = pytest.mark.door

ERRS = [sys.executable, "-S", AGENT, "errs", "3 found"]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[None]:
    """A live model, and a folder with a cassette to be in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mcp").write_text(CASSETTE)
    with live_model() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield


@pytest.mark.usefixtures("model")
def test_an_eval_is_a_command(tmp_path: Path) -> None:
    """The agent's stdout is its own, the report goes to stderr and to the file."""
    leads = {name: os.environ[name] for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")}
    arguments = ["eval", "a.mcp", "--report", "a.json", "--", *ERRS]

    done = mcprec(*arguments, environment={**clean_environment(), **leads}, folder=tmp_path)

    assert (done.status, done.out) == (0, "3 found\n")
    assert done.err.splitlines()[-1] == "mcprec: 1 of 1 run passed"
    report = json.loads((tmp_path / "a.json").read_text())
    assert report["exit"] == {"status": 0, "cause": "1 of 1 run passed"}
    assert report["cassette"]["models"] == ["gpt-5"]


@pytest.mark.usefixtures("model")
def test_reports_of_lines_are_joined(capsys: pytest.CaptureFixture[str]) -> None:
    """Several machines of a CI run some each, and one says what came of all."""
    for name in ("a", "b"):
        status_of(["eval", "a.mcp", "--runs", "2", "--report", f"{name}.jsonl", "--", *ERRS])
    capsys.readouterr()

    fine = status_of(["report", "a.jsonl", "b.jsonl", "--require", "4"])
    text = capsys.readouterr().out
    status_of(["report", "a.jsonl", "b.jsonl", "--format", "json"])
    found = json.loads(capsys.readouterr().out)

    assert fine == 0
    assert text.splitlines()[-1] == "mcprec: 4 of 4 runs passed, 4 had to"
    assert (found["passed"], len(found["runs"])) == (4, 4)


@pytest.mark.usefixtures("model")
def test_reports_of_different_cassettes_are_refused_by_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They were runs in different worlds."""
    status_of(["eval", "a.mcp", "--report", "a.jsonl", "--", *ERRS])
    Path("a.mcp").write_text(CASSETTE.replace("2 open", "4 open"))
    status_of(["eval", "a.mcp", "--report", "b.jsonl", "--", *ERRS])
    capsys.readouterr()

    assert status_of(["report", "a.jsonl", "b.jsonl"]) == 2
    assert "b.jsonl: the cassette sha256:" in capsys.readouterr().err


@pytest.mark.usefixtures("model")
def test_a_missing_number_of_passes_is_status_1() -> None:
    """What was asked to hold does not."""
    wrong = [*ERRS[:-1], "no such answer"]

    assert status_of(["eval", "a.mcp", "--require", "1", "--", *wrong]) == 1
    assert status_of(["eval", "a.mcp", "--", *ERRS]) == 0


@pytest.mark.usefixtures("model")
def test_junit_goes_to_a_file() -> None:
    """A CI shows it beside its other tests."""
    status_of(["eval", "a.mcp", "--runs", "2", "--report", "a.xml", "--", *ERRS])

    assert 'name="run 2"' in Path("a.xml").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["eval", "no.mcp", "--", "true"], "no.mcp"),
        (["eval", "a.mcp", "--runs", "0", "--", "true"], "--runs"),
        (["eval", "a.mcp", "--report", "a.txt", "--", "true"], ".json, .xml or .jsonl"),
        (["eval", "a.mcp", "--", "no-such-agent"], "no-such-agent: command not found"),
        (["report", "no.jsonl"], "no.jsonl: cannot be read"),
        (["report", "a.mcp"], "a.mcp:1: no line of an eval's report"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With a status of its own, before anything is paid for."""
    monkeypatch.chdir(tmp_path)
    Path("a.mcp").write_text(CASSETTE)

    assert status_of(arguments) == 2
    err = capsys.readouterr().err
    assert says in err
    assert len(err.splitlines()) == 1


@pytest.mark.usefixtures("model")
def test_a_broken_line_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A machine that died in the middle of a run leaves half a line."""
    status_of(["eval", "a.mcp", "--report", "a.jsonl", "--", *ERRS])
    with Path("a.jsonl").open("a") as file:
        file.write('{"mcprec_ev')
    capsys.readouterr()

    assert status_of(["report", "a.jsonl"]) == 2
    assert "a.jsonl:2: " in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_keeps_the_lines_of_the_runs_that_ended(
    number: signal.Signals, tmp_path: Path
) -> None:
    """Each line stands in the file as soon as its run has ended."""
    (tmp_path / "a.mcp").write_text(CASSETTE)
    ask = (
        "import os, sys, time, urllib.request as u, json\n"
        "body = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call',"
        " 'params': {'name': 'search', 'arguments': {'q': 'bug'}}}\n"
        "u.urlopen(u.Request(os.environ['MCPREC_URL_TRACKER'], json.dumps(body).encode())).read()\n"
        "if os.path.exists('once'): time.sleep(60)\n"
        "open('once', 'w').close()\n"
    )
    command = [
        sys.executable,
        "-m",
        "mcprec_addon",
        "eval",
        "a.mcp",
        "--runs",
        "5",
        "--report",
        "a.jsonl",
        "--",
    ]
    with subprocess.Popen(
        [*command, sys.executable, "-c", ask],
        cwd=tmp_path,
        env=clean_environment(),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        end = time.monotonic() + 20
        lines = tmp_path / "a.jsonl"
        while not (lines.exists() and lines.stat().st_size) and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(number)
        _, err = process.communicate()

    assert process.returncode == 128 + number
    assert err.splitlines()[-1] == (
        f"mcprec: exit {128 + number}: stopped by {number.name}: 1 of 1 run passed; "
        "4 of 5 runs did not end"
    )
    assert len(lines.read_text().splitlines()) == 1
