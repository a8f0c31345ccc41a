"""The MCP servers an agent knows of, and how a run leads it to doors in their place.

They stand in its config, in its code (`--stdio`, for which a shim on PATH is made), or are told
by address alone (`--http`).
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from mcprec_addon.doors import stdio_relay
from mcprec_addon.doors.agent_config import (
    AgentConfig,
    Entry,
    copied,
    expanded,
    made_config,
    read_config,
    references,
    write_copy,
)
from mcprec_addon.doors.child import is_credential_name
from mcprec_addon.doors.shim import Shim, write_shims
from mcprec_addon.errors import UsageError
from mcprec_addon.redact.rules import url_passwords

CONFIG_VARIABLE = "MCPREC_CONFIG"

_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)
_ORIGIN = re.compile(r"(https?://[^/?#]*)")
# A path by itself, or behind a flag; a prompt that speaks of a file stays as it is.
_PATH = re.compile(r"([^\s=:]+[=:])?([^=:]+)")
# What an entry's variables and headers hold that is no secret, whatever its length.
_SETTING = re.compile(r"(?:[~./$]|https?://[^@]*$|(?:application|text)/)")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentServers:
    """What an agent knows of before a run.

    Attributes:
        configs: Its configs, as they were read.
        http: Addresses of HTTP servers by label, beside those of the configs.
        shims: Commands of stdio servers declared in code, by label.
    """

    configs: tuple[AgentConfig, ...] = ()
    http: Mapping[str, str] = field(default_factory=dict[str, str])
    shims: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @classmethod
    def read(
        cls,
        configs: Sequence[Path],
        *,
        http: Mapping[str, str],
        shims: Mapping[str, tuple[str, ...]],
    ) -> "AgentServers":
        """Read the configs.

        Raises:
            UsageError: One cannot be read, or two servers have one name.
        """
        read = tuple(read_config(path) for path in dict.fromkeys(configs))
        seen: dict[str, str] = dict.fromkeys(http, "--http")
        named = [("--stdio", label) for label in shims]
        named += [(str(each.path), entry.label) for each in read for entry in each.entries]
        for where, label in named:
            if label in seen:
                message = (
                    f'{where}: server "{label}" is in {seen[label]} too; '
                    "give one of them another name"
                )
                raise UsageError(message)
            seen[label] = where
        return cls(configs=read, http=http, shims=shims)

    @property
    def entries(self) -> Iterator[Entry]:
        """The servers of the configs."""
        return (entry for config in self.configs for entry in config.entries)

    def addresses(self, environment: Mapping[str, str], *, need_all: bool) -> dict[str, str]:
        """Return the addresses of all HTTP servers by label, references to variables resolved.

        Args:
            environment: What the references are resolved with.
            need_all: One that cannot be resolved is an error; else it is left out.

        Raises:
            UsageError: The origin of one refers to what is not known here.
        """
        found = dict(self.http)
        for entry in self.entries:
            if entry.url is None:
                continue
            url = _address(entry.url, environment)
            if url is not None:
                found[entry.label] = url
            elif need_all:
                message = (
                    f'server "{entry.label}": the host of {entry.url} is not known here; set the '
                    "variable it names, or record with --via proxy"
                )
                raise UsageError(message)
        return found

    def names(self) -> dict[str, str]:
        """Return the names of all servers, with where each is declared."""
        found = dict.fromkeys(self.http, "--http") | dict.fromkeys(self.shims, "--stdio")
        for config in self.configs:
            found |= {entry.label: str(config.path) for entry in config.entries}
        return found

    def options(self) -> list[str]:
        """Return the options that declare these servers on a command line."""
        words = [word for each in self.configs for word in ("--config", os.path.relpath(each.path))]
        http = [word for item in self.http.items() for word in ("--http", "=".join(item))]
        lines = {label: shlex.join(command) for label, command in self.shims.items()}
        stdio = [word for item in lines.items() for word in ("--stdio", "=".join(item))]
        return words + http + stdio

    def commands(self) -> dict[str, tuple[str, ...]]:
        """Return the commands of all stdio servers by label."""
        found = {entry.label: entry.command for entry in self.entries if entry.command}
        return found | dict(self.shims)

    def check_programs(self, environment: Mapping[str, str]) -> None:
        """Check that every stdio server of the configs can be started.

        Raises:
            UsageError: Programs are not there; all of them are named.
        """
        problems = [
            f'{config.path}: server "{entry.label}": {program} is not on PATH; '
            "install it, or disable the server"
            for config in self.configs
            for entry in config.entries
            if (program := _missing_program(entry, environment)) is not None
        ]
        if problems:
            raise UsageError("\n".join(problems))

    def secrets(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return what may be a credential in variables, headers, flags and URLs, by source."""
        found: dict[str, str] = {}
        for entry in self.entries:
            held = {
                **{f"env/{name}": value for name, value in entry.env.items()},
                **{f"headers/{name}": value for name, value in entry.headers.items()},
                **dict(flag_secrets(entry.command)),
            }
            for where, text in held.items():
                value = expanded(text, environment)
                if value and not _SETTING.match(value):
                    found[f"config:{entry.label}/{where}"] = value
                found |= _passwords(f"config:{entry.label}/{where}", value or "")
            told = " ".join(expanded(each, environment) or "" for each in entry.command)
            found |= _passwords(f"config:{entry.label}/command", told)
            found |= _passwords(f"config:{entry.label}/url", entry.url or "")
        for label, command in self.shims.items():
            found |= {f"config:{label}/{where}": value for where, value in flag_secrets(command)}
            found |= _passwords(f"config:{label}/command", " ".join(command))
        return found

    def credentials(self) -> set[str]:
        """Return the variables named like credentials that the configs refer to."""
        held = (
            [each.url or "", *each.command, *each.env.values(), *each.headers.values()]
            for each in self.entries
        )
        names = {name for texts in held for text in texts for name in references(text)}
        return {name for name in names if is_credential_name(name)}

    def lead(
        self,
        folder: Path,
        *,
        socket: Path,
        urls: Mapping[str, str],
        labels: Mapping[str, str] | None = None,
    ) -> "Lead":
        """Write copies of the configs and shims into a run's private folder.

        Args:
            folder: The run's private folder.
            socket: Where relays and pipes find the run.
            urls: Addresses of the doors of HTTP servers by label; one without stays where it is.
            labels: In a replay, the label in the cassette of each server; None while recording.
        """

        def command(entry: Entry) -> list[str]:
            if labels is None:
                return [*stand_in(socket, entry.label), "--", *entry.command]
            return stand_in(socket, labels.get(entry.label, entry.label))

        def address(entry: Entry) -> str | None:
            door = urls.get(entry.label)
            return None if door is None or entry.url is None else _at_door(door, entry.url)

        copies: dict[Path, Path] = {}
        for number, config in enumerate(self.configs):
            path = folder / f"config-{number}" / config.path.name
            path.parent.mkdir(mode=0o700)
            write_copy(path, copied(config, command=command, address=address))
            copies[config.path] = path
        known = labels or {}
        shims = [
            Shim(label=known.get(label, label), command=command)
            for label, command in self.shims.items()
        ]
        recording = labels is None
        bin_folder = (
            write_shims(folder, shims, recording=recording, environment=os.environ)
            if shims
            else None
        )
        return Lead(copies=copies, bin_folder=bin_folder)


