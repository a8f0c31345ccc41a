"""The pytest plugin: ``@pytest.mark.mcprec("triage.mcp")`` has a cassette answer a test.

pytest loads it in every run, so it imports next to nothing; what answers is loaded by the first
test that has a cassette.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from mcprec_addon.plugin.imports import unrewritten

with unrewritten():
    from mcprec_addon.plugin.modes import MODES, Mode
    from mcprec_addon.plugin.paths import FOLDER
    from mcprec_addon.plugin.plan import folder_beside
    from mcprec_addon.plugin.session import Session

if TYPE_CHECKING:
    from mcprec_addon.doors.cassette_in_use import Cassette
    from mcprec_addon.plugin.runner import McprecRun

_SESSION = "mcprec-session"
_MARK = (
    "mcprec(*paths, half=..., match=..., ignore=[...], faults=[...], ...): answer the test's MCP "
    "and model calls from a cassette, by default cassettes/<module>/<Class.test>.mcp beside it"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options and settings."""
    group = parser.getgroup("mcprec", "cassettes of MCP and model traffic (mcprec)")
    group.addoption(
        "--mcprec-record",
        choices=list(MODES),
        help="none: nothing reaches the network (the default, unless MCPREC_RECORD says otherwise);"
        " once: record cassettes that are not there; new: add what is not recorded; all: record"
        " anew",
    )
    group.addoption(
        "--mcprec-disable",
        action="store_true",
        help="use no cassettes: tests reach what they ask for",
    )
    group.addoption(
        "--mcprec-all-used",
        action="store_true",
        help="fail a run that leaves exchanges of its cassettes unused",
    )
    group.addoption(
        "--mcprec-orphans",
        action="store_true",
        help="fail a run where cassettes stand beside its tests that none of them uses",
    )
    parser.addini("mcprec_cassette_dir", "folder of cassettes beside a test file", default=FOLDER)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark, and follow the session unless it is to be left alone."""
    config.addinivalue_line("markers", _MARK)
    mode = _mode(config)
    if not config.getoption("--mcprec-disable"):
        config.pluginmanager.register(Session(config, mode), _SESSION)


def _mode(config: pytest.Config) -> Mode:
    given = config.getoption("--mcprec-record") or os.environ.get("MCPREC_RECORD") or "none"
    mode = MODES.get(given)
    if mode is None:
        message = f"MCPREC_RECORD={given!r}: no such mode; set one of {', '.join(MODES)}"
        raise pytest.UsageError(message)
    return mode


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test whose marks are wrong, before a fixture could go live."""
    session = cast("object", item.config.pluginmanager.get_plugin(_SESSION))
    if isinstance(session, Session):
        session.refuse()


@pytest.fixture
def mcprec_config() -> dict[str, object]:
    """Options of all tests below, as the mark takes them; override it, in any scope."""
    return {}


@pytest.fixture
def mcprec_cassette_dir(request: pytest.FixtureRequest) -> Path:
    """Folder of the test's cassettes; override it, in any scope, to have them elsewhere."""
    return folder_beside(request.path, str(request.config.getini("mcprec_cassette_dir")))


@pytest.fixture
def mcprec_cassette(request: pytest.FixtureRequest) -> "Cassette":
    """The cassette that answers the test: what was asked of it, and what it lacked."""
    return _session(request).cassette_of(request.node)


@pytest.fixture
def mcprec_run(request: pytest.FixtureRequest) -> "McprecRun":
    """Run an agent as a program, replayed from the test's cassette: `mcprec_run(["./agent"])`."""
    return _session(request).runner_of(request.node)


def _session(request: pytest.FixtureRequest) -> Session:
    session = cast("object", request.config.pluginmanager.get_plugin(_SESSION))
    if not isinstance(session, Session):
        pytest.skip("--mcprec-disable: the test needs its cassette")
    return session
