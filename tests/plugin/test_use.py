"""A cassette in use by a test: which of its misses fail it, and with what."""

import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from mcprec_addon.doors.cassette_options import CassetteOptions
from mcprec_addon.errors import CassetteMiss, CassetteUnused
from mcprec_addon.plugin.agent_run import AgentRun
from mcprec_addon.plugin.use import Use, Wanted
from tests.in_process_cassette import CHAT_URL, HI, write_cassette

HELLO = HI | {"messages": [{"role": "user", "content": "hello"}]}


@contextmanager
def used(folder: Path, **options: bool) -> Generator[Use]:
    use = Use.begun(
        Wanted(
            paths=[write_cassette(folder)],
            options=CassetteOptions(half="model", **options),  # type: ignore[typeddict-item]
            command="pytest test_x.py --mcprec-record=all",
            code=None,
        )
    )
    try:
        yield use
    finally:
        use.end()


def test_a_miss_is_told_once(tmp_path: Path) -> None:
    """It fails the phase it came in, and no later one."""
    with used(tmp_path) as use:
        httpx2.post(CHAT_URL, json=HELLO)

        with pytest.raises(CassetteMiss) as caught:
            use.check(None)
        use.check(None)

    assert "pytest test_x.py --mcprec-record=all" in caught.value.misses[0]
    lines = traceback.extract_tb(caught.value.__traceback__)
    assert lines[-1].line == "httpx2.post(CHAT_URL, json=HELLO)"


@pytest.mark.parametrize("depth", ["itself", "cause", "group"])
def test_an_error_that_tells_of_the_miss_is_not_shown_beside_it(tmp_path: Path, depth: str) -> None:
    """Clients and frameworks wrap the answer of a miss in errors of their own."""
    with used(tmp_path) as use:
        told = RuntimeError(httpx2.post(CHAT_URL, json=HELLO).text)
        error: Exception = told
        if depth == "cause":
            error = ValueError("wrapped")
            error.__cause__ = told
        elif depth == "group":
            error = ExceptionGroup("tasks", [told])

        with pytest.raises(CassetteMiss) as caught:
            use.check(error)

    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_another_error_is_shown_as_what_the_miss_led_to(tmp_path: Path) -> None:
    """What the test found wrong is worth seeing."""
    with used(tmp_path) as use:
        httpx2.post(CHAT_URL, json=HELLO)
        error = AssertionError("not what I want")

        with pytest.raises(CassetteMiss) as caught:
            use.check(error)

    assert caught.value.__cause__ is error


def test_what_an_agent_used_in_a_program_is_used(tmp_path: Path) -> None:
    """A test may call half of its agent, and start the other half."""
    with used(tmp_path, all_used=True) as use:
        httpx2.post(CHAT_URL, json=HI)
        with pytest.raises(CassetteUnused, match="1 recorded exchange never used"):
            use.check_used()

        use.runs.append(AgentRun(stdout="", stderr="", status=0, unused={3: "model call"}))

        use.check_used()
        assert use.outcome()["unused"] == {}
