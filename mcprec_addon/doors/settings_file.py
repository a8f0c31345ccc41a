"""Settings that stand in a project: ``mcprec.toml``, and ``[tool.mcprec]`` of pyproject.toml.

The nearest of each counts, from the working directory up to the root of its repository. What both
set, mcprec.toml decides; lists are joined. A key may be written with underscores for dashes, and
``match.ignore`` is another way to write ``ignore``; ``match.rules`` are tables of rules that hold
for some calls alone.
"""

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeGuard, cast

from mcprec_addon.errors import UsageError
from mcprec_addon.jsonvalue import shown, visible
from mcprec_addon.match.rules import SCOPES, rule_text

type Kind = Literal["flag", "text", "list", "path", "paths"]
"""What a setting holds; paths are relative to the file they stand in."""
type Value = bool | str | list[str]

SETTINGS: dict[str, Kind] = {
    "all-used": "flag",
    "allow": "list",
    "check-answers": "flag",
    "config": "paths",
    "fault": "list",
    "half": "text",
    "ignore": "list",
    "input-match": "text",
    "in-place": "flag",
    "isolate": "flag",
    "keep-env": "list",
    "match": "text",
    "model-match": "text",
    "normalize": "list",
    "on-miss": "text",
    "out": "path",
    "pace": "text",
    "report": "path",
    "show-redactions": "flag",
    "strict": "flag",
    "via": "text",
}
"""Options that a project's settings files may set, and what each holds."""

