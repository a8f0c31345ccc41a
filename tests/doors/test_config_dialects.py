"""Every dialect's servers are found where that dialect keeps them, and read as its agent does."""

import pytest

from mcprec_addon.doors.config_dialects import (
    Steps,
    command_of,
    env_of,
    headers_of,
    is_disabled,
    lists_of,
    problem_of,
    starts_mcprec,
    url_of,
)
from mcprec_addon.exchange import Json, Number, Pairs

STDIO: dict[str, Json] = {"command": "files-mcp"}


@pytest.mark.parametrize(
    ("value", "lists"),
    [
        ({"mcpServers": {"a": STDIO}}, [("mcpServers",)]),
        ({"servers": {"a": STDIO}}, [("servers",)]),
        ({"mcp_servers": {"a": STDIO}}, [("mcp_servers",)]),
        ({"mcp": {"a": STDIO}}, [("mcp",)]),
        ({"mcp": {"servers": {"a": STDIO}}}, [("mcp", "servers")]),
        ({"mcp": {"servers": {"command": STDIO}}}, [("mcp", "servers")]),
        ({"mcp": {"servers": {"command": ["a"], "environment": {}}}}, [("mcp",)]),
        ({"mcpServers": {}}, [("mcpServers",)]),
        ({"mcp": {}}, [("mcp",)]),
        ({"mcpServers": Pairs((("a", STDIO), ("a", STDIO)))}, [("mcpServers",)]),
    ],
)
def test_a_list_is_known_by_its_key(value: dict[str, Json], lists: list[Steps]) -> None:
    """People call their config what they like."""
    assert lists_of(value) == lists


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"mcpServers": []},
        {"mcp": True},
        {"servers": "a"},
        {"mcp": {"allowed": ["a"]}},
        {"projects": {"/a": {"trust_level": "trusted"}, "/b": 1}},
        {"projects": []},
    ],
)
def test_what_is_no_list_is_not_taken_for_one(value: dict[str, Json]) -> None:
    """Settings of other kinds have the same names."""
    assert lists_of(value) == []


def test_every_list_of_a_file_counts() -> None:
    """A server of a list that was passed over would run unrecorded."""
    value: dict[str, Json] = {
        "projects": {"/b": {"mcpServers": {}}, "/a": {"mcpServers": {"x": STDIO}}, "/c": {}},
        "servers": {"a": STDIO},
        "mcpServers": {"a": STDIO},
    }

    projects = [("projects", "/b", "mcpServers"), ("projects", "/a", "mcpServers")]
    assert lists_of(value) == [("mcpServers",), ("servers",), *projects]


def test_settings_beside_a_list_are_none() -> None:
    """Gemini CLI keeps its servers in mcpServers and names of them in mcp."""
    value: dict[str, Json] = {
        "mcpServers": {"a": STDIO},
        "servers": {"port": 80},
        "mcp": {"allowed": ["a"], "limits": {}},
    }

    assert lists_of(value) == [("mcpServers",)]


@pytest.mark.parametrize(
    ("fields", "command", "url"),
    [
        ({"command": "a", "args": ["b", 1, True]}, ("a", "b", "1", "true"), None),
        ({"command": ["a", "b"]}, ("a", "b"), None),
        ({"command": ["a", "b"], "args": ["c"]}, ("a", "b", "c"), None),
        ({"command": "a", "args": "b"}, ("a",), None),
        ({"url": "http://u"}, (), "http://u"),
        ({"serverUrl": "http://u"}, (), "http://u"),
        ({"url": "http://sse", "httpUrl": "http://u"}, (), "http://u"),
        ({"command": "a", "url": "http://u", "type": "stdio"}, ("a",), None),
        ({"command": "a", "url": "http://u", "type": "http"}, (), "http://u"),
        ({"command": "a", "url": "http://u", "transport": "sse"}, (), "http://u"),
        ({"command": "a", "type": "http"}, ("a",), None),
        ({"command": "", "url": "http://u"}, (), "http://u"),
        ({"command": [], "url": ""}, (), None),
    ],
)
def test_an_entry_is_a_command_or_an_address(
    fields: dict[str, Json], command: tuple[str, ...], url: str | None
) -> None:
    """It is led through another door depending on which."""
    assert (command_of(fields), url_of(fields)) == (command, url)


