"""Recording leaves the traffic as it is: bytes, order, time and who hung up."""

import asyncio
import base64
import gzip
import http.client
import json
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard

from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.mitm import Chain, RecordAddon
from mcprec_addon.doors.mitm_server import MitmServer, free_ports
from mcprec_addon.doors.recording import Recording
from mcprec_addon.doors.routes import ModelRoute, Route, ServerRoute
from mcprec_addon.exchange import McpExchange, ModelAnswer, ModelExchange

pytestmark = [pytest.mark.door, pytest.mark.anyio]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
LAST = b"0\r\n\r\n"
CHAT = json.dumps({"model": "m", "stream": True, "messages": []})
DONE = b"data: [DONE]\n\n"
RPC = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "t"}})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # mitmproxy's own loop


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


type Script = list[bytes | float | threading.Event | None]
"""What an upstream does: send bytes, pause (seconds), wait for a gate, read a request (None)."""


@contextmanager
def upstream(*scripts: Script, heard: list[bytes] | None = None) -> Generator[int]:
    """Serve one connection after another, each by its script; `heard` gets the requests."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def serve() -> None:
            for script in scripts:
                connection, _ = server.accept()
                with connection:
                    first = read_request(connection)
                    (heard if heard is not None else []).append(first)
                    play(connection, script, heard)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(20)


def read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0].partition(b":")[2]) if lengths else 0
    while len(body) < length:
        body += connection.recv(65536)
    return head


def play(connection: socket.socket, script: Script, heard: list[bytes] | None) -> None:
    for step in script:
        match step:
            case bytes():
                try:
                    connection.sendall(step)
                except OSError:
                    return
            case threading.Event():
                assert step.wait(20)
            case None:
                (heard if heard is not None else []).append(read_request(connection))
            case _:
                time.sleep(step)


class Doors:
    """A recording mitmproxy in front of one upstream."""

    def __init__(self, recording: Recording, port: int) -> None:
        self.recording = recording
        self.port = port

    async def call[T](self, client: Callable[[int], T]) -> T:
        """Run a blocking client against the door."""
        return await asyncio.to_thread(client, self.port)


@asynccontextmanager
async def recording(
    folder: Path, port: int, *, kind: str = "model", host: str = "", chain: Chain | None = None
) -> AsyncGenerator[Doors]:
    made = Recording(folder / "a.mcp", urls={})
    proxy, door = free_ports(2)
    url = host or f"http://127.0.0.1:{port}"
    route: Route = ModelRoute(upstreams={"openai": url})
    if kind == "mcp":
        route = ServerRoute(label="tracker", upstream=url)
    server = MitmServer(confdir=folder / "conf")
    addon = RecordAddon(made, routes={door: route}, chain=chain)
    await server.start(addon, proxy_port=proxy, ports=[door])
    try:
        yield Doors(made, door)
    finally:
        await server.stop()


def ask(port: int, path: str = "/openai/v1/chat/completions", body: str = CHAT) -> bytes:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as client:
        client.request("POST", path, body, {"Accept-Encoding": "gzip, br, zstd"})
        with closing(client.getresponse()) as response:
            return response.read()


def until_ended(made: Recording) -> None:
    """Wait until mitmproxy has noticed that the client is gone."""
    deadline = time.monotonic() + 10
    while not made.ended and time.monotonic() < deadline:
        time.sleep(0.01)
    assert made.ended


def only(folder: Path) -> ModelExchange:
    exchange = load_cassette(folder / "a.mcp").exchanges[0]
    assert isinstance(exchange, ModelExchange)
    return exchange


async def test_an_event_reaches_the_client_while_the_answer_goes_on(tmp_path: Path) -> None:
    """A stream is passed on as it comes, or agents lose their streaming."""
    gate = threading.Event()

    def read_first(port: int) -> bytes:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        client.request("POST", "/openai/v1/chat/completions", CHAT)
        response = client.getresponse()
        first = response.readline()
        gate.set()  # only now does the upstream go on
        rest = response.read()
        client.close()
        return first + rest

    script: Script = [HEAD, chunk(b'data: {"i":0}\n\n'), gate, chunk(DONE), LAST]
    with upstream(script) as port:
        async with recording(tmp_path, port) as doors:
            seen = await doors.call(read_first)
        doors.recording.close()

    assert seen == b'data: {"i":0}\n\n' + DONE
    assert [event.value for event in only(tmp_path).answer.events] == [{"i": 0}, "[DONE]"]


async def test_a_client_that_hangs_up_after_the_end_marker_lost_nothing(tmp_path: Path) -> None:
    """SDKs close at the marker; mitmproxy calls that an error."""

    def hang_up(port: int) -> None:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        client.request("POST", "/openai/v1/chat/completions", CHAT)
        response = client.getresponse()
        while b"[DONE]" not in response.readline():
            pass
        response.close()
        client.close()

    script: Script = [HEAD, chunk(b'data: {"delta":"ok"}\n\n'), chunk(DONE), 0.3, LAST]
    with upstream(script) as port:
        async with recording(tmp_path, port) as doors:
            await doors.call(hang_up)
        doors.recording.close()

    answer = only(tmp_path).answer
    assert (answer.end, len(answer.events)) == (None, 2)


async def test_a_client_that_leaves_early_is_told_from_a_broken_server(tmp_path: Path) -> None:
    """The two make an agent behave differently."""
    gate = threading.Event()

    def leave(port: int) -> None:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        client.request("POST", "/openai/v1/chat/completions", CHAT)
        response = client.getresponse()
        response.readline()
        response.close()
        client.close()

    with upstream([HEAD, chunk(b'data: {"i":0}\n\n'), gate]) as port:
        async with recording(tmp_path, port) as doors:
            await doors.call(leave)
            await asyncio.to_thread(until_ended, doors.recording)
            gate.set()
        doors.recording.close()

    assert only(tmp_path).answer.end == "left"


@pytest.mark.parametrize(
    ("script", "end"),
    [
        ([HEAD, chunk(b'data: {"i":0}\n\n'), LAST], "cut"),
        ([HEAD, chunk(b'data: {"i":0}\n\n')], "reset"),
        ([HEAD, b"50\r\ndata: "], "reset"),
    ],
    ids=["clean end", "no last chunk", "inside a chunk"],
)
async def test_how_a_stream_broke_is_kept(script: Script, end: str, tmp_path: Path) -> None:
    """A clean end without the marker and a broken connection are two different cassettes."""

    def read(port: int) -> None:
        with suppress(http.client.IncompleteRead):
            ask(port)

    with upstream(script) as port:
        async with recording(tmp_path, port) as doors:
            await doors.call(read)
        doors.recording.close()

    assert only(tmp_path).answer.end == end


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(b'{"output":"fertig"}', mtime=0)),
        ("br", brotli.compress(b'{"output":"fertig"}')),
        ("zstd", zstandard.compress(b'{"output":"fertig"}')),
    ],
)
async def test_a_packed_body_passes_packed_and_is_recorded_plain(
    coding: str, packed: bytes, tmp_path: Path
) -> None:
    """The client gets the upstream's own bytes; the cassette can be read and redacted."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: {coding}\r\n"
    answer = f"{head}Content-Length: {len(packed)}\r\n\r\n".encode() + packed
    with upstream([answer]) as port:
        async with recording(tmp_path, port) as doors:
            seen = await doors.call(ask)
        doors.recording.close()

    assert seen == packed
    assert only(tmp_path).answer.value == {"output": "fertig"}
    assert "content-encoding" not in only(tmp_path).answer.headers


