"""What a live model did against recorded servers becomes a cassette that replays."""

import sys
from pathlib import Path

import pytest

from mcprec_addon.cli import status_of
from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.routes import Ways
from mcprec_addon.errors import UsageError
from mcprec_addon.evaluation import EvalRun, run_eval
from mcprec_addon.exchange import McpCall
from mcprec_addon.replay.eval_report import EvalReport
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay_run import ReplayRun
from mcprec_addon.self_check import self_check
from tests.peers.live_model import KEY, live_model
from tests.test_evaluation import AGENT, CASSETTE, cassette

pytestmark = pytest.mark.door

# The recorded person is a placeholder, and so is one whom this run never names.
PEOPLE = CASSETTE.replace(
    '"servers"', '"redaction":{"builtin":1,"placeholders":{"email":2}},"servers"'
).replace("3 found", "3 found, ask email-2@mcprec.example")


def recorded_eval(
    folder: Path,
    *command: str,
    monkeypatch: pytest.MonkeyPatch,
    text: str = CASSETTE,
    via: Ways | None = None,
) -> EvalReport:
    """Return the report of an eval that recorded into new.mcp."""
    options = PlayOptions(strategy="state", on_miss="advise")
    replay = ReplayRun(path=cassette(folder, text), command=command, options=options, via=via)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with live_model() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        return run_eval(EvalRun(replay=replay, record_model=folder / "new.mcp"))


def test_what_was_recorded_replays_without_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The miss and its advice too: a run that went wrong becomes a test that does."""
    agent = [sys.executable, AGENT, "errs", "3 found"]

    report = recorded_eval(tmp_path, *agent, monkeypatch=monkeypatch)
    new = load_cassette(tmp_path / "new.mcp")
    monkeypatch.delenv("OPENAI_BASE_URL")
    status = status_of(
        ["replay", str(tmp_path / "new.mcp"), "--strict", "--all-used", "--", *agent]
    )

    assert report.exit.status == status == 0
    assert report.source.models == ("errs",)
    halves = [each.call.half for each in sorted(new.exchanges, key=lambda each: each.seq)]
    assert halves == ["model", "mcp", "model", "mcp", "model"]
    assert self_check(new, name="new.mcp").holds


def test_placeholders_of_the_old_cassette_stand_for_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And new secrets are numbered behind them: nobody becomes somebody else."""
    script = (
        f"import runpy, sys; sys.argv = [{AGENT!r}, 'errs', '3 found']\n"
        "import http.client; plain = http.client.HTTPConnection.request\n"
        "def request(self, method, path, body, headers):\n"
        "    return plain(self, method, path, body.replace('Any bugs?', 'bugs of bo@acme.com'),"
        " headers)\n"
        "http.client.HTTPConnection.request = request\n"
        f"runpy.run_path({AGENT!r}, run_name='__main__')\n"
    )

    recorded_eval(tmp_path, sys.executable, "-c", script, monkeypatch=monkeypatch, text=PEOPLE)

    new = (tmp_path / "new.mcp").read_text()
    assert "ask email-2@mcprec.example" in new
    assert "bugs of email-3@mcprec.example" in new
    assert load_cassette(tmp_path / "new.mcp").header.redaction.placeholders == {"email": 3}


def test_an_error_is_recorded_as_it_was_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent went on from it, and so does a replay."""
    ask = (
        "import json, os, urllib.request as u\n"
        "def post(url, body, **headers):\n"
        "    headers['content-type'] = 'application/json'\n"
        "    return json.load(u.urlopen(u.Request(url, json.dumps(body).encode(), headers)))\n"
        "body = {'jsonrpc': '2.0', 'id': 1, 'method': 'resources/read', 'params': {'uri': 'a://b'}}\n"
        "assert 'error' in post(os.environ['MCPREC_URL_TRACKER'], body)\n"
        "asked = {'model': 'errs', 'messages': []}\n"
        "key = {'authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}\n"
        "post(os.environ['OPENAI_BASE_URL'] + '/chat/completions', asked, **key)\n"
    )

    recorded_eval(tmp_path, sys.executable, "-c", ask, monkeypatch=monkeypatch)

    read, asked = load_cassette(tmp_path / "new.mcp").exchanges
    assert isinstance(read.call, McpCall)
    assert (read.call.name, read.answer.kind) == ("a://b", "error")
    assert asked.call.half == "model"


def test_what_comes_before_the_first_question_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of models has no body to be known by; its address was told."""
    ask = (
        "import os, urllib.request as u\n"
        "key = {'authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}\n"
        "u.urlopen(u.Request(os.environ['OPENAI_BASE_URL'] + '/models', headers=key)).read()\n"
    )

    recorded_eval(tmp_path, sys.executable, "-c", ask, monkeypatch=monkeypatch, via="proxy")

    listed = load_cassette(tmp_path / "new.mcp").exchanges[0]
    assert listed.call.http_method == "GET"
    assert listed.answer.value == {"data": []}


def test_a_recording_without_a_model_is_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that passes by the door is told of the other one."""
    ask = (
        "import json, os, urllib.request as u\n"
        "body = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call',"
        " 'params': {'name': 'search', 'arguments': {'q': 'bug'}}}\n"
        "u.urlopen(u.Request(os.environ['MCPREC_URL_TRACKER'], json.dumps(body).encode())).read()"
    )

    report = recorded_eval(tmp_path, sys.executable, "-c", ask, monkeypatch=monkeypatch)

    assert report.exit.status == 4
    assert "no call of a model was recorded" in report.exit.cause


def test_one_cassette_holds_one_run(tmp_path: Path) -> None:
    """Several runs would be several conversations in one."""
    replay = ReplayRun(path=cassette(tmp_path), command=["true"])

    with pytest.raises(UsageError, match="one cassette holds one run"):
        run_eval(EvalRun(replay=replay, runs=2, record_model=tmp_path / "new.mcp"))
