"""One connection of the replay's HTTP server, as its clients see it."""

import asyncio
import http.client
import re
import socket
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from mcprec_addon.doors.http_connection import Handler
from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.wire.http import HttpRequest, Piece, Reply, ReplyEnd

pytestmark = [pytest.mark.door, pytest.mark.anyio]

SSE = (("content-type", "text/event-stream"),)
THREE = (
    Piece(0, b'data: {"i":0}\n\n'),
    Piece(400, b'data: {"i":1}\n\n'),
    Piece(800, b'data: {"i":2}\n\ndata: [DONE]\n\n'),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def serving(handler: Handler, *, pace: float | None = None) -> AsyncIterator[int]:
    server = HttpServer(handler, authority=None, pace=pace)
    port = await server.listen()
    try:
        yield port
    finally:
        await server.close()
        assert server.failures == []


def always(reply: Reply) -> Handler:
    return lambda _request: reply


def stream(**options: object) -> Reply:
    return Reply(status=200, headers=SSE, pieces=THREE, streamed=True, **options)  # type: ignore[arg-type]


def echo(request: HttpRequest) -> Reply:
    return Reply(status=200, pieces=(Piece(0, request.path.encode() + b" " + request.body),))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - what is awaited has no event to wait for
            await asyncio.sleep(0.01)


async def in_thread[T](work: Callable[[], T]) -> T:
    return await asyncio.wait_for(asyncio.to_thread(work), 20)


def talk(port: int, *sent: bytes) -> bytes:
    """Send bytes, close nothing, and return all that comes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        for part in sent:
            client.sendall(part)
        return read_all(client)


def read_all(client: socket.socket) -> bytes:
    received = b""
    while data := client.recv(65536):
        received += data
    return received


def read_until(client: socket.socket, end: bytes) -> bytes:
    received = b""
    while not received.endswith(end):
        received += client.recv(1)
    return received


async def test_whole_reply_has_its_length_and_no_header_of_our_own() -> None:
    """What the agent receives is what was recorded, nothing that tells a replay apart."""
    reply = Reply(status=201, headers=(("x-a", "1"),), pieces=(Piece(0, b"abc"),))

    async with serving(always(reply)) as port:
        raw = await in_thread(lambda: talk(port, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"))

    assert raw == (
        b"HTTP/1.1 201 Created\r\nx-a: 1\r\ncontent-length: 3\r\nconnection: close\r\n\r\nabc"
    )


async def test_repeated_and_empty_headers_come_back_as_they_were() -> None:
    """A client reads the first WWW-Authenticate to start OAuth, and a cookie jar every cookie."""
    headers = (
        ("set-cookie", "a=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT"),
        ("set-cookie", "b=2"),
        ("www-authenticate", 'Bearer resource_metadata="https://x.example.test/m"'),
        ("www-authenticate", 'Basic realm="old"'),
        ("x-empty", ""),
    )

    def read(port: int) -> http.client.HTTPMessage:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        client.request("POST", "/mcp", b"{}")
        received = client.getresponse().headers
        client.close()
        return received

    async with serving(always(Reply(status=401, headers=headers))) as port:
        received = await in_thread(lambda: read(port))

    assert received.get_all("www-authenticate") == [headers[2][1], headers[3][1]]
    assert received.get_all("set-cookie") == [headers[0][1], headers[1][1]]
    assert received["x-empty"] == ""
    assert received["content-length"] == "0"


async def test_pieces_stay_chunks() -> None:
    """Code that handles a stream piece by piece is exercised as it was while recording."""
    async with (
        serving(always(stream())) as port,
        httpx2.AsyncClient() as client,
        client.stream("POST", f"http://127.0.0.1:{port}/v1/x", json={"n": 1}) as reply,
    ):
        chunks = [chunk async for chunk in reply.aiter_raw()]

    assert chunks == [piece.data for piece in THREE]


async def test_big_piece_is_one_chunk() -> None:
    """A piece is written in parts, but a client that looks at chunks sees one."""
    pieces = (Piece(0, b"a" * 200_000), Piece(0, b"b"))
    request = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"

    async with serving(always(Reply(status=200, pieces=pieces))) as port:
        raw = await in_thread(lambda: talk(port, request))

    body = raw.partition(b"\r\n\r\n")[2]
    assert body == b"30d40\r\n" + b"a" * 200_000 + b"\r\n1\r\nb\r\n0\r\n\r\n"


async def test_empty_piece_does_not_end_the_body() -> None:
    """A chunk of no bytes is the end of a body, so an empty piece must not become one."""
    reply = Reply(status=200, pieces=(Piece(0, b"a"), Piece(1, b""), Piece(2, b"0\r\n\r\n")))

    async with serving(always(reply)) as port, httpx2.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{port}/")

    assert answer.content == b"a0\r\n\r\n"


@pytest.mark.parametrize("reuse", [True, False])
async def test_payload_that_looks_like_the_end_of_a_body(*, reuse: bool) -> None:
    """Bodies are framed by their length, never by what they contain."""
    bodies = {
        "/a": (Piece(0, b"count: 0\r\n\r\n"), Piece(0, b"more")),
        "/b": (Piece(0, b"x"),),
        "/c": (Piece(0, b"count: 0\r\n\r\n"), Piece(0, b"more")),
    }

    def read(port: int) -> list[bytes]:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        received = []
        for path in bodies:
            client.request("GET", path)
            received.append(client.getresponse().read())
            if not reuse:
                client.close()
        client.close()
        return received

    def answer(request: HttpRequest) -> Reply:
        return Reply(status=200, pieces=bodies[request.path], streamed=True)

    async with serving(answer) as port:
        received = await in_thread(lambda: read(port))

    assert received == [b"count: 0\r\n\r\nmore", b"x", b"count: 0\r\n\r\nmore"]


async def test_pace_keeps_pieces_from_coming_early() -> None:
    """With `--pace` a stream takes its recorded time, divided by the pace."""
    loop = asyncio.get_running_loop()

    async with serving(always(stream()), pace=4.0) as port, httpx2.AsyncClient() as client:
        start = loop.time()
        async with client.stream("GET", f"http://127.0.0.1:{port}/") as reply:
            times = [(loop.time() - start) * 1000 async for _ in reply.aiter_raw()]

    assert len(times) == 3
    assert all(time >= at_ms for time, at_ms in zip(times, (0, 100, 200), strict=True))


async def test_without_pace_nothing_waits() -> None:
    """A replay is fast, however long the recording took."""
    loop = asyncio.get_running_loop()
    late = Reply(status=200, pieces=(Piece(60_000, b"{}"),))

    async with serving(always(late)) as port, httpx2.AsyncClient() as client:
        start = loop.time()
        await client.get(f"http://127.0.0.1:{port}/")

    assert loop.time() - start < 5


async def test_head_and_bodiless_statuses_carry_no_body() -> None:
    """A body after these would be read as the next reply."""
    requests = b"".join(
        b"%b HTTP/1.1\r\nHost: x\r\n\r\n" % line
        for line in (b"HEAD /200", b"GET /204", b"GET /304")
    )
    last = b"GET /200 HTTP/1.1\r\nConnection: close\r\n\r\n"

    def answer(request: HttpRequest) -> Reply:
        return Reply(status=int(request.path[1:]), pieces=(Piece(0, b"body"),))

    async with serving(answer) as port:
        raw = await in_thread(lambda: talk(port, requests + last))

    assert raw == (
        b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n"
        b"HTTP/1.1 204 No Content\r\n\r\n"
        b"HTTP/1.1 304 Not Modified\r\n\r\n"
        b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbody"
    )


async def test_http_1_0_gets_no_chunks() -> None:
    """Such a client reads to the end of the connection and would take a chunk size for text."""
    async with serving(always(stream())) as port:
        raw = await in_thread(lambda: talk(port, b"GET / HTTP/1.0\r\n\r\n"))

    assert raw.partition(b"\r\n\r\n")[2] == b"".join(piece.data for piece in THREE)
    assert b"connection: close" in raw


async def test_body_in_chunks_arrives_whole() -> None:
    """Some clients send their request without a length."""

    def post(port: int) -> bytes:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        client.request("POST", "/p", iter([b"ab", b"", b"c" * 100_000]), encode_chunked=True)
        body = client.getresponse().read()
        client.close()
        return body

    async with serving(echo) as port:
        body = await in_thread(lambda: post(port))

    assert body == b"/p ab" + b"c" * 100_000


async def test_expect_is_answered_before_the_body() -> None:
    """A client such as curl waits a second for this line, others for ever."""

    def post(port: int) -> tuple[bytes, bytes]:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(
                b"POST /e HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
                b"Connection: close\r\n\r\n"
            )
            interim = read_until(client, b"\r\n\r\n")
            client.sendall(b"hi")
            return interim, read_all(client)

    async with serving(echo) as port:
        interim, final = await in_thread(lambda: post(port))

    assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert final.endswith(b"/e hi")


@pytest.mark.parametrize("pace", [None, 8.0])
async def test_pipelined_requests_are_answered_in_turn(pace: float | None) -> None:
    """Replies have no number on the wire; their order is all that tells them apart."""
    two = (
        b"POST /first HTTP/1.1\r\nContent-Length: 3\r\n\r\none"
        b"POST /second HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\n\r\ntwo"
    )

    def answer(request: HttpRequest) -> Reply:
        return Reply(status=200, pieces=(Piece(0, request.body), Piece(200, request.path.encode())))

    async with serving(answer, pace=pace) as port:
        raw = await in_thread(lambda: talk(port, two))

    assert re.findall(rb"one|two|/first|/second", raw) == [b"one", b"/first", b"two", b"/second"]


async def test_any_split_of_the_bytes_is_the_same_request() -> None:
    """TCP has no packets: a request may arrive one byte at a time."""
    request = b"POST /s?q=1 HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"

    async with serving(echo) as port:
        raw = await in_thread(
            lambda: talk(port, *(request[i : i + 1] for i in range(len(request))))
        )

    assert raw.endswith(b"/s?q=1 abc")


async def test_upgrade_is_a_request_like_any_other() -> None:
    """The handler refuses a WebSocket with 426 and the connection goes on with HTTP."""
    upgrade = (
        b"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )

    def twice(port: int) -> tuple[bytes, bytes]:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(upgrade)
            refused = read_until(client, b"\r\n\r\n")
            client.sendall(b"GET /plain HTTP/1.1\r\nConnection: close\r\n\r\n")
            return refused, read_all(client)

    def answer(request: HttpRequest) -> Reply:
        return Reply(status=426) if request.header("upgrade") else echo(request)

    async with serving(answer) as port:
        refused, plain = await in_thread(lambda: twice(port))

    assert refused.startswith(b"HTTP/1.1 426 Upgrade Required\r\n")
    assert plain.endswith(b"/plain ")


async def test_what_is_not_http_is_answered_and_closed(capfd: pytest.CaptureFixture[str]) -> None:
    """A stray client neither hangs nor writes into the agent's terminal."""
    async with serving(echo) as port:
        raw = await in_thread(lambda: talk(port, b"\x01\x02\x03 hello\r\n\r\n"))

    assert raw.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("pieces", [THREE, ()])
async def test_reset_ends_in_the_middle_of_the_body(pieces: tuple[Piece, ...]) -> None:
    """A stream that broke breaks again; a clean end would hide the failure from the agent."""
    reply = Reply(status=200, headers=SSE, pieces=pieces, end="reset")

    async with serving(always(reply)) as port, httpx2.AsyncClient() as client:
        request = client.build_request("GET", f"http://127.0.0.1:{port}/")
        chunks = (await client.send(request, stream=True)).aiter_raw()
        received = b"".join([await anext(chunks) for _ in pieces])
        with pytest.raises(httpx2.RemoteProtocolError, match="incomplete chunked read"):
            await anext(chunks)

    assert received == b"".join(piece.data for piece in pieces)


@pytest.mark.parametrize("held", [None, 50])
async def test_reply_without_a_head_sends_nothing(held: int | None) -> None:
    """SDKs tell a server that closes before it answers from one that breaks off."""
    end: ReplyEnd = "reset" if held is None else "hold"
    reply = Reply(status=0, end=end, hold_ms=held, headless=True)

    async with serving(always(reply)) as port:
        raw = await in_thread(lambda: talk(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"))

    assert raw == b""


@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
async def test_rst_resets_the_connection_after_the_pieces(version: bytes) -> None:
    """Some clients treat a reset unlike a close, so it is one on the wire."""

    def read(port: int) -> bytes:
        received = b""
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(b"GET / HTTP/%b\r\n\r\n" % version)
            while not received.endswith(b"[DONE]\n\n" + b"\r\n" * (version == b"1.1")):
                received += client.recv(65536)
            with pytest.raises(ConnectionResetError):
                client.recv(1)
        return received

    async with serving(always(stream(end="rst"))) as port:
        received = await in_thread(lambda: read(port))

    assert b"[DONE]" in received


async def test_hold_lasts_as_long_as_the_client() -> None:
    """A listen stream of a recording stays open; closing the server still ends it."""
    server = HttpServer(always(stream(end="hold")), authority=None)
    port = await server.listen()
    before = asyncio.all_tasks()

    async with httpx2.AsyncClient(timeout=0.3) as client:
        with pytest.raises(httpx2.ReadTimeout):
            await client.get(f"http://127.0.0.1:{port}/")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    await reader.readuntil(b"[DONE]\n\n\r\n")
    await server.close()

    assert await reader.read() == b""
    assert asyncio.all_tasks() == before
    writer.close()


async def test_hold_ends_by_itself_after_its_time() -> None:
    """An answer that the recorded client did not wait for ends, and never as if it were whole."""
    held = stream(end="hold", hold_ms=50)

    async with serving(always(held)) as port, httpx2.AsyncClient() as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get(f"http://127.0.0.1:{port}/")


async def test_client_that_leaves_ends_its_reply() -> None:
    """What nobody reads any more is not kept for the rest of the run."""
    before = asyncio.all_tasks()

    async with serving(always(stream()), pace=0.01) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await writer.drain()
        await until(lambda: asyncio.all_tasks() != before)
        writer.close()
        await until(lambda: asyncio.all_tasks() == before)


@pytest.mark.parametrize("streamed", [True, False])
async def test_slow_reader_does_not_fill_the_memory(*, streamed: bool) -> None:
    """A reply is framed as it is read, so that a big one is not in memory twice."""
    size = 48 * 1024 * 1024
    pieces = (Piece(0, bytes(65536)),) * (size // 65536) if streamed else (Piece(0, bytes(size)),)
    request = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"

    async with serving(always(Reply(status=200, pieces=pieces))) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            tracemalloc.start()
            client.sendall(request)
            await asyncio.sleep(0.2)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            received = await in_thread(
                lambda: sum(map(len, iter(lambda: client.recv(1 << 20), b"")))
            )

    assert peak < 4 * 1024 * 1024
    assert received > size


async def test_handler_that_raises_is_answered_and_kept() -> None:
    """A bug of ours must not look like a hanging model; the run names it."""
    replies: dict[HttpRequest, Reply] = {}
    server = HttpServer(replies.__getitem__, authority=None)
    port = await server.listen()
    async with httpx2.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{port}/")
    await server.close()

    assert answer.status_code == 500
    assert answer.text.startswith("mcprec: ")
    assert [type(failure) for failure in server.failures] == [KeyError]


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\nb", "a\rb", "snow \u2603"])
async def test_header_that_cannot_be_written_is_a_failure(value: str) -> None:
    """A cassette is edited by hand; a line break in a header would start a header of its own."""
    server = HttpServer(always(Reply(status=200, headers=(("x", value),))), authority=None)
    port = await server.listen()
    async with httpx2.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{port}/")
    await server.close()

    assert answer.status_code == 500
    assert len(server.failures) == 1


async def test_reply_may_close_the_connection() -> None:
    """`connection: close` of a recording is kept, and said once."""
    reply = Reply(status=999, headers=(("connection", "close"), ("content-length", "9")))

    async with serving(always(reply)) as port:
        raw = await in_thread(lambda: talk(port, b"GET / HTTP/1.1\r\n\r\n"))

    assert raw == b"HTTP/1.1 999 \r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


async def test_many_clients_at_once() -> None:
    """Parallel calls of one agent do not wait for each other, nor get each other's answers."""
    async with serving(echo) as port, httpx2.AsyncClient() as client:

        async def ask(number: int) -> str:
            return (await client.post(f"http://127.0.0.1:{port}/{number}", content=b"x")).text

        answers = await asyncio.gather(*(ask(number) for number in range(64)))

    assert answers == [f"/{number} x" for number in range(64)]
