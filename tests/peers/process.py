"""Peers of the tests as processes: each prints one line, ``{"port": N}``, once it listens."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LONGEST_STOP_S = 5
_LONGEST_CLIENT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A server under its own process.

    Attributes:
        port: The loopback port it listens on.
        process: Its process.
    """

    port: int
    process: subprocess.Popen[str]

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def mcp_url(self) -> str:
        """Where an MCP server answers."""
        return f"{self.origin}/mcp"

    def stop(self) -> None:
        """End the process and wait until it is gone."""
        self.process.terminate()
        try:
            self.process.wait(_LONGEST_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def started(module: str, *options: str, python: str = sys.executable) -> Generator[Peer]:
    """Run ``python -m module`` until the block ends."""
    command = [python, "-m", module, "--port", "0", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            problem = f"{module} ended with {process.wait()} before it listened"
            raise RuntimeError(problem)
        peer = Peer(port=json.loads(line)["port"], process=process)
        try:
            yield peer
        finally:
            peer.stop()


def client_command(kind: str, *options: str, python: str = sys.executable) -> list[str]:
    """Return the command line that runs a client of `tests/peers/clients.py` from any folder."""
    return [python, str(ROOT / "tests" / "peers" / "clients.py"), kind, *options]


def transcript(
    command: Sequence[str], *, env: Mapping[str, str] | None = None
) -> list[dict[str, object]]:
    """Run a client and return the steps it saw."""
    done = subprocess.run(
        command,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        text=True,
        timeout=_LONGEST_CLIENT_S,
        check=True,
    )
    steps: list[dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return steps
