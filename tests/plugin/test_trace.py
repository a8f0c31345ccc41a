"""A call that misses is traced to the line of the test that made it."""

import asyncio
import functools
import threading
import traceback
from collections.abc import Awaitable, Callable
from types import CodeType

import anyio
import anyio.lowlevel
import pytest

from mcprec_addon.plugin.trace import Place, places, traceback_of

type Look = Callable[[], None]


class Seen:
    """Takes where it is called from, as a transport would."""

    def __init__(self, test: CodeType | None) -> None:
        self._test = test
        self.places: list[Place] = []

    def look(self) -> None:
        """Look up from here, as a transport does while a call waits."""
        self.places = places(self._test)

    def names(self) -> list[str]:
        """Return the functions that led here."""
        return [place.frame.f_code.co_name for place in self.places]


def agent(look: Look) -> None:
    look()


async def async_agent(look: Callable[[], Awaitable[None]]) -> None:
    await look()


def test_the_lines_begin_at_the_test_and_end_in_the_agent() -> None:
    """Frames of pytest above the test, and libraries below the agent, say nothing."""

    def the_test() -> None:
        functools.partial(agent, functools.partial(seen.look))()

    seen = Seen(the_test.__code__)

    the_test()

    assert seen.names() == ["the_test", "agent", "look"]


def test_a_line_stays_the_one_that_asked() -> None:
    """The frame of a test goes on behind a call whose error was swallowed."""

    def the_test() -> None:
        agent(seen.look)
        seen.names()

    seen = Seen(the_test.__code__)
    the_test()

    lines = traceback.extract_tb(traceback_of(seen.places))

    assert lines[0].line == "agent(seen.look)"
    assert lines[-1].name == "look"


@pytest.mark.anyio
async def test_a_call_that_another_task_sends_is_traced_to_who_waits_for_it() -> None:
    """An MCP client writes to a stream, and a task of its own posts what it reads there."""

    async def the_test() -> None:
        await async_agent(send)

    async def send() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post)

    async def post() -> None:
        await anyio.lowlevel.checkpoint()
        seen.look()

    seen = Seen(the_test.__code__)

    await the_test()

    assert seen.names() == ["the_test", "async_agent", "send", "post", "look"]


def test_a_loop_in_the_test_hides_nothing() -> None:
    """A sync test may run its agent with asyncio.run."""

    def the_test() -> None:
        asyncio.run(async_agent(send))

    async def send() -> None:
        seen.look()

    seen = Seen(the_test.__code__)
    the_test()

    assert seen.names() == ["the_test", "async_agent", "send", "look"]


def test_a_thread_has_the_lines_of_its_own() -> None:
    """What a thread does has no test below it; the agent's lines are better than none."""
    seen = Seen(agent.__code__.replace(co_name="not here"))
    thread = threading.Thread(target=agent, args=[seen.look])
    thread.start()
    thread.join()

    assert seen.names() == ["agent", "look"]


def test_no_line_is_no_traceback() -> None:
    """An error is raised without one then."""
    assert traceback_of([]) is None