async def test_a_long_pause_is_no_failure(tmp_path: Path) -> None:
    """Reasoning models are silent for a while; no limit of ours cuts them off."""
    script: Script = [
        HEAD,
        chunk(b'data: {"i":0}\n\n'),
        1.2,
        chunk(b'data: {"i":1}\n\n' + DONE),
        LAST,
    ]
    with upstream(script) as port:
        async with recording(tmp_path, port) as doors:
            await doors.call(ask)
        doors.recording.close()

    answer = only(tmp_path).answer
    assert (answer.end, len(answer.events)) == (None, 3)
    assert answer.events[1].at_ms - answer.events[0].at_ms >= 1100


async def test_events_cut_anywhere_are_one_event(tmp_path: Path) -> None:
    """Python servers end lines in CRLF, and the network cuts between CR and LF."""
    text = {"content": [{"type": "text", "text": "Größe"}]}
    message = json.dumps({"jsonrpc": "2.0", "id": 9, "result": text}, ensure_ascii=False)
    body = f"event: message\r\ndata: {message}\r\n\r\n".encode()
    cuts = [0, body.index(b"\r\n") + 1, body.index("ß".encode()) + 1, len(body) - 1, len(body)]
    parts: Script = [HEAD]
    for start, end in pairwise(cuts):
        parts += [chunk(body[start:end]), 0.05]
    with upstream([*parts, LAST]) as port:
        async with recording(tmp_path, port, kind="mcp") as doors:
            seen = await doors.call(lambda door: ask(door, "/mcp", RPC))
        doors.recording.close()

    assert seen == body
    exchange = load_cassette(tmp_path / "a.mcp").exchanges[0]
    assert isinstance(exchange, McpExchange)
    assert exchange.answer.value == text


