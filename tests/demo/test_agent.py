"""The demo's agent against its server and stub, with nothing in between."""

import os
import subprocess
import sys
from collections.abc import Generator, Mapping

import pytest

from mcprec_addon.demo.stage import clean_environment
from tests.peers.process import Peer, started

pytestmark = pytest.mark.door

ANSWER = "2 open bugs. The newest is #412, 'Crash when a saved filter is empty'; ask ana@acme.com."


@pytest.fixture(scope="module")
def tracker() -> Generator[Peer]:
    with started("mcprec_addon.demo.server") as peer:
        yield peer


@pytest.fixture(scope="module")
def environment(tracker: Peer) -> Generator[dict[str, str]]:
    with started("mcprec_addon.demo.model") as model:
        yield clean_environment(
            TRACKER_URL=tracker.mcp_url,
            OPENAI_BASE_URL=f"{model.origin}/v1",
            OPENAI_API_KEY="sk-test",
        )


def agent(*arguments: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcprec_addon.demo.agent", *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_agent_answers_with_what_the_tools_found(environment: dict[str, str]) -> None:
    """Tool loop, streaming and final answer work with real SDKs on both ends."""
    first, second = agent(env=environment), agent("Any open bugs?", env=environment)

    assert (first.returncode, first.stdout) == (0, f"{ANSWER}\n")
    assert first.stderr == ""
    assert second.stdout == first.stdout


def test_sorted_search_finds_another_issue(environment: dict[str, str]) -> None:
    """The change of code that the demo's miss is about really changes the calls."""
    changed = agent("--sort", "updated", env=environment)

    assert "#409" in changed.stdout
    assert "ben@acme.com" in changed.stdout


def test_url_of_a_run_goes_before_the_agents_own(environment: dict[str, str]) -> None:
    """The one line an agent can add for mcprec leads it to the run's door."""
    lost = {**environment, "TRACKER_URL": "http://127.0.0.1:1/mcp"}
    led = {**lost, "MCPREC_URL_TRACKER": environment["TRACKER_URL"]}

    assert agent(env=lost).returncode == 1
    assert agent(env=led).stdout == f"{ANSWER}\n"


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1", "agent: APIConnectionError: "),
        ("TRACKER_URL", "http://127.0.0.1:1/mcp", "agent: ConnectError: "),
        ("OPENAI_API_KEY", "", "agent: OpenAIError: "),
    ],
)
def test_failed_call_is_one_line(
    name: str, value: str, line: str, environment: dict[str, str]
) -> None:
    """A demo of misses has no room for a traceback."""
    failed = agent(env={**environment, name: value})

    assert failed.returncode == 1
    assert failed.stderr.startswith(line)
    assert failed.stderr.count("\n") == 1
    assert failed.stdout == ""


def test_agent_without_a_tracker_says_what_to_set() -> None:
    """Nothing is guessed."""
    failed = agent(env={"PATH": os.environ["PATH"]})

    assert failed.returncode == 2
    assert "TRACKER_URL" in failed.stderr
