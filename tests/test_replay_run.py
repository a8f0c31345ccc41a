"""A replay's child gets doors and dummies, and nothing of ours leaves the machine."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay_end import conclude_replay
from mcprec_addon.replay_run import ReplayRun, replay
from tests.peers.live_model import KEY, live_model
from tests.test_cli import CASSETTE

pytestmark = pytest.mark.door


def cassette(folder: Path, text: str = CASSETTE) -> Path:
    path = folder / "a.mcp"
    path.write_text(text)
    return path


def child_environment(folder: Path, path: Path, **options: object) -> dict[str, str]:
    """Return the environment a replayed child sees."""
    script = (
        "import os; open('env', 'w').write('\\0'.join(f'{k}={v}' for k, v in os.environ.items()))"
    )
    run = ReplayRun(path=path, command=[sys.executable, "-c", script], **options)  # type: ignore[arg-type]
    before = Path.cwd()
    os.chdir(folder)
    try:
        asyncio.run(replay(run))
    finally:
        os.chdir(before)
    pairs = (folder / "env").read_text().split("\0")
    return dict(pair.partition("=")[::2] for pair in pairs)


def test_the_child_is_led_to_the_doors(tmp_path: Path) -> None:
    """Base URLs, the proxy, and NO_PROXY with our own ports and nothing else."""
    seen = child_environment(tmp_path, cassette(tmp_path))

    assert seen["MCPREC_URL_TRACKER"].startswith("http://127.0.0.1:")
    assert seen["MCPREC_URL_TRACKER"].endswith("/mcp")
    assert seen["OPENAI_BASE_URL"].endswith("/openai/v1")
    assert seen["HTTPS_PROXY"] == seen["https_proxy"] == seen["HTTP_PROXY"]
    assert seen["MCPREC_URL_TRACKER"].split("/")[2] in seen["NO_PROXY"].split(",")
    assert all(part.startswith("127.0.0.1:") for part in seen["NO_PROXY"].split(","))


def test_the_child_gets_dummies_for_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SDKs refuse an empty key, and a real one has no business in a replay."""
    monkeypatch.setenv("OPENAI_API_KEY", "real")
    monkeypatch.setenv("TRACKER_TOKEN", "real")
    monkeypatch.setenv("KEPT_TOKEN", "real")

    seen = child_environment(tmp_path, cassette(tmp_path), keep=["KEPT_TOKEN"])

    assert seen["OPENAI_API_KEY"].startswith("sk-proj-")
    assert seen["TRACKER_TOKEN"] not in ("", "real")
    assert seen["ANTHROPIC_API_KEY"]
    assert seen["KEPT_TOKEN"] == "real"


def test_a_dummy_stands_for_the_secret_that_its_variable_held(tmp_path: Path) -> None:
    """CI has no token, and the agent still puts what it has into its calls."""
    held = (
        '"redaction":{"builtin":1,"placeholders":{"api-key":1},'
        '"sources":{"api-key-1":["env:MY_TOKEN"]}}'
    )
    text = CASSETTE.replace('"servers"', f'{held},"servers"').replace('"bug"', '"api-key-1"')
    path = cassette(tmp_path, text)
    script = """
import json, os, urllib.request
params = {"name": "search", "arguments": {"q": os.environ["MY_TOKEN"]}}
body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
request = urllib.request.Request(os.environ["MCPREC_URL_TRACKER"], json.dumps(body).encode())
assert "result" in json.load(urllib.request.urlopen(request))
"""

    replayed = asyncio.run(replay(ReplayRun(path=path, command=[sys.executable, "-c", script])))

    assert (replayed.child, replayed.player.tally.misses) == (0, [])


TWO = CASSETTE.replace(
    '"servers"', '"redaction":{"builtin":1,"placeholders":{"email":2}},"servers"'
).replace('"bug"', '"email-1@mcprec.example"')


def test_a_value_for_a_placeholder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """It would stand for nothing, and the run would guess all the same."""
    options = PlayOptions(secrets={"email-3": "ana@corp.com"})
    run = ReplayRun(path=cassette(tmp_path, TWO), command=["true"], options=options)

    with pytest.raises(UsageError, match=r"--secret email-3=…: .* it has email-1 to 2"):
        asyncio.run(replay(run))


def test_an_allowed_host_is_direct(tmp_path: Path) -> None:
    """It goes past us, which has no client code, and the report says so."""
    path = cassette(tmp_path)
    run = ReplayRun(path=path, command=[sys.executable, "-c", ""], allow=["db.example"])

    report = conclude_replay(asyncio.run(replay(run)), path=path)

    assert "allowed: db.example" in report.text()
    assert "db.example" in child_environment(tmp_path, path, allow=["db.example"])["NO_PROXY"]


def test_a_replay_connects_to_nothing_beyond_loopback(tmp_path: Path) -> None:
    """Offline by construction: any connect of ours outside loopback fails this test."""
    tried: list[object] = []

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event == "socket.connect":
            address = arguments[1]
            if not (isinstance(address, tuple) and address[0] in ("127.0.0.1", "::1")):
                tried.append(address)
        if event == "socket.getaddrinfo" and arguments[0] not in ("127.0.0.1", "localhost", None):
            tried.append(arguments[0])

    is_watching = [True]
    sys.addaudithook(lambda event, arguments: watch(event, arguments) if is_watching[0] else None)
    script = "import urllib.request as u; u.urlopen('https://example.com/')"
    run = ReplayRun(path=cassette(tmp_path), command=[sys.executable, "-c", script])

    replayed = asyncio.run(replay(run))
    is_watching[0] = False

    assert tried == []
    assert replayed.turned.refused == {"example.com": 1}
    assert replayed.child == 1


def test_no_replay_reaches_a_live_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None means none, though the model is up and its key is set; the line says what would."""
    path = cassette(tmp_path)
    before = path.read_bytes(), path.stat().st_mtime_ns
    script = (
        "import os, urllib.error, urllib.request as u\n"
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        'body = b\'{"model": "errs", "messages": []}\'\n'
        "key = {'authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}\n"
        "try: u.urlopen(u.Request(url, body, key))\n"
        "except urllib.error.HTTPError as error: assert b'mcprec eval' in error.read()\n"
        "else: raise SystemExit('a live model answered')\n"
    )
    with live_model() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)

        replayed = asyncio.run(replay(ReplayRun(path=path, command=[sys.executable, "-c", script])))

    assert replayed.child == 0
    assert "mcprec eval lets a live model play" in conclude_replay(replayed, path=path).text()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
