"""An agent with a live model plays against recorded servers, as often as asked for."""

import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.evaluation import EvalRun, content_digest, join_reports, run_eval
from mcprec_addon.replay.eval_report import EvalReport
from mcprec_addon.replay.play import OnMiss, PlayOptions
from mcprec_addon.replay_run import ReplayRun
from tests.golden_cases import EVAL, golden_eval
from tests.peers.live_model import KEY, live_model
from tests.peers.process import ROOT

if TYPE_CHECKING:
    from mcprec_addon.exchange import Json

pytestmark = pytest.mark.door

AGENT = str(ROOT / "tests" / "peers" / "light_agent.py")


def said(text: str) -> str:
    return f'{{"content":[{{"type":"text","text":"{text}"}}]}}'


def recorded(seq: int, name: str, args: str, text: str) -> str:
    call = f'"seq":{seq},"server":"tracker","method":"tools/call","name":"{name}"'
    return f'{{{call},"args":{args},"result":{said(text)}}}\n'


CASSETTE = (
    '{"mcprec":1,"servers":{"tracker":{"transport":"http","url":"http://127.0.0.1:9/mcp"}},'
    '"model":[{"provider":"openai","name":"gpt-5","temperature":null}]}\n'
    + recorded(1, "search", '{"q":"bug"}', "3 found")
    + recorded(2, "list_issues", '{"state":"open"}', "2 open")
    + recorded(3, "create_issue", '{"title":"Login loops"}', "#3 made")
    + recorded(4, "list_issues", '{"state":"open"}', "3 open")
)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """A live model, and the environment of a person who uses it."""
    with live_model() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield url


def cassette(folder: Path, text: str = CASSETTE) -> Path:
    path = folder / "a.mcp"
    path.write_text(text)
    return path


def evaluated(folder: Path, *command: str, on_miss: OnMiss = "advise", **how: object) -> EvalReport:
    options = PlayOptions(strategy="state", on_miss=on_miss)
    replay = ReplayRun(path=cassette(folder), command=command, options=options)
    return run_eval(EvalRun(replay=replay, **how))  # type: ignore[arg-type]


@pytest.mark.usefixtures("model")
def test_a_model_that_errs_corrects_itself(tmp_path: Path) -> None:
    """It sees the world it knows of through what was recorded, and may ask again."""
    report = evaluated(tmp_path, sys.executable, AGENT, "errs", "3 found")

    (search, *_) = report.tools()
    assert report.exit.status == 0
    assert (search.hits, search.missed, search.corrected) == (1, 1, 1)


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(("on_miss", "status"), [("plain", 1), ("fail", 3)])
def test_a_model_that_is_not_told_does_not(tmp_path: Path, on_miss: OnMiss, status: int) -> None:
    """Without advice the agent ends as it ends; fail is for those who want no miss."""
    report = evaluated(tmp_path, sys.executable, AGENT, "errs", "3 found", on_miss=on_miss)

    assert report.exit.status == status
    assert report.tools()[0].corrected == 0


@pytest.mark.usefixtures("model")
def test_reads_follow_what_the_model_did(tmp_path: Path) -> None:
    """It reads twice, writes once and reads again, unlike the recording."""
    world = "2 open; 2 open; #3 made; 3 open"

    report = evaluated(tmp_path, sys.executable, AGENT, "changes", world)

    assert report.exit.cause == "1 of 1 run passed"


