"""The text of options becomes values, or one clear line."""

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.options import pointers, server_urls


def test_servers_are_named() -> None:
    """The name is the label in the cassette."""
    assert server_urls(["a=http://h/mcp?x=1=2"]) == {"a": "http://h/mcp?x=1=2"}


@pytest.mark.parametrize("given", [["a"], ["=http://h"], ["a=h/mcp"], ["a=http://h", "a=http://i"]])
def test_a_wrong_server_is_refused(given: list[str]) -> None:
    """The line shows what was given."""
    with pytest.raises(UsageError, match="--http"):
        server_urls(given)


def test_pointers_are_parsed() -> None:
    """Escapes are undone; anything else is refused."""
    assert pointers(["/args/a~1b"]) == (("args", "a/b"),)
    with pytest.raises(UsageError, match="--ignore"):
        pointers(["args"])
