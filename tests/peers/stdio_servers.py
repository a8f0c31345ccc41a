"""Real MCP servers that speak stdio: how each is started, and calls that are worth recording.

The calls of a server have the same answers each time, also where it starts with what an earlier
run left behind. Between them they write and read back, report progress, ask the client
something, return images and structured content, and fail.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.peers.process import ROOT

type Calls = Sequence[tuple[str, Mapping[str, object]]]
"""Tools with their arguments, in the order in which they are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioServer:
    """A server that its client starts.

    Attributes:
        name: What a config calls it.
        argv: Program and arguments, which work from any folder.
        calls: What to ask it.
        npx: The same server as a user would start it; works in the folder of the Node peers,
            without a network.
        env: Variables that it needs besides those that every SDK passes on.
    """

    name: str
    argv: Sequence[str]
    calls: Calls
    npx: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    def entry(self) -> dict[str, object]:
        """Return the server as an entry of an agent's config."""
        program, *arguments = self.argv
        entry: dict[str, object] = {"command": program, "args": arguments}
        return {**entry, "env": dict(self.env)} if self.env else entry


def everything(node_peers: Path) -> StdioServer:
    """Return the reference server, which has a tool for nearly every feature."""
    calls: Calls = (
        ("echo", {"message": "Grüße, 世界"}),
        ("echo", {}),
        ("get-sum", {"a": 2, "b": 0.5}),
        ("trigger-long-running-operation", {"duration": 0.2, "steps": 4}),
        ("get-tiny-image", {}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-resource-links", {"count": 2}),
        ("trigger-elicitation-request", {}),
        ("no-such-tool", {}),
    )
    return _node_server(node_peers, "everything", calls)


def filesystem(node_peers: Path, folder: Path) -> StdioServer:
    """Return a server that reads and writes files in a folder."""
    note, outside = str(folder / "note.txt"), str(folder.parent / "outside.txt")
    calls: Calls = (
        ("write_file", {"path": note, "content": "One.\r\nTwo.\n"}),
        ("read_text_file", {"path": note}),
        ("edit_file", {"path": note, "edits": [{"oldText": "Two.", "newText": "Three."}]}),
        ("read_text_file", {"path": note, "head": 1}),
        ("list_directory", {"path": str(folder)}),
        ("read_text_file", {"path": outside}),
    )
    return _node_server(node_peers, "filesystem", calls, str(folder))


def memory(node_peers: Path, folder: Path) -> StdioServer:
    """Return a server that keeps a graph in a file, which its calls leave empty."""
    ana = {"name": "Ana", "entityType": "person", "observations": ["likes tea"]}
    tea = {"name": "tea", "entityType": "drink", "observations": []}
    calls: Calls = (
        ("create_entities", {"entities": [ana, tea]}),
        (
            "create_relations",
            {"relations": [{"from": "Ana", "to": "tea", "relationType": "likes"}]},
        ),
        ("read_graph", {}),
        ("add_observations", {"observations": [{"entityName": "Ben", "contents": ["is new"]}]}),
        ("search_nodes", {"query": "drink"}),
        ("delete_entities", {"entityNames": ["Ana", "tea"]}),
        ("read_graph", {}),
    )
    env = {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    return _node_server(node_peers, "memory", calls, env=env)


def mcp2() -> StdioServer:
    """Return our server of the 2.x Python SDK, which speaks both eras."""
    return _python_server("mcp2", sys.executable)


def mcp1(mcp1_python: str) -> StdioServer:
    """Return our server of the 1.x Python SDK, which speaks the classic era alone."""
    return _python_server("mcp1", mcp1_python)


def node_client(node_peers: Path, kind: str, *options: str) -> list[str]:
    """Return the command line of a client of `tests/peers/node/client.mjs`."""
    return ["node", str(node_peers / "client.mjs"), kind, *options]


def led_to(server: StdioServer, argv: Sequence[str] = ()) -> list[str]:
    """Return the options that lead a Node client to a server and through its calls.

    Args:
        server: What is started, with its calls.
        argv: Another command that starts it, such as `server.npx`.
    """
    env = [part for name, value in server.env.items() for part in ("--env", f"{name}={value}")]
    return ["--calls", json.dumps(server.calls), *env, "--stdio", *(argv or server.argv)]


def _node_server(
    node_peers: Path,
    name: str,
    calls: Calls,
    *arguments: str,
    env: Mapping[str, str] | None = None,
) -> StdioServer:
    package = f"@modelcontextprotocol/server-{name}"
    program = node_peers / "node_modules" / package / "dist" / "index.js"
    return StdioServer(
        name=name,
        argv=("node", str(program), *arguments),
        npx=("npx", "-y", package, *arguments),
        calls=calls,
        env=env or {},
    )


def _python_server(name: str, python: str) -> StdioServer:
    program = ROOT / "tests" / "peers" / f"{name}_server.py"
    calls: Calls = (
        ("add", {"a": 2, "b": 3}),
        ("slow", {"n": 3}),
        ("boom", {"msg": "no such thing"}),
        ("picture", {}),
        ("put", {"key": "color", "value": "red"}),
        ("get", {"key": "color"}),
        ("greet", {}),
        ("unknown", {}),
    )
    return StdioServer(name=name, argv=(python, str(program), "--stdio"), calls=calls)