@pytest.mark.usefixtures("model")
def test_twenty_runs_are_counted(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Each has a world of its own, and each line of output its run."""
    lines: list[dict[str, Json]] = []

    report = golden_eval(lines.append)

    assert f"{report.text()}\n" == (EVAL / "report.txt").read_text()
    assert sorted(capfdbinary.readouterr().out.splitlines()) == sorted(
        f"run {number} | 3 found".encode() for number in range(1, 21)
    )
    assert sorted(int(str(line["run"])) for line in lines) == list(range(1, 21))


def script_environment(folder: Path, **how: object) -> dict[str, str]:
    """Return the environment that a child of an eval sees."""
    script = (
        "import os, sys; open(sys.argv[1], 'w').write('\\0'.join(f'{k}={v}' for k, v in"
        " os.environ.items()))"
    )
    command = [sys.executable, "-c", script, str(folder / "env")]
    replay = ReplayRun(path=folder / "a.mcp", command=command, **how)  # type: ignore[arg-type]
    run_eval(EvalRun(replay=replay))
    pairs = (folder / "env").read_text().split("\0")
    return dict(pair.partition("=")[::2] for pair in pairs)


OF_MODELS = {
    "OPENAI_BASE_URL": "https://gateway.corp/v1",
    "OPENAI_API_KEY": "sk-live",
    "ANTHROPIC_API_KEY": "sk-ant-live",
    "HTTPS_PROXY": "http://proxy.corp:8080",
    "SSL_CERT_FILE": "/etc/corp.pem",
}


def test_what_leads_to_the_model_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys, base URLs, proxies and certificates; our doors are not behind the proxy."""
    held = '"redaction":{"builtin":1,"placeholders":{"api-key":2},"sources":'
    held += '{"api-key-1":["env:TRACKER_TOKEN"],"api-key-2":["env:OPENAI_API_KEY"]}}'
    cassette(tmp_path, CASSETTE.replace('"servers"', f'{held},"servers"'))
    for name, value in OF_MODELS.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "intern.corp")
    monkeypatch.setenv("TRACKER_TOKEN", "live")

    seen = script_environment(tmp_path)
    kept = script_environment(tmp_path, keep=["TRACKER_TOKEN"])

    assert {name: seen[name] for name in OF_MODELS} == OF_MODELS
    assert seen["TRACKER_TOKEN"] == "mcprec-dummy-tracker_token"
    assert kept["TRACKER_TOKEN"] == "live"
    door = seen["MCPREC_URL_TRACKER"].removeprefix("http://").removesuffix("/mcp")
    assert seen["NO_PROXY"] == f"intern.corp,{door}"
    assert Path(seen["MCPREC_RUN_DIR"]).name.startswith("mcprec-")


def test_a_run_whose_time_is_over_has_failed(tmp_path: Path) -> None:
    """The others go on, and count."""
    script = "import os, time; time.sleep(60)"

    report = evaluated(tmp_path, sys.executable, "-S", "-c", script, runs=2, jobs=2, timeout_s=0.3)

    assert [run.timed_out for run in report.runs] == [True, True]
    assert "its time was over after 0." in report.text()
    assert report.exit.status == 3  # neither came to its servers


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(("required", "status"), [(1, 0), (2, 1)])
def test_a_number_of_passes_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, required: int, status: int
) -> None:
    """A live model fails now and then, and the agent's own status with it."""
    script = (
        f"import os, runpy, sys; sys.argv = [{AGENT!r}, 'errs', '3 found']\n"
        "try: os.mkdir(os.environ['ONCE'])\n"
        "except FileExistsError: sys.argv[2] = 'no such thing'\n"
        f"runpy.run_path({AGENT!r}, run_name='__main__')"
    )
    monkeypatch.setenv("ONCE", str(tmp_path / "once"))

    report = evaluated(tmp_path, sys.executable, "-c", script, runs=2, required=required)

    assert (report.passed, report.exit.status) == (1, status)


def test_ctrl_c_keeps_the_runs_that_ended(tmp_path: Path) -> None:
    """Twenty runs cost money, and ten of them say something."""
    script = (
        "import os, time; n = len(os.listdir('.')); open(f'run{n}', 'w').close();"
        " time.sleep(0 if n < 3 else 60)"
    )
    folder = tmp_path / "runs"
    folder.mkdir()
    command = [sys.executable, "-S", "-c", f"import os; os.chdir({str(folder)!r})\n{script}"]
    thread = threading.Thread(target=interrupt_once, args=(folder, 4))
    thread.start()

    report = evaluated(tmp_path, *command, runs=20)

    thread.join()
    assert len(report.runs) == 3
    assert report.exit.cause.endswith("17 of 20 runs did not end") or report.exit.status == 3


