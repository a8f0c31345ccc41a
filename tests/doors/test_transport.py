"""Replies as responses of httpx and httpx2: pieces, ends, waits."""

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import anyio
import httpx
import httpx2
import pytest

from mcprec_addon.doors.transport import Core, RecordedTransport
from mcprec_addon.wire.http import HttpRequest, Piece, Reply, ReplyEnd

URL = "https://api.example.com/v1/things?a=1"
TWO = (Piece(1, b"one,"), Piece(2, b"two"))


class Fed:
    """Something that feeds a stream by hand."""

    def __init__(self) -> None:
        self.is_gone = False
        self.opened = threading.Event()

    def open(self, send: Callable[[bytes, int], None], close: Callable[[], None]) -> None:
        """Keep what feeds it."""
        self.send, self.close = send, close
        self.opened.set()

    def gone(self) -> None:
        """Take note."""
        self.is_gone = True


def client(library: ModuleType, reply: Reply, **options: Any) -> Any:  # noqa: ANN401 - of either
    """A sync client that gets one reply to all it asks."""
    return library.Client(transport=RecordedTransport(Core(lambda _: reply)), **options)


@pytest.fixture(params=[httpx, httpx2])
def library(request: pytest.FixtureRequest) -> ModuleType:
    module: ModuleType = request.param
    return module


def test_the_core_sees_the_request_as_it_was_meant(library: ModuleType) -> None:
    """Its key is made of it."""
    seen: list[HttpRequest] = []

    def respond(request: HttpRequest) -> Reply:
        seen.append(request)
        return Reply(status=204)

    with library.Client(transport=RecordedTransport(Core(respond))) as asking:
        response = asking.post(URL, content=b"body", headers={"X-Two": "b"})

    assert response.status_code == 204
    assert (seen[0].method, seen[0].url, seen[0].body, seen[0].via) == ("POST", URL, b"body", None)
    assert seen[0].header("x-two") == "b"


def test_a_stream_arrives_piece_by_piece(library: ModuleType) -> None:
    """What a client handles is events, each as it came."""
    said: list[str] = []
    reply = Reply(status=200, pieces=TWO, streamed=True, sent=lambda: said.append("sent"))

    with client(library, reply) as asking, asking.stream("GET", URL) as response:
        pieces = list(response.iter_raw())

    assert pieces == [b"one,", b"two"]
    assert said == ["sent"]


@pytest.mark.parametrize(("end", "error"), [("reset", "RemoteProtocolError"), ("rst", "ReadError")])
def test_a_broken_reply_raises_behind_its_pieces(
    end: ReplyEnd, error: str, library: ModuleType
) -> None:
    """A client that keeps what it has got must have got it."""
    got: list[bytes] = []

    with (
        client(library, Reply(status=200, pieces=TWO, end=end)) as asking,
        pytest.raises(getattr(library, error)),
        asking.stream("GET", URL) as response,
    ):
        got.extend(response.iter_raw())

    assert got == [b"one,", b"two"]


def test_a_client_gives_up_on_what_never_comes(library: ModuleType) -> None:
    """Its own timeout is what ends a call without an answer, in a loop or not."""
    hang = Reply(status=200, end="hang")

    async def wait() -> None:
        transport: Any = RecordedTransport(Core(lambda _: hang))
        async with library.AsyncClient(transport=transport, timeout=0.01) as asking:
            await asking.get(URL)

    with client(library, hang, timeout=0.01) as asking, pytest.raises(library.ReadTimeout):
        asking.get(URL)
    with pytest.raises(library.ReadTimeout):
        anyio.run(wait)


def test_a_held_stream_is_fed_from_another_thread(library: ModuleType) -> None:
    """A server says something on its own because of what another client did."""
    fed = Fed()
    reply = Reply(status=200, pieces=TWO[:1], end="hold", live=fed)

    def feed() -> None:
        fed.opened.wait()
        fed.send(b"three", 0)
        fed.close()

    thread = threading.Thread(target=feed)
    thread.start()
    with client(library, reply) as asking:
        text = asking.get(URL).text
    thread.join()

    assert text == "one,three"
    assert fed.is_gone


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_held_stream_is_fed_in_any_event_loop(backend: str, library: ModuleType) -> None:
    """The loop that waits is woken, by a task of its own or by a thread."""

    async def read() -> tuple[str, bool]:
        fed = Fed()
        reply = Reply(status=200, pieces=TWO[:1], end="hold", live=fed)
        transport: Any = RecordedTransport(Core(lambda _: reply))

        def feed() -> None:
            fed.opened.wait()
            fed.send(b"three", 0)
            fed.close()

        async with (
            library.AsyncClient(transport=transport) as asking,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(anyio.to_thread.run_sync, feed)
            response = await asking.get(URL)
        return response.text, fed.is_gone

    assert anyio.run(read, backend=backend) == ("one,three", True)


def test_a_stream_that_is_held_for_a_while_breaks_then(library: ModuleType) -> None:
    """What its client left live, it leaves by itself or not at all."""
    reply = Reply(status=200, pieces=TWO, end="hold", hold_ms=10)

    with client(library, reply) as asking, pytest.raises(library.RemoteProtocolError):
        asking.get(URL)


def test_whoever_leaves_a_held_stream_is_gone(library: ModuleType) -> None:
    """What is fed goes to the clients that are there."""
    fed = Fed()
    reply = Reply(status=200, end="hold", live=fed)

    with client(library, reply, timeout=0.01) as asking, pytest.raises(library.ReadTimeout):
        asking.get(URL)

    assert fed.is_gone


def test_a_head_request_has_no_body(library: ModuleType) -> None:
    """Neither library would read one."""
    with client(library, Reply(status=200, pieces=TWO)) as asking:
        assert asking.head(URL).content == b""
