"""The peers themselves: what is compared across recording and replay must hold still without."""

import json
import re
from collections.abc import Callable

import httpx
import pytest

from tests.peers.process import Peer, client_command, transcript

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
MINTED = re.compile(r"(chatcmpl-|call_|resp_|msg_|fc_|toolu_|req_)[0-9a-f]{8}")


def by_step(steps: list[dict[str, object]]) -> dict[str, dict[str, object]]:
    return {str(step["do"]): step for step in steps}


def text_of(step: dict[str, object]) -> str:
    got = step["got"]
    assert isinstance(got, dict)
    return str(got["content"][0]["text"])


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
