"""A stream of any length is recorded and replayed, and little of it is held at a time."""

import asyncio
import http.client
import json
import threading
from pathlib import Path

import pytest

from mcprec_addon.doors.cassette_file import journal_path, load_cassette, read_journal_file
from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.doors.recovery import recover
from mcprec_addon.exchange import Cassette, Json, McpExchange, ModelExchange
from mcprec_addon.jsonvalue import dumps
from mcprec_addon.long_events import LongEvents
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.responder import Responder
from mcprec_addon.wire.deltas import deltas
from mcprec_addon.wire.providers import channels_of
from tests.doors.test_mitm import recording, upstream

pytestmark = [pytest.mark.door, pytest.mark.anyio]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
COUNT = 3000  # events of 1 kB: three groups of events
SECRET = "sk-proj-" + "k9Zq" * 6
PATH = "/v1/chat/completions"
CHAT = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "go on"}]}
CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "t"}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # mitmproxy's own loop


def told(number: int) -> bytes:
    params: Json = {"level": "info", "data": f"{number} " + "word " * 200}
    message: Json = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
    return b"event: message\ndata: " + dumps(message) + b"\n\n"


def said(text: str) -> bytes:
    delta: Json = {"choices": [{"index": 0, "delta": {"content": text}}]}
    return b"data: " + dumps(delta) + b"\n\n"


def answered() -> bytes:
    final: Json = {"jsonrpc": "2.0", "id": 7, "result": {"content": []}}
    return b"event: message\ndata: " + dumps(final) + b"\n\n"


def chat_stream() -> bytes:
    """A long answer that says a key a few characters at a time, over the end of a group."""
    key = [SECRET[at : at + 3] for at in range(0, len(SECRET), 3)]
    texts = ["word " * 200 for _ in range(COUNT)]
    at = COUNT // 3 - 3  # 1 MiB of events is some thousand of them
    whole = [
        *texts[:at],
        *[piece for one in texts[:40] for piece in (f" {one[:5]}", *key)],
        *(f" {text}" for text in texts[at:]),
    ]
    return b"".join(map(said, whole)) + b"data: [DONE]\n\n"


def ask(port: int, path: str, body: object) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse().read()
    connection.close()
    return answer


def said_in(cassette: Cassette) -> str:
    """Join the text of the only answer of a model."""
    (exchange,) = cassette.exchanges
    assert isinstance(exchange, ModelExchange)
    return "".join(
        delta.text
        for each in exchange.answer.events
        for delta in deltas(each.value, channels_of("openai"))
    )


async def replayed(cassette: Path, path: str, body: object) -> bytes:
    found = load_cassette(cassette)
    bindings = Bindings(found.header.redaction, default_rules())
    player = Player(found, bindings=bindings, options=PlayOptions())
    responder = Responder(found, player, halves=frozenset({"mcp", "model"}))
    server = HttpServer(responder.respond, authority=None)
    port = await server.listen(label="tracker" if path == "/mcp" else None)
    try:
        return await asyncio.to_thread(ask, port, path, body)
    finally:
        await server.close()
        assert server.failures == []


async def test_a_long_answer_of_a_server_comes_again(tmp_path: Path) -> None:
    """Byte for byte, and as one line that any reader reads."""
    target = tmp_path / "a.mcp"
    stream = b"".join(map(told, range(COUNT))) + answered()
    with upstream([HEAD, stream]) as port:
        async with recording(tmp_path, port, kind="mcp") as doors:
            live = await asyncio.to_thread(ask, doors.port, "/mcp", CALL)
            doors.recording.close()

    again = await replayed(target, "/mcp", CALL)

    assert live == stream
    assert again == stream
    exchange = load_cassette(target).exchanges[0]
    assert isinstance(exchange, McpExchange)
    assert isinstance(exchange.answer.events, LongEvents)
    lines = target.read_bytes().splitlines()
    assert len(json.loads(lines[1])["events"]) == len(exchange.answer.events) == COUNT


async def test_a_key_in_a_long_answer_of_a_model_is_hidden(tmp_path: Path) -> None:
    """Neither the journal nor the cassette has a piece of it, wherever a group ends."""
    target = tmp_path / "a.mcp"
    stream = chat_stream()
    with upstream([HEAD, stream]) as port:
        async with recording(tmp_path, port) as doors:
            live = await asyncio.to_thread(ask, doors.port, f"/openai{PATH}", CHAT)
            journal = said_in(read_journal_file(journal_path(target)))
            doors.recording.close()

    again = await replayed(target, PATH, CHAT)

    assert live == stream
    texts = [
        "".join(
            event["choices"][0]["delta"]["content"]
            for event in map(json.loads, body.replace(b"data: ", b"").split(b"\n\n")[:-2])
        )
        for body in (stream, again)
    ]
    assert texts[0].count(SECRET) == 40
    assert texts[1] == texts[0].replace(SECRET, "openai-key-1")
    assert SECRET[:11] not in journal + said_in(load_cassette(target))
    assert again.count(b"\n\n") == stream.count(b"\n\n")


async def test_a_recorder_killed_in_the_middle_keeps_what_ended_before(tmp_path: Path) -> None:
    """The stream that was running is missing, and said to be."""
    target = tmp_path / "a.mcp"
    half = b"".join(map(told, range(COUNT)))
    gate = threading.Event()
    with upstream([HEAD, told(1) + answered()], [HEAD, half, gate]) as port:
        async with recording(tmp_path, port, kind="mcp") as doors:
            await asyncio.to_thread(ask, doors.port, "/mcp", CALL)
            asking = asyncio.create_task(asyncio.to_thread(ask, doors.port, "/mcp", CALL))
            async with asyncio.timeout(20):
                while b'"kind":"events"' not in journal_path(target).read_bytes():  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            left = tmp_path / ".b.mcp.journal"
            left.write_bytes(journal_path(target).read_bytes())
            gate.set()
            await asking

    recovered = recover(left)

    assert [each.seq for each in load_cassette(tmp_path / "b.mcp").exchanges] == [1]
    assert recovered.warnings == (
        f"{left}: #2 broke off in the middle of its stream and is left out",
    )
