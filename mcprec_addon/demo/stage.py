"""What the demo's steps need of the system: a screen to show them on, and processes.

Servers are ended by their own process, and found by the port they print once they listen.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

_BOLD, _CYAN, _DIM, _PLAIN = "\033[1m", "\033[36m", "\033[2m", "\033[0m"
_FOREIGN = re.compile(r"(?i)MCPREC_|OPENAI_|TRACKER_URL$|(HTTPS?|ALL|NO)_PROXY$")
_LONGEST_COMMAND_S = 30  # the slowest step needs a tenth of that
_LONGEST_STOP_S = 5


class StepError(Exception):
    """A step of the demo did not end as it should; the message says what was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended."""

    status: int
    stdout: str
    stderr: str


@dataclass(slots=True, kw_only=True)
class Screen:
    """Where the demo is shown.

    Attributes:
        out: The text goes here.
        color: Whether headings and commands are coloured.
        step: Heading of the step that is on, with its number.
    """

    out: TextIO
    color: bool
    step: str = ""
    count: int = 0

    def heading(self, text: str) -> None:
        """Begin the next step."""
        self.count += 1
        self.step = f"{self.count}. {text}"
        self._line(self.step, _BOLD, before="\n")

    def say(self, text: str) -> None:
        """Show a line of the demo itself."""
        self._line(text, _DIM)

    def command(self, command: Sequence[str]) -> None:
        """Show a command as a user would type it."""
        self._line(f"$ {shlex.join(command)}", _CYAN)

    def output(self, text: str) -> None:
        """Show what a command printed."""
        if text:
            self.out.write(text if text.endswith("\n") else f"{text}\n")
            self.out.flush()

    def look_at(self, text: str) -> None:
        """End a step with what is worth a look."""
        self._line(f"look at: {text}", _BOLD)

    def _line(self, text: str, style: str, *, before: str = "") -> None:
        self.out.write(before + (f"{style}{text}{_PLAIN}" if self.color else text) + "\n")
        self.out.flush()


def clean_environment(**extra: str) -> dict[str, str]:
    """Return our environment less what would lead the demo elsewhere, and `extra`."""
    kept = {name: value for name, value in os.environ.items() if not _FOREIGN.match(name)}
    return {**kept, **extra}


def run_command(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str]
) -> Finished:
    """Run a command line as typed, with this Python for ``mcprec`` and ``python``.

    Raises:
        StepError: It does not end.
    """
    try:
        done = subprocess.run(  # noqa: S603 (the demo's own command lines)
            _spelled_out(command),
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_LONGEST_COMMAND_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired as hung:
        problem = f"it did not end in {_LONGEST_COMMAND_S} s"
        raise StepError(problem) from hung
    return Finished(status=done.returncode, stdout=done.stdout, stderr=done.stderr)


def _spelled_out(command: Sequence[str]) -> list[str]:
    real = {"mcprec": [sys.executable, "-m", "mcprec_addon"], "python": [sys.executable]}
    return [word for typed in command for word in real.get(typed, [typed])]


@contextmanager
def server_process(module: str, *, environment: Mapping[str, str]) -> Generator[int]:
    """Run a server of the demo as a process of its own.

    Yields:
        The loopback port on which it listens.

    Raises:
        StepError: It does not start.
    """
    command = [sys.executable, "-m", module, "--port", "0"]
    with subprocess.Popen(  # noqa: S603 (a module of the demo)
        command, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield _port(process, module)
        finally:
            _end(process)


def _port(process: subprocess.Popen[str], module: str) -> int:
    line = process.stdout.readline() if process.stdout else ""
    found = re.fullmatch(r'\{"port": (\d+)\}\n', line)
    if found is None:
        problem = f"{module} does not start; it says {line!r}"
        raise StepError(problem)
    return int(found[1])


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_LONGEST_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
