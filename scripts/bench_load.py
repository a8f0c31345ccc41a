"""An upstream to record from, and clients that measure: plain sockets, so that they cost little."""

import asyncio
from dataclasses import dataclass
from time import perf_counter

import openai

_LAST_CHUNK = b"0\r\n\r\n"
_EVENTS = 20
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"%s"}]}}' % (
    b"x" * 900
)
CHAT_ANSWER = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":'
    b'[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"%s"}}]}'
    % (b"x" * 800)
)


@dataclass(slots=True)
class Upstream:
    """A server that answers MCP, chat, and streamed chat with constant bytes."""

    server: asyncio.Server
    port: int

    @classmethod
    async def started(cls) -> "Upstream":
        """Listen on a free port."""
        server = await asyncio.start_server(_serve, "127.0.0.1", 0)
        return cls(server, server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening."""
        self.server.close()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(_length(head))
            if b'"stream":true' in body:
                await _stream(writer)
            else:
                answer = CHAT_ANSWER if b"/chat/" in head else ANSWER
                writer.write(_head(b"application/json", length=len(answer)) + answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _stream(writer: asyncio.StreamWriter) -> None:
    writer.write(_head(b"text/event-stream", length=None))
    for number in range(_EVENTS):
        event = b'data: {"i":%d}\n\n' % number
        writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        await writer.drain()
        await asyncio.sleep(0.005)
    event = b"data: [DONE]\n\n"
    writer.write(b"%x\r\n%s\r\n" % (len(event), event) + _LAST_CHUNK)


def _head(media_type: bytes, *, length: int | None) -> bytes:
    size = b"transfer-encoding: chunked" if length is None else b"content-length: %d" % length
    return b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n%s\r\n\r\n" % (media_type, size)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def request_bytes(path: str, body: bytes) -> bytes:
    """Return one POST, whole."""
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"accept: application/json, text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def requests_per_s(port: int, *, path: str, body: bytes, clients: int, total: int) -> float:
    """Return how many POSTs a second are answered, each client on a connection of its own."""
    request = request_bytes(path, body)
    began = perf_counter()
    await asyncio.gather(*(_client(port, request, total // clients) for _ in range(clients)))
    return (total // clients * clients) / (perf_counter() - began)


async def _client(port: int, request: bytes, count: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        writer.write(request)
        await _answer(reader)
    writer.close()


async def _answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.partition(b"\r\n")[0]:
        message = f"answered {head.partition(b' ')[2][:60]!r}"
        raise RuntimeError(message)
    if b"chunked" in head.lower():
        await reader.readuntil(_LAST_CHUNK)
    else:
        await reader.readexactly(_length(head))


async def first_event_s(port: int, path: str = "/v1/chat/completions") -> float:
    """Return seconds from a streamed chat call to its first event, on a new connection."""
    body = b'{"model":"m","stream":true,"messages":[]}'
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    began = perf_counter()
    writer.write(request_bytes(path, body))
    await reader.readuntil(b"\n\n")
    took = perf_counter() - began
    await reader.readuntil(_LAST_CHUNK)
    writer.close()
    return took


async def sdk_calls_per_s(port: int) -> float:
    """Return how many streamed chat calls a second the openai SDK makes."""
    count = 100
    async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="x") as client:
        began = perf_counter()
        for _ in range(count):
            stream = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "hi"}], stream=True
            )
            async for _event in stream:
                pass
        return count / (perf_counter() - began)
