"""An agent's MCP config: its servers, and a private copy that leads them through a run's doors.

The original is never written, and what is not understood is kept as it is. Agents resolve a
relative path against their own working directory, a few against the config's folder; so a
path is made absolute where only the second can be meant.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mcprec_addon.doors.config_dialects import (
    LISTS,
    URLS,
    Steps,
    command_of,
    env_of,
    headers_of,
    is_disabled,
    lists_of,
    members_at,
    object_of,
    problem_of,
    url_of,
)
from mcprec_addon.doors.config_text import parse, written
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import visible

_PATHS = ("cwd", "envFile")
_FILE_REFERENCE = re.compile(r"(?<=\{file:)[^}]+(?=\})")  # opencode's, in any text
_REFERENCE = re.compile(r"\$\{([^}]*)\}|\{(env|file):([^}]*)\}")
_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{).)*))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One server of a config; references such as ``${TOKEN}`` stand in it as they were written.

    Attributes:
        label: Its key.
        command: Program and arguments of a stdio server; empty for an HTTP one.
        url: Address of an HTTP server, or None.
        env: The entry's own variables.
        headers: The headers an agent sends it.
        fields: The entry as it stands there.
    """

    label: str
    command: tuple[str, ...] = ()
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    fields: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """A config as it was read.

    Attributes:
        path: The file.
        value: Its content.
        key: First key on the way to the main list of servers in it.
        entries: Its servers, one for each label, disabled ones left out.
    """

    path: Path
    value: dict[str, Json]
    key: str
    entries: tuple[Entry, ...]


def read_config(path: Path) -> AgentConfig:
    """Return a config and its servers.

    Raises:
        UsageError: It cannot be read, is no JSON or TOML, or has no list of servers; or entries
            are none that an agent could start, a line for each.
    """
    value = _parsed(path)
    lists = lists_of(value)
    if not lists:
        listed = ", ".join(".".join(steps) for steps in LISTS)
        message = f"{path}: has no list of servers; one is called {listed}"
        raise UsageError(message)
    problems: list[str] = []
    entries: dict[str, Entry] = {}
    for steps, label, fields in _active(value):
        problem = problem_of(fields)
        if problem is None:
            entry = _entry(label, object_of(fields) or {}, path.parent)
            merged = _merged(entries.get(label, entry), entry)
            problem = None if merged else "differs between two lists; give one of them another name"
            entries |= {label: merged} if merged else {}
        if problem is not None:
            problems.append(f"{path}: {_named(steps, label)} {problem}")
    if problems:
        raise UsageError("\n".join(problems))
    return AgentConfig(path=path, value=value, key=lists[0][0], entries=tuple(entries.values()))


def _named(steps: Steps, label: str) -> str:
    name = f'server "{visible(label)}"'
    return f'{name} of project "{visible(steps[1])}"' if steps[0] == "projects" else name


def _active(value: dict[str, Json]) -> Iterator[tuple[Steps, str, Json]]:
    """Yield the list, the label and the fields of each entry that is not disabled."""
    for steps in lists_of(value):
        for label, fields in (members_at(value, steps) or {}).items():
            if not is_disabled(fields):
                yield steps, label, fields


def _entry(label: str, fields: dict[str, Json], folder: Path) -> Entry:
    command = command_of(fields)
    # With a folder of its own a server's program is looked for there, by the system.
    if command and re.search(r"[\\/]", command[0]) and not fields.get("cwd"):
        command = (_absolute(command[0], folder), *command[1:])
    return Entry(
        label=label,
        command=command,
        url=url_of(fields),
        env=env_of(fields),
        headers=headers_of(fields),
        fields=fields,
    )


def _merged(one: Entry, other: Entry) -> Entry | None:
    """Return two entries of a label as one server, or None if they are two."""
    same = one.command == other.command and one.url == other.url
    pairs = ((one.env, other.env), (one.headers, other.headers))
    if not same or any(a.get(key, text) != text for a, b in pairs for key, text in b.items()):
        return None
    return replace(one, env={**one.env, **other.env}, headers={**one.headers, **other.headers})


def _parsed(path: Path) -> dict[str, Json]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else None
        reason = said.lower() if said else "it is not UTF-8"
        message = f"{path}: cannot be read, {reason}; give the agent's MCP config"
        raise UsageError(message) from error
    parsed = object_of(parse(text, path))
    if parsed is None:
        message = f"{path}: is no object; give the agent's MCP config"
        raise UsageError(message)
    return parsed


def copied(
    config: AgentConfig,
    *,
    command: Callable[[Entry], Sequence[str]],
    address: Callable[[Entry], str | None],
) -> dict[str, Json]:
    """Return the content of a config with its servers led through other commands and addresses.

    Everything else stays, but paths that mean the config's folder are made absolute.

    Args:
        config: The config. Servers that are not among its entries stay as they are.
        command: What a stdio entry is started as. It is asked once for each list that holds
            the entry.
        address: Where an HTTP entry points; None leaves it as it is.
    """
    labels = {entry.label for entry in config.entries}
    folder = config.path.parent
    value = _with_files(config.value, folder)
    for steps, label, fields in _active(value):
        if label in labels:
            entry = _entry(label, object_of(fields) or {}, folder)
            led = _led(entry, command=command, address=address)
            value = _put(value, (*steps, label), _with_paths(entry.fields, folder) | led)
    return value


