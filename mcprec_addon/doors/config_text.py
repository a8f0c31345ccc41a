"""The text of an agent's config: TOML by its suffix, else JSON with comments and spare commas."""

import re
import tomllib
from pathlib import Path
from typing import cast

import tomli_w

from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Json, Pairs
from mcprec_addon.jsonvalue import JsonError, dumps, loads

# A string, or what stands beyond JSON: a comment, or a comma with nothing but space and comments
# before the closing bracket.
_LAX = re.compile(
    r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*+|(?>/\*.*?\*/))*+[\]}])',
    re.DOTALL,
)
_JSON_PLACE = re.compile(r"(?: at)?: line (\d+) column (\d+) \(char \d+\)$")
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def parse(text: str, path: Path) -> Json:
    """Return the value of a config's text.

    Raises:
        UsageError: It is no JSON or TOML, with line and column.
    """
    try:
        value = cast("Json", tomllib.loads(text)) if _is_toml(path) else loads(_strict(text))
        written(value, path)  # what is too deep to be written again ends here, not in a run
    except (tomllib.TOMLDecodeError, JsonError) as error:
        message = f"{path}{_located(str(error), text)}; mend it first"
        raise UsageError(message) from error
    except ValueError as error:  # Python's own limit for integers
        message = f"{path}: holds a number of too many digits; mend it first"
        raise UsageError(message) from error
    except RecursionError as error:
        message = f"{path}: nested too deeply; mend it first"
        raise UsageError(message) from error
    return value


def written(value: Json, path: Path) -> bytes:
    """Return a config's value as text of the same kind, a member a line.

    TOML knows no null; what is null is left out there.
    """
    if _is_toml(path):
        return tomli_w.dumps(cast("dict[str, object]", _without_null(value))).encode()
    return f"{_indented(value)}\n".encode()


def _is_toml(path: Path) -> bool:
    return path.suffix.lower() == ".toml"


def _strict(text: str) -> str:
    """Return JSON with comments and spare commas blanked out, every character where it was."""

    def blank(match: re.Match[str]) -> str:
        return match[1] or re.sub(r"[^\n]", " ", match[0])

    return _LAX.sub(blank, text)


def _located(problem: str, text: str) -> str:
    """Return what a parser said, line and column in front."""
    place = _JSON_PLACE.search(problem) or _TOML_PLACE.search(problem)
    if place is None:  # a parser that gave up within
        return ": nested too deeply"
    end = (text.count("\n") + 1, len(text) - text.rfind("\n"))
    line, column = place.groups() if place[1] else end
    said = problem[: place.start()]
    return f":{line}:{column}: {said[:1].lower()}{said[1:]}"


def _without_null(value: Json) -> Json:
    match value:
        case dict():
            members = value.items()
            return {name: _without_null(member) for name, member in members if member is not None}
        case list():
            return [_without_null(element) for element in value if element is not None]
        case _:
            return value


def _indented(value: Json, margin: str = "") -> str:
    inner = f"{margin}  "
    match value:
        case dict() if value:
            return _indented(Pairs(tuple(value.items())), margin)
        case Pairs() if value.members:
            pairs = [f"{_indented(key)}: {_indented(it, inner)}" for key, it in value.members]
            return f"{{\n{inner}" + f",\n{inner}".join(pairs) + f"\n{margin}}}"
        case list() if value:
            elements = [_indented(element, inner) for element in value]
            return f"[\n{inner}" + f",\n{inner}".join(elements) + f"\n{margin}]"
        case _:
            return dumps(value).decode()
