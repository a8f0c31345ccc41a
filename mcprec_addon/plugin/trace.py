"""Which line of a test, and of the agent below it, asked what was not recorded.

It is looked up while the call waits for its answer. Most clients are called by the code that waits;
MCP clients send from a task of their own, and then the task of the test tells where it waits.
"""

import asyncio
import inspect
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    GeneratorType,
    TracebackType,
)
from typing import Any, cast

_PACKAGE = str(Path(__file__).parent.parent) + os.sep
_LIBRARIES = ("<", _PACKAGE, str(Path(os.__file__).parent) + os.sep)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

_STARTERS = ("asyncio.events", "threading", "trio._core", "pluggy.", "_pytest.")
_LED = 2  # the test alone may be all that a loop in it leaves on the stack


@dataclass(frozen=True, slots=True)
class Place:
    """A line that a frame was at; the frame itself goes on."""

    frame: FrameType
    lasti: int
    lineno: int


def places(test: CodeType | None) -> list[Place]:
    """Return the lines that led to this call, from the test inwards, libraries left out.

    Args:
        test: The test function; None where there is no such thing. Where it cannot be found, the
            lines begin wherever the code of this project does.
    """
    here = list(_stack(inspect.currentframe()))[::-1]
    found = _from(here, test)
    if len(list(filter(_is_own, found))) < _LED:
        # Whoever called asyncio.run() stands on the stack as well, and knows least.
        waiting = next(filter(None, (_from(task, test) for task in _tasks())), found)
        found = [*waiting, *(frame for frame in _of_this_task(here) if frame not in waiting)]
    return [_place(frame) for frame in found if _is_own(frame)]


def traceback_of(found: Sequence[Place]) -> TracebackType | None:
    """Return places as the traceback of an error that was raised at the last one."""
    traceback: TracebackType | None = None
    for place in reversed(found):
        traceback = TracebackType(traceback, place.frame, place.lasti, place.lineno)
    return traceback


def _place(frame: FrameType) -> Place:
    return Place(frame, frame.f_lasti, frame.f_lineno)


def _is_own(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return not file.startswith(_LIBRARIES) and not any(each in file for each in _INSTALLED)


def _from(frames: Sequence[FrameType], test: CodeType | None) -> list[FrameType]:
    """Return the frames from the test inwards; none where it is not among them."""
    start = next((at for at, frame in enumerate(frames) if frame.f_code is test), len(frames))
    return list(frames[start:])


def _of_this_task(frames: Sequence[FrameType]) -> list[FrameType]:
    """Return the frames within what started last: a task, a thread, or the test."""
    starts = (at for at, frame in enumerate(frames) if _starts(frame))
    return list(frames[max(starts, default=-1) + 1 :])


def _starts(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith(_STARTERS)


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _tasks() -> Iterator[list[FrameType]]:
    """Yield where each task of the running loop waits, from its coroutine inwards."""
    for coroutine in (*_of_asyncio(), *_of_trio()):
        yield list(_awaited(coroutine))


def _of_asyncio() -> list[object]:
    try:
        return [task.get_coro() for task in asyncio.all_tasks()]
    except RuntimeError:  # no loop of asyncio runs in this thread
        return []


def _of_trio() -> list[object]:
    trio = sys.modules.get("trio")
    root = trio and trio.lowlevel.in_trio_run() and trio.lowlevel.current_root_task()
    waiting: list[Any] = [root] if root else []
    found: list[object] = []
    while waiting:
        task = waiting.pop()
        found.append(task.coro)
        waiting += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    return found


def _awaited(waits: object) -> Iterator[FrameType]:
    following: object = waits
    while following is not None:
        match following:
            case CoroutineType(cr_frame=frame, cr_await=inner):
                following = cast("object", inner)
            case AsyncGeneratorType(ag_frame=frame, ag_await=inner):
                following = cast("object", inner)
            case GeneratorType(gi_frame=frame):
                following = cast("object", following.gi_yieldfrom)
            case _:
                return
        if frame is not None:
            yield frame
