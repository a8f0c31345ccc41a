"""The same recording and replay inside the user's own mitmproxy."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.mitm_server import free_ports
from tests.peers.process import ROOT, Peer
from tests.test_cli import CASSETTE
from tests.test_run import CLIENTS, Done, clean_environment, hidden, run

pytestmark = pytest.mark.door

ADDON = str(ROOT / "mcprec_addon" / "addon.py")
MITMDUMP = str(Path(sys.executable).with_name("mitmdump"))


@contextmanager
def mitmdump(folder: Path, *options: str, mode: str = "regular") -> Generator[tuple[int, Done]]:
    """Run mitmdump with the addon; behind the block `Done` says how it ended."""
    port = free_ports(1)[0]
    command = [MITMDUMP, "-q", "-s", ADDON, "--mode", f"{mode}@127.0.0.1:{port}"]
    sets = [part for option in options for part in ("--set", option)]
    with subprocess.Popen(
        [*command, "--set", f"confdir={folder / 'conf'}", *sets],
        cwd=folder, env=clean_environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        done = Done(0, "", "")
        try:
            await_port(port, process)
            yield port, done
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=20)
            object.__setattr__(done, "status", process.returncode)
            object.__setattr__(done, "err", out)


def await_port(port: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def client(kind: str, folder: Path, **environment: str) -> Done:
    return run(
        sys.executable, CLIENTS, kind, environment=clean_environment() | environment, folder=folder
    )


def proxied(port: int, folder: Path) -> dict[str, str]:
    ca = str(folder / "conf" / "mitmproxy-ca-cert.pem")
    proxy = f"http://127.0.0.1:{port}"
    return {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": "", "SSL_CERT_FILE": ca}


def test_an_mcp_session_in_reverse_mode(mcp2_server: Peer, tmp_path: Path) -> None:
    """The user's own command line records and replays what `mcprec record` would."""
    mode = f"reverse:{mcp2_server.origin}"
    with mitmdump(tmp_path, "mcprec_record=a.mcp", mode=mode) as (port, recorded):
        live = client("mcp2-auto", tmp_path, MCP_URL=f"http://127.0.0.1:{port}/mcp")
    url = "reverse:http://127.0.0.1:9"
    options = ("mcprec_replay=a.mcp", "mcprec_strict=true", "mcprec_all_used=true")
    with mitmdump(tmp_path, *options, mode=url) as (port, replayed):
        again = client("mcp2-auto", tmp_path, MCP_URL=f"http://127.0.0.1:{port}/mcp")

    assert (live.status, recorded.status) == (0, 0), recorded.err
    assert hidden(again.out) == hidden(live.out)
    assert replayed.status == 0, replayed.err
    assert "0 misses" in replayed.err.splitlines()[-1]


@pytest.mark.parametrize("kind", ["openai-stream", "anthropic"])
def test_a_model_session_through_the_proxy(
    kind: str, model_env: dict[str, str], tmp_path: Path
) -> None:
    """Whole bodies are answered by mitmproxy itself, streams by the server on loopback."""
    with mitmdump(tmp_path, "mcprec_record=a.mcp") as (port, recorded):
        live = client(kind, tmp_path, **model_env, **proxied(port, tmp_path))
    with mitmdump(tmp_path, "mcprec_replay=a.mcp", "mcprec_all_used=true") as (port, replayed):
        again = client(kind, tmp_path, **model_env, **proxied(port, tmp_path))

    assert recorded.status == 0, recorded.err
    assert hidden(again.out) == hidden(live.out)
    assert replayed.status == 0, replayed.err


def test_a_replay_goes_nowhere(tmp_path: Path) -> None:
    """What is in no cassette is refused, with nothing asked of any network."""
    (tmp_path / "a.mcp").write_text(CASSETTE)
    script = "import urllib.request as u; u.urlopen('http://example.com/')"
    with mitmdump(tmp_path, "mcprec_replay=a.mcp", "mcprec_strict=true") as (port, replayed):
        done = run(
            sys.executable, "-c", script,
            environment=clean_environment() | proxied(port, tmp_path), folder=tmp_path,
        )  # fmt: skip

    assert "403" in done.err
    assert replayed.status == 3
    assert "refused: example.com, 1 time" in replayed.err


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("mcprec_recrod=a.mcp", "mcprec_recrod"),
        ("mcprec_match=fuzzy", "fuzzy"),
        ("mcprec_half=both", "both"),
        ("mcprec_ignore=args", "pointer"),
        ("mcprec_http=tracker", "NAME=URL"),
        ("stream_large_bodies=1m", "stream_large_bodies"),
        ("mcprec_record=b.mcp", "one of"),
    ],
)
def test_a_wrong_option_ends_mitmproxy_with_one_line(
    option: str, says: str, tmp_path: Path
) -> None:
    """Mitmproxy ignores a misspelt option; then nothing would be recorded, in silence."""
    (tmp_path / "a.mcp").write_text(CASSETTE)
    side = "mcprec_record=c.mcp" if "http" in option else "mcprec_replay=a.mcp"

    done = run(
        MITMDUMP, "-q", "-s", ADDON, "--mode", f"regular@127.0.0.1:{free_ports(1)[0]}",
        "--set", side, "--set", option,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    assert done.status == 2, done.out + done.err
    lines = [line for line in done.err.splitlines() if line.startswith("mcprec: ")]
    assert len(lines) == 1
    assert says in lines[0]
    assert not (tmp_path / "c.mcp").exists()


def test_a_python_that_lacks_us_says_how_to_mend_it(tmp_path: Path) -> None:
    """Mitmproxy from pipx or a distribution has a Python of its own."""
    (tmp_path / "orjson.py").write_text("raise ModuleNotFoundError(name='orjson')")

    done = run(
        MITMDUMP, "-q", "-s", ADDON, "--set", "mcprec_record=a.mcp",
        environment=clean_environment() | {"PYTHONPATH": str(tmp_path)}, folder=tmp_path,
    )  # fmt: skip

    assert done.status == 2
    assert "pipx inject mitmproxy mcprec-addon" in done.err


def test_a_recording_that_stays_empty_is_status_4(tmp_path: Path) -> None:
    """No traffic came by: nothing was recorded, and nothing is left behind."""
    with mitmdump(tmp_path, "mcprec_record=a.mcp") as (_, recorded):
        pass

    assert recorded.status == 4
    assert "0 exchanges" in recorded.err
    assert not [path for path in tmp_path.iterdir() if "a.mcp" in path.name]


def test_exchanges_by_label(mcp2_server: Peer, tmp_path: Path) -> None:
    """A server can be given a name there too."""
    declared = f"mcprec_http=peer={mcp2_server.mcp_url}"
    mode = f"reverse:{mcp2_server.origin}"
    with mitmdump(tmp_path, "mcprec_record=a.mcp", declared, mode=mode) as (port, _):
        client("mcp2-stateless", tmp_path, MCP_URL=f"http://127.0.0.1:{port}/mcp")

    assert list(load_cassette(tmp_path / "a.mcp").header.servers) == ["peer"]