def _led(
    entry: Entry,
    *,
    command: Callable[[Entry], Sequence[str]],
    address: Callable[[Entry], str | None],
) -> dict[str, Json]:
    """Return the fields of an entry that are other ones in the copy."""
    if not entry.command:
        url = address(entry)
        named = [name for name in URLS if entry.fields.get(name) and url is not None]
        return dict.fromkeys(named, url)
    words = list[Json](command(entry))
    if not isinstance(entry.fields["command"], list):
        return {"command": words[0], "args": words[1:]}
    emptied = {"args": list[Json]()} if "args" in entry.fields else {}
    return {"command": words, **emptied}


def _put(value: dict[str, Json], steps: Steps, new: Json) -> dict[str, Json]:
    step, rest = steps[0], steps[1:]
    return {**value, step: _put(object_of(value[step]) or {}, rest, new) if rest else new}


def _with_paths(fields: dict[str, Json], folder: Path) -> dict[str, Json]:
    found = ((name, fields.get(name)) for name in _PATHS)
    led = {name: _absolute(path, folder) for name, path in found if isinstance(path, str)}
    return {**fields, **led}


def _with_files(value: dict[str, Json], folder: Path) -> dict[str, Json]:
    """Return a config in which opencode's references to files, anywhere, need no folder."""

    def led(found: re.Match[str]) -> str:
        return _beside(found[0], folder) or found[0]

    def walked(member: Json) -> Json:
        match member:
            case str():
                return _FILE_REFERENCE.sub(led, member)
            case list():
                return [walked(element) for element in member]
            case dict():
                return _with_files(member, folder)
            case _:
                return member

    return {name: walked(member) for name, member in value.items()}


def _absolute(text: str, folder: Path) -> str:
    """Return a path that means a file of the folder as an absolute one, any other as it is."""
    there = _beside(text, folder)
    if there is None:
        return text
    # The agent's working directory, which is ours, comes first if it has such a file too.
    is_elsewhere = os.path.exists(text) and not os.path.samefile(text, there)  # noqa: PTH110, PTH121
    return text if is_elsewhere else there


def _beside(text: str, folder: Path) -> str | None:
    """Return the absolute path of a file that a relative one names in the folder, or None."""
    there = str(folder.absolute() / text)
    is_relative = bool(text) and not Path(text).is_absolute()
    # Path.exists would raise for a name that is too long or in a folder that is not ours to see.
    return there if is_relative and os.path.exists(there) else None  # noqa: PTH110


def write_copy(path: Path, value: dict[str, Json]) -> None:
    """Write a copy for its owner alone, in the language its suffix tells.

    Raises:
        FileExistsError: There is a file.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(written(value, path))


def made_config(
    *,
    commands: Mapping[str, Sequence[str]],
    urls: Mapping[str, str],
    sse: Collection[str] = (),
    toml: bool = False,
) -> dict[str, Json]:
    """Return a config of servers that no config declared.

    Args:
        commands: What stdio servers are started as, by label.
        urls: Addresses of HTTP servers by label.
        sse: Labels of those that speak HTTP+SSE.
        toml: As Codex wants it, which tells the kind of a server by its keys alone.
    """
    entries: dict[str, Json] = {
        label: {"command": words[0], "args": list[Json](words[1:])}
        for label, words in commands.items()
    }
    for label, url in urls.items():
        kind: dict[str, Json] = {} if toml else {"type": "sse" if label in sse else "http"}
        entries[label] = {**kind, "url": url}
    return {"mcp_servers" if toml else "mcpServers": entries}


def expanded(text: str, environment: Mapping[str, str]) -> str | None:
    """Return a text with its references to variables resolved, or None where one cannot be.

    ``${NAME}``, ``${env:NAME}`` and ``${NAME:-default}`` are known, and opencode's
    ``{env:NAME}``. What an agent asks a person for or takes from a file is not.
    """
    values = [_resolved(found, environment) for found in _REFERENCE.finditer(text)]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return _REFERENCE.sub(lambda _: known.pop(0), text)


def references(text: str) -> Iterator[str]:
    """Yield the names of the variables that a text refers to."""
    for found in _REFERENCE.finditer(text):
        if found[1] is None and found[2] == "env":
            yield found[3]
        variable = _VARIABLE.fullmatch(found[1] or "")
        if variable is not None:
            yield variable[1]


def _resolved(found: re.Match[str], environment: Mapping[str, str]) -> str | None:
    if found[1] is None:
        return environment.get(found[3]) if found[2] == "env" else None
    variable = _VARIABLE.fullmatch(found[1])
    return environment.get(variable[1], variable[2]) if variable else None
