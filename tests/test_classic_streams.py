"""Streams of the classic era replay as recorded: HTTP+SSE, and streams that were resumed."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from mcprec_addon.exchange import McpExchange
from tests.conftest import StartPeer
from tests.peers.process import Peer
from tests.test_addon import mitmdump, proxied
from tests.test_run import CLIENTS, Done, Session, clean_environment, hidden, mcprec, play, run
from tests.test_stdio_doors import entry

pytestmark = pytest.mark.door

STRICT = ("--strict", "--all-used")


def python_client(kind: str, mcp1_python: str, url: str = "{url:peer}") -> list[str]:
    python = sys.executable if kind.startswith("mcp2") else mcp1_python
    return [python, CLIENTS, kind, "--url", url]


def replayed(cassette: str, client: list[str], *options: str, folder: Path) -> Done:
    return mcprec(
        "replay", cassette, *options, "--", *client, environment=clean_environment(), folder=folder
    )


def transport(session: Session) -> str | None:
    return session.cassette.header.servers["peer"].transport


@pytest.mark.parametrize("via", ["base-url", "proxy"])
@pytest.mark.parametrize("kind", ["mcp1-sse", "mcp2-sse"])
def test_a_session_over_http_sse_is_the_same_when_replayed(
    kind: str, via: str, mcp1_python: str, sse_url: str, tmp_path: Path
) -> None:
    """Answers, progress, logs, questions and errors, though none comes where it was asked."""
    session = play(python_client(kind, mcp1_python), "--via", via, url=sse_url, folder=tmp_path)

    session.check()
    assert transport(session) == "sse"
    mcp = [each for each in session.cassette.exchanges if isinstance(each, McpExchange)]
    assert {each.call.http_method for each in mcp} == {"POST"}


@pytest.mark.parametrize("kind", ["ts1-sse", "ts1-fallback", "ts2-sse"])
def test_a_session_of_a_typescript_sdk(
    kind: str, node_peers: Path, sse_url: str, tmp_path: Path
) -> None:
    """They leave the 202 unread, and some try Streamable HTTP first."""
    calls = json.dumps([["add", {"a": 1, "b": 2}], ["slow", {"n": 3}], ["greet", {}]])
    command = ["node", str(node_peers / "client.mjs"), kind, "--calls", calls]

    session = play([*command, "--url", "{url:peer}"], url=sse_url, folder=tmp_path)

    session.check()
    refused = [each for each in session.cassette.exchanges if each.answer.status != 200]
    assert len(refused) == (kind == "ts1-fallback")


def test_a_recording_over_http_sse_replays_over_every_door(
    mcp1_python: str, sse_url: str, tmp_path: Path
) -> None:
    """The questions are the same; where the answers come does not matter."""
    session = play(python_client("mcp1-sse", mcp1_python), url=sse_url, folder=tmp_path)
    over_http = replayed("run.mcp", python_client("mcp1", mcp1_python), *STRICT, folder=tmp_path)
    serve = shlex.join([sys.executable, "-m", "mcprec_addon", "serve", str(tmp_path / "run.mcp")])
    on_stdio = run(
        *python_client("mcp1", mcp1_python, f"stdio:{serve}"),
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    assert hidden(over_http.out) == hidden(session.direct.out), over_http.err
    assert ": 0 misses" in over_http.err.splitlines()[-1]
    assert hidden(on_stdio.out) == hidden(session.direct.out), on_stdio.err


@pytest.mark.parametrize("way", ["http", "stdio"])
def test_a_recording_of_another_door_replays_over_http_sse(
    way: str, mcp1_python: str, mcp1_server: Peer, tmp_path: Path
) -> None:
    """With a recorded pace as well, which counts from each call."""
    environment = clean_environment()
    options, url = ["--http", f"peer={mcp1_server.mcp_url}"], "{url:peer}"
    if way == "stdio":
        server = str(Path(CLIENTS).with_name("mcp1_server.py"))
        entry(tmp_path, command=mcp1_python, args=[server, "--stdio"])
        options, url = ["--config", "mcp.json"], "config:mcp.json"
    recorded = mcprec(
        "record", *options, "--out", "a.mcp", "--", *python_client("mcp1", mcp1_python, url),
        environment=environment, folder=tmp_path,
    )  # fmt: skip

    client = python_client("mcp1-sse", mcp1_python)
    over_sse = replayed("a.mcp", client, *STRICT, folder=tmp_path)
    paced = replayed("a.mcp", client, "--pace", "10x", folder=tmp_path)

    assert recorded.status == 0, recorded.err
    for replay in (over_sse, paced):
        assert hidden(replay.out) == hidden(recorded.out), replay.err
        assert ": 0 misses" in replay.err.splitlines()[-1], replay.err


@pytest.mark.parametrize("through", ["reverse", "regular"])
def test_a_session_over_http_sse_in_a_mitmproxy_of_ones_own(
    through: str, mcp1_python: str, sse_url: str, tmp_path: Path
) -> None:
    """The stream comes from the server on loopback, what is posted mitmproxy answers."""

    def seen(port: int) -> Done:
        command = python_client("mcp1-sse", mcp1_python, sse_url)
        if through == "regular":
            environment = clean_environment() | proxied(port, tmp_path)
        else:
            command[-1] = f"http://127.0.0.1:{port}/sse"
            environment = clean_environment()
        return run(*command, environment=environment, folder=tmp_path)

    modes = [f"reverse:{sse_url.removesuffix('/sse')}", "reverse:http://127.0.0.1:9"]
    live_mode, replay_mode = modes if through == "reverse" else ("regular", "regular")
    with mitmdump(tmp_path, "mcprec_record=a.mcp", mode=live_mode) as (port, recorded):
        live = seen(port)
    options = ("mcprec_replay=a.mcp", "mcprec_strict=true", "mcprec_all_used=true")
    with mitmdump(tmp_path, *options, mode=replay_mode) as (port, done):
        again = seen(port)

    assert (live.status, recorded.status) == (0, 0), recorded.err
    assert hidden(again.out) == hidden(live.out), done.err
    assert done.status == 0, done.err


def test_a_resumed_stream_replays_as_one(
    mcp1_python: str, start_peer: StartPeer, tmp_path: Path
) -> None:
    """The client that came back three times need not in a replay, and sees the same."""
    live = start_peer("tests.peers.mcp1_resumable_server", python=mcp1_python)

    session = play(python_client("resuming", mcp1_python), url=live.mcp_url, folder=tmp_path)
    over_sse = replayed(
        "run.mcp", python_client("resuming-sse", mcp1_python), *STRICT, folder=tmp_path
    )

    session.check()
    assert (over_sse.status, over_sse.out) == (0, session.direct.out), over_sse.err
    mcp = [each for each in session.cassette.exchanges if isinstance(each, McpExchange)]
    polled, roots = [each for each in mcp if each.call.method == "tools/call"]
    assert [each.message["params"] for each in polled.answer.events] == [
        {"level": "info", "data": said} for said in ("before", "meanwhile", "after")
    ]
    assert polled.answer.end is None
    assert [(each.message["method"], each.answer) for each in roots.answer.events] == [
        ("roots/list", {"roots": [{"uri": "file:///home/robin"}]})
    ]
    assert sum(each.call.http_method == "GET" for each in mcp) == 1


def test_a_config_whose_server_speaks_http_sse(
    mcp1_python: str, sse_url: str, tmp_path: Path
) -> None:
    """The copy says so as the original does, and so does one that is made where it is gone."""
    path = entry(tmp_path, type="sse", url=sse_url)
    client = python_client("mcp1-sse", mcp1_python, "config:mcp.json")
    environment = clean_environment()

    recorded = mcprec(
        "record", "--config", "mcp.json", "--out", "a.mcp", "--", *client,
        environment=environment, folder=tmp_path,
    )  # fmt: skip
    with_config = replayed("a.mcp", client, *STRICT, folder=tmp_path)
    path.unlink()
    shown = replayed("a.mcp", ["cat", "{config}"], folder=tmp_path)
    without = replayed("a.mcp", client, *STRICT, folder=tmp_path)

    assert recorded.status == 0, recorded.err
    assert hidden(with_config.out) == hidden(recorded.out), with_config.err
    assert json.loads(shown.out)["mcpServers"]["peer"]["type"] == "sse"
    assert hidden(without.out) == hidden(recorded.out), without.err
