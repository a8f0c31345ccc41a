"""The text of command-line options as values, the same for the CLI and the mitmproxy script."""

import re
from collections.abc import Sequence

from mcprec_addon.errors import UsageError
from mcprec_addon.jsonvalue import Pointer, parse_pointer


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


def _variable(name: str) -> str:
    """Return a name as the variable for its address spells it."""
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


def pointers(given: Sequence[str], *, option: str = "--ignore") -> tuple[Pointer, ...]:
    """Return pointers as steps.

    Raises:
        UsageError: One is no pointer.
    """
    try:
        return tuple(parse_pointer(text) for text in given)
    except ValueError as error:
        message = f"{option}: {error}"
        raise UsageError(message) from error
