"""A run of pytest: a cassette in use around each test that has one, and what is said at the end.

A cassette answers from the first fixture that is set up for its test to the last that is torn
down, so that no fixture goes live because it is older than the test.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from mcprec_addon.errors import McprecError, UsageError
from mcprec_addon.plugin.imports import unrewritten
from mcprec_addon.plugin.known import Known
from mcprec_addon.plugin.marks import Asked, joined
from mcprec_addon.plugin.modes import Mode
from mcprec_addon.plugin.plan import asked_of, folder_beside, paths_of
from mcprec_addon.plugin.recorder import Recorder

if TYPE_CHECKING:
    from mcprec_addon.doors.cassette_in_use import Cassette
    from mcprec_addon.plugin.runner import McprecRun
    from mcprec_addon.plugin.tally import Tally
    from mcprec_addon.plugin.use import Use

_ATTRIBUTE = "mcprec"  # of a report: what a test made of its cassette; xdist carries it along


@dataclass(slots=True)
class Running:
    """A test that has a cassette, while it runs.

    Attributes:
        item: The test.
        asked: What it asks for.
        use: Its cassette, once that answers.
        is_opening: The cassette is being opened, which may take fixtures of its own.
        has_passed: All phases so far have.
        outcome: What the test made of it, at the end.
    """

    item: pytest.Item
    asked: Asked
    use: "Use | None" = None
    is_opening: bool = False
    has_passed: bool = True
    outcome: Mapping[str, object] | None = None


_RUNNING = pytest.StashKey[Running | None]()


class Session:
    """Follows a run of pytest."""

    def __init__(self, config: pytest.Config, mode: Mode) -> None:
        """Begin.

        Args:
            config: The run's.
            mode: Whether its tests record, and how.
        """
        self._config = config
        self._running: Running | None = None
        self._wrong: str | None = None
        self._known = Known()
        worker = cast("dict[str, int]", getattr(config, "workerinput", {}))
        self._recorder = Recorder(
            mode=mode, known=self._known, is_one_of_several=worker.get("workercount", 1) > 1
        )
        self._tally: Tally | None = None

    def cassette_of(self, item: pytest.Item) -> "Cassette":
        """Return the cassette that answers a test."""
        return self._use_of(item).cassette

    def runner_of(self, item: pytest.Item) -> "McprecRun":
        """Return what runs agents as programs for a test."""
        from mcprec_addon.plugin.runner import McprecRun  # noqa: PLC0415 - few tests need it

        return McprecRun(self._use_of(item))

    def _use_of(self, item: pytest.Item) -> "Use":
        running = item.stash.get(_RUNNING, None)
        if running is None or running.use is None:
            pytest.fail("mcprec(None) is the nearest mark: the test has no cassette", pytrace=False)
        return running.use

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Learn which cassettes tests have, before some of these are deselected."""
        name = str(self._config.getini("mcprec_cassette_dir"))
        for item in items:
            try:
                asked = asked_of(item)
            except UsageError:
                continue  # told when the test runs
            if asked is not None:
                folder = folder_beside(item.path, name)
                self._known.add(item.nodeid, paths_of(asked, item, folder), folder)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Have the cassette answer while fixtures are set up, and behind that."""
        __tracebackhide__ = True
        self._wrong = item.stash[_RUNNING] = None
        try:
            asked = asked_of(item)
        except UsageError as error:
            asked, self._wrong = None, str(error)
        if asked is None:
            return (yield)
        running = self._running = item.stash[_RUNNING] = Running(item, asked)
        try:
            result = yield
            self._open(running)
        except BaseException as error:
            _check(running, error)
            raise
        finally:
            self._running = None
        _check(running, None)
        return result

    def refuse(self) -> None:
        """Fail a test whose marks are wrong: within what other plugins wrap around its setup."""
        if self._wrong is not None:
            pytest.fail(self._wrong, pytrace=False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self) -> Generator[None, object, object]:
        """Have the cassette answer before the first fixture of a test is set up."""
        __tracebackhide__ = True
        if self._running is not None:
            self._open(self._running)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fail the test for what it asked in vain."""
        __tracebackhide__ = True
        running = item.stash.get(_RUNNING, None)
        try:
            result = yield
        except BaseException as error:
            _check(running, error)
            raise
        _check(running, None)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Have the cassette answer no more, when all fixtures have ended."""
        __tracebackhide__ = True
        running = item.stash.get(_RUNNING, None)
        try:
            result = yield
        except BaseException as error:
            _check(running, error)
            raise
        else:
            _check(running, None)
            _check_used(running)
        finally:
            _end(running)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send along what the test made of its cassette."""
        report = yield
        running = item.stash.get(_RUNNING, None)
        if running is not None:
            running.has_passed &= report.passed
            if call.when == "teardown" and running.outcome is not None:
                setattr(report, _ATTRIBUTE, running.outcome)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test made of its cassette, here or in another process."""
        outcome = cast("Mapping[str, object] | None", getattr(report, _ATTRIBUTE, None))
        if outcome is not None:
            self._summed().add(report.nodeid, outcome)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take what a process of xdist knew of cassettes."""
        output = cast("Mapping[str, Mapping[str, object]]", getattr(node, "workeroutput", {}))
        if _ATTRIBUTE in output:
            self._known.take(output[_ATTRIBUTE])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that was fine but for cassettes that are left over."""
        output = cast("dict[str, object] | None", getattr(self._config, "workeroutput", None))
        if output is not None:
            output[_ATTRIBUTE] = self._known.told()
        elif self._failures() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what became of the cassettes."""
        failures = self._failures()
        all_used = bool(self._config.getoption("--mcprec-all-used"))
        lists = terminalreporter.verbosity > 0 or all_used
        lines = [*self._tally.lines(lists=lists)] if self._tally else []
        is_quiet = terminalreporter.verbosity < 0 and len(lines) == 1  # all went well
        if failures or (lines and not is_quiet):
            terminalreporter.section("mcprec")
            for line in [*lines, *failures]:
                terminalreporter.line(line, red=line in failures)

    def _summed(self) -> "Tally":
        if self._tally is None:
            from mcprec_addon.plugin.tally import Tally  # noqa: PLC0415 - most runs need none

            self._tally = Tally()
        return self._tally

    def _failures(self) -> list[str]:
        """Return why the run fails though its tests may not have."""
        failures: list[str] = []
        unused = self._tally.unused() if self._tally else 0
        if unused and self._config.getoption("--mcprec-all-used"):
            failures.append(f"{_count(unused, 'recorded exchange')} never used (--mcprec-all-used)")
        if self._config.getoption("--mcprec-orphans"):
            failures += self._known.orphan_lines()
        return failures

    def _open(self, running: Running) -> None:
        """Have a test's cassette answer from here on, unless it does."""
        if running.use is not None or running.is_opening:
            return
        running.is_opening = True
        try:
            running.use = self._begun(running.item, running.asked)
        except McprecError as error:
            problem = str(error)
        else:
            return
        finally:
            running.is_opening = False
        pytest.fail(problem, pytrace=False)

    def _begun(self, item: pytest.Item, asked: Asked) -> "Use":
        with unrewritten():
            from mcprec_addon.plugin.opening import begun  # noqa: PLC0415 - tests load it

        request = cast("pytest.FixtureRequest", item._request)  # type: ignore[attr-defined]  # noqa: SLF001 - what pytest's own plugins use: the fixtures of a test from a hook
        folder = Path(cast("str", request.getfixturevalue("mcprec_cassette_dir")))
        config = cast("Mapping[str, object]", request.getfixturevalue("mcprec_config"))
        paths = paths_of(asked, item, folder)
        self._known.add(item.nodeid, paths, folder)
        return begun(item, paths, joined([config, asked.options]), self._recorder)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else f'{noun}s'}"


def _check(running: Running | None, error: BaseException | None) -> None:
    __tracebackhide__ = True
    is_told = isinstance(error, KeyboardInterrupt | SystemExit | pytest.exit.Exception)
    if running is not None and running.use is not None and not is_told:
        running.use.check(error)


def _check_used(running: Running | None) -> None:
    __tracebackhide__ = True
    if running is not None and running.use is not None and running.has_passed:
        running.use.check_used()


def _end(running: Running | None) -> None:
    if running is not None and running.use is not None:
        running.use.end()
        running.outcome = running.use.outcome()
