"""What is said to a person and what goes to a shell never mix."""

from pathlib import Path

import pytest

from mcprec_addon.cli_terminal import announcer, run_servers, say

pytestmark = pytest.mark.door


def test_lines_for_a_person_leave_stdout_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """The agent's stdout is the agent's."""
    say("hello")

    assert capsys.readouterr() == ("", "mcprec: hello\n")


def test_variables_are_printed_for_a_shell_or_a_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Both can be read as they are, whatever a value holds."""
    announcer("env")({"A": "it's"})
    announcer("json")({"A": "it's"})

    assert capsys.readouterr().out.splitlines() == ["export A='it'\"'\"'s'", '{"A":"it\'s"}']


def test_the_servers_of_a_run_are_those_of_its_options(tmp_path: Path) -> None:
    """A config that a killed run left swapped is put back before it is read."""
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {"files": {"command": "true"}}}')

    servers = run_servers([config], ["tracker=http://h/mcp"], None, in_place=True)

    assert sorted(servers.names()) == ["files", "tracker"]
