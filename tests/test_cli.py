"""The commands as a person types them: what they print and how they end."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from mcprec_addon.cli import status_of
from mcprec_addon.doors.cassette_file import load_cassette
from tests.peers.process import ROOT, Peer
from tests.test_run import CLIENTS, clean_environment, mcprec

pytestmark = pytest.mark.door

CASSETTE = """\
{"mcprec":1,"servers":{"tracker":{"transport":"http","url":"http://127.0.0.1:9/mcp"}}}
{"seq":1,"server":"tracker","method":"tools/call","name":"search","args":{"q":"bug"},"result":{}}
"""
PYTHON = sys.executable
TRUSTS_NOBODY = "ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)"


@pytest.fixture
def tls_model(tmp_path: Path) -> Generator[tuple[str, Path]]:
    """Serve a model API over TLS under a certificate authority of its own."""
    authority = trustme.CA()
    bundle = tmp_path / "corporate.pem"
    authority.cert_pem.write_to_path(str(bundle))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "17")
            self.end_headers()
            self.wfile.write(b'{"id":"over-tls"}')

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"https://localhost:{server.server_port}/v1/chat/completions", bundle
        server.shutdown()


def cassette(folder: Path, text: str = CASSETTE) -> str:
    path = folder / "a.mcp"
    path.write_text(text)
    return str(path)


def last_line(text: str) -> str:
    return text.splitlines()[-1] if text else ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["replay", "--nonsense"], "no such option"),
        (["replay", "no.mcp", "--", "true"], "no.mcp"),
        (["replay", "{cassette}", "--half", "model", "--", "true"], "no model half"),
        (["replay", "{cassette}", "--half", "both", "--", "true"], "both"),
        (["replay", "{cassette}", "--isolate"], "give its command after --"),
        (["replay", "{cassette}", "--isolate", "--allow", "a.test", "--", "true"], "drop --allow"),
        (["replay", "{cassette}", "--ignore", "args/q", "--", "true"], "pointer"),
        (["replay", "{cassette}", "--report", "x.txt", "--", "true"], ".json or .xml"),
        (["replay", "{cassette}", "--", "no-such-program"], "command not found"),
        (["record", "--out", "{folder}/b.mcp", "--http", "x", "--", "true"], "NAME=URL"),
        (["record", "--out", "{folder}/b.mcp", "--", "no-such-program"], "command not found"),
        (["record", "--out", "{cassette}", "--", "true"], "--force"),
        (["record", "--out", "{folder}/none/b.mcp", "--", "true"], "none"),
        (["record", "--out", "{folder}/b.mcp", "--config", "no.json", "--", "true"], "no.json"),
        (["record", "--out", "{folder}/b.mcp", "--stdio", "x", "--", "true"], "NAME='CMD'"),
        (["record", "--out", "{folder}/b.mcp", "--in-place", "--", "true"], "--config"),
        (["record", "--out", "{folder}/b.mcp", "--", "npx", "x-mcp-server"], "--stdio"),
        (
            ["record", "--out", "{folder}/b.mcp", "--stdio", "x=no-such-program", "--", "true"],
            "no-such-program",
        ),
        (["replay", "{cassette}", "--config", "no.json", "--", "true"], "no.json"),
        (["replay", "{cassette}", "--in-place", "--", "true"], "--config"),
        (["serve", "{cassette}", "--listen", "8000"], "HOST:PORT"),
        (["serve", "{cassette}", "--listen", "127.0.0.1:0", "--server", "x"], "no server"),
        (["inspect", "{cassette}", "--seq", "9"], "no exchange has seq 9"),
        (["recover", "{cassette}"], "no journal"),
        (["redact", "no.mcp"], "no.mcp"),
        (["redact", "{cassette}", "--scan", "--out", "{folder}/b.mcp"], "drop one of them"),
        (["redact", "{cassette}", "--format", "sarif"], "drop one of them"),
        (["redact"], "needs a CASSETTE"),
        (["redact", "{cassette}", "--check-config"], "looks at rules alone"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str], says: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where, what, and what to do; no traceback, and nothing is left behind."""
    path = cassette(tmp_path)
    filled = [each.format(cassette=path, folder=tmp_path) for each in arguments]

    status = status_of(filled)

    err = capfd.readouterr().err
    assert status == 2
    assert err.startswith("mcprec: ")
    assert says in err
    assert len(err.splitlines()) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["a.mcp"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (CASSETTE + '{"seq":2,"serv', ":3:"),
        (CASSETTE.replace('{"seq"', '<<<<<<< ours\n{"seq"'), ":2:"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "LFS"),
        ('{"mcprec":9}\n', ":1:"),
        (CASSETTE + '{"kind":"exchnge","seq":2}\n', "exchnge"),
    ],
    ids=["empty", "torn line", "conflict", "LFS", "version", "kind"],
)
def test_a_bad_cassette_is_named_with_its_line(
    text: str, says: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A damaged cassette must not replay in part."""
    path = cassette(tmp_path, text)

    statuses = [status_of(["replay", path, "--", "true"]), status_of(["inspect", path])]

    lines = capfd.readouterr().err.splitlines()
    assert statuses == [2, 2]
    assert len(lines) == 2
    assert all(path in line and says in line for line in lines)


def test_a_doubled_seq_is_a_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A git merge makes them, and nothing is lost because of it."""
    path = cassette(tmp_path, CASSETTE + CASSETTE.splitlines()[1].replace("bug", "ant") + "\n")

    status = status_of(["inspect", path, "--self-check"])

    assert status == 0
    assert "all 2 exchanges" in capfd.readouterr().out


def test_nothing_used_is_no_success(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A run that never reached us proves nothing."""
    status = status_of(["replay", cassette(tmp_path), "--", "true"])

    assert status == 3
    assert "nothing of the mcp half was used" in last_line(capfd.readouterr().err)


def test_nothing_recorded_is_incomplete(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An empty recording is status 4 and leaves no file."""
    status = status_of(["record", "--out", str(tmp_path / "a.mcp"), "--", "true"])

    assert status == 4
    assert "0 exchanges" in last_line(capfd.readouterr().err)
    assert list(tmp_path.iterdir()) == []


def test_the_commands_own_status_is_passed_on(mcp2_server: Peer, tmp_path: Path) -> None:
    """A test suite under us fails as it fails alone; a signal is 128 + n."""
    url = mcp2_server.mcp_url
    script = f"'{PYTHON}' '{CLIENTS}' mcp2-auto --url '{{url:peer}}' >/dev/null; exit 5"

    done = mcprec(
        "record", "--out", "a.mcp", "--http", f"peer={url}", "--", "sh", "-c", script,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip
    replayed = mcprec(
        "replay", "a.mcp", "--", "sh", "-c", script.replace("exit 5", "kill -9 $$"),
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    assert done.status == 5
    assert last_line(done.err) == "mcprec: the command exited 5"
    assert replayed.status == 137
    assert "SIGKILL" in last_line(replayed.err)


def test_without_a_command_the_doors_are_announced_until_ctrl_c(
    mcp2_server: Peer, tmp_path: Path
) -> None:
    """An agent that cannot be wrapped is led by hand; a stop is a normal end."""
    command = [PYTHON, "-m", "mcprec_addon", "record", "--out", "a.mcp"]
    with subprocess.Popen(
        [*command, "--http", f"peer={mcp2_server.mcp_url}"],
        cwd=tmp_path, env=clean_environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        exports: dict[str, str] = {}
        for line in process.stdout:
            name, _, value = line.removeprefix("export ").strip().partition("=")
            exports[name] = value.strip("'")
            if name == "MCPREC_RUN_DIR":
                break
        client = [PYTHON, CLIENTS, "mcp2-auto", "--url", exports["MCPREC_URL_PEER"]]
        subprocess.run(client, env=clean_environment() | exports, check=True, capture_output=True)
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
        status = process.wait(20)

    assert status == 0, err
    assert "recorded" in last_line(err)
    assert load_cassette(tmp_path / "a.mcp").exchanges


def test_a_killed_recorder_leaves_a_journal_to_recover(mcp2_server: Peer, tmp_path: Path) -> None:
    """Kill -9 loses nothing that had ended."""
    client = f"'{PYTHON}' '{CLIENTS}' mcp2-auto --url '{{url:peer}}' >/dev/null"
    script = f"{client}; touch ready; exec sleep 60"
    command = ["record", "--out", "a.mcp", "--http", f"peer={mcp2_server.mcp_url}"]
    with subprocess.Popen(
        [PYTHON, "-m", "mcprec_addon", *command, "--", "sh", "-c", script],
        cwd=tmp_path, env=clean_environment(), stderr=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 60
        while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill()
        process.wait()
        os.killpg(process.pid, signal.SIGKILL)  # the sleeping child, whose parent is gone

    again = mcprec(
        "record", "--out", "a.mcp", "--", "true", environment=clean_environment(), folder=tmp_path
    )
    done = mcprec("recover", ".a.mcp.journal", environment=clean_environment(), folder=tmp_path)
    checked = mcprec(
        "inspect", "a.mcp", "--self-check", environment=clean_environment(), folder=tmp_path
    )

    assert (again.status, "mcprec recover" in again.err) == (2, True)
    assert done.status == 4
    assert "recovered" in done.out
    assert checked.status == 0, checked.out


def test_a_replay_reaches_nothing_else(tmp_path: Path) -> None:
    """What is in no half is refused, named and counted; with --strict it fails the run."""
    script = "import urllib.request as u; u.urlopen('https://example.com/')"
    done = mcprec(
        "replay", cassette(tmp_path), "--strict", "--", PYTHON, "-c", script,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    assert done.status == 3
    assert "refused: example.com, 1 time" in done.err


# Asks the recorded server, then an address of this machine past every door.
PAST_THE_DOORS = """
import json, os, socket, sys, urllib.request as u
call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"q": "bug"}}}
head = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
body = json.dumps(call).encode()
print(u.urlopen(u.Request(os.environ["MCPREC_URL_TRACKER"], body, head)).status)
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5)
    print("reached")
except OSError as error:
    print(type(error).__name__)
"""


def test_an_isolated_agent_reaches_the_doors_alone(tmp_path: Path) -> None:
    """A program that looks at no proxy variable would go live in a replay that passes."""
    with socket.create_server(("127.0.0.1", 0)) as beside:
        command = [PYTHON, "-c", PAST_THE_DOORS, str(beside.getsockname()[1])]
        done = {
            options: mcprec(
                "replay", cassette(tmp_path), *options, "--", *command,
                environment=clean_environment(), folder=tmp_path,
            )
            for options in ((), ("--isolate",))
        }  # fmt: skip
    isolated = done[("--isolate",)]
    if "allows no network namespace" in isolated.err:
        pytest.skip(isolated.err.strip())

    assert done[()].out == "200\nreached\n"
    assert isolated.out == "200\nConnectionRefusedError\n", isolated.err
    assert isolated.status == 0


def test_curl_trusts_our_certificate(tmp_path: Path, model_env: dict[str, str]) -> None:
    """A client of its own kind goes through the proxy with CONNECT and our CA."""
    body = '{"model":"ok","messages":[{"role":"user","content":"hi"}]}'
    script = (
        "curl -sS https://api.openai.com/v1/chat/completions"
        f" -H 'Authorization: Bearer x' -d '{body}' -H 'content-type: application/json'"
    )
    made = mcprec(
        "record", "--out", "a.mcp", "--", "sh", "-c", script.replace(
            "https://api.openai.com/v1", '"$OPENAI_BASE_URL"'
        ),
        environment=clean_environment() | model_env, folder=tmp_path,
    )  # fmt: skip

    done = mcprec(
        "replay", "a.mcp", "--", "sh", "-c", script,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    assert made.status == 0, made.err
    assert done.status == 0, done.err
    assert json.loads(done.out) == json.loads(made.out)


def test_https_is_recorded_through_the_proxy(tmp_path: Path, tls_model: tuple[str, Path]) -> None:
    """The child trusts our certificate, and we check the upstream's by the user's own bundle."""
    url, bundle = tls_model
    body = '{"model":"ok","messages":[{"role":"user","content":"hi"}]}'
    curl = [
        "curl", "-sS", url, "-H", "Authorization: Bearer x",
        "-H", "content-type: application/json", "-d", body,
    ]  # fmt: skip
    environment = clean_environment() | {"SSL_CERT_FILE": str(bundle)}

    made = mcprec(
        "record", "--out", "a.mcp", "--via", "proxy", "--", *curl,
        environment=environment, folder=tmp_path,
    )  # fmt: skip
    done = mcprec("replay", "a.mcp", "--", *curl, environment=clean_environment(), folder=tmp_path)

    assert made.status == 0, made.err
    assert json.loads(made.out) == {"id": "over-tls"}
    assert (done.status, json.loads(done.out)) == (0, {"id": "over-tls"}), done.err
    assert load_cassette(tmp_path / "a.mcp").model_via == "proxy"


def test_a_report_is_written_for_programs(tmp_path: Path) -> None:
    """CI reads JUnit and JSON."""
    path = cassette(tmp_path)
    for name in ("r.json", "r.xml"):
        status_of(["replay", path, "--report", str(tmp_path / name), "--", "true"])

    assert '"status":3' in (tmp_path / "r.json").read_text()
    assert "<testsuite" in (tmp_path / "r.xml").read_text()


def test_help_shows_the_commands_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    """A newcomer finds record and replay first."""
    status_of(["--help"])

    shown = capsys.readouterr().out
    assert shown.index("Run an agent") < shown.index("Look at a cassette") < shown.index("Set-up")


def test_the_addon_is_where_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """`mitmdump -s "$(mcprec addon)"` finds it."""
    status_of(["addon"])

    assert Path(capsys.readouterr().out.strip()) == ROOT / "mcprec_addon" / "addon.py"


def test_a_stop_of_a_replay_is_the_commands_end(tmp_path: Path) -> None:
    """CI that stops a hanging agent must see 128 + n, not success."""
    script = "import signal, time; open('ready', 'w').close(); time.sleep(60)"
    command = [PYTHON, "-m", "mcprec_addon", "replay", cassette(tmp_path), "--", PYTHON, "-c"]
    with subprocess.Popen(
        [*command, script], cwd=tmp_path, env=clean_environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 30
        while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.terminate()
        _, err = process.communicate(timeout=20)

    assert process.returncode == 3
    assert "the command was ended by SIGTERM (143)" in last_line(err)


def test_a_client_that_does_not_trust_us_is_named(tmp_path: Path) -> None:
    """Its own program only says that something is wrong with its connection."""
    call = f"u.urlopen('https://localhost:9/', context={TRUSTS_NOBODY})"
    client = f"import ssl, urllib.request as u; {call}"

    done = mcprec(
        "record", "--out", "a.mcp", "--via", "proxy", "--", PYTHON, "-c", client,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    assert done.status == 4
    assert "a client of localhost does not trust our certificate (once)" in done.err
    assert "$SSL_CERT_FILE" in done.err


def test_an_option_may_stand_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """CI sets what holds for all its runs once; the command line goes first."""
    path = cassette(tmp_path)
    monkeypatch.setenv("MCPREC_MATCH", "fuzzy")

    by_environment = status_of(["replay", path, "--", "true"])
    by_option = status_of(["replay", path, "--match", "exact", "--", "true"])

    assert (by_environment, by_option) == (2, 3)
    assert "MCPREC_MATCH" in capfd.readouterr().err


def test_no_arguments_are_a_question(capfd: pytest.CaptureFixture[str]) -> None:
    """The help is the answer, without a complaint."""
    status_of([])

    shown = capfd.readouterr()
    assert "Run an agent" in shown.out + shown.err
    assert "mcprec: " not in shown.err


def test_a_printed_environment_is_whole(tmp_path: Path) -> None:
    """An agent that is led by hand needs the dummies as well as the doors."""
    command = [PYTHON, "-m", "mcprec_addon", "replay", cassette(tmp_path), "--print", "json"]
    with subprocess.Popen(
        command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        variables = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)

    assert variables["OPENAI_API_KEY"].startswith("sk-")
    assert variables["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")
    assert "PATH" not in variables


def test_a_project_sets_options_and_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What every run of a project needs is typed once; the command line and CI come first."""
    path = cassette(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mcprec.toml").write_text(
        'half = "model"\nreport = "found.json"\nallow = ["a.example"]\n'
        '[servers]\ntracker = "http://127.0.0.1:9/mcp"\n'
    )

    by_file = status_of(["replay", path, "--", "true"])
    capfd.readouterr()
    monkeypatch.setenv("MCPREC_HALF", "mcp")
    by_variable = status_of(["replay", path, "--allow", "b.example", "--", "env"])
    seen = capfd.readouterr()

    assert by_file == 2  # there is no model half
    assert by_variable == 3  # nothing of the MCP half was used
    assert json.loads((tmp_path / "found.json").read_text())["exit"]["status"] == 3
    assert "allowed: b.example, live\nallowed: a.example, live" in seen.err
    assert "MCPREC_URL_TRACKER=http://127.0.0.1:" in seen.out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("stritc = true", "mcprec.toml: stritc is no setting; did you mean strict"),
        ('match = "loose"', "loose"),
        ('[servers]\nx = "npx \'"', 'servers "x=npx \'"'),
    ],
)
def test_a_setting_that_is_wrong_is_one_line(
    text: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """One that did nothing would be believed in."""
    path = cassette(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mcprec.toml").write_text(text)

    status = status_of(["replay", path, "--", "true"])

    (line,) = capfd.readouterr().err.splitlines()
    assert status == 2
    assert says in line
