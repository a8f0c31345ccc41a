"""The text of command-line options as values, the same for the CLI and the mitmproxy script."""

import re
import shlex
from collections.abc import Mapping, Sequence

from mcprec_addon.errors import UsageError

_LAST_PORT = 65535
# Programs that start a package, with the words that stand before its name.
_STARTERS: dict[str, tuple[str, ...]] = {
    "npx": (),
    "bunx": (),
    "pnpx": (),
    "uvx": (),
    "pipx": ("run",),
    "uv": ("run",),
    "python": ("-m",),
    "python3": ("-m",),
}
# How packages of MCP servers are named, in both registries and as Python modules.
_SERVER_NAME = re.compile(
    r"(?:@modelcontextprotocol/server-[\w.-]+|(?:@[\w.-]+/)?(?:mcp[-_]server[-_][\w.-]+"
    r"|[\w.-]+[-_]mcp[-_]server|[\w.-]+[-_]server[-_]mcp))(?:@[\w.-]+)?"
)


def server_urls(given: Sequence[str], *, option: str = "--http") -> dict[str, str]:
    """Return label to address of ``NAME=URL`` texts.

    Raises:
        UsageError: One is not of that form, or a name is given twice.
    """
    urls: dict[str, str] = {}
    for text in given:
        name, equals, url = text.partition("=")
        if not equals or not name or not url.startswith(("http://", "https://")):
            message = f"{option} {text!r}: write it as NAME=URL, such as tracker=https://host/mcp"
            raise UsageError(message)
        if re.search(r"\s", name):
            message = (
                f"{option} {text!r}: a name has no spaces; write it as tracker=https://host/mcp"
            )
            raise UsageError(message)
        if _variable(name) in map(_variable, urls):
            message = f"{option} {text!r}: the name {name} is taken; choose another"
            raise UsageError(message)
        urls[name] = url
    return urls


def declared_servers(
    given: Mapping[str, str],
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return addresses and commands by label, from label to either as text.

    Raises:
        UsageError: One is neither.
    """
    option = "servers"
    addresses = {label for label, text in given.items() if re.match(r"https?://", text)}
    items = {label: f"{label}={text}" for label, text in given.items()}
    urls = [text for label, text in items.items() if label in addresses]
    commands = [text for label, text in items.items() if label not in addresses]
    return server_urls(urls, option=option), stdio_commands(commands, option=option)


def pace_of(text: str, *, option: str = "--pace") -> float:
    """Return how many times faster than recorded ``Nx`` says.

    Raises:
        UsageError: It is not of that form, or not above zero.
    """
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)x", text)
    if match is None or float(match[1]) == 0:
        message = f"{option} {text!r}: write it as 1x, 10x or 0.5x"
        raise UsageError(message)
    return float(match[1])


def listen_address(text: str, *, option: str = "--listen") -> tuple[str, int]:
    """Return host and port of a ``HOST:PORT`` text; port 0 is any free one.

    Raises:
        UsageError: It is not of that form.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > _LAST_PORT:
        message = f"{option} {text!r}: write it as HOST:PORT, such as 127.0.0.1:0"
        raise UsageError(message)
    return host.strip("[]"), int(port)


def stdio_commands(given: Sequence[str], *, option: str = "--stdio") -> dict[str, tuple[str, ...]]:
    """Return label to command of ``NAME=CMD`` texts.

    Raises:
        UsageError: One is not of that form, or a name is given twice.
    """
    commands: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, line = text.partition("=")
        right = "write it as NAME='CMD', such as files='npx -y some-server .'"
        try:
            command = tuple(shlex.split(line))
        except ValueError as error:
            message = f"{option} {text!r}: {str(error).lower()}; {right}"
            raise UsageError(message) from error
        if not equals or not name or re.search(r"\s", name) or not command:
            message = f"{option} {text!r}: {right}"
            raise UsageError(message)
        if name in commands:
            message = f"{option} {text!r}: the name {name} is taken; choose another"
            raise UsageError(message)
        commands[name] = command
    return commands


def secret_values(
    given: Sequence[str], environment: Mapping[str, str], *, option: str = "--secret"
) -> dict[str, str]:
    """Return placeholder to live value of ``NAME=VALUE`` and ``NAME=env:VARIABLE`` texts.

    Raises:
        UsageError: One is not of that form, its variable is not set, or a name is given twice.
            No message shows a value.
    """
    values: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[a-z][a-z0-9-]*-[1-9]\d*", name) or not value:
            message = f"{option}: write it as NAME=VALUE, such as email-1=env:MY_ADDRESS"
            raise UsageError(message)
        if name in values:
            message = f"{option} {name}=…: the placeholder is given twice; keep one"
            raise UsageError(message)
        variable = value.removeprefix("env:")
        if variable != value and not environment.get(variable):
            message = f"{option} {text!r}: the variable {variable} is not set; set it"
            raise UsageError(message)
        values[name] = value if variable == value else environment[variable]
    return values


def _variable(name: str) -> str:
    """Return a name as the variable for its address spells it."""
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


def check_is_agent(command: Sequence[str], out: str) -> None:
    """Check that a command to record is no MCP server, which has nobody to talk to.

    Args:
        command: The command.
        out: The cassette, for the command that is right.

    Raises:
        UsageError: It is a server; the message holds what to type.
    """
    name = _package(command)
    if not _SERVER_NAME.fullmatch(name):
        return
    label = re.sub(r"@[\w.-]+$", "", name.rpartition("/")[2])
    label = re.sub(r"(^|[-_])(mcp|server)(?=[-_]|$)", "", label).strip("-_") or "server"
    line = shlex.quote(f"{label}={shlex.join(command)}")
    message = (
        f"{name} is an MCP server, not an agent: it waits for one; record the agent that uses it: "
        f"mcprec record --stdio {line} --out {shlex.quote(out)} -- ./run-agent.sh"
    )
    raise UsageError(message)


def _package(command: Sequence[str]) -> str:
    """Return the name of what a command starts: its program, or the package behind it."""
    program, *words = [*command, ""]
    program = program.rpartition("/")[2]
    for before in _STARTERS.get(program, ()):
        if words[0] != before:
            return program
        words = words[1:]
    if program in _STARTERS:
        return next(word for word in words if not word.startswith("-"))
    return program
