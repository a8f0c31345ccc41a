"""Pieces that are written when they are due: at once, or at the pace of the recording."""

import asyncio
from collections import deque
from collections.abc import Callable

from mcprec_addon.wire.http import Aside


class Paced:
    """What is written in answer to one call, in order.

    Attributes:
        due: Loop time at which the last piece so far is written.
    """

    def __init__(self, write: Callable[[bytes], None], *, pace: float | None) -> None:
        """Begin with a call that arrives now.

        Args:
            write: Writes bytes to the client.
            pace: How many times faster than recorded; None: without waiting.
        """
        self._loop = asyncio.get_running_loop()
        self._write = write
        self._pace = pace
        self._began = self._loop.time()
        self.due = self._began
        # One timer for all: the loop keeps no order among those of one moment.
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def send(self, data: bytes, at_ms: int) -> None:
        """Write a piece that came so many milliseconds after the call."""
        if self._pace is not None:
            self.due = max(self.due, self._began + at_ms / 1000 / self._pace)
        self._when_due(lambda: self._write(data))

    def then(self, step: Callable[[], None]) -> None:
        """Take a step once everything so far is written."""
        self._when_due(step)

    def stop(self) -> None:
        """Write nothing more."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _when_due(self, step: Callable[[], None]) -> None:
        if self.due <= self._loop.time() and not self._waiting:
            step()
            return
        self._waiting.append((self.due, step))
        if len(self._waiting) == 1:
            self._timer = self._loop.call_at(self.due, self._run)

    def _run(self) -> None:
        """Take the steps that are due, and wait for the next; one may stop all others."""
        self._waiting[0][1]()
        while self._waiting:
            self._waiting.popleft()
            if not self._waiting:
                return
            due, step = self._waiting[0]
            if due > self._loop.time():
                self._timer = self._loop.call_at(due, self._run)
                return
            step()


def write_aside(aside: Aside, *, pace: float | None) -> None:
    """Write what a request leads to on another stream, from now on; `pace` as in `Paced`."""
    paced = Paced(aside.write, pace=pace)
    for piece in aside.pieces:
        paced.send(piece.data, piece.at_ms)
    paced.then(aside.sent)
