"""What the commands that run an agent say on the terminal, and how they read its servers."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from mcprec_addon.cli_settings import agent_servers
from mcprec_addon.jsonvalue import dumps

if TYPE_CHECKING:
    from mcprec_addon.agent_servers import AgentServers


def say(line: str) -> None:
    """Say a line on stderr: stdout is the agent's."""
    typer.echo(f"mcprec: {line}", err=True)


def announcer(kind: Literal["env", "json"]) -> Callable[[Mapping[str, str]], None]:
    """Return what prints the variables that lead an agent to the doors."""

    def announce(variables: Mapping[str, str]) -> None:
        if kind == "json":
            typer.echo(dumps(dict(variables)).decode())
        else:
            for name, value in variables.items():
                typer.echo(f"export {name}={shlex.quote(value)}")
        say("serving until Ctrl-C")

    return announce


def run_servers(
    config: list[Path] | None,
    http: list[str] | None,
    stdio: list[str] | None,
    *,
    in_place: bool,
) -> "AgentServers":
    """Return an agent's servers; with `in_place` what a killed run left is put back before."""
    if in_place:
        from mcprec_addon.run import put_back_left  # noqa: PLC0415

        put_back_left(config or [], say=say)
    return agent_servers(config or [], http or [], stdio)
