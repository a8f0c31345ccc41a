"""An agent that a test starts as a program: run under ``mcprec replay``, or ``mcprec record``.

It is the command itself, in a process of its own: what holds for one typed by hand holds here.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

from mcprec_addon.errors import CassetteMiss, RecordingError, UsageError
from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import loads, one_line
from mcprec_addon.options import declared_servers

if TYPE_CHECKING:
    from mcprec_addon.doors.cassette_options import CassetteOptions

_MODULE = (sys.executable, "-m", "mcprec_addon")
_LONGEST_STOP_S = 10  # mcprec gives an agent 4 s to end before it kills it


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A program to run, as `subprocess` takes it.

    Attributes:
        command: The program and its arguments.
        config: The agent's MCP configs.
        env: Variables set beside those of this process.
        cwd: Where it runs; None for here.
        input: What it reads on stdin.
        timeout: Seconds after which it is ended; None for never.
    """

    command: Sequence[str]
    config: Sequence[str | Path] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | Path | None = None
    input: str | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """What a run of an agent came to.

    Attributes:
        stdout: What the agent wrote there.
        stderr: What it and mcprec wrote there.
        status: Its exit status.
        misses: Calls without a recorded answer, each in full.
        unused: Recorded exchanges that were not handed out: seq and title.
        used: How many exchanges were handed out, or recorded.
        cause: Why the replay as such fails, beside misses; None where it does not.
        record_command: What misses say that records anew.
        recorded: What mcprec said of the recording; None where there was none.
    """

    stdout: str
    stderr: str
    status: int
    misses: tuple[str, ...] = ()
    unused: Mapping[int, str] = field(default_factory=dict[int, str])
    used: int = 0
    cause: str | None = None
    record_command: str = ""
    recorded: str | None = None


def replay_agent(agent: Agent, path: Path, options: "CassetteOptions") -> AgentRun:
    """Run an agent against a cassette.

    Args:
        agent: What is run.
        path: The cassette.
        options: How it is used.

    Raises:
        McprecError: mcprec could not run it.
    """
    __tracebackhide__ = True
    with TemporaryDirectory(prefix="mcprec-") as folder:
        report = Path(folder) / "report.json"
        words = ["replay", str(path.resolve()), "--report", str(report), *_words(options)]
        ended = _run(agent, words)
        if not report.exists():
            raise UsageError(_said(ended))
        return _replayed(ended, cast("dict[str, Json]", loads(report.read_bytes())))


def record_agent(agent: Agent, path: Path, options: "CassetteOptions") -> AgentRun:
    """Run an agent live, and record it; a cassette that is there is replaced.

    Args:
        agent: What is run.
        path: Where the cassette goes.
        options: How it is used; of these a recording knows servers and redaction rules.

    Raises:
        RecordingError: The recording is not complete.
        McprecError: mcprec could not run it.
    """
    __tracebackhide__ = True
    path.parent.mkdir(parents=True, exist_ok=True)
    known: CassetteOptions = {}
    if "servers" in options:
        known["servers"] = options["servers"]
    if "redact" in options:
        known["redact"] = options["redact"]
    ended = _run(agent, ["record", "--force", "--out", str(path.resolve()), *_words(known)])
    if ended.returncode == RecordingError.exit_status:
        raise RecordingError(str(path), _said(ended))
    line = next((each for each in ended.stderr.splitlines() if each.startswith("recorded ")), None)
    if line is None:
        raise UsageError(_said(ended))
    return AgentRun(
        stdout=ended.stdout, stderr=ended.stderr, status=ended.returncode, recorded=line
    )


def _run(agent: Agent, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    configs = [word for each in agent.config for word in ("--config", str(Path(each).resolve()))]
    command = [*_MODULE, *words, *configs, "--", *agent.command]
    with subprocess.Popen(  # noqa: S603 - the test's own command, as it says it
        command,
        cwd=agent.cwd,
        env={**os.environ, **agent.env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            out, err = process.communicate(agent.input or "", timeout=agent.timeout)
        except BaseException:
            _stop(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _stop(process: subprocess.Popen[str]) -> None:
    """End mcprec, which ends its agent."""
    process.terminate()
    try:
        process.communicate(timeout=_LONGEST_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _words(options: "CassetteOptions") -> Iterator[str]:
    """Yield the command line that says the same as options do."""
    for name, value in options.items():
        yield from _AS_WORDS[name](f"--{name.replace('_', '-')}", value)


def _choice(option: str, value: object) -> list[str]:
    return [option, str(value)]


def _flag(option: str, value: object) -> list[str]:
    return [option] if value else []


def _each(option: str, value: object) -> list[str]:
    return [word for each in cast("Sequence[str]", value) for word in (option, each)]


def _faults(_: str, value: object) -> list[str]:
    return _each("--fault", value)


def _secrets(_: str, value: object) -> list[str]:
    secrets = cast("Mapping[str, str]", value)
    return _each("--secret", [f"{name}={live}" for name, live in secrets.items()])


def _servers(_: str, value: object) -> list[str]:
    servers = cast("Mapping[str, str]", value)
    addresses, commands = declared_servers(servers)
    return [
        *_each("--http", [f"{label}={servers[label]}" for label in addresses]),
        *_each("--stdio", [f"{label}={servers[label]}" for label in commands]),
    ]


def _file(option: str, value: object) -> list[str]:
    return [option, str(Path(str(value)).resolve())]


def _on_miss(_: str, value: object) -> list[str]:
    if value != "fail":
        message = f"on_miss={value!r}: a program that is replayed gets an error; drop on_miss"
        raise UsageError(message)
    return []


_AS_WORDS: Mapping[str, Callable[[str, object], list[str]]] = {
    "half": _choice,
    "match": _choice,
    "model_match": _choice,
    "ignore": _each,
    "normalize": _each,
    "strict": _flag,
    "faults": _faults,
    "secrets": _secrets,
    "servers": _servers,
    "check_answers": _flag,
    "on_miss": _on_miss,
    "allow": _each,
    "all_used": _flag,
    "redact": _file,
}
"""Each option of a cassette as words of a command."""


def _replayed(ended: subprocess.CompletedProcess[str], found: Mapping[str, Json]) -> AgentRun:
    failed = cast("dict[str, Json]", found["exit"])
    unused = cast("list[dict[str, Json]]", found["unused"])
    return AgentRun(
        stdout=ended.stdout,
        stderr=ended.stderr,
        status=cast("int", found["child"]),
        misses=tuple(str(each["text"]) for each in cast("list[dict[str, Json]]", found["misses"])),
        unused={cast("int", each["seq"]): str(each["title"]) for each in unused},
        used=sum(cast("dict[str, int]", found["used"]).values()),
        cause=str(failed["cause"]) if failed["status"] == CassetteMiss.exit_status else None,
        record_command=one_line(str(found["record_command"])),
    )


def _said(ended: subprocess.CompletedProcess[str]) -> str:
    """Return what mcprec said of why it could not go on."""
    lines = ended.stderr.splitlines()
    own = [line.removeprefix("mcprec: ") for line in lines if line.startswith("mcprec: ")]
    return "\n".join(own) or ended.stderr.strip() or f"mcprec exited {ended.returncode}"
