"""Where the dialects of MCP configs keep their servers, and what an entry of each says.

A dialect is told by its keys: people call their config what they like. A doubled key counts
as its last, as it does for the agents' own parsers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from mcprec_addon.exchange import Json, Number, Pairs
from mcprec_addon.jsonvalue import dumps

type Steps = tuple[str, ...]
"""The keys that lead from a config to a list of servers in it."""

# Claude, Cursor, Windsurf, Gemini CLI and most others; VS Code; Codex; VS Code's settings.json;
# opencode.
LISTS: tuple[Steps, ...] = (
    ("mcpServers",),
    ("servers",),
    ("mcp_servers",),
    ("mcp", "servers"),
    ("mcp",),
)
# Gemini CLI takes httpUrl where it stands beside url; Windsurf says serverUrl.
URLS = ("httpUrl", "url", "serverUrl")
_KINDS = {
    **dict.fromkeys(("stdio", "local"), "command"),
    **dict.fromkeys(("http", "sse", "streamable-http", "streamable_http"), "url"),
    **dict.fromkeys(("streamableHttp", "remote", "ws"), "url"),
}

_OURS = re.compile(r"mcprec(?:[-_]addon)?(?:\[[^\]]*\])?(?:[@=<>~!].*)?")
_OUR_MODULES = ("mcprec_addon", "mcprec_addon.cli", "mcprec_addon.__main__")
_RELAY = "stdio_relay.py"
_RUNNERS = ("uv", "uvx", "pipx")
_RUNNER_VERBS = ("tool", "run", "x")
_NAMES_PACKAGE = ("--from", "--spec")
_TAKES_VALUE = frozenset(
    {
        *_NAMES_PACKAGE,
        *("-p", "--python", "--with", "--with-editable", "--with-requirements"),
        *("--directory", "--project", "--env-file", "--extra", "--group", "--package"),
        *("--index", "--default-index", "--index-url", "--extra-index-url"),
    }
)


def object_of(value: Json) -> dict[str, Json] | None:
    """Return a value as an object, or None if it is none."""
    match value:
        case dict():
            return value
        case Pairs():
            return dict(value.members)
        case _:
            return None


def lists_of(value: Mapping[str, Json]) -> list[Steps]:
    """Return the steps to each list of servers in a config, the main one first.

    The first key that names a list holds it; another counts too if everything in it is an
    entry, since one file may serve two agents. Claude Code's own file has a list for each
    project beside them.
    """
    found: list[Steps] = []
    for steps in LISTS:
        members = members_at(value, steps)
        if members is not None and _is_list(members, steps, alone=not found):
            found.append(steps)
    for project, settings in (object_of(value.get("projects")) or {}).items():
        if object_of((object_of(settings) or {}).get("mcpServers")) is not None:
            found.append(("projects", project, "mcpServers"))
    return found


def members_at(value: Mapping[str, Json], steps: Steps) -> dict[str, Json] | None:
    """Return the object that steps lead to, or None."""
    at: dict[str, Json] | None = dict(value)
    for step in steps:
        at = None if at is None else object_of(at.get(step))
    return at


def _is_list(members: dict[str, Json], steps: Steps, *, alone: bool) -> bool:
    if not alone:
        return all(_is_entry(member) for member in members.values())
    if steps[0] != "mcp":
        return True
    # Gemini CLI keeps settings of another kind there, and a server may be called "servers".
    objects = [member for member in members.values() if object_of(member) is not None]
    return not members or (bool(objects) and not _is_entry(members))


def _is_entry(value: Json) -> bool:
    fields = object_of(value)
    return fields is not None and bool(_words(fields) or _address(fields))


def is_disabled(value: Json) -> bool:
    """Whether an entry is marked as one that the agent leaves out."""
    fields = object_of(value) or {}
    return fields.get("disabled") is True or fields.get("enabled") is False


def problem_of(value: Json) -> str | None:
    """Return why no agent could start an entry, as the end of a message, or None."""
    fields = object_of(value)
    if fields is None:
        return 'is no object; give it a "command" or a "url"'
    words, address = _words(fields), _address(fields)
    if not words and address is None:
        return 'has neither "command" nor "url"; give one of them'
    if words and address is not None and _kind(fields) is None:
        return 'has both "command" and "url"; take one out, or say which counts with "type"'
    if starts_mcprec(command_of(fields)):
        return (
            "points at mcprec already; give the original config, or where a killed run left "
            "this one behind put it back with mcprec restore"
        )
    return None


def command_of(fields: Mapping[str, Json]) -> tuple[str, ...]:
    """Return program and arguments of a stdio entry; empty for an HTTP one."""
    return () if url_of(fields) is not None else _words(fields)


def url_of(fields: Mapping[str, Json]) -> str | None:
    """Return the address of an HTTP entry, or None."""
    is_stdio = bool(_words(fields)) and _kind(fields) != "url"
    return None if is_stdio else _address(fields)


def _kind(fields: Mapping[str, Json]) -> str | None:
    told = fields.get("type") or fields.get("transport")
    return _KINDS.get(told) if isinstance(told, str) else None


def _words(fields: Mapping[str, Json]) -> tuple[str, ...]:
    command, args = fields.get("command"), fields.get("args")
    first = command if isinstance(command, list) else [command]
    if not first or not isinstance(first[0], str) or not first[0]:
        return ()
    rest = args if isinstance(args, list) else []
    return tuple(_text(part) for part in [*first, *rest])


def _address(fields: Mapping[str, Json]) -> str | None:
    found = (fields.get(name) for name in URLS)
    return next((text for text in found if isinstance(text, str) and text), None)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


def env_of(fields: Mapping[str, Json]) -> dict[str, str]:
    """Return an entry's own variables, numbers and booleans as text."""
    return _texts(fields.get("env")) | _texts(fields.get("environment"))


def headers_of(fields: Mapping[str, Json]) -> dict[str, str]:
    """Return the headers an entry sends; those that Codex takes from variables as references."""
    found = _texts(fields.get("headers")) | _texts(fields.get("http_headers"))
    named = _texts(fields.get("env_http_headers"))
    found |= {name: f"${{{variable}}}" for name, variable in named.items()}
    bearer = fields.get("bearer_token_env_var")
    return found | {"Authorization": f"Bearer ${{{bearer}}}"} if isinstance(bearer, str) else found


def _texts(value: Json) -> dict[str, str]:
    members = object_of(value) or {}
    scalars = (str, bool, int, float, Number)
    return {name: _text(member) for name, member in members.items() if isinstance(member, scalars)}


def starts_mcprec(command: Sequence[str]) -> bool:
    """Whether a command starts mcprec: by name, by a runner of packages, as a module, a relay."""
    if not command:
        return False
    names = [re.split(r"[\\/]", part)[-1] for part in command]
    program = names[0].removesuffix(".exe")
    if _OURS.fullmatch(program) or _RELAY in names:
        return True
    if any(flag == "-m" and name in _OUR_MODULES for flag, name in pairwise(names)):
        return True
    packages = _packages(command[1:]) if program in _RUNNERS else ()
    return any(_OURS.fullmatch(package) for package in packages)


def _packages(arguments: Sequence[str]) -> Iterator[str]:
    """Yield what a runner of packages is told to run; what follows is the program's own."""
    words = iter(arguments)
    for word in words:
        option, _, value = word.partition("=")
        if word in _TAKES_VALUE:
            value = next(words, "")
        elif not word.startswith("-") and word not in _RUNNER_VERBS:
            yield word
            return
        if option in _NAMES_PACKAGE:
            yield value
