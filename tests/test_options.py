"""The text of options becomes values, or one clear line."""

import shlex

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.options import (
    check_is_agent,
    listen_address,
    pace_of,
    secret_values,
    server_urls,
    stdio_commands,
)


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


def test_a_server_in_code_is_named_with_its_command() -> None:
    """The command is split as a shell splits it."""
    given = ["files=npx -y some-server '/my files'"]

    assert stdio_commands(given) == {"files": ("npx", "-y", "some-server", "/my files")}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["files"], "write it as NAME='CMD'"),
        (["=npx"], "write it as NAME='CMD'"),
        (["files="], "write it as NAME='CMD'"),
        (["my files=npx"], "write it as NAME='CMD'"),
        (["files=npx 'x"], "no closing quotation"),
        (["files=npx", "files=uvx"], "the name files is taken"),
    ],
)
def test_a_server_in_code_that_is_not_understood_is_refused(given: list[str], says: str) -> None:
    """The line shows what was given and what would be right."""
    with pytest.raises(UsageError, match=says):
        stdio_commands(given)


def test_an_address_to_listen_on_has_host_and_port() -> None:
    """Brackets of IPv6 are for the text alone."""
    assert listen_address("127.0.0.1:0") == ("127.0.0.1", 0)
    assert listen_address("[::1]:8000") == ("::1", 8000)


@pytest.mark.parametrize("given", ["8000", ":8000", "host:", "host:http", "host:65536"])
def test_an_address_without_host_or_port_is_refused(given: str) -> None:
    """All interfaces are never meant by accident."""
    with pytest.raises(UsageError, match="write it as HOST:PORT"):
        listen_address(given)


@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("npx some-mcp-server", "some"),
        ("npx -y @modelcontextprotocol/server-filesystem@1.2 .", "filesystem"),
        ("npx @acme/mcp-server-tracker", "tracker"),
        ("uvx mcp-server-time@latest --tz UTC", "time"),
        ("python -m mcp_server_git", "git"),
        ("/usr/local/bin/mcp-server-git", "git"),
    ],
)
def test_a_server_is_told_from_an_agent(command: str, label: str) -> None:
    """It waits for an agent, and the message holds the command that is right."""
    with pytest.raises(UsageError) as caught:
        check_is_agent(command.split(), "s.mcp")

    assert "is an MCP server, not an agent" in str(caught.value)
    told = shlex.split(str(caught.value).partition("uses it: ")[2])
    assert told == [
        *("mcprec", "record", "--stdio", f"{label}={command}", "--out", "s.mcp"),
        *("--", "./run-agent.sh"),
    ]


@pytest.mark.parametrize(
    "command",
    [
        "./run-agent.sh",
        "npx my-agent --server mcp-server-x",
        "python -m agent",
        "claude -p mcp",
        "",
    ],
)
def test_an_agent_is_no_server(command: str) -> None:
    """Whatever it is told of servers."""
    check_is_agent(command.split(), "s.mcp")


def test_a_pace_is_how_many_times_faster() -> None:
    """Slower than recorded is a pace, too."""
    assert [pace_of(text) for text in ("1x", "10x", "0.5x")] == [1, 10, 0.5]


@pytest.mark.parametrize("given", ["", "1", "x", "0x", "-1x", "1e3x", "infx"])
def test_a_pace_that_is_none_is_refused(given: str) -> None:
    """The line shows what would be right."""
    with pytest.raises(UsageError, match=r"write it as 1x, 10x or 0\.5x"):
        pace_of(given)


def test_a_live_value_is_given_for_a_placeholder() -> None:
    """As it is, or by the variable that holds it, so that no command line shows it."""
    given = ["email-1=me@corp.com", "api-key-2=env:TOKEN", "password-1=a=b"]

    values = secret_values(given, {"TOKEN": "t-1"})

    assert values == {"email-1": "me@corp.com", "api-key-2": "t-1", "password-1": "a=b"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["hunter22"], "--secret: write it as NAME=VALUE"),
        (["email=hunter22"], "--secret: write it as NAME=VALUE"),
        (["email-1="], "--secret: write it as NAME=VALUE"),
        (
            ["email-1=hunter22", "email-1=other"],
            "--secret email-1=…: the placeholder is given twice",
        ),
        (["email-1=env:NONE"], "the variable NONE is not set"),
    ],
)
def test_a_live_value_that_cannot_be_taken_is_not_shown(given: list[str], says: str) -> None:
    """A message goes to a log."""
    with pytest.raises(UsageError) as raised:
        secret_values(given, {})

    assert says in str(raised.value)
    assert "hunter22" not in str(raised.value)
