"""Clients of every SDK with servers of every SDK, over HTTP: direct, recorded and replayed alike.

Pairs of Python clients with the servers of `test_run.py`, and every pair on stdio that its SDKs
allow (`test_stdio_runs.py`), are held to the same there. Left out is what a pair cannot do without
us either: a client that is pinned to the stateless era is refused by a server of the classic one.
"""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path

import pytest

from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.self_check import self_check
from tests.peers.process import ROOT, client_command, started
from tests.peers.stdio_servers import everything, node_client
from tests.test_run import clean_environment, hidden, mcprec, run

pytestmark = pytest.mark.door

AGENT = [sys.executable, str(ROOT / "tests" / "peers" / "many_clients.py")]
PYTHON_KINDS = ("mcp2-auto", "mcp2-classic", "mcp1")
NODE_KINDS = ("ts1", "ts2-auto")
# Two alike servers share the clients that wait for what never comes there.
PYTHON_PAIRS = (
    *product(PYTHON_KINDS, ("store", "everything")),
    *product(PYTHON_KINDS[:1], ("json",)),
    *product(PYTHON_KINDS[1:], ("json2",)),
)
SERVERS = ("mcp2", "mcp1", "json", "json2", "store", "everything")

# A stateless server that answers in JSON has no way to ask its client anything: the call that does
# hangs until the client gives up, directly as well. Its clients are spared it.
SILENT = ("json", "json2")

OURS = [
    ["add", {"a": 2, "b": 3}],
    ["slow", {"n": 3}],
    ["boom", {"msg": "no such thing"}],
    ["put", {"key": "color", "value": "red"}],
    ["get", {"key": "color"}],
    ["put", {"key": "color", "value": ""}],
    ["unknown", {}],
]
GREET = [["greet", {}]]  # asks the client its name
STORED = [["polled", {}], ["unknown", {}]]


@contextmanager
def everything_url(node_peers: Path) -> Generator[str]:
    """Run the reference server over HTTP until the block ends."""
    program = node_peers / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = {**os.environ, "PORT": str(port)}
    command = ["node", str(program), "streamableHttp"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        while "listening on port" not in process.stderr.readline():
            assert process.poll() is None
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


@pytest.fixture
def urls(mcp1_python: str, node_peers: Path) -> Generator[dict[str, str]]:
    """Servers of every kind, by name."""
    with ExitStack() as stack:

        def peer(name: str, *options: str, python: str = mcp1_python) -> str:
            return stack.enter_context(
                started(f"tests.peers.{name}", *options, python=python)
            ).mcp_url

        yield {
            "mcp2": peer("mcp2_server", python=sys.executable),
            "mcp1": peer("mcp1_server"),
            "json": peer("mcp1_server", "--stateless", "--json-response"),
            "json2": peer("mcp1_server", "--stateless", "--json-response"),
            "store": peer("mcp1_resumable_server"),
            "everything": stack.enter_context(everything_url(node_peers)),
        }


def lanes(node_peers: Path, mcp1_python: str) -> dict[str, list[list[str]]]:
    """Return the clients by server, which each server sees one after the other."""
    calls = {
        "mcp2": [*OURS, *GREET],
        "mcp1": [*OURS, *GREET],
        "json": OURS,
        "store": STORED,
        "everything": [[*call] for call in everything(node_peers).calls],
    }
    found: dict[str, list[list[str]]] = {server: [] for server in SERVERS}
    for kind, server in PYTHON_PAIRS:
        python = mcp1_python if kind == "mcp1" else sys.executable
        options = ["--url", f"{{url:{server}}}", *(["--no-questions"] * (server in SILENT))]
        command = client_command(kind, *options, python=python)
        found[server].append([f"{kind} {server}", *command])
    for kind, server in product(NODE_KINDS, calls):
        told = ["--calls", json.dumps(calls[server]), "--url", f"{{url:{server}}}"]
        found[server].append([f"{kind} {server}", *node_client(node_peers, kind, *told)])
    return found


def seen(out: str) -> dict[str, str]:
    """Return what each client saw, as text, without what a server mints anew."""
    found: dict[str, object] = json.loads(out)
    minted = re.compile(
        r"\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
        r"|\d{1,2}:\d\d:\d\d [AP]M"
    )
    return {
        name: minted.sub("<minted>", hidden(json.dumps(steps))) for name, steps in found.items()
    }


def test_every_client_sees_of_every_server_what_it_sees_directly(
    urls: dict[str, str], node_peers: Path, mcp1_python: str, tmp_path: Path
) -> None:
    """One recording of them all; nothing misses, nothing stays unused, nothing hangs."""
    jobs = json.dumps(lanes(node_peers, mcp1_python))
    direct_jobs = jobs
    for server, url in urls.items():
        direct_jobs = direct_jobs.replace(f"{{url:{server}}}", url)
    options = [part for server, url in urls.items() for part in ("--http", f"{server}={url}")]
    environment = clean_environment()

    direct = run(*AGENT, direct_jobs, environment=environment, folder=tmp_path)
    recorded = mcprec(
        "record", *options, "--out", "a.mcp", "--", *AGENT, jobs,
        environment=environment, folder=tmp_path,
    )  # fmt: skip
    replayed = mcprec(
        "replay", "a.mcp", "--all-used", "--", *AGENT, jobs,
        environment=environment, folder=tmp_path,
    )  # fmt: skip

    assert recorded.status == 0, recorded.err
    assert replayed.status == 0, replayed.err
    expected = seen(direct.out)
    assert len(expected) == len(PYTHON_KINDS) * 3 + len(NODE_KINDS) * 5
    for name, steps in expected.items():
        assert "still running" not in steps, name
        assert "ended with" not in steps, (name, steps)
        assert seen(recorded.out)[name] == steps, name
        assert seen(replayed.out)[name] == steps, name
    assert ": 0 misses" in replayed.err.splitlines()[-1]
    assert self_check(load_cassette(tmp_path / "a.mcp"), name="a.mcp").holds
