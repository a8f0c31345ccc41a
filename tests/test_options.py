"""The text of options becomes values, or one clear line."""

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.options import pointers, server_urls


def test_servers_are_named() -> None:
    """The name is the label in the cassette; an address may hold equals signs of its own."""
    given = ["a=http://h/mcp?x=1=2", "b=https://h"]

    assert server_urls(given) == {"a": "http://h/mcp?x=1=2", "b": "https://h"}
    assert server_urls([]) == {}


@pytest.mark.parametrize(
    "given", ["a", "=http://h", "a=h/mcp", "a=ftp://h", "http://h/mcp", ""], ids=repr
)
def test_a_server_without_name_or_address_is_refused(given: str) -> None:
    """The line shows what was given and what would be right."""
    with pytest.raises(UsageError, match="write it as NAME=URL") as caught:
        server_urls([given])

    assert str(caught.value).startswith(f"--http {given!r}: ")


@pytest.mark.parametrize("given", [["tr acker=http://h"], ["a-b=http://h", "a_b=http://i"]])
def test_a_name_that_no_variable_can_carry_is_refused(given: list[str]) -> None:
    """Two servers whose addresses stand in one variable are one server to the agent."""
    with pytest.raises(UsageError, match="name"):
        server_urls(given)


def test_a_name_given_twice_is_refused() -> None:
    """One of the two servers would be recorded under the other's name."""
    with pytest.raises(UsageError, match="the name a is taken"):
        server_urls(["a=http://h", "a=http://i"])


def test_the_line_names_the_option_as_it_was_typed() -> None:
    """Under mitmdump the same text comes from an option of another name."""
    with pytest.raises(UsageError, match=r"^mcprec_http 'a'"):
        server_urls(["a"], option="mcprec_http")
    with pytest.raises(UsageError, match=r"^mcprec_ignore: 'a'"):
        pointers(["a"], option="mcprec_ignore")


def test_pointers_are_parsed() -> None:
    """Escapes are undone, and `*` is left for the rule."""
    assert pointers(["/args/a~1b", "/request/*/m~0n"]) == (
        ("args", "a/b"),
        ("request", "*", "m~n"),
    )


@pytest.mark.parametrize(
    ("given", "problem"), [("args", "is no pointer"), ("", "leave out everything")]
)
def test_a_wrong_pointer_is_refused(given: str, problem: str) -> None:
    """One that names everything would make every call a hit."""
    with pytest.raises(UsageError, match=f"^--ignore: .*{problem}"):
        pointers(["/args/q", given])
