"""Which GET opens what, and how a client of HTTP+SSE is answered."""

import json
from dataclasses import replace

import pytest

from mcprec_addon.exchange import (
    Header,
    Json,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    Message,
    Server,
    Transport,
    Via,
)
from mcprec_addon.wire.http import HttpRequest, Reply
from mcprec_addon.wire.sse import SseReader
from tests.replay.test_channels import put_aside
from tests.replay.test_responder import TOOLS, URL, Replay, exchange, post, rpc

SHAKE = McpAnswer(kind="result", value={"protocolVersion": "2025-06-18"})
NO_POST = McpAnswer(kind="body", value="Method Not Allowed", status=405)
HANDSHAKE = exchange(5, "initialize", SHAKE)


def header(transport: Transport | None) -> Header:
    return Header(servers={"s": Server(transport=transport, url=URL, era="classic")})


def get(**headers: str) -> HttpRequest:
    lines = {"accept": "text/event-stream", **headers}
    named = tuple((name.replace("_", "-"), value) for name, value in lines.items())
    return HttpRequest(method="GET", url=URL, headers=named)


class Client:
    """A client of HTTP+SSE, and what it gets."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        reply = replay.respond(get())
        (told,) = SseReader().feed(reply.body)
        assert told.event == "endpoint"
        self.url = URL.partition("/mcp")[0] + (told.data or "")
        self.got: list[Json] = []
        assert reply.live is not None
        reply.live.open(self._take, lambda: None)

    def _take(self, data: bytes, _at_ms: int) -> None:
        self.got += [json.loads(each.data or "") for each in SseReader().feed(data)]

    def post(self, message: Json) -> list[Json]:
        """Post a message and return all that came on the stream since."""
        reply = self._replay.respond(post(message, self.url))
        assert reply.status == 202
        if reply.aside is not None:
            put_aside(reply)
        found, self.got = self.got, []
        return found


def is_channel(reply: Reply) -> bool:
    return reply.body.startswith(b"event: endpoint")


@pytest.mark.parametrize(
    ("transport", "shaken", "headers", "opens"),
    [
        ("sse", False, {}, True),
        ("sse", True, {}, True),
        ("sse", True, {"mcp_protocol_version": "2025-06-18"}, False),
        ("http", False, {}, True),
        ("stdio", False, {}, True),
        (None, False, {}, True),
        ("http", True, {}, False),
        ("http", False, {"mcp_session_id": "1"}, False),
        ("http", False, {"last_event_id": "1"}, False),
    ],
)
def test_a_client_of_http_sse_is_told_by_how_it_begins(
    transport: Transport | None, headers: dict[str, str], *, shaken: bool, opens: bool
) -> None:
    """Its GET is the first it sends; another client has shaken hands before it listens."""
    replay = Replay(HANDSHAKE, TOOLS, header=header(transport))
    if shaken:
        replay.respond(post(rpc("initialize")))

    assert is_channel(replay.respond(get(**headers))) is opens


@pytest.mark.parametrize("transport", ["sse", "http", "stdio"])
def test_a_session_is_answered_on_the_stream(transport: Transport) -> None:
    """Whatever door it was recorded by: ids, questions, misses, and what comes unasked."""
    question: dict[str, Json] = {"id": 9, "method": "roots/list"}
    asks = McpAnswer(
        kind="result", value=1, events=(McpEvent(at_ms=0, message=question, answer={}),)
    )
    changed = Message(
        server="s", sender="server", method="notifications/tools/list_changed", after=6
    )
    call = McpExchange(seq=6, call=McpCall(server="s", method="tools/call", name="t"), answer=asks)
    replay = Replay(HANDSHAKE, TOOLS, call, header=header(transport), messages=[changed])
    client = Client(replay)

    shaken = client.post(rpc("initialize", 0))
    noted = client.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    called = client.post(rpc("tools/call", "q", {"name": "t"}))
    missed = client.post(rpc("prompts/list", 3))

    assert shaken == [{"jsonrpc": "2.0", "id": 0, "result": SHAKE.value}]
    assert noted == []
    assert called == [
        {"jsonrpc": "2.0", **question},
        {"jsonrpc": "2.0", "id": "q", "result": 1},
        {"jsonrpc": "2.0", "method": changed.method},
    ]
    assert [each["id"] for each in missed if isinstance(each, dict) and "error" in each] == [3]
    assert len(replay.told) == 1


def test_a_client_that_falls_back_is_refused_first() -> None:
    """As recorded: it tries Streamable HTTP, then HTTP+SSE."""
    replay = Replay(exchange(1, "initialize", NO_POST), HANDSHAKE, header=header("sse"))

    refused = replay.respond(post(rpc("initialize", 0)))
    client = Client(replay)

    assert refused.status == 405
    assert client.post(rpc("initialize", 1)) == [{"jsonrpc": "2.0", "id": 1, "result": SHAKE.value}]
    assert replay.player.unused() == []


def test_a_client_that_need_not_fall_back_is_not_refused() -> None:
    """It knows from its config how the server is spoken to."""
    replay = Replay(exchange(1, "initialize", NO_POST), HANDSHAKE, header=header("sse"))

    shaken = Client(replay).post(rpc("initialize", 1))

    assert shaken == [{"jsonrpc": "2.0", "id": 1, "result": SHAKE.value}]
    assert replay.player.unused() == []


def test_a_post_to_a_stream_that_has_gone_is_refused() -> None:
    """As servers do; an answer would go nowhere."""
    replay = Replay(HANDSHAKE, header=header("sse"))

    reply = replay.respond(post(rpc("initialize"), f"{URL}?session_id=mcprec-channel-9"))

    assert reply.status == 404
    assert [each.seq for each in replay.player.unused()] == [5]


@pytest.mark.parametrize(
    ("url", "via", "status"),
    [
        ("http://127.0.0.1:7/sse", "base-url", 200),
        ("http://127.0.0.1:7/openai/v1/unheard-of", "base-url", 403),
        ("http://news.example/feed", "proxy", 403),
    ],
)
def test_the_only_server_has_any_address_but_not_every_stream_is_its(
    url: str, via: Via, status: int
) -> None:
    """In a mitmproxy of one's own the address is what the proxy is led to."""
    replay = Replay(HANDSHAKE, header=header("sse"))

    reply = replay.respond(replace(get(), url=url, via=via))

    assert reply.status == status