def interrupt_once(folder: Path, number: int) -> None:
    """Send ourselves Ctrl-C as soon as so many runs have begun."""
    end = time.monotonic() + 20
    while len(list(folder.iterdir())) < number and time.monotonic() < end:
        time.sleep(0.01)
    if time.monotonic() < end:
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"required": 3, "runs": 2}, "--require 3: there are only 2 runs"),
        ({"runs": 2, "command": ()}, "--runs 2: there is no command"),
        ({"jobs": 2, "runs": 2, "in_place": True}, "--in-place: one config cannot be swapped"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, how: dict[str, object], says: str
) -> None:
    """Before anything is started and paid for."""
    given = {"command": ("true",), "in_place": False, **how}
    replay = ReplayRun(
        path=cassette(tmp_path),
        command=given.pop("command"),  # type: ignore[arg-type]
        in_place=bool(given.pop("in_place")),
    )

    with pytest.raises(UsageError, match=says):
        run_eval(EvalRun(replay=replay, **given))  # type: ignore[arg-type]


def test_a_cassette_without_servers_is_refused(tmp_path: Path) -> None:
    """There would be no world to play against."""
    with pytest.raises(UsageError, match="no mcp half"):
        run_eval(EvalRun(replay=ReplayRun(path=cassette(tmp_path, '{"mcprec":1}\n'))))


def test_line_ends_do_not_change_what_a_cassette_is(tmp_path: Path) -> None:
    """Git may check it out with others on another machine."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(CASSETTE.encode())
    other.write_bytes(CASSETTE.replace("\n", "\r\n").encode())

    assert content_digest(one) == content_digest(other)


def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    """No run is no pass."""
    empty = tmp_path / "a.jsonl"
    empty.touch()

    with pytest.raises(UsageError, match="no run has ended"):
        join_reports([empty], required=None)


SDK_AGENT = """
import anyio, json, os, sys
from mcp import Client
from mcp.client.stdio import StdioServerParameters

def server(kind):
    if kind == "http":
        return os.environ["MCPREC_URL_TRACKER"]
    (entry,) = json.load(open(os.environ["MCPREC_CONFIG"]))["mcpServers"].values()
    return StdioServerParameters(command=entry["command"], args=entry["args"])

async def main(kind):
    async with Client(server(kind), mode="auto") as client:
        missed = await client.call_tool("search", {"q": "bugs"})
        assert missed.is_error, missed
        args = json.loads(missed.content[0].text.splitlines()[2])
        found = await client.call_tool("search", args)
        assert not found.is_error
        assert found.content[0].text == "3 found", found

anyio.run(main, sys.argv[1])
"""
STDIO = CASSETTE.replace(
    '"transport":"http","url":"http://127.0.0.1:9/mcp"', '"transport":"stdio","command":"tracker"'
)


@pytest.mark.parametrize(("kind", "text"), [("http", CASSETTE), ("stdio", STDIO)])
def test_an_sdk_client_reads_an_advice(tmp_path: Path, kind: str, text: str) -> None:
    """It takes an advice for the result of a tool that failed, on both transports."""
    text = text.replace('"transport"', '"era":"classic","transport"')
    text += '{"seq":9,"server":"tracker","method":"tools/list","result":{"tools":[{"name":"search",'
    text += '"inputSchema":{"type":"object"}}]}}\n'
    options = PlayOptions(strategy="state", on_miss="advise")
    command = [sys.executable, "-c", SDK_AGENT, kind]
    replay = ReplayRun(path=cassette(tmp_path, text), command=command, options=options)

    report = run_eval(EvalRun(replay=replay))

    assert report.exit.cause == "1 of 1 run passed"
    assert report.tools()[0].corrected == 1
