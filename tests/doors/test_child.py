"""The child of a run has its own environment, status and signals."""

import asyncio
import os
import sys

import pytest

from mcprec_addon.doors.child import (
    Child,
    Doors,
    credential_variables,
    find_program,
    replay_environment,
    url_variable,
    with_urls,
)
from mcprec_addon.errors import UsageError

pytestmark = pytest.mark.door


@pytest.mark.parametrize(
    ("script", "status"),
    [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_the_status_is_the_childs_own(script: str, status: int) -> None:
    """A signal is 128 + n, as in a shell."""
    child = Child([sys.executable, "-c", script], os.environ)

    assert asyncio.run(child.run()) == status


def test_a_missing_program_is_named() -> None:
    """Before anything else is started."""
    with pytest.raises(UsageError, match="command not found"):
        find_program(["no-such-program"], os.environ)


def test_credentials_are_told_by_their_names() -> None:
    """Counters and sockets of agents are none."""
    environment = {"A_TOKEN": "x", "B_API_KEY": "y", "MAX_TOKENS": "5", "SSH_AUTH_SOCK": "/s"}

    assert credential_variables(environment) == {"A_TOKEN": "x", "B_API_KEY": "y"}


def test_a_replay_has_dummies_and_no_telemetry() -> None:
    """Real keys have no business in a replay, unless they are kept by name."""
    made = replay_environment(
        {"OPENAI_API_KEY": "real", "MY_TOKEN": "real"}, Doors(), sources=["GONE"], keep=["MY_TOKEN"]
    )

    assert made["OPENAI_API_KEY"] != "real"
    assert made["MY_TOKEN"] == "real"
    assert made["GONE"]
    assert made["DISABLE_TELEMETRY"] == "1"


def test_addresses_reach_the_command() -> None:
    """`{url:NAME}` stands for a server's door; an unknown name is refused."""
    assert with_urls(["run", "{url:a}/x"], {"a": "http://d"}) == ["run", "http://d/x"]
    assert url_variable("my-server.2") == "MCPREC_URL_MY_SERVER_2"
    with pytest.raises(UsageError, match="no such server"):
        with_urls(["{url:b}"], {"a": "http://d"})
