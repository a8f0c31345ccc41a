"""What a server sends on its own reaches a listening client where it did, over every door."""

import sys
from pathlib import Path

import pytest

from mcprec_addon.doors.cassette_file import load_cassette
from tests.conftest import StartPeer
from tests.peers.process import ROOT
from tests.test_run import clean_environment, mcprec, run
from tests.test_stdio_doors import entry

pytestmark = pytest.mark.door

CLIENT = [sys.executable, str(ROOT / "tests" / "peers" / "listening_client.py")]
SERVER = str(ROOT / "tests" / "peers" / "changing_server.py")


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_listening_client_sees_each_change_after_its_call(
    way: str, start_peer: StartPeer, tmp_path: Path
) -> None:
    """It asks for the tools only when the change is told: told too late, it would wait for ever."""
    environment = clean_environment()
    if way == "stdio":
        entry(tmp_path, command=sys.executable, args=[SERVER, "--stdio"])
        url, options = "config:mcp.json", ["--config", "mcp.json"]
        direct = run(*CLIENT, url, environment=environment, folder=tmp_path)
    else:
        live = start_peer("tests.peers.changing_server")
        direct = run(*CLIENT, live.mcp_url, environment=environment, folder=tmp_path)
        fresh = start_peer("tests.peers.changing_server")
        url, options = "{url:peer}", ["--http", f"peer={fresh.mcp_url}"]

    recorded = mcprec(
        "record", *options, "--out", "a.mcp", "--", *CLIENT, url,
        environment=environment, folder=tmp_path,
    )  # fmt: skip
    replays = [
        mcprec(
            "replay", "a.mcp", "--strict", "--all-used", *more, "--", *CLIENT, url,
            environment=environment, folder=tmp_path,
        )
        for more in ((), ("--pace", "2x"))
    ]  # fmt: skip

    assert direct.status == 0, direct.err
    assert (recorded.status, recorded.out) == (0, direct.out), recorded.err
    for replay in replays:
        assert (replay.status, replay.out) == (0, direct.out), replay.err
    sent = [each.method for each in load_cassette(tmp_path / "a.mcp").messages]
    assert sent.count("notifications/tools/list_changed") == 2