_OWN, _SHARED = "mcprec.toml", "pyproject.toml"
_SERVERS, _REDACT = "servers", "redact"
# A pyproject.toml that is broken is for us to name only if it was meant for us too.
_OURS = re.compile(rb"tool[\"'\s]*\.[\"'\s]*mcprec")
_RIGHT: dict[Kind, str] = {
    "flag": "true or false",
    "text": "a string",
    "list": "a list of strings",
    "path": "a path as a string",
    "paths": "a list of paths as strings",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the project's files set.

    Attributes:
        options: Value of each option, by its name on the command line without dashes before it.
        servers: Address or command line of each MCP server, by label.
        origin: The file, from the working directory, that each came from: by the option's name,
            or ``servers.`` and the label. Of a joined list it is the first.
        redact: Tables of redaction rules, each with its file and name for messages; still to be
            read, by `rules_file`.
    """

    options: Mapping[str, Value] = field(default_factory=dict[str, Value])
    servers: Mapping[str, str] = field(default_factory=dict[str, str])
    origin: Mapping[str, Path] = field(default_factory=dict[str, Path])
    redact: Sequence[tuple[str, Mapping[str, object]]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file with settings: where it is, what messages call it, what it holds for us."""

    path: Path
    name: Path
    table: dict[str, object]


def read_settings(folder: Path, *, known: Mapping[str, Kind]) -> Settings:
    """Return the settings that hold in a folder.

    Args:
        folder: The working directory.
        known: What can be set, and what each setting holds.

    Raises:
        UsageError: A file cannot be read or is no TOML; or files set what is not known or what
            does not fit, a line for each.
    """
    here = folder.absolute()
    options: dict[str, Value] = {}
    servers: dict[str, str] = {}
    origin: dict[str, Path] = {}
    problems: list[str] = []
    redact: list[tuple[str, Mapping[str, object]]] = []
    for file in filter(None, (_nearest(here, _OWN), _nearest(here, _SHARED))):
        redact += _rules(file, problems)
        read, declared = _options(file, here, known, problems), _servers(file, problems)
        for name, value in read.items():
            options[name] = _joined(options.get(name, value), value)
        servers = declared | servers
        keys = [*read, *(f"{_SERVERS}.{label}" for label in declared)]
        origin = dict.fromkeys(keys, file.name) | origin
    if problems:
        raise UsageError("\n".join(problems))
    return Settings(options=options, servers=servers, origin=origin, redact=tuple(redact))


def _rules(file: _File, problems: list[str]) -> list[tuple[str, Mapping[str, object]]]:
    value = file.table.get(_REDACT)
    if value is not None and not isinstance(value, dict):
        problems.append(f"{file.name}: {_REDACT} is {_found(value)}; make it a table of rules")
    table = cast("dict[str, object]", value) if isinstance(value, dict) else None
    return [] if table is None else [(f"{file.name}: {_REDACT}", table)]


def parsed_toml(path: Path, name: Path) -> dict[str, object]:
    """Return the tables of a TOML file.

    Raises:
        OSError: It cannot be read.
        UsageError: It is no TOML.
    """
    return _parsed(path.read_bytes(), name)


def _joined(first: Value, more: Value) -> Value:
    if isinstance(first, list) and isinstance(more, list):
        return [*first, *(each for each in more if each not in first)]
    return first


def _nearest(here: Path, name: str) -> _File | None:
    for place in (here, *here.parents):
        path = place / name
        # os.path never raises in a folder that is not ours to see. A link that leads nowhere is
        # read, and so named: somebody believes in those settings.
        if os.path.isfile(path) or path.is_symlink():  # noqa: PTH113
            shortest = Path(os.path.relpath(path, here))
            table = _table(path, shortest)
            if table is not None:
                return _File(path=path, name=shortest, table=table)
        if os.path.lexists(place / ".git"):
            return None
    return None


def _table(path: Path, name: Path) -> dict[str, object] | None:
    """Return our table of a file, or None where it has none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        said = (error.strerror or "the system says no more").lower()
        message = f"{name}: cannot be read, {said}; make it readable or remove it"
        raise UsageError(message) from error
    if path.name == _OWN:
        return _parsed(data, name)
    if b"mcprec" not in data:
        return None
    try:
        tools = _parsed(data, name).get("tool")
    except UsageError:
        if _OURS.search(data):
            raise
        return None  # not ours to judge
    table = cast("dict[str, object]", tools).get("mcprec") if isinstance(tools, dict) else None
    if table is None or isinstance(table, dict):
        return cast("dict[str, object] | None", table)
    message = f"{name}: tool.mcprec is {_found(table)}; make it a table: [tool.mcprec]"
    raise UsageError(message)


def _parsed(data: bytes, name: Path) -> dict[str, object]:
    # Every command looks for settings; few projects have any to parse.
    from mcprec_addon.doors.config_text import parse  # noqa: PLC0415

    try:
        return cast("dict[str, object]", parse(data.decode("utf-8-sig"), name))
    except UnicodeDecodeError as error:
        message = f"{name}: cannot be read, it is not UTF-8; save it as UTF-8"
        raise UsageError(message) from error


def _options(
    file: _File, here: Path, known: Mapping[str, Kind], problems: list[str]
) -> dict[str, Value]:
    """Return what a file sets but its servers; what is wrong is added to the problems."""
    options: dict[str, Value] = {}
    keys: dict[str, str] = {}
    for key, name, value in _members(file.table):
        where = f"{file.name}: {visible(key)}"
        kind = known.get(name)
        if kind is None:
            problems.append(f"{where} is no setting; {_hint(key, known)}")
            continue
        read = _read(value, kind)
        if read is None:
            problems.append(f"{where} is {_found(value)}; make it {_RIGHT[kind]}")
        elif name in options and not isinstance(read, list):
            problems.append(f"{where} is set as {keys[name]} too; keep one of them")
        else:
            read = _beside(file.path, here, read) if kind in {"path", "paths"} else read
            options[name] = _joined(options.get(name, read), read)
            keys[name] = key
    return options


def _members(table: dict[str, object]) -> Iterator[tuple[str, str, object]]:
    """Yield key as written, name of the option, and value of each member but the servers."""
    for key, value in table.items():
        if key == "match" and isinstance(value, dict):
            for inner, rule in cast("dict[str, object]", value).items():
                dotted = f"{key}.{inner}"
                if inner == "rules":
                    yield from _scoped_rules(rule)
                else:
                    yield dotted, inner if inner in ("ignore", "normalize") else dotted, rule
        elif key not in (_SERVERS, _REDACT):
            yield key, key.replace("_", "-"), value


def _scoped_rules(value: object) -> Iterator[tuple[str, str, object]]:
    """Yield the rules of tables that name the calls they are for, as the command line has them."""
    tables = cast("list[object]", value) if isinstance(value, list) else [value]
    for at, each in enumerate(tables, 1):
        key = f"match.rules {at}"
        table = cast("dict[str, object]", each) if isinstance(each, dict) else {"": each}
        scope = [(name, of) for name in SCOPES if isinstance(of := table.get(name), str) and of]
        known = {"ignore", "normalize", *(name for name, _ in scope)}
        wrong = next((name for name in table if name not in known), None)
        if wrong is not None or not scope:
            yield f"{key}.{wrong or SCOPES[0]}", "", table.get(wrong or SCOPES[0])
            continue
        for kind in ("ignore", "normalize"):
            texts = table.get(kind, [])
            if isinstance(texts, list) and all(map(_is_text, cast("list[object]", texts))):
                yield key, kind, [rule_text(text, scope) for text in cast("list[str]", texts)]
            else:
                yield f"{key}.{kind}", kind, texts


def _hint(key: str, known: Mapping[str, Kind]) -> str:
    if key == "tool":
        return f"settings stand in {_OWN} without [tool.mcprec]"
    names = [*known, _SERVERS, _REDACT]
    if key.startswith("match.rules"):
        return f"a rule has {', '.join(SCOPES)}, one at least, and ignore, normalize"
    rules = ["match.ignore", "match.normalize", "match.rules"] if "ignore" in known else []
    close = difflib.get_close_matches(key.replace("_", "-"), [*names, *rules], 1)
    nearest = f"did you mean {close[0]}; " if close else ""
    return f"{nearest}there are {', '.join(names)}"


def _read(value: object, kind: Kind) -> Value | None:
    """Return a value as its kind has it, or None if it is of another."""
    match kind:
        case "flag":
            return value if isinstance(value, bool) else None
        case "text" | "path":
            return value if _is_text(value) else None
        case "list" | "paths":
            texts = cast("list[object]", value) if isinstance(value, list) else [value]
            return cast("list[str]", texts) if all(map(_is_text, texts)) else None


def _is_text(value: object) -> TypeGuard[str]:
    # A command line cannot hold a NUL, so nothing behind it expects one.
    return isinstance(value, str) and "\0" not in value


def _found(value: object) -> str:
    """Return what a value is, but not what is in a list or table: it may be secret."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return shown(value, limit=40)
        case int() | float():
            return "a number"
        case list():
            wrong = [each for each in cast("list[object]", value) if not _is_text(each)]
            return "a list that holds more than strings" if wrong else "a list"
        case dict():
            return "a table"
        case _:
            return "a date or time"


def _beside(path: Path, here: Path, found: Value) -> Value:
    """Return paths that stand in a file, from the working directory."""
    match found:
        case str():
            return (
                found if Path(found).is_absolute() else os.path.relpath(path.parent / found, here)
            )
        case list():
            return [cast("str", _beside(path, here, each)) for each in found]
        case _:
            return found


def _servers(file: _File, problems: list[str]) -> dict[str, str]:
    """Return the servers of a file; what is wrong is added to the problems."""
    value = file.table.get(_SERVERS, {})
    if not isinstance(value, dict):
        problems.append(
            f"{file.name}: {_SERVERS} is {_found(value)};"
            ' make it a table of names, such as files = "npx -y some-server ."'
        )
        return {}
    servers: dict[str, str] = {}
    for label, text in cast("dict[str, object]", value).items():
        if _is_text(text):
            servers[label] = text
        else:
            problems.append(
                f"{file.name}: {_SERVERS}.{visible(label)} is {_found(text)};"
                ' make it an address or a command line in a string, such as "npx -y some-server ."'
            )
    return servers