def stand_in(socket: Path, label: str) -> list[str]:
    """Return the command of the process that stands for a stdio server."""
    return [sys.executable, "-I", "-S", stdio_relay.__file__, str(socket), label]


def flag_secrets(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the values of flags whose names say that they hold a credential, with their place."""
    for argument, after in pairwise([*command, ""]):
        flag = _FLAG.fullmatch(argument)
        if flag is None or not is_credential_name(flag[1].replace("-", "_")):
            continue
        value = after if flag[2] is None else flag[2]
        if value and not value.startswith("-"):
            yield f"flags/{flag[1]}", value


def _passwords(where: str, text: str) -> dict[str, str]:
    """Return the passwords in the URLs of a text, by source."""
    passwords = url_passwords(text)
    return {f"{where}/password-{number}": each for number, each in enumerate(passwords, 1)}


def _at_door(door: str, url: str) -> str:
    """Return an entry's address at a door, what refers to variables kept as it is."""
    own = _ORIGIN.match(url)
    return door if own is None else _ORIGIN.split(door)[1] + url[own.end() :]


def _address(url: str, environment: Mapping[str, str]) -> str | None:
    """Return an address with its references resolved, at least those in its origin."""
    whole = expanded(url, environment)
    if whole is None:
        origin = re.match(r"[^/]*(?://)?[^/]*", url)
        start = expanded(origin[0], environment) if origin is not None else None
        whole = None if start is None or origin is None else start + url[origin.end() :]
    is_address = whole is not None and whole.startswith(("http://", "https://"))
    return whole if is_address else None


def _missing_program(entry: Entry, environment: Mapping[str, str]) -> str | None:
    """Return the program of a stdio server where it is surely not there."""
    program = expanded(entry.command[0], environment) if entry.command else None
    if program is None or ("/" in program and not program.startswith("/")):
        return None  # nothing to start, or found from a folder that only the agent knows
    path = expanded(entry.env.get("PATH", ""), environment) or environment.get("PATH")
    return program if shutil.which(program, path=path) is None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """How a run's child is led to the doors of its servers.

    Attributes:
        copies: The copy of each config, by the path it was given as.
        bin_folder: Where shims are, or None.
    """

    copies: Mapping[Path, Path] = field(default_factory=dict[Path, Path])
    bin_folder: Path | None = None

    def command(self, command: Sequence[str]) -> list[str]:
        """Return a command with ``{config}`` and the paths of configs led to the copies."""
        led = [self._led(argument) for argument in command]
        first = next(iter(self.copies.values()), None)
        if first is None:
            return led
        return [argument.replace("{config}", str(first)) for argument in led]

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return an environment with the paths of configs led to the copies, and the shims."""
        led = {name: self._led(value) for name, value in environment.items()}
        first = next(iter(self.copies.values()), None)
        if first is not None:
            led[CONFIG_VARIABLE] = str(first)
        if self.bin_folder is not None:
            led["PATH"] = os.pathsep.join([str(self.bin_folder), environment.get("PATH", "")])
        return led

    def _led(self, text: str) -> str:
        """Return a text led to the copy where it is a config's path, or a flag with one."""
        match = _PATH.fullmatch(text)
        if match is None:
            return text
        path = os.path.abspath(match[2])  # noqa: PTH100 (".." goes, links stay)
        for original, copy in self.copies.items():
            if path == os.path.abspath(original):  # noqa: PTH100 (likewise)
                return f"{match[1] or ''}{copy}"
        return text


def made_copy(
    folder: Path,
    *,
    commands: Mapping[str, Sequence[str]],
    urls: Mapping[str, str],
    sse: Collection[str],
    original: Path | None,
) -> dict[Path, Path]:
    """Write a config made from labels alone, for an agent whose own config is not there.

    Args:
        folder: The run's private folder.
        commands: What stands for each stdio server.
        urls: Addresses of the doors of HTTP servers.
        sse: Labels of those that speak HTTP+SSE.
        original: The path the agent knows its config by, if any.

    Returns:
        The copy, by the path the agent knows.
    """
    known = original or Path("mcp.json")
    path = folder / "config" / known.name
    path.parent.mkdir(mode=0o700)
    is_toml = known.suffix == ".toml"
    write_copy(path, made_config(commands=commands, urls=urls, sse=sse, toml=is_toml))
    return {known: path}
