"""An eval is led to its servers by base URL, or by a proxy that lets the model's traffic pass."""

import os
import sys
from pathlib import Path

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.eval_doors import check_way, recorded_way
from mcprec_addon.evaluation import EvalRun, run_eval
from mcprec_addon.exchange import Server
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay_run import ReplayRun
from tests.peers.live_model import KEY, live_model
from tests.test_evaluation import AGENT, CASSETTE, cassette

pytestmark = pytest.mark.door

URL = "https://tracker.acme.example/mcp"
PROXIED = CASSETTE.replace("http://127.0.0.1:9/mcp", URL).replace(
    '"transport"', '"via":"proxy","transport"'
)

# Knows its server by a fixed address, and its model too; both go through the proxy.
FIXED = f"""
import json, os, sys, urllib.error, urllib.request as u
def post(url, value, **headers):
    headers["content-type"] = "application/json"
    return json.load(u.urlopen(u.Request(url, json.dumps(value).encode(), headers)))
def ask(q):
    params = {{"name": "search", "arguments": {{"q": q}}}}
    body = {{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}}
    return post({URL!r}, body)["result"]
assert ask("bugs")["isError"]
assert ask("bug")["content"][0]["text"] == "3 found"
key = {{"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}}
asked = {{"model": "errs", "messages": []}}
answer = post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", asked, **key)
assert answer["choices"][0]["message"]["tool_calls"]
try:
    post("https://unknown.example/mcp", {{"jsonrpc": "2.0", "id": 1, "method": "ping"}})
    sys.exit("a server that is not in the cassette was reached")
except urllib.error.HTTPError as error:
    assert error.code == 403, error.code
"""
OTHER = '"other":{"transport":"http","url":"https://other.example/mcp"}'
TWO = PROXIED.replace('"servers":{', f'"servers":{{{OTHER},')
TWO += '{"seq":9,"server":"other","method":"ping","result":{}}\n'


def test_calls_by_unmodified_address_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model's traffic passes, and a server that nobody recorded is refused."""
    options = PlayOptions(strategy="state", on_miss="advise")
    command = [sys.executable, "-c", FIXED]
    replay = ReplayRun(path=cassette(tmp_path, TWO), command=command, options=options)
    with live_model() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)

        report = run_eval(EvalRun(replay=replay))

    assert report.exit.cause == "1 of 1 run passed"
    (run,) = report.runs
    assert run.refused == {"unknown.example": 1}
    assert run.warnings == ()


def test_the_recorded_way_is_taken() -> None:
    """An agent with fixed addresses was recorded through the proxy, and only so comes in again."""
    assert recorded_way({"a": Server(), "b": Server(via="proxy")}) == "proxy"
    assert recorded_way({"a": Server(via="base-url")}) == recorded_way({}) == "base-url"


def test_one_run_at_a_time_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mitmproxy is there once in a process; without it the other way is named."""
    with pytest.raises(UsageError, match="drop --jobs"):
        check_way("proxy", jobs=2)
    monkeypatch.setattr("mcprec_addon.eval_doors.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="--via base-url"):
        check_way("proxy", jobs=1)
    check_way("base-url", jobs=2)


def test_the_other_way_may_be_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the agent can be led, it needs no proxy, whatever it was recorded by."""
    command = [sys.executable, AGENT, "errs", "3 found"]
    options = PlayOptions(strategy="state", on_miss="advise")
    replay = ReplayRun(
        path=cassette(tmp_path, PROXIED), command=command, options=options, via="base-url"
    )
    with live_model() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)

        report = run_eval(EvalRun(replay=replay))

    assert report.exit.status == 0
    assert "HTTPS_PROXY" not in os.environ
