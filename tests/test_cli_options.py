"""Every option of a run can be set by a variable, which is named after it."""

import typing

import pytest
from typer.models import ArgumentInfo, OptionInfo

from mcprec_addon import cli, cli_options

# MCPREC_CONFIG is what a run tells its child; how to print, and what to keep, is asked for by a
# person. Commands and patterns have spaces, so their variables are read by lines.
WITHOUT_A_VARIABLE = {"config", "print_", "force", "save", "stdio", "normalize"}
RUNS = [cli.record, cli.replay]


@pytest.mark.parametrize("command", RUNS, ids=lambda each: each.__name__)
def test_an_option_has_the_variable_of_its_name(command: object) -> None:
    """CI sets options without touching the command that a developer types."""
    hints = typing.get_type_hints(command, include_extras=True)
    hints.pop("return")

    for name, hint in hints.items():
        info = typing.get_args(hint)[1]
        if isinstance(info, ArgumentInfo) or name in WITHOUT_A_VARIABLE:
            continue
        assert isinstance(info, OptionInfo)
        assert info.envvar == f"MCPREC_{name.upper()}", name


def test_options_have_help() -> None:
    """A sentence each, which is what --help shows."""
    for name, value in vars(cli_options).items():
        if typing.get_origin(value) is typing.Annotated:
            text = typing.get_args(value)[1].help
            assert text.endswith("."), name
