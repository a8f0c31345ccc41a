"""Redaction rules of one's own, from the project's settings and from a file of rules."""

from pathlib import Path
from typing import cast

from mcprec_addon.doors.settings_file import Settings, parsed_toml
from mcprec_addon.errors import UsageError
from mcprec_addon.redact.own_rules import OwnRules, read_own_rules

# Where the rules stand: in mcprec.toml, in pyproject.toml, else in the file itself.
_PLACES = (("redact",), ("tool", "mcprec", "redact"))


def own_rules(settings: Settings, file: Path | None) -> OwnRules:
    """Return the rules of a project, and those of a file before them.

    Raises:
        UsageError: The file cannot be read, or there is something that is no rule.
    """
    own = OwnRules() if file is None else read_rules(file)
    for where, table in settings.redact:
        own = own.joined(read_own_rules(table, where=where))
    return own


def read_rules(path: Path) -> OwnRules:
    """Return the rules in a TOML file.

    Raises:
        UsageError: It cannot be read, is no TOML, or has what is no rule.
    """
    try:
        table = parsed_toml(path, path)
    except OSError as error:
        said = (error.strerror or "the system says no more").lower()
        message = f"{path}: cannot be read, {said}; give --redact a TOML file of rules"
        raise UsageError(message) from error
    inner = next(filter(None, (_at(table, steps) for steps in _PLACES)), table)
    return read_own_rules(inner, where=str(path))


def _at(table: dict[str, object], steps: tuple[str, ...]) -> dict[str, object] | None:
    for step in steps:
        member = table.get(step)
        if not isinstance(member, dict):
            return None
        table = cast("dict[str, object]", member)
    return table