async def test_bodies_that_look_like_ends_pass_on_one_connection(tmp_path: Path) -> None:
    r"""`0\r\n\r\n` inside a chunk is data; extensions and trailers lose no exchange."""
    plain = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    tricky = plain + chunk(b"count: 0\r\n\r\n") + chunk(b"more") + LAST
    extended = plain + b"1;pad=1\r\nx\r\n0;pad=2\r\nX-Sum: 9\r\n\r\n"

    def thrice(port: int) -> list[bytes]:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        seen = []
        for _ in range(3):
            client.request("POST", "/openai/v1/chat/completions", CHAT)
            seen.append(client.getresponse().read())
        client.close()
        return seen

    with upstream([tricky], [extended], [tricky]) as port:
        async with recording(tmp_path, port) as doors:
            seen = await doors.call(thrice)
        doors.recording.close()

    assert seen == [b"count: 0\r\n\r\nmore", b"x", b"count: 0\r\n\r\nmore"]
    assert len(load_cassette(tmp_path / "a.mcp").exchanges) == 3


async def test_a_server_that_is_not_there_is_no_answer(tmp_path: Path) -> None:
    """A cassette of its absence would replay a fault of the network as the server's own."""
    nowhere = free_ports(1)[0]
    async with recording(tmp_path, nowhere) as doors:
        await doors.call(ask)
    recorded = doors.recording.close()

    assert recorded.exchanges == 0
    problems = list(recorded.problems())
    assert problems[0].startswith(f"http://127.0.0.1:{nowhere}: ")
    assert problems[0].endswith(", once")


async def test_a_server_that_closes_before_it_answers_is_passed_on(tmp_path: Path) -> None:
    """The agent is to see its connection close, and no answer of ours in the server's name."""

    def closed(port: int) -> None:
        with pytest.raises(http.client.RemoteDisconnected):
            ask(port)

    with upstream([]) as port:
        async with recording(tmp_path, port) as doors:
            await doors.call(closed)
        doors.recording.close()

    answer = only(tmp_path).answer
    assert isinstance(answer, ModelAnswer)
    assert (answer.kind, answer.status, answer.end) == ("none", 0, "reset")


async def test_an_office_proxy_is_chained_to(tmp_path: Path) -> None:
    """Where the user needs a proxy to get out, so do we."""
    body = b'{"id":"x"}'
    answer = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n" + body
    )
    with upstream([CONNECTED, None, answer]) as proxy:
        async with recording(
            tmp_path,
            0,
            host="http://model.invalid",
            chain=lambda *_: ("http", ("127.0.0.1", proxy)),
        ) as doors:
            seen = await doors.call(ask)
        doors.recording.close()

    assert seen == body
    assert only(tmp_path).answer.value == {"id": "x"}


