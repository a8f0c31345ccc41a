"""The peers themselves: what is compared across recording and replay must hold still without."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.peers.process import Peer, client_command, transcript
from tests.peers.stdio_servers import (
    StdioServer,
    everything,
    filesystem,
    led_to,
    mcp1,
    mcp2,
    memory,
    node_client,
)

pytestmark = pytest.mark.door

MODEL_CLIENTS = (
    "openai",
    "openai-stream",
    "openai-async",
    "openai-async-stream",
    "responses",
    "responses-stream",
    "anthropic",
    "anthropic-stream",
    "anthropic-async",
    "anthropic-async-stream",
    "http-client",
)
PEER_ANSWERS = (
    "5",
    "counted to 3",
    "Error executing tool boom: no such thing",
    "image",
    "done",
    "red",
    "Hello Robin",
    "Unknown tool: unknown",
)
STDIO_ANSWERS = {  # what is in the first text of each answer
    "everything": (
        "Echo: Grüße, 世界",
        "Invalid arguments for tool echo",
        "The sum of 2 and 0.5 is 2.5.",
        "Duration: 0.2 seconds, Steps: 4.",
        "Here's the image you requested:",
        "Error: Operation failed",
        '{"temperature":36,',
        "Here are 2 resource links",
        "✅ User provided the requested information!",
        "Tool no-such-tool not found",
    ),
    "filesystem": (
        "Successfully wrote to ",
        "One.\r\nTwo.\n",
        "-Two.\n+Three.\n",
        "One.",
        "[FILE] note.txt",
        "Access denied - path outside allowed directories",
    ),
    "memory": (
        '"likes tea"',
        '"relationType": "likes"',
        '"likes tea"',
        "Entity with name Ben not found",
        '"name": "tea"',
        "Entities deleted successfully",
        '"entities": []',
    ),
    "mcp2": PEER_ANSWERS,
    "mcp1": PEER_ANSWERS,
}
MINTED = re.compile(r"(chatcmpl-|call_|resp_|msg_|fc_|toolu_|req_)[0-9a-f]{8}")


def by_step(steps: list[dict[str, object]]) -> dict[str, dict[str, object]]:
    return {str(step["do"]): step for step in steps}


def text_of(step: dict[str, object]) -> str:
    got = step["got"]
    assert isinstance(got, dict)
    return str(got["content"][0]["text"])


def assert_expected(steps: list[dict[str, object]], server: StdioServer) -> None:
    """The server's calls were made in their order, and each answer says what it should."""
    answered = steps[2 : 2 + len(server.calls)]  # after connect and list tools
    assert [step["do"] for step in answered] == [tool for tool, _ in server.calls]
    for step, part in zip(answered, STDIO_ANSWERS[server.name], strict=True):
        content = step["got"]["content"][0]  # type: ignore[index]
        assert part in content.get("text", content["type"])


@pytest.fixture(params=STDIO_ANSWERS)
def stdio_server(request: pytest.FixtureRequest, node_peers: Path, tmp_path: Path) -> StdioServer:
    folder = tmp_path / "folder"
    folder.mkdir()
    match request.param:
        case "everything":
            return everything(node_peers)
        case "filesystem":
            return filesystem(node_peers, folder)
        case "memory":
            return memory(node_peers, folder)
        case "mcp1":
            return mcp1(request.getfixturevalue("mcp1_python"))
        case _:
            return mcp2()


@pytest.mark.parametrize("kind", ["mcp2-auto", "mcp2-stateless", "mcp2-classic"])
def test_mcp2_client_sees_the_same_twice(kind: str, mcp2_server: Peer) -> None:
    """A transcript that changes by itself could not be compared with a replay."""
    command = client_command(kind, "--url", mcp2_server.mcp_url)

    first, second = transcript(command), transcript(command)

    assert first == second
    assert text_of(by_step(first)["greet"]) == "Hello Robin"
    assert by_step(first)["session"] == {"do": "session", "got": None}


def test_mcp1_client_and_server_see_the_same_twice(mcp1_server: Peer, mcp1_python: str) -> None:
    """The classic era is played by the SDK that knows no other."""
    command = client_command("mcp1", "--url", mcp1_server.mcp_url, python=mcp1_python)

    first, second = transcript(command), transcript(command)

    assert first == second
    assert text_of(by_step(first)["greet"]) == "Hello Robin"


def test_mcp2_client_falls_back_to_the_classic_era(mcp1_server: Peer) -> None:
    """A probe that fails is part of what must be recorded."""
    command = client_command("mcp2-auto", "--url", mcp1_server.mcp_url)

    steps = by_step(transcript(command))

    assert steps["connect"]["got"] == [
        "2025-11-25",
        steps["connect"]["got"][1],  # type: ignore[index]
        "Add, and do not subtract.",
    ]
    assert text_of(steps["add"]) == "5"


