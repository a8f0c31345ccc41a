"""Pieces are written when they are due, and in order."""

import asyncio

import pytest

from mcprec_addon.doors.paced import Paced, write_aside
from mcprec_addon.wire.http import Aside, Piece

pytestmark = [pytest.mark.door, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_without_a_pace_everything_is_written_at_once() -> None:
    """A test does not wait for what took long while it was recorded."""
    written: list[bytes] = []
    paced = Paced(written.append, pace=None)

    paced.send(b"a", 60_000)
    paced.then(lambda: written.append(b"end"))

    assert written == [b"a", b"end"]


async def test_pieces_keep_their_distance_and_their_order() -> None:
    """Ten times as fast as recorded; what stands behind a late piece waits for it."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    written: list[tuple[bytes, float]] = []
    ended = asyncio.Event()
    paced = Paced(lambda data: written.append((data, loop.time() - began)), pace=10)

    for data, at_ms in ((b"a", 0), (b"b", 500), (b"c", 0), (b"d", 1000)):
        paced.send(data, at_ms)
    paced.then(ended.set)
    await asyncio.wait_for(ended.wait(), 10)

    assert [data for data, _ in written] == [b"a", b"b", b"c", b"d"]
    assert written[1][1] >= 0.05
    assert written[3][1] >= 0.1
    assert paced.due - began >= 0.1


async def test_pieces_of_one_moment_keep_their_order() -> None:
    """Recorded times are whole milliseconds, and much happens in one."""
    written: list[int] = []
    ended = asyncio.Event()
    paced = Paced(lambda data: written.append(int(data)), pace=10)

    for number in range(60):
        paced.send(b"%d" % number, 20)
    paced.then(ended.set)
    await asyncio.wait_for(ended.wait(), 10)

    assert written == list(range(60))


async def test_a_step_may_stop_the_rest() -> None:
    """What ends a server ends what it still had to say."""
    written: list[bytes] = []
    paced = Paced(written.append, pace=10)
    paced.send(b"a", 20)
    paced.then(paced.stop)
    paced.send(b"b", 20)

    await asyncio.sleep(0.05)

    assert written == [b"a"]


async def test_what_is_stopped_writes_nothing_more() -> None:
    """The client has gone."""
    written: list[bytes] = []
    paced = Paced(written.append, pace=1)
    paced.send(b"late", 30)

    paced.stop()
    await asyncio.sleep(0.05)

    assert written == []


async def test_what_goes_aside_is_paced_from_its_own_request() -> None:
    """The stream it goes to may be open for long."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    written: list[bytes] = []
    ended = asyncio.Event()
    pieces = (Piece(0, b"a"), Piece(500, b"b"))

    write_aside(Aside(pieces=pieces, write=written.append, sent=ended.set), pace=10)
    at_once = [*written]
    await asyncio.wait_for(ended.wait(), 10)

    assert at_once == [b"a"]
    assert written == [b"a", b"b"]
    assert loop.time() - began >= 0.05
