"""Which live value stands for a placeholder in a replay, by the names of what held it."""

from collections.abc import Mapping

from mcprec_addon.exchange import Redaction

_VARIABLE = "env:"


def source_variables(redaction: Redaction) -> set[str]:
    """Return the variables that a header names as sources of secrets."""
    named = {source for names in redaction.sources.values() for source in names}
    return {each.removeprefix(_VARIABLE) for each in named if each.startswith(_VARIABLE)}


def held(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment by the names that sources have."""
    return {f"{_VARIABLE}{name}": value for name, value in environment.items()}


def source_values(redaction: Redaction, known: Mapping[str, str]) -> dict[str, str]:
    """Return what the sources hold that a header names, by placeholder.

    Args:
        redaction: What the header says.
        known: Values by the names that sources have.
    """
    values: dict[str, str] = {}
    for placeholder, sources in redaction.sources.items():
        for source in sources:
            if known.get(source):
                values[placeholder] = known[source]
    return values