async def test_proxy_credentials_reach_the_proxy_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither does the upstream see them, nor are they put in place of the agent's key."""
    monkeypatch.setenv("http_proxy", "http://me:p%40ss@127.0.0.1:9")
    seen: list[bytes] = []
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

    def keyed(port: int) -> None:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as client:
            headers = {"Authorization": "Bearer sk-agent"}
            client.request("POST", "/openai/v1/chat/completions", CHAT, headers)
            client.getresponse().read()

    with upstream([CONNECTED, None, answer], heard=seen) as proxy:
        chain: Chain = lambda *_: ("http", ("127.0.0.1", proxy))  # noqa: E731
        async with recording(tmp_path, 0, host="http://model.invalid", chain=chain) as doors:
            await doors.call(keyed)
        doors.recording.close()

    connect, request = seen
    assert b"proxy-authorization: Basic " + base64.b64encode(b"me:p@ss") in connect
    assert b"Bearer sk-agent" in request
    assert b"Basic" not in request


async def test_a_redirect_stays_inside(tmp_path: Path) -> None:
    """Servers send /mcp to /mcp/ with their own address, past any recorder."""

    def location(port: int) -> str | None:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as client:
            client.request("POST", "/mcp", RPC)
            return client.getresponse().headers["location"]

    script: Script = []
    with upstream(script) as port:
        script.append(
            b"HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\n"
            b"Location: http://127.0.0.1:%d/mcp/\r\n\r\n" % port
        )
        async with recording(tmp_path, port, kind="mcp") as doors:
            found = await doors.call(location)
        doors.recording.close()

    assert found == f"http://127.0.0.1:{doors.port}/mcp/"


async def test_an_absolute_endpoint_stays_inside(tmp_path: Path) -> None:
    """Clients of HTTP+SSE refuse to post to another origin than that of their stream."""

    def endpoint(port: int) -> bytes:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as client:
            client.request("GET", "/sse", headers={"Accept": "text/event-stream"})
            response = client.getresponse()
            told = response.readline() + response.readline()
            rest = response.read()
            assert rest == b"\ndata: later\n\n"
            return told

    script: Script = []
    with upstream(script) as port:
        told = b"event: endpoint\ndata: http://127.0.0.1:%d/messages/?s=1\n" % port
        script += [HEAD, chunk(told[:30]), chunk(told[30:] + b"\n"), chunk(b"data: later\n\n")]
        script.append(LAST)
        async with recording(tmp_path, port, kind="mcp") as doors:
            found = await doors.call(endpoint)
        doors.recording.close()

    assert found == b"event: endpoint\ndata: http://127.0.0.1:%d/messages/?s=1\n" % doors.port


async def test_a_packed_stream_is_not_held_back(tmp_path: Path) -> None:
    """Nothing in it looks like the end of an event, and its first bytes are as urgent."""
    gate = threading.Event()
    packed = gzip.compress(b": ping\n\n")

    def first(port: int) -> bytes:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as client:
            client.request("GET", "/mcp", headers={"Accept": "text/event-stream"})
            response = client.getresponse()
            seen = response.read(len(packed))
            gate.set()  # only now does the upstream go on
            return seen + response.read()

    head = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    with upstream([head, chunk(packed), gate, LAST]) as port:
        async with recording(tmp_path, port, kind="mcp") as doors:
            found = await doors.call(first)
        doors.recording.close()

    assert found == packed


async def test_a_websocket_of_a_model_api_is_turned_down(tmp_path: Path) -> None:
    """426 makes clients fall back to HTTP at once; the summary says so."""

    def upgrade(port: int) -> int:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        headers = {"Connection": "Upgrade", "Upgrade": "websocket"}
        client.request("GET", "/openai/v1/responses", headers=headers)
        status = client.getresponse().status
        client.close()
        return status

    async with recording(tmp_path, 9) as doors:
        status = await doors.call(upgrade)
    recorded = doors.recording.close()

    assert status == 426
    assert recorded.sockets == 1
