"""The pages say what the commands say of themselves."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcprec_addon import errors
from mcprec_addon.addon_run import OPTIONS
from mcprec_addon.cli import status_of

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
PACKAGE = TESTS.parent / "mcprec_addon"
TEXT = (DOCS / "cli.md").read_text(encoding="utf-8")
ARCHITECTURE = (DOCS / "architecture.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", TEXT, flags=re.DOTALL | re.MULTILINE))
COMMANDS = (
    *("record", "replay", "eval", "inspect", "redact", "report", "merge", "recover"),
    *("serve", "restore", "addon", "demo"),
)

FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
OF_ALL = {"--help", "--version"}  # what every command has, and the program itself
FOREIGN = {"--set", "-s", "-y", "--mcp-config"}  # mitmdump's, npx's, an agent's

# A command line in a page: what is quoted or stands behind the bare `--` is an agent's own.
LINE = re.compile(rf"(?:^|[\s`(])mcprec ({'|'.join(COMMANDS)})([^\n`)]*)")
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True)
class Option:
    """One option as `--help` shows it: its names, and what else a reader must be told."""

    names: tuple[str, ...]
    values: frozenset[str]


@pytest.fixture(autouse=True)
def wide_plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Help is cut to the width of the terminal."""
    monkeypatch.setenv("COLUMNS", "240")


def help_text(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """The help of a command without colours, which a CI may force."""
    status_of([*command, "--help"])
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


def options_in(text: str) -> Iterator[Option]:
    """Options of a help page: names first, then choices, variable and default."""
    for row in re.findall(r"^│ \*?\s*(--.*)│$", text, flags=re.MULTILINE):
        names = re.match(r"(?:--?[a-z][a-z-]*\s+)+", row)
        assert names is not None, row
        choices = re.findall(r"<([\w-]+(?:\|[\w-]+)+)>", row)
        values = {value for each in choices for value in each.split("|")}
        values |= set(re.findall(r"\[env var: (\w+)\]", row))
        values |= {f"Default: {each}" for each in re.findall(r"\[default: ([\w-]+)\]", row)}
        yield Option(tuple(names[0].split()), frozenset(values))


def rows(section: str) -> list[str]:
    """Rows of the tables in a section, without their heads."""
    return [line for line in SECTIONS[section].splitlines() if line.startswith("| `")]


def first_cell(row: str) -> str:
    return row.partition(" | ")[0]


def test_every_command_has_its_section(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that nobody reads about is not there."""
    listed = re.findall(r"^│ ([a-z]+) ", help_text(capsys), flags=re.MULTILINE)

    assert sorted(listed) == sorted(COMMANDS)
    assert [name for name in SECTIONS if name.startswith("mcprec ")] == [
        f"mcprec {name}" for name in COMMANDS
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_told_with_its_values(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names, choices, defaults and variables are those of `--help`."""
    told = {first_cell(row): row for row in rows(f"mcprec {command}") if "`--" in first_cell(row)}

    shown = list(options_in(help_text(capsys, command)))

    assert shown, "a help page always has --help"
    for option in shown:
        if set(option.names) <= OF_ALL:
            continue
        found = [row for cell, row in told.items() if set(option.names) == set(FLAG.findall(cell))]
        assert len(found) == 1, f"{option.names} has {len(found)} rows"
        missing = [value for value in option.values if not re.search(rf"\b{value}\b", found[0])]
        assert not missing, f"the row of {option.names} lacks {missing}"


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_is_made_up(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever copies an option from the page must not be told that there is no such option."""
    real = {name for each in options_in(help_text(capsys, command)) for name in each.names}
    cells = [first_cell(row) for row in rows(f"mcprec {command}")]

    assert {name for cell in cells for name in FLAG.findall(cell)} <= real


def test_no_option_of_the_page_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    """The text around the tables names real options too."""
    real = {
        name
        for command in COMMANDS
        for each in options_in(help_text(capsys, command))
        for name in each.names
    }
    code = " ".join(re.findall(r"`[^`]+`|^    .+$", TEXT, flags=re.MULTILINE))

    assert set(FLAG.findall(code)) <= real | OF_ALL | FOREIGN


@pytest.mark.parametrize("page", ["guide.md", "eval.md", "github-actions.yml", "../README.md"])
def test_command_lines_of_a_page_are_understood(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are copied as they are, and each command has options of its own."""
    text = (DOCS / page).read_text(encoding="utf-8")
    real = {
        command: {name for each in options_in(help_text(capsys, command)) for name in each.names}
        for command in COMMANDS
    }

    lines = LINE.findall(text)

    assert lines, "a page without a command line needs no test"
    for command, rest in lines:
        own = re.split(r"\s--(?:\s|$)", QUOTED.sub("", rest))[0]
        assert set(FLAG.findall(own)) <= real[command], f"mcprec {command}{rest}"


def test_the_options_under_mitmproxy_are_told() -> None:
    """Under mitmproxy there is no help page to look at."""
    cells = [first_cell(row) for row in rows("mcprec addon")]
    told = [name for cell in cells for name in re.findall(r"mcprec_(\w+)=", cell)]

    assert sorted(told) == sorted(option.name for option in OPTIONS)


def test_statuses_are_told() -> None:
    """Statuses are stable: scripts are written by this table."""
    told = [int(cell) for row in rows("Exit statuses") for cell in re.findall(r"^\| `(\d)`", row)]
    raised = {
        each.exit_status
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.McprecError)
    }

    assert told == [0, 1, 2, 3, 4]
    assert raised <= set(told)


def test_every_module_has_its_sentence() -> None:
    """Who looks for a rule finds the module by what it holds."""
    told = set(re.findall(r"`(?:\w+/)*(\w+\.py)`", ARCHITECTURE))
    modules = {path.name for path in PACKAGE.rglob("*.py") if not path.name.startswith("__")}

    assert modules <= told


def test_what_holds_an_invariant_is_a_test() -> None:
    """A promise whose test was renamed would be held by nobody that one can find."""
    named = re.findall(r"`((?:\w+/)*test_\w+\.py)`: (`test_\w+`(?:, `test_\w+`)*)", ARCHITECTURE)

    assert named
    for file, names in named:
        text = (TESTS / file).read_text(encoding="utf-8")
        for name in re.findall(r"\w+", names):
            assert f"def {name}(" in text, f"{file} has no {name}"
