"""Fixtures that every test may ask for: real peers, each a process that ends with its fixture."""

import os
import shutil
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.peers.process import ROOT, Peer, started

# How long a busy machine takes says nothing about a law.
settings.register_profile("mcprec", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mcprec")

if TYPE_CHECKING:
    from tests.pytest_project import RunTests

type StartPeer = Callable[..., Peer]


@pytest.fixture
def start_peer() -> Generator[StartPeer]:
    """Start peers with options of their own: ``start_peer(module, *options, python=…)``."""
    with ExitStack() as peers:
        yield lambda module, *options, **how: peers.enter_context(started(module, *options, **how))


@pytest.fixture(scope="session")
def mcp2_server() -> Generator[Peer]:
    """Serve MCP with the 2.x SDK, in both eras."""
    with started("tests.peers.mcp2_server") as peer:
        yield peer


@pytest.fixture(scope="session")
def mcp1_python() -> str:
    """Return an interpreter that has the 1.x MCP SDK."""
    named = os.environ.get("MCPREC_TEST_MCP1_PYTHON")
    python = Path(named) if named else ROOT / ".venv-mcp1" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no {python}; make setup makes it, or name one in MCPREC_TEST_MCP1_PYTHON")
    return str(python)


@pytest.fixture(scope="session")
def mcp1_server(mcp1_python: str) -> Generator[Peer]:
    """Serve MCP with the 1.x SDK, with sessions."""
    with started("tests.peers.mcp1_server", python=mcp1_python) as peer:
        yield peer


@pytest.fixture(scope="session")
def sse_url(mcp1_python: str) -> Generator[str]:
    """Serve MCP with the 1.x SDK over HTTP+SSE, and return where its streams are opened."""
    with started("tests.peers.mcp1_server", "--sse", python=mcp1_python) as peer:
        yield f"{peer.origin}/sse"


@pytest.fixture(scope="session")
def node_peers() -> Path:
    """Return a folder with `client.mjs` and, installed beside it, the Node peers."""
    named = os.environ.get("MCPREC_TEST_NODE_PEERS")
    folder = Path(named).resolve() if named else ROOT / "tests" / "peers" / "node"
    if shutil.which("node") is None:
        pytest.skip("no node on PATH; with node and npm, make setup installs the Node peers")
    if not (folder / "node_modules" / "@modelcontextprotocol").is_dir():
        pytest.skip(
            f"no Node peers in {folder}; make setup installs them where npm is on PATH, or name"
            " a folder that has them in MCPREC_TEST_NODE_PEERS"
        )
    return folder


@pytest.fixture(scope="session")
def model_stub() -> Generator[Peer]:
    """Serve a scripted model provider."""
    with started("tests.peers.model_stub") as peer:
        yield peer


@pytest.fixture(scope="session")
def model_env(model_stub: Peer) -> dict[str, str]:
    """Return the variables that lead model SDKs to the stub, with keys it takes."""
    return {
        "OPENAI_BASE_URL": f"{model_stub.origin}/v1",
        "OPENAI_API_KEY": "sk-proj-" + "a1B2" * 8,
        "ANTHROPIC_BASE_URL": model_stub.origin,
        "ANTHROPIC_API_KEY": "sk-ant-api03-" + "a1B2" * 8,
    }


@pytest.fixture
def run_tests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> "RunTests":
    """Run tests that use the plugin, and no other that is installed."""
    from tests.pytest_project import project  # noqa: PLC0415 - few tests need what it imports

    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("MCPREC_RECORD", "CI", "BUILD_NUMBER"):  # in CI, pytest tells each failure twice
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # files change within a second
    return project(request.getfixturevalue("pytester"))
