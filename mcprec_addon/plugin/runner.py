"""The fixture `mcprec_run`: agents that a test starts as programs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from mcprec_addon.plugin.agent_run import Agent, AgentRun
from mcprec_addon.plugin.use import Use


class RunOptions(TypedDict, total=False):
    """How a program is run, as `subprocess.run` has it.

    Attributes:
        config: The agent's MCP config, or several.
        env: Variables set beside those of this process.
        cwd: Where it runs; by default here.
        input: What it reads on stdin; by default nothing.
        timeout: Seconds after which it is ended; by default never.
        check: Whether misses fail the test; by default they do.
    """

    config: str | Path | Sequence[str | Path]
    env: Mapping[str, str]
    cwd: str | Path
    input: str
    timeout: float
    check: bool


class McprecRun:
    """Runs programs against the cassette of a test."""

    def __init__(self, use: Use) -> None:
        self._use = use

    def __call__(self, command: Sequence[str], **options: Unpack[RunOptions]) -> AgentRun:
        """Run an agent as ``mcprec replay`` does, and return what came of it.

        The agent's exit status is not looked at: assert on it.

        Args:
            command: The program and its arguments.
            options: How it is run.

        Raises:
            CassetteMiss: It asked something that is not recorded.
            CassetteUnused: It used nothing of a half.
            McprecError: It cannot be run.
            subprocess.TimeoutExpired: It took too long.
        """
        __tracebackhide__ = True
        config = options.get("config", ())
        agent = Agent(
            command=command,
            config=[config] if isinstance(config, str | Path) else config,
            env=options.get("env", {}),
            cwd=options.get("cwd"),
            input=options.get("input"),
            timeout=options.get("timeout"),
        )
        return self._use.run(agent, check=options.get("check", True))
