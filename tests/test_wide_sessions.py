"""What the protocol has beside plain calls, in both eras: direct, recorded and replayed alike.

Each client reads lists in pages, is asked for input three times in one call, reads what asks for
input, completes, is told of changes, gives up a call that has begun, and follows a task, as far as
its SDK and era know of these.
"""

import json
import sys
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.self_check import self_check
from tests.peers.process import ROOT, started
from tests.test_run import Done, clean_environment, mcprec, run

pytestmark = pytest.mark.door

PEERS = ROOT / "tests" / "peers"
AGENT = [sys.executable, str(PEERS / "many_clients.py")]
PYTHON_KINDS = ("auto", "2026-07-28", "legacy")
NODE_KINDS = ("ts1", "ts2-auto", "ts2-stateless", "ts2-classic")
CHECKED = ["--strict", "--all-used"]
REFUSED = {"note://nowhere", "none", "unknown method", "wait", "poll nothing"}
"""The steps that end in an error; `wait` does where an SDK tells of what it gave up itself."""


def client(kind: str, node_peers: Path, place: str) -> list[str]:
    """Return the command line of a client that goes to a place."""
    if kind in NODE_KINDS:
        return ["node", str(node_peers / "wide.mjs"), kind, place]
    return [sys.executable, str(PEERS / "wide_client.py"), kind, place]


@pytest.fixture
def urls() -> Generator[dict[str, str]]:
    """A server for each kind of client: what one changes, all of a server's clients are told."""
    with ExitStack() as stack:
        yield {
            kind: stack.enter_context(started("tests.peers.wide_server")).mcp_url
            for kind in (*PYTHON_KINDS, *NODE_KINDS)
        }


def alike(direct: Done, recorded: Done, replayed: Done) -> None:
    """Hold what was seen in a recording and its replay to what was seen directly."""
    for other in (recorded, replayed):
        assert (other.status, other.out) == (0, direct.out), other.err
    assert ": 0 misses" in replayed.err.splitlines()[-1]


def test_every_client_over_http(urls: dict[str, str], node_peers: Path, tmp_path: Path) -> None:
    """One recording of them all; nothing misses, nothing stays unused, nothing hangs."""
    kinds = [*urls]
    jobs, direct_jobs = (
        json.dumps({kind: [[kind, *client(kind, node_peers, where[kind])]] for kind in kinds})
        for where in ({kind: f"{{url:{kind}}}" for kind in kinds}, urls)
    )
    options = [part for kind, url in urls.items() for part in ("--http", f"{kind}={url}")]
    environment = clean_environment()

    direct = run(*AGENT, direct_jobs, environment=environment, folder=tmp_path)
    recorded = mcprec(
        "record", *options, "--out", "a.mcp", "--", *AGENT, jobs,
        environment=environment, folder=tmp_path,
    )  # fmt: skip
    replayed = mcprec(
        "replay", "a.mcp", *CHECKED, "--", *AGENT, jobs, environment=environment, folder=tmp_path
    )

    for kind, steps in json.loads(direct.out).items():
        assert {step["do"] for step in steps if "raised" in step} <= REFUSED, (kind, steps)
    alike(direct, recorded, replayed)
    assert self_check(load_cassette(tmp_path / "a.mcp"), name="a.mcp").holds


@pytest.mark.parametrize("kind", ["2026-07-28", "legacy", "ts1", "ts2-auto"])
def test_a_client_on_pipes(kind: str, node_peers: Path, tmp_path: Path) -> None:
    """There both directions share two pipes, and nothing says which call a message belongs to."""
    server = {"command": sys.executable, "args": [str(PEERS / "wide_server.py"), "--stdio"]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"peer": server}}))
    command = client(kind, node_peers, "config:mcp.json")
    environment = clean_environment()

    direct = run(*command, environment=environment, folder=tmp_path)
    recorded = mcprec(
        "record", "--config", "mcp.json", "--out", "a.mcp", "--", *command,
        environment=environment, folder=tmp_path,
    )  # fmt: skip
    replayed = mcprec(
        "replay", "a.mcp", *CHECKED, "--", *command, environment=environment, folder=tmp_path
    )

    assert direct.status == 0, direct.err
    alike(direct, recorded, replayed)
