"""Agents with stdio servers, and with servers of both kinds, are recorded and replayed whole."""

import json
import shutil
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.exchange import Cassette
from tests.peers.process import Peer
from tests.peers.stdio_servers import (
    StdioServer,
    everything,
    filesystem,
    mcp1,
    mcp2,
    memory,
    node_client,
)
from tests.test_run import CLIENTS, Done, clean_environment, hidden, mcprec, run

pytestmark = pytest.mark.door


@dataclass(frozen=True)
class Agent:
    """An agent with a config of several servers, and where it runs."""

    command: list[str]
    folder: Path

    def direct(self) -> Done:
        """Run it without mcprec."""
        return run(*self.command, environment=clean_environment(), folder=self.folder)

    def record(self, *options: str, **more: str) -> Done:
        """Run it recorded."""
        return mcprec(
            "record", "--config", "mcp.json", "--out", "run.mcp", "--force", *options,
            "--", *self.command, environment=clean_environment() | more, folder=self.folder,
        )  # fmt: skip

    def replay(self, *options: str, **more: str) -> Done:
        """Run it replayed; nothing may miss or stay unused."""
        return mcprec(
            "replay", "run.mcp", "--strict", "--all-used", *options, "--", *self.command,
            environment=clean_environment() | more, folder=self.folder,
        )  # fmt: skip

    def cassette(self) -> Cassette:
        """Return what was recorded."""
        return load_cassette(self.folder / "run.mcp")


def same(first: Done, second: Done) -> None:
    """Hold what the agent saw in one run to what it saw in another."""
    assert second.status == first.status, second.err
    assert hidden(second.out) == hidden(first.out), second.err


def config(folder: Path, *servers: StdioServer, **urls: str) -> None:
    entries = {server.name: server.entry() for server in servers}
    http = {label: {"type": "http", "url": url} for label, url in urls.items()}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": entries | http}))


@pytest.fixture
def servers(node_peers: Path, mcp1_python: str, tmp_path: Path) -> list[StdioServer]:
    """Real servers of npm and PyPI."""
    files, graph = tmp_path / "files", tmp_path / "graph"
    files.mkdir()
    graph.mkdir()
    return [
        everything(node_peers),
        filesystem(node_peers, files),
        memory(node_peers, graph),
        mcp2(),
        mcp1(mcp1_python),
    ]


@pytest.fixture(params=["ts1", "ts2-auto", "ts2-classic"])
def node_agent(
    request: pytest.FixtureRequest,
    servers: list[StdioServer],
    node_peers: Path,
    mcp2_server: Peer,
    tmp_path: Path,
) -> Agent:
    """An agent of the TypeScript SDKs with five stdio servers and one over HTTP."""
    config(tmp_path, *servers, web=mcp2_server.mcp_url)
    web = [["add", {"a": 40, "b": 2}], ["picture", {}]]
    calls = {each.name: each.calls for each in servers} | {"web": web}
    options = ["--calls", json.dumps(calls), "--config", "mcp.json"]
    return Agent(node_client(node_peers, request.param, *options), tmp_path)


def test_an_agent_with_servers_of_both_kinds(node_agent: Agent) -> None:
    """The two promised commands: nothing of the agent or its config is changed for them."""
    before = (node_agent.folder / "mcp.json").read_bytes()
    direct = node_agent.direct()

    recorded = node_agent.record()
    replays = [node_agent.replay() for _ in range(2)]

    same(direct, recorded)
    for replay in replays:
        same(direct, replay)
        assert ": 0 misses" in replay.err.splitlines()[-1], replay.err
    assert (node_agent.folder / "mcp.json").read_bytes() == before
    transports = {
        label: server.transport for label, server in node_agent.cassette().header.servers.items()
    }
    stdio = dict.fromkeys(("everything", "filesystem", "memory", "mcp2", "mcp1"), "stdio")
    assert transports == {**stdio, "web": "http"}


@pytest.mark.parametrize("node_agent", ["ts2-auto"], indirect=True)
def test_the_servers_are_not_needed_for_a_replay(node_agent: Agent, tmp_path: Path) -> None:
    """No server program on PATH, no file of theirs, and a network with loopback alone."""
    recorded = node_agent.record()
    node = shutil.which("node")
    assert node is not None
    value = json.loads((tmp_path / "mcp.json").read_text())
    for entry in value["mcpServers"].values():
        if "command" in entry:
            entry |= {"command": "server-that-is-gone", "args": ["/gone/index.js"]}
    (tmp_path / "mcp.json").write_text(json.dumps(value))
    alone = Agent([node, *node_agent.command[1:]], tmp_path)
    without_programs = {"PATH": "/usr/sbin:/sbin"}

    replayed = alone.replay("--isolate", **without_programs)
    if "allows no network namespace" in replayed.err:
        replayed = alone.replay(**without_programs)

    same(recorded, replayed)
    assert "0 misses" in replayed.err.splitlines()[-1]


PYTHON_KINDS = ("mcp2-auto", "mcp2-classic", "mcp1")
# A client that is pinned to the stateless era is refused by servers of the classic one.
PYTHON_PAIRS = (*product(PYTHON_KINDS, ("mcp2", "mcp1", "everything")), ("mcp2-stateless", "mcp2"))


@pytest.mark.parametrize(("kind", "served"), PYTHON_PAIRS)
def test_an_agent_of_the_python_sdks(
    kind: str, served: str, mcp1_python: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Both SDKs, with servers of both and of Node."""
    match served:
        case "everything":
            node_peers: Path = request.getfixturevalue("node_peers")
            config(tmp_path, everything(node_peers))
        case "mcp1":
            config(tmp_path, mcp1(mcp1_python))
        case _:
            config(tmp_path, mcp2())
    python = mcp1_python if kind == "mcp1" else sys.executable
    agent = Agent([python, CLIENTS, kind, "--url", "config:mcp.json"], tmp_path)
    direct = agent.direct()

    recorded = agent.record(MCP_URL="")
    replays = [agent.replay() for _ in range(2)]

    same(direct, recorded)
    for replay in replays:
        same(direct, replay)
        assert ": 0 misses" in replay.err.splitlines()[-1], replay.err
