"""The replay's HTTP server: base URLs, plain proxy and CONNECT on one port."""

import asyncio
import json
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import openai
import pytest

from mcprec_addon.doors.certificates import Authority
from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.errors import ListenError
from mcprec_addon.wire.http import HttpRequest, Piece, Reply

pytestmark = [pytest.mark.door, pytest.mark.anyio]

AUTHORITY = Authority()
OK = Reply(status=200, pieces=(Piece(0, b"ok"),))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Place:
    """A server under test, its port, and the requests it saw."""

    server: HttpServer
    port: int = 0
    seen: list[HttpRequest] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Base URL and proxy in one."""
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(
    reply: Reply = OK, *, authority: Authority | None = AUTHORITY, label: str | None = None
) -> AsyncIterator[Place]:
    def answer(request: HttpRequest) -> Reply:
        place.seen.append(request)
        return reply

    place = Place(HttpServer(answer, authority=authority))
    place.port = await place.server.listen(label=label)
    try:
        yield place
    finally:
        await place.server.close()


def proxied(place: Place, *, trust: ssl.SSLContext | None = None) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(proxy=place.url, verify=trust or trusting())


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=AUTHORITY.ca_pem.decode("ascii"))


async def in_thread[T](work: Callable[[], T]) -> T:
    return await asyncio.wait_for(asyncio.to_thread(work), 20)


async def curl(*arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        "curl", "--silent", "--max-time", "10", *arguments, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


def connect(port: int, head: bytes) -> tuple[socket.socket, bytes]:
    client = socket.create_connection(("127.0.0.1", port), timeout=5)
    client.sendall(head)
    answer = b""
    while not answer.endswith(b"\r\n\r\n") and (byte := client.recv(1)):
        answer += byte
    return client, answer


async def test_base_url_request() -> None:
    """A base URL is the way in that needs no certificate."""
    async with serving(label="tracker") as place, httpx2.AsyncClient(trust_env=False) as client:
        await client.post(
            f"{place.url}/mcp?a=b%20c", headers=[(b"X-Case", b"\xdcn\xef")], content=b"{}"
        )

    (request,) = place.seen
    assert (request.method, request.url) == ("POST", f"{place.url}/mcp?a=b%20c")
    assert (request.label, request.via, request.body) == ("tracker", "base-url", b"{}")
    assert request.header("x-case") == "Ünï"


async def test_request_without_host_is_for_our_port() -> None:
    """The URL is absolute, also for a client of HTTP/1.0."""
    async with serving() as place:
        client, _ = await in_thread(lambda: connect(place.port, b"GET /x HTTP/1.0\r\n\r\n"))
        client.close()

    assert [request.url for request in place.seen] == [f"{place.url}/x"]


async def test_each_port_has_its_label() -> None:
    """One port per MCP server, so that their paths may be equal."""
    async with serving() as place, httpx2.AsyncClient(trust_env=False) as client:
        files = await place.server.listen(label="files")
        await client.get(f"http://127.0.0.1:{files}/mcp")
        await client.get(f"http://127.0.0.1:{place.port}/mcp")

    assert [request.label for request in place.seen] == ["files", None]


@pytest.mark.parametrize(
    "url",
    [
        "http://mcp.example.test/mcp?a=1",
        "http://mcp.example.test:8080/",
        "https://api.openai.com/v1/models",
        "https://api.example.test:8443/v1/models",
        "https://127.0.0.1/v1",
        "https://[::1]:9443/v1",
    ],
)
async def test_proxied_request_keeps_its_url(url: str) -> None:
    """What goes through the proxy is meant for the host it names."""
    async with serving(label="tracker") as place, proxied(place) as client:
        answers = [await client.get(url), await client.get(url)]

    assert [answer.text for answer in answers] == ["ok", "ok"]
    assert {(request.url, request.via, request.label) for request in place.seen} == {
        (url, "proxy", None)
    }


async def test_connect_to_plain_http() -> None:
    """Node asks for a tunnel also where the URL is http."""
    head = b"CONNECT mcp.example.test:80 HTTP/1.1\r\nHost: mcp.example.test:80\r\n\r\n"
    request = b"POST /mcp HTTP/1.1\r\nHost: mcp.example.test\r\nContent-Length: 2\r\n\r\n{}"

    def post(port: int, *, early: bool) -> None:
        client, _ = connect(port, head + request if early else head)
        with closing(client):
            if not early:
                client.sendall(request)
            assert client.recv(65536).endswith(b"ok")

    async with serving() as place:
        await in_thread(lambda: post(place.port, early=False))
        await in_thread(lambda: post(place.port, early=True))

    assert [request.url for request in place.seen] == ["http://mcp.example.test/mcp"] * 2


async def test_tls_bytes_in_pieces() -> None:
    """The first bytes of a handshake are read before TLS begins, and must not be lost."""
    client_side, network = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = trusting().wrap_bio(client_side, network, server_hostname="api.example.test")
    head = b"CONNECT api.example.test:443 HTTP/1.1\r\n\r\n"

    def exchange(step: Callable[[], object], client: socket.socket) -> None:
        while True:
            try:
                step()
            except ssl.SSLWantReadError:
                for byte in network.read():
                    client.sendall(bytes([byte]))
                client_side.write(client.recv(65536))
            else:
                client.sendall(network.read())
                return

    def get(port: int) -> bytes:
        client, _ = connect(port, head)
        with closing(client):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            exchange(tls.do_handshake, client)
            exchange(lambda: tls.write(b"GET /x HTTP/1.1\r\nConnection: close\r\n\r\n"), client)
            received: list[bytes] = []
            exchange(lambda: received.append(tls.read(65536)), client)
            return b"".join(received)

    async with serving() as place:
        answer = await in_thread(lambda: get(place.port))

    assert answer.endswith(b"ok")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost"])
@pytest.mark.parametrize("tunnel", [True, False])
async def test_our_own_port_through_the_proxy(host: str, *, tunnel: bool) -> None:
    """Clients that ignore ports in NO_PROXY send a base URL through the proxy; that serves, too."""

    def get(port: int, files: int) -> bytes:
        own = f"{host}:{files}"
        if tunnel:
            client, _ = connect(port, f"CONNECT {own} HTTP/1.1\r\n\r\n".encode())
        else:
            client = socket.create_connection(("127.0.0.1", port), timeout=5)
        target = "/mcp" if tunnel else f"http://{own}/mcp"
        with closing(client):
            client.sendall(f"GET {target} HTTP/1.1\r\nHost: {own}\r\n\r\n".encode())
            return client.recv(65536)

    async with serving() as place:
        files = await place.server.listen(label="files")
        await in_thread(lambda: get(place.port, files))

    (request,) = place.seen
    assert (request.url, request.label) == (f"http://{host}:{files}/mcp", "files")
    assert request.via == "base-url"


@pytest.mark.parametrize(
    "target", [b"api.example.test", b":443", b"api.example.test:\xb2", b"", b"x" * 70_000]
)
async def test_connect_without_host_and_port_is_refused(target: bytes) -> None:
    """A tunnel to nowhere ends at once."""
    async with serving() as place:
        client, answer = await in_thread(
            lambda: connect(place.port, b"CONNECT " + target + b" HTTP/1.1\r\n\r\n")
        )
        client.close()

    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")


async def test_connect_on_a_used_connection_is_refused() -> None:
    """No client does this; one that did would otherwise wait for ever."""
    both = b"GET / HTTP/1.1\r\n\r\nCONNECT api.example.test:443 HTTP/1.1\r\n\r\n"

    def ask(port: int) -> bytes:
        client, received = connect(port, both)
        with closing(client):
            while data := client.recv(65536):
                received += data
        return received

    async with serving() as place:
        received = await in_thread(lambda: ask(place.port))

    assert received.count(b"HTTP/1.1 ") == 2
    assert b"HTTP/1.1 400 Bad Request\r\n" in received


async def test_client_that_distrusts_us_is_named() -> None:
    """Without this, an agent with certificates of its own fails and nobody knows why."""
    stranger = ssl.create_default_context()

    async with serving() as place:
        async with proxied(place, trust=stranger) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.get("https://api.openai.com/v1/models")
        async with asyncio.timeout(5):
            while not place.server.distrusted:  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(0.01)

    assert place.server.distrusted == ["api.openai.com"]
    assert place.seen == []


async def test_tls_without_an_authority_is_closed() -> None:
    """A server that has no certificates must not leave such a client waiting."""
    async with serving(authority=None) as place, proxied(place) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get("https://api.openai.com/v1/models")

    assert place.server.distrusted == ["api.openai.com"]


async def test_name_that_no_certificate_can_carry_is_a_failure() -> None:
    """Such a host is named in the report instead of ending in silence."""
    async with serving() as place, proxied(place) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get("https://my_host:1/")

    assert len(place.server.failures) == 1


@pytest.mark.parametrize("end", ["reset", "rst"])
async def test_broken_stream_inside_tls(end: str) -> None:
    """A break is a break on both ways in."""
    pieces = (Piece(0, b"data: 1\n\n"), Piece(0, b"data: 2\n\n"))
    reply = Reply(status=200, pieces=pieces, end=end)  # type: ignore[arg-type]

    async with serving(reply) as place, proxied(place) as client:
        with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
            await client.get("https://api.openai.com/v1/models")


async def test_close_ends_connections_inside_tls() -> None:
    """No connection and no task outlives the run."""
    before = asyncio.all_tasks()

    async with serving(Reply(status=200, end="hold")) as place, proxied(place) as client:
        request = client.build_request("GET", "https://api.openai.com/v1/models")
        answer = await client.send(request, stream=True)
        await place.server.close()
        with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
            await answer.aread()

    assert asyncio.all_tasks() == before


async def test_port_in_use_is_a_listen_error() -> None:
    """The message says what to change."""
    async with serving() as place:
        with pytest.raises(ListenError) as caught:
            await place.server.listen(port=place.port)

    assert str(caught.value) == (
        f"cannot listen on 127.0.0.1:{place.port}, "
        "the port is in use; stop what listens there first"
    )


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
async def test_address_that_is_not_ours_is_a_listen_error(host: str) -> None:
    """Every address that cannot be had ends in one line."""
    async with serving() as place:
        with pytest.raises(ListenError, match=f"^cannot listen on {host}:0, [a-z ]*"):
            await place.server.listen(host)


@pytest.mark.parametrize("pace", [0.0, -1.0, float("nan")])
def test_pace_is_above_zero(pace: float) -> None:
    """Nothing sensible is meant by these."""
    with pytest.raises(ValueError, match="above zero"):
        HttpServer(lambda _request: OK, authority=None, pace=pace)


def chat_stream() -> Reply:
    deltas = [{"role": "assistant", "content": ""}, {"content": "Three"}, {"content": " open"}, {}]
    events = [
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-5",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}],
        }
        for delta in deltas
    ]
    lines = [*(json.dumps(event) for event in events), "[DONE]"]
    return Reply(
        status=200,
        headers=(("content-type", "text/event-stream; charset=utf-8"),),
        pieces=tuple(Piece(n, f"data: {line}\n\n".encode()) for n, line in enumerate(lines)),
        streamed=True,
    )


@pytest.mark.parametrize("way", ["base-url", "proxy"])
async def test_openai_sdk_streams_a_chat(way: str) -> None:
    """The SDK that most agents use cannot tell either way from the provider."""
    async with serving(chat_stream()) as place:
        through = proxied(place)
        async with openai.AsyncOpenAI(
            api_key="k",
            base_url=f"{place.url}/v1" if way == "base-url" else "https://api.openai.com/v1",
            http_client=through if way == "proxy" else None,
        ) as client:
            stream = await client.chat.completions.create(
                model="gpt-5", messages=[{"role": "user", "content": "Any?"}], stream=True
            )
            text = [chunk.choices[0].delta.content async for chunk in stream]
        await through.aclose()

    (request,) = place.seen
    assert text == ["", "Three", " open", None]
    assert request.via == way
    assert request.path == "/v1/chat/completions"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "http://mcp.example.test/v1"])
@pytest.mark.parametrize("option", ["--proxytunnel", "--proxy-anyauth"])
async def test_curl_through_the_proxy(tmp_path: Path, url: str, option: str) -> None:
    """A client in C waits for 100 Continue and checks certificates with OpenSSL itself."""
    ca = tmp_path / "ca.pem"
    ca.write_bytes(AUTHORITY.ca_pem)

    async with serving() as place:
        status, text = await curl(
            *("--proxy", place.url, "--cacert", str(ca), option, "--data", "x" * 2000, url)
        )

    assert (status, text) == (0, "ok")
    assert [(request.url, len(request.body)) for request in place.seen] == [(url, 2000)]
