"""What waits for a client is read in order, whoever puts it in and whoever reads."""

import threading
from functools import partial

import anyio
import pytest

from mcprec_addon.doors.mailbox import Mailbox


def test_pieces_come_in_order_and_then_the_end() -> None:
    """A stream is read to its end."""
    box = Mailbox()
    box.put(b"one")
    box.put(b"two")
    box.close()

    assert [box.get(None), box.get(None), box.get(None)] == [b"one", b"two", None]


def test_who_waits_too_long_is_told() -> None:
    """The client's own timeout ends the wait."""
    with pytest.raises(TimeoutError):
        Mailbox().get(0.01)


def test_a_thread_is_woken() -> None:
    """The piece may come from anywhere."""
    box = Mailbox()
    threading.Timer(0.01, box.put, [b"late"]).start()

    assert box.get(5) == b"late"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_event_loop_is_woken_by_a_thread_and_by_a_task(backend: str) -> None:
    """Both kinds of clients share one cassette."""

    async def read() -> list[bytes | None]:
        box = Mailbox()
        got: list[bytes | None] = []

        async def reader() -> None:
            got.extend([await box.get_async(5), await box.get_async(5)])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader)
            await anyio.lowlevel.checkpoint()
            box.put(b"task")
            tasks.start_soon(partial(anyio.to_thread.run_sync, box.put, b"thread"))
        return got

    assert anyio.run(read, backend=backend) == [b"task", b"thread"]