@pytest.mark.parametrize("fields", [{"disabled": True}, {"enabled": False}])
def test_a_mark_leaves_an_entry_out(fields: Json) -> None:
    """Agents do not start it."""
    assert is_disabled(fields)


@pytest.mark.parametrize(
    "fields", [{}, {"disabled": False}, {"enabled": True}, {"enabled": "no"}, 1]
)
def test_without_a_mark_an_entry_counts(fields: Json) -> None:
    """Only what agents take for a mark is one."""
    assert not is_disabled(fields)


def test_variables_are_text() -> None:
    """A process is given text, whatever a config says."""
    env: Json = {"A": "x", "B": 50, "C": True, "D": None, "E": 1.5, "F": Number("1e999"), "G": {}}

    found = env_of({"env": env, "environment": {"H": "y"}})

    assert found == {"A": "x", "B": "50", "C": "true", "E": "1.5", "F": "1e999", "H": "y"}


def test_headers_are_found_in_every_spelling() -> None:
    """What they hold is a secret that has to be known."""
    fields: dict[str, Json] = {
        "headers": {"X-A": "a", "X-N": 1},
        "http_headers": {"X-B": "b"},
        "env_http_headers": {"X-C": "C_KEY"},
        "bearer_token_env_var": "TOKEN",
    }

    assert headers_of(fields) == {
        "X-A": "a",
        "X-N": "1",
        "X-B": "b",
        "X-C": "${C_KEY}",
        "Authorization": "Bearer ${TOKEN}",
    }


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("npx", "is no object; "),
        ({}, 'has neither "command" nor "url"; '),
        ({"command": {"path": "a"}}, 'has neither "command" nor "url"; '),
        ({"command": "a", "url": "http://u"}, 'has both "command" and "url"; '),
        ({"command": "mcprec", "args": ["serve", "a.mcp"]}, "points at mcprec already; "),
    ],
)
def test_an_entry_that_cannot_be_led_says_why(fields: Json, problem: str) -> None:
    """It would run past the recorder, or not at all."""
    found = problem_of(fields)

    assert found is not None
    assert found.startswith(problem)


@pytest.mark.parametrize(
    "fields", [STDIO, {"url": "http://u"}, {"command": "a", "url": "http://u", "type": "stdio"}]
)
def test_a_good_entry_has_no_problem(fields: Json) -> None:
    """A config that works is not complained of."""
    assert problem_of(fields) is None


@pytest.mark.parametrize(
    "command",
    [
        "mcprec serve a.mcp",
        "/opt/bin/mcprec-addon serve",
        "C:\\bin\\mcprec.exe serve",
        "uvx mcprec-addon serve",
        "uvx mcprec-addon[record]@1.2 serve",
        "uvx --python 3.13 --from mcprec-addon==1.0 mcp serve",
        "uvx --from=mcprec-addon run serve",
        "uv tool run mcprec-addon",
        "uv run --directory /srv mcprec serve",
        "pipx run --spec mcprec-addon mcp serve",
        "python3.13 -m mcprec_addon serve",
        "uv run python -m mcprec_addon.cli serve",
        "/usr/bin/python3 -I -S /opt/lib/mcprec_addon/doors/stdio_relay.py /tmp/s files -- npx a",
    ],
)
def test_a_command_that_starts_mcprec_is_known(command: str) -> None:
    """A recording of a replay would be a cassette of nothing real."""
    assert starts_mcprec(command.split())


@pytest.mark.parametrize(
    "command",
    [
        "",
        "npx -y files-mcp /home/ana/mcprec",
        "uvx mcp-server-git --repository mcprec",
        "uvx --directory mcprec git-mcp",
        "uv run --project mcprec git-mcp",
        "uvx --from git-mcp git-mcp",
        "uvx --with",
        "uvx",
        "python -m tracker_mcp mcprec",
        "python make.py mcprec_addon",
        "python -m mcprec_addon.demo.server --stdio",
        "mcprecorder serve",
        "node mcprec",
    ],
)
def test_a_command_that_only_names_mcprec_is_not_one(command: str) -> None:
    """A folder may be called that."""
    assert not starts_mcprec(command.split())
