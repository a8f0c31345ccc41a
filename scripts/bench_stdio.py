"""Measures servers on pipes, side by side; run by mcprec as an agent, so that the run is real.

``mcprec record|replay … -- python scripts/bench_stdio.py ROUNDS`` prints one line of JSON: for
each server the median seconds of one call, calls a second with 64 in flight, and seconds from
its start to its first answer. The server under test is the one of the config copy.
"""

import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from mcprec_addon.jsonvalue import dumps, loads

if TYPE_CHECKING:
    from mcprec_addon.exchange import Json

CALLS = 2000
IN_FLIGHT = 64
STARTS = 10
_ANSWER = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"3"}]}}'
CONSTANT = f"""
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write({_ANSWER.encode()!r} + b"\\n")
    sys.stdout.buffer.flush()
"""
"""A server that answers every line with the same line."""
ANSWERING = """
import json, sys
for line in sys.stdin.buffer:
    asked = json.loads(line)
    result = {"content": [{"type": "text", "text": "3"}]}
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""
"""A server that reads its calls and answers them: the least that a real one does."""
FORWARDING = """
import subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
def up():
    for line in sys.stdin.buffer:
        child.stdin.write(line)
    child.stdin.close()
threading.Thread(target=up, daemon=True).start()
for line in child.stdout:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""
"""A relay that passes lines on and does nothing else."""
BARE = [sys.executable, "-I", "-S", "-c"]


@dataclass(frozen=True)
class Measured:
    """What one server was measured at; seconds, and calls a second."""

    call_s: float
    calls_per_s: float
    start_s: float


def _call(number: int) -> bytes:
    params = b'{"name":"add","arguments":{"a":1,"b":2}}'
    return b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}\n' % (number, params)


class Client:
    """Speaks with one server, as plainly as a client can."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        source, sink = self._process.stdout, self._process.stdin
        if source is None or sink is None:
            raise RuntimeError
        self._lines = os.fdopen(os.dup(source.fileno()), "rb")
        source.close()
        self._sink = sink

    def ask(self, number: int) -> None:
        """Send one call."""
        self._sink.write(_call(number))

    def read(self) -> None:
        """Read one answer."""
        if b'"result"' not in self._lines.readline():
            raise RuntimeError

    def close(self) -> None:
        """End the server as clients do."""
        self._sink.close()
        self._process.wait()
        self._lines.close()


def call_s(command: list[str]) -> float:
    """Return the median seconds of a call, one in flight."""
    client = Client(command)
    took: list[float] = []
    for number in range(CALLS):
        began = perf_counter()
        client.ask(number)
        client.read()
        took.append(perf_counter() - began)
    client.close()
    return statistics.median(took)


def calls_per_s(command: list[str]) -> float:
    """Return calls a second with 64 in flight."""
    client = Client(command)
    client.ask(0)
    client.read()
    began = perf_counter()
    for number in range(IN_FLIGHT):
        client.ask(number)
    for number in range(CALLS - IN_FLIGHT):
        client.read()
        client.ask(number)
    for _ in range(IN_FLIGHT):
        client.read()
    took = perf_counter() - began
    client.close()
    return CALLS / took


def start_s(command: list[str]) -> float:
    """Return the median seconds from the start of a server to its first answer."""
    took: list[float] = []
    for _ in range(STARTS):
        began = perf_counter()
        client = Client(command)
        client.ask(1)
        client.read()
        took.append(perf_counter() - began)
        client.close()
    return statistics.median(took)


def read(line: str) -> dict[str, Measured]:
    """Return what a run of this script has printed."""
    found = cast("dict[str, dict[str, float]]", loads(line))
    return {name: Measured(**values) for name, values in found.items()}


def _config_command() -> list[str]:
    """Return the command of the server in the run's copy of the config."""
    config = cast("dict[str, dict[str, Any]]", loads(Path(os.environ["MCPREC_CONFIG"]).read_text()))
    entry = config["mcpServers"]["bench"]
    return [entry["command"], *entry["args"]]


def main() -> None:
    """Measure all servers in turn, round by round, and print medians."""
    rounds = int(sys.argv[1])
    servers = {
        "ours": _config_command(),
        "constant": [*BARE, CONSTANT],
        "answering": [*BARE, ANSWERING],
        "forwarding": [*BARE, FORWARDING, *BARE, ANSWERING],
    }
    measures = (call_s, calls_per_s, start_s)
    seen: dict[str, list[list[float]]] = {name: [] for name in servers}
    for _ in range(rounds):
        for name, command in servers.items():
            seen[name].append([measure(command) for measure in measures])
    found: dict[str, Json] = {}
    for name, values in seen.items():
        one, many, start = (statistics.median(each) for each in zip(*values, strict=True))
        found[name] = {"call_s": one, "calls_per_s": many, "start_s": start}
    sys.stdout.write(f"{dumps(found).decode()}\n")


if __name__ == "__main__":
    main()