@pytest.mark.parametrize("option", ["--json-response", "--stateless"])
def test_mcp2_server_has_other_ways_to_answer(option: str, start_peer: Callable[..., Peer]) -> None:
    """The same calls may be answered as JSON or without sessions."""
    peer = start_peer("tests.peers.mcp2_server", option)

    steps = by_step(transcript(client_command("mcp2-auto", "--url", peer.mcp_url)))

    assert text_of(steps["slow"]) == "counted to 3"
    progress = [] if option == "--json-response" else [[n, 3, f"step {n}"] for n in (1, 2, 3)]
    notices = steps["notices"]["got"]
    assert isinstance(notices, dict)
    assert notices["progress"] == progress


@pytest.mark.parametrize("kind", MODEL_CLIENTS)
def test_model_client_sees_the_same_twice(kind: str, model_env: dict[str, str]) -> None:
    """The stub mints new ids in every answer, and none of them is in a transcript."""
    command = client_command(kind)

    first, second = (transcript(command, env=model_env) for _ in range(2))

    assert first == second
    assert not MINTED.search(json.dumps(first))
    assert "ana@acme.com" in json.dumps(first)
    assert not [step for step in first if "raised" in step]


def test_broken_streams_end_differently(model_env: dict[str, str]) -> None:
    """A clean end without a marker and a broken connection are two things to an SDK."""
    command = client_command("openai-stream", "--models", "cut,reset,error-event,late-end")

    steps = by_step(transcript(command, env=model_env))

    assert steps["cut"]["got"] == [{"text": "You asked: W", "calls": [], "finish": None}]
    assert steps["reset"]["raised"] == ["APIConnectionError"]
    assert steps["error-event"]["raised"] == ["APIError"]
    assert "got" in steps["late-end"]


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
@pytest.mark.parametrize("kind", ["openai", "anthropic-async-stream"])
def test_encoded_answers_read_as_any_other(
    kind: str, encoding: str, model_env: dict[str, str]
) -> None:
    """A content-encoding is the connection's business, whole and in a stream."""
    command = client_command(kind, "--models", encoding)

    steps = transcript(command, env=model_env)

    assert f"You asked: What is {encoding}?" in json.dumps(steps)


def test_stub_counts_a_refused_request(model_stub: Peer, model_env: dict[str, str]) -> None:
    """Retries are requests of their own, and the stub can tell what came."""
    transcript(client_command("openai", "--models", "429-then-200"), env=model_env)

    seen = httpx.get(f"{model_stub.origin}/seen").json()

    *_, refused, answered = seen
    assert refused["body"] == answered["body"]
    assert refused["headers"]["x-stainless-retry-count"] == "0"
    assert answered["headers"]["x-stainless-retry-count"] == "1"


def test_stdio_server_answers_the_same_twice(stdio_server: StdioServer, node_peers: Path) -> None:
    """What a server left behind may not change what is compared with a replay."""
    command = node_client(node_peers, "ts1", *led_to(stdio_server))

    first, second = transcript(command), transcript(command)

    assert first == second
    assert_expected(first, stdio_server)
    assert first[-1] == {"do": "close", "got": None}


def test_probing_node_client_gets_every_answer(stdio_server: StdioServer, node_peers: Path) -> None:
    """It starts each server twice: once to ask for its era, then for the session."""
    command = node_client(node_peers, "ts2-auto", *led_to(stdio_server))

    steps = transcript(command)

    version = "2026-07-28" if stdio_server.name == "mcp2" else "2025-11-25"
    assert steps[0]["got"][0] == version  # type: ignore[index]
    assert_expected(steps, stdio_server)


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("ts1", None),
        ("ts2-auto", "2026-07-28"),
        ("ts2-stateless", "2026-07-28"),
        ("ts2-classic", "2025-11-25"),
    ],
)
def test_node_client_speaks_http_in_either_era(
    kind: str, version: str | None, node_peers: Path, mcp2_server: Peer
) -> None:
    """Notices and questions of a server reach the TypeScript SDKs in the answer's own stream."""
    calls = '[["slow", {"n": 3}], ["greet", {}]]'
    command = node_client(node_peers, kind, "--url", mcp2_server.mcp_url, "--calls", calls)

    steps = by_step(transcript(command))

    assert steps["connect"]["got"][0] == version  # type: ignore[index]
    assert steps["slow"]["progress"] == [[n, 3, f"step {n}"] for n in (1, 2, 3)]
    assert text_of(steps["greet"]) == "Hello Robin"
    assert steps["close"] == {"do": "close", "got": None}


def test_node_client_asks_every_server_of_a_config(
    node_peers: Path, mcp2_server: Peer, tmp_path: Path
) -> None:
    """An agent with one server of each kind, one of them started by npx without a network."""
    program, *arguments = everything(node_peers).npx
    offline = {"npm_config_offline": "true"}
    npx = {"command": program, "args": arguments, "cwd": str(node_peers), "env": offline}
    servers = {"everything": npx, "peer": {"url": mcp2_server.mcp_url}}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    calls = '{"everything": [["get-sum", {"a": 1, "b": 2}]], "peer": [["add", {"a": 1, "b": 2}]]}'

    command = node_client(node_peers, "ts1", "--config", str(config), "--calls", calls)
    steps = by_step(transcript(command))

    assert text_of(steps["everything: get-sum"]) == "The sum of 1 and 2 is 3."
    assert text_of(steps["peer: add"]) == "3"
