"""Secrets of every kind, said everywhere by real SDKs: none is left, and the run replays."""

import json
import sys
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.peers.process import ROOT, Peer, started
from tests.redact.samples import SECRETS
from tests.test_canary import own_pieces, pieces, varied
from tests.test_run import Done, clean_environment, mcprec

pytestmark = pytest.mark.door

CLIENT = str(ROOT / "tests" / "peers" / "canary_client.py")
SERVER = str(ROOT / "tests" / "peers" / "canary_server.py")
SHAPED = [secret for _, secret in SECRETS[::6] + SECRETS[-3:]]
# No rule can know these by their shape: of the server's environment and command line, of a
# header of the config, of the agent's own environment.
NAMELESS = ("tt-4410-nobody-knows", "kx91-secret-value", "da-9918-blue-door", "mine.0815.and.only")
STRICT = ("--strict", "--all-used")


@dataclass(frozen=True)
class World:
    """The secrets of one machine.

    Attributes:
        shaped: Found by their shape.
        nameless: Found because they are known.
    """

    shaped: list[str]
    nameless: list[str]

    @classmethod
    def numbered(cls, number: int) -> "World":
        """Return the secrets of another machine for each number."""
        shaped = [varied(secret, number * 100 + at) for at, secret in enumerate(SHAPED)]
        return cls(shaped, [f"{secret}-{number}" for secret in NAMELESS])

    def texts(self) -> list[str]:
        """Return what the agent says, beside its key: each secret, one in other spellings, too."""
        known = self.nameless[0]
        spelled = [
            quote(f"a b/{known}", safe=""),
            b64encode(f"x {known} y".encode()).decode(),
            known.encode().hex(),
            json.dumps({"a": json.dumps({"b": known})}),
        ]
        return [*self.shaped, *self.nameless[:3], *spelled]

    def written(self, folder: Path, web: str) -> list[str]:
        """Write the agent's config and texts; return the command that starts it."""
        token, flag, header, _ = self.nameless
        command = [SERVER, "--stdio", "--api-key", flag, "--url=https://u:pw-77xyz@db.example/x"]
        pipe = {"command": sys.executable, "args": command, "env": {"CANARY_TOKEN": token}}
        headers = {"X-Docs-Auth": header, "X-Team": "blue"}
        config = {"mcpServers": {"web": {"url": web, "headers": headers}, "pipe": pipe}}
        (folder / "mcp.json").write_text(json.dumps(config))
        (folder / "secrets.json").write_text(json.dumps(self.texts()))
        return [sys.executable, CLIENT, "mcp.json", "secrets.json"]


@dataclass(frozen=True)
class Recorded:
    """A recorded run, and where it was."""

    folder: Path
    web: str
    done: Done
    model: dict[str, str]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, model_stub: Peer) -> Iterator[Recorded]:
    """The run of the first machine."""
    folder = tmp_path_factory.mktemp("canary")
    with started("tests.peers.canary_server") as peer:
        world = World.numbered(1)
        command = world.written(folder, peer.mcp_url)
        model = {"OPENAI_BASE_URL": f"{model_stub.origin}/v1"}
        key = {"OPENAI_API_KEY": world.nameless[3]}
        done = mcprec(
            "record", "--config", "mcp.json", "--out", "a.mcp", "--", *command,
            environment=clean_environment() | model | key, folder=folder,
        )  # fmt: skip
        yield Recorded(folder, peer.mcp_url, done, model)


def test_no_piece_of_a_secret_is_left(recorded: Recorded) -> None:
    """Not in the cassette, not in what was said about it, and nothing else lies about."""
    world = World.numbered(1)
    kept = sorted(path.name for path in recorded.folder.iterdir())
    text = (recorded.folder / "a.mcp").read_text()

    found = pieces(text + recorded.done.err)
    leaked = [secret for secret in world.shaped if own_pieces(secret) & found]
    leaked += [secret for secret in world.nameless if pieces(secret) & found]

    assert recorded.done.status == 0, recorded.done.err
    assert kept == ["a.mcp", "mcp.json", "secrets.json"]
    assert leaked == []
    assert "pw-77xyz" not in text + recorded.done.err
    assert "blue" in (recorded.folder / "mcp.json").read_text()


@pytest.mark.parametrize("machine", ["the same", "another", "bare"])
def test_the_run_replays(machine: str, recorded: Recorded, tmp_path: Path) -> None:
    """With the recorded values, with those of another machine, and without any environment."""
    world = World.numbered(2 if machine == "another" else 1)
    command = world.written(tmp_path, recorded.web)
    key = {} if machine == "bare" else {"OPENAI_API_KEY": world.nameless[3]}
    keep = () if machine == "bare" else ("--keep-env", "OPENAI_API_KEY")

    done = mcprec(
        "replay", str(recorded.folder / "a.mcp"), "--config", "mcp.json", *STRICT, *keep,
        "--", *command, environment=clean_environment() | key, folder=tmp_path,
    )  # fmt: skip

    assert done.status == 0, done.err
    assert ": 0 misses" in done.err.splitlines()[-1]
    if machine == "the same":
        # A telephone number comes back in one spelling of several.
        assert done.out.replace(" ", "") == recorded.done.out.replace(" ", "")
