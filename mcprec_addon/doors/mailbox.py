"""What waits for a client in this process until it is read, in a thread or in an event loop."""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress


class Mailbox:
    """Pieces that other calls feed to a stream, from whichever thread they are made."""

    def __init__(self) -> None:
        self._pieces: deque[bytes | None] = deque()
        self._filled = threading.Event()
        self._wake: Callable[[], None] | None = None

    def put(self, data: bytes, _at_ms: int = 0) -> None:
        """Add a piece."""
        self._put(data)

    def close(self) -> None:
        """Add the end."""
        self._put(None)

    def _put(self, piece: bytes | None) -> None:
        self._pieces.append(piece)
        self._filled.set()
        wake, self._wake = self._wake, None
        if wake is not None:
            wake()

    def get(self, seconds: float | None) -> bytes | None:
        """Return the next piece, or None at the end.

        Raises:
            TimeoutError: None came in time.
        """
        while not self._pieces:
            if not self._filled.wait(seconds):
                raise TimeoutError
            self._filled.clear()
        return self._pieces.popleft()

    async def get_async(self, seconds: float | None) -> bytes | None:
        """As `get`."""
        import anyio  # noqa: PLC0415 - it comes with either library

        with anyio.fail_after(seconds):
            while not self._pieces:
                event = anyio.Event()
                self._wake = _in_this_loop(event.set)
                if self._pieces:  # put by another thread, before there was a way to wake us
                    break
                await event.wait()
        return self._pieces.popleft()


def _in_this_loop(step: Callable[[], None]) -> Callable[[], None]:
    """Return what has the running loop take a step, from any thread."""
    import asyncio  # noqa: PLC0415 - who uses sync clients alone never needs it

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        import trio  # noqa: PLC0415

        token = trio.lowlevel.current_trio_token()
        return lambda: token.run_sync_soon(step)

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has ended, and who waited in it
            loop.call_soon_threadsafe(step)

    return wake
