"""A recorded run replays with the same result on the client's side, for every real client."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.exchange import Cassette
from tests.peers.process import ROOT, Peer

pytestmark = pytest.mark.door

CLIENTS = str(ROOT / "tests" / "peers" / "clients.py")
MCP_KINDS = ["mcp2-auto", "mcp2-stateless", "mcp2-classic"]
MODEL_KINDS = [
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
]
ENDS = "ok,cut,reset,late-end,error-event"


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str


def run(*command: str, environment: dict[str, str], folder: Path) -> Done:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def mcprec(*arguments: str, environment: dict[str, str], folder: Path) -> Done:
    return run(
        sys.executable, "-m", "mcprec_addon", *arguments, environment=environment, folder=folder
    )


def hidden(transcript: str) -> str:
    """Return a transcript with e-mail addresses made one: a replay shows placeholders."""
    return re.sub(r"[\w.-]+@[\w.-]+\.\w+", "<email>", transcript)


@dataclass(frozen=True)
class Session:
    """One client's session: run directly, recorded, and replayed twice."""

    direct: Done
    recorded: Done
    replays: tuple[Done, ...]
    cassette: Cassette

    def check(self) -> None:
        """Hold what the client saw in each run to what it saw directly."""
        assert self.recorded.status == self.direct.status, self.recorded.err
        assert self.recorded.out == self.direct.out
        for replay in self.replays:
            assert replay.status == self.direct.status, replay.err
            assert hidden(replay.out) == hidden(self.direct.out), replay.err
            assert ": 0 misses" in replay.err.splitlines()[-1], replay.err


def play(client: list[str], *options: str, url: str = "", folder: Path, **more: str) -> Session:
    """Run a client directly, recorded, and replayed twice without a key: here, and elsewhere.

    The second replay has another home, another zone of time and another name, as in CI.
    """
    environment = clean_environment() | more
    direct = [argument.replace("{url:peer}", url) for argument in client]
    http = ("--http", f"peer={url}") if url else ()
    strict = ("--strict", "--all-used")
    keyless = {name: value for name, value in environment.items() if "_API_KEY" not in name}
    elsewhere = {"HOME": str(folder / "home"), "TZ": "Pacific/Kiritimati", "USER": "somebody-else"}
    return Session(
        direct=run(*direct, environment=environment, folder=folder),
        recorded=mcprec(
            "record", "--out", "run.mcp", *http, *options, "--", *client,
            environment=environment, folder=folder,
        ),
        replays=tuple(
            mcprec(
                "replay", "run.mcp", *strict, "--", *client, folder=folder,
                environment=keyless | here,
            )
            for here in ({}, elsewhere)
        ),
        cassette=load_cassette(folder / "run.mcp"),
    )  # fmt: skip


def clean_environment() -> dict[str, str]:
    """Return this process's environment without what leads clients somewhere."""
    dropped = ("PROXY", "BASE_URL", "API_KEY", "SSL_", "CA_BUNDLE", "MCPREC_")
    return {
        name: value
        for name, value in os.environ.items()
        if not any(part in name.upper() for part in dropped)
    }


@pytest.mark.parametrize("via", ["base-url", "proxy"])
@pytest.mark.parametrize("kind", MCP_KINDS)
def test_an_mcp_client_sees_the_same_when_replayed(
    kind: str, via: str, mcp2_server: Peer, tmp_path: Path
) -> None:
    """Both eras, by URL and through the proxy: what a client saw live it sees again."""
    client = [sys.executable, CLIENTS, kind, "--url", "{url:peer}"]

    session = play(client, "--via", via, url=mcp2_server.mcp_url, folder=tmp_path)

    session.check()


@pytest.mark.parametrize("kind", ["mcp2-auto", "mcp2-classic", "mcp1"])
def test_a_classic_server_is_replayed_to_clients_of_both_eras(
    kind: str, mcp1_python: str, mcp1_server: Peer, tmp_path: Path
) -> None:
    """The 1.x SDK refuses the newer era's probe; that refusal is part of the recording."""
    python = mcp1_python if kind == "mcp1" else sys.executable
    client = [python, CLIENTS, kind, "--url", "{url:peer}"]

    session = play(client, url=mcp1_server.mcp_url, folder=tmp_path)

    session.check()


@pytest.mark.parametrize("kind", MODEL_KINDS)
def test_a_model_client_sees_the_same_when_replayed(
    kind: str, model_env: dict[str, str], tmp_path: Path
) -> None:
    """Whole and streamed answers, tool loops, retries: the SDK shows the same."""
    session = play([sys.executable, CLIENTS, kind], folder=tmp_path, **model_env)

    session.check()


@pytest.mark.parametrize("kind", [each for each in MODEL_KINDS if "stream" in each])
def test_a_broken_stream_breaks_again(kind: str, model_env: dict[str, str], tmp_path: Path) -> None:
    """A clean cut and a broken connection lead to two different outcomes in every SDK."""
    client = [sys.executable, CLIENTS, kind, "--models", ENDS]

    session = play(client, folder=tmp_path, **model_env)

    session.check()
    ends = {exchange.answer.end for exchange in session.cassette.exchanges}
    assert ends == {None, "cut", "reset"}
