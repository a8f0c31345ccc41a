"""A recorded server is played on a pair of pipes, as an entry of an MCP config starts it."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.peers.process import Peer
from tests.test_cli import CASSETTE, cassette, last_line
from tests.test_run import CLIENTS, clean_environment, hidden, mcprec, run

pytestmark = pytest.mark.door

TWO = CASSETTE.replace(
    '"servers":{', '"servers":{"wiki":{"transport":"http","url":"http://127.0.0.1:8/mcp"},'
) + CASSETTE.splitlines()[1].replace("tracker", "wiki").replace('"seq":1', '"seq":2')


@pytest.mark.parametrize("kind", ["mcp2-auto", "mcp2-classic"])
def test_what_was_recorded_over_http_is_played_on_stdio(
    kind: str, mcp2_server: Peer, tmp_path: Path
) -> None:
    """One core answers for all doors: the client cannot tell where the answers come from."""
    environment = clean_environment()
    url = ["--url", "{url:peer}"]
    http = ["--http", f"peer={mcp2_server.mcp_url}"]
    recorded = mcprec(
        "record", "--out", "a.mcp", *http, "--", sys.executable, CLIENTS, kind, *url,
        environment=environment, folder=tmp_path,
    )  # fmt: skip
    serve = shlex.join([sys.executable, "-m", "mcprec_addon", "serve", str(tmp_path / "a.mcp")])

    played = run(
        sys.executable, CLIENTS, kind, "--url", f"stdio:{serve}",
        environment=environment, folder=tmp_path,
    )  # fmt: skip

    assert recorded.status == 0, recorded.err
    assert hidden(played.out) == hidden(recorded.out), played.err


def test_one_of_several_servers_is_chosen(tmp_path: Path) -> None:
    """Two servers may have tools of one name."""
    path = cassette(tmp_path, TWO)
    environment = clean_environment()

    unnamed = mcprec("serve", path, environment=environment, folder=tmp_path)
    unknown = mcprec("serve", path, "--server", "x", environment=environment, folder=tmp_path)

    assert (unnamed.status, unknown.status) == (2, 2)
    assert "there are several servers; choose with --server one of tracker, wiki" in unnamed.err
    assert "no server is called 'x'" in unknown.err


def test_nothing_but_the_protocol_is_on_stdout(tmp_path: Path) -> None:
    """One line of ours there, and the client is lost."""
    done = mcprec("serve", cassette(tmp_path), environment=clean_environment(), folder=tmp_path)

    assert done.out == ""
    assert "nothing of the mcp half was used" in last_line(done.err)
