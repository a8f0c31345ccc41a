"""What a project's files add to a command line: options, servers, redaction rules."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mcprec_addon.doors.settings_file import SETTINGS, Settings, read_settings
from mcprec_addon.errors import UsageError
from mcprec_addon.options import declared_servers, server_urls, stdio_commands

if TYPE_CHECKING:
    from mcprec_addon.agent_servers import AgentServers
    from mcprec_addon.match.normal import Places
    from mcprec_addon.match.rules import Kind, Rule
    from mcprec_addon.redact.own_rules import OwnRules


def settings() -> Settings:
    """Return the settings that hold in the working directory.

    Raises:
        UsageError: There is none, or a file of settings is wrong.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError as error:
        message = "the working directory is gone; change to one that is there"
        raise UsageError(message) from error
    return read_settings(here, known=SETTINGS)


def joined(name: str, given: list[str] | None) -> list[str]:
    """Return what was given for an option, and what the project's files add to it."""
    added = settings().options.get(name)
    more = added if isinstance(added, list) else []
    return [*(given or []), *(each for each in more if each not in (given or []))]


def match_rules(ignore: list[str] | None, normalize: list[str] | None) -> "tuple[Rule, ...]":
    """Return the rules for matching that were given, and what the project's files add.

    Args:
        ignore: What was given for ``--ignore``.
        normalize: What was given for ``--normalize``; None: what ``MCPREC_NORMALIZE`` holds, a
            rule a line.

    Raises:
        UsageError: One is no rule; the line names where it was written.
    """
    from mcprec_addon.match.rules import rules_of  # noqa: PLC0415

    lines = os.environ.get("MCPREC_NORMALIZE", "").splitlines()
    given: dict[Kind, list[str]] = {"ignore": ignore or [], "normalize": normalize or lines}
    variable: dict[Kind, bool] = {
        "ignore": bool(ignore) and os.environ.get("MCPREC_IGNORE", "").split() == ignore,
        "normalize": not normalize,
    }
    rules: list[Rule] = []
    for kind, texts in given.items():
        option = f"MCPREC_{kind.upper()}" if variable[kind] else f"--{kind}"
        rules += rules_of(kind, texts, origin=option)
        added = settings().options.get(kind)
        file = settings().origin.get(kind)
        rules += rules_of(kind, added if isinstance(added, list) else [], origin=f"{file}: {kind}")
    return tuple(dict.fromkeys(rules))


def places() -> "Places":
    """Return the paths of this run that rules may mean."""
    from mcprec_addon.match.normal import Places  # noqa: PLC0415

    return Places(cwd=str(Path.cwd()), home=os.environ.get("HOME", ""))


def redaction_rules(file: Path | None) -> "OwnRules":
    """Return the redaction rules of a file and of the project.

    Raises:
        UsageError: One of them is wrong.
    """
    from mcprec_addon.doors.rules_file import own_rules  # noqa: PLC0415

    return own_rules(settings(), file)


def agent_servers(config: list[Path], http: list[str], stdio: list[str] | None) -> "AgentServers":
    """Return an agent's servers, from configs, options and the project's files.

    Args:
        config: The agent's configs.
        http: Servers over HTTP, ``NAME=URL``.
        stdio: Servers that are started, ``NAME=CMD``; None: those of ``MCPREC_STDIO``.

    Raises:
        McprecError: One of them cannot be read, or is of no known form.
    """
    from mcprec_addon.agent_servers import AgentServers  # noqa: PLC0415

    lines = stdio or os.environ.get("MCPREC_STDIO", "").splitlines()
    urls, commands = server_urls(http), stdio_commands(lines)
    declared = settings().servers.items()
    kept = {label: text for label, text in declared if label not in urls | commands}
    more_urls, more_commands = declared_servers(kept)
    return AgentServers.read(config, http=urls | more_urls, shims=commands | more_commands)
