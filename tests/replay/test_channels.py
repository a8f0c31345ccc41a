"""A client of HTTP+SSE posts here, and is answered there."""

import json

import pytest

from mcprec_addon.exchange import Cassette, Json
from mcprec_addon.replay.channels import Channels
from mcprec_addon.replay.feed import Feed
from mcprec_addon.wire.http import HttpRequest, Piece, Reply
from mcprec_addon.wire.jsonrpc import response_bytes
from mcprec_addon.wire.mcp_reply import as_event, json_reply
from mcprec_addon.wire.sse import SseReader

STREAM = "http://127.0.0.1:9/sse"
ANSWER = response_bytes(4, "result", {})
LOG = as_event(b'{"jsonrpc":"2.0","method":"notifications/message"}')


class Client:
    """One open stream, what came on it, and where it is told to post."""

    def __init__(self, channels: Channels) -> None:
        request = HttpRequest(method="GET", url=STREAM)
        self.reply = channels.open(request, Feed(Cassette()).stream("s", encode=as_event))
        (told,) = SseReader().feed(self.reply.body)
        self.event = told.event
        self.post = HttpRequest(method="POST", url=f"http://127.0.0.1:9{told.data}")
        self.got: list[Json] = []
        self.is_over = False
        assert self.reply.live is not None
        self.live = self.reply.live
        self.live.open(self._take, self._close)

    def _take(self, data: bytes, _at_ms: int) -> None:
        self.got += [json.loads(each.data or "") for each in SseReader().feed(data)]

    def _close(self) -> None:
        self.is_over = True


def put_aside(reply: Reply) -> None:
    """Do with what goes aside as a door does."""
    assert (reply.status, reply.body) == (202, b"")
    assert reply.aside is not None
    for piece in reply.aside.pieces:
        reply.aside.write(piece.data)
    reply.aside.sent()


def test_a_client_is_told_where_to_post() -> None:
    """At the path it knows already, so that whoever found the stream finds that too."""
    client = Client(Channels())

    assert (client.event, client.reply.status, client.reply.end) == ("endpoint", 200, "hold")
    assert client.post.url.startswith(f"{STREAM}?session_id=")


def test_answers_go_down_the_stream_of_their_client() -> None:
    """In one piece for each message, and whoever waits for them is told."""
    channels = Channels()
    first, second = Client(channels), Client(channels)
    channel = channels.of(second.post)
    told: list[str] = []
    plain = Reply(status=200, pieces=(Piece(0, ANSWER),), sent=lambda: told.append("sent"))
    busy = Reply(
        status=200, pieces=(Piece(1, LOG), Piece(2, as_event(ANSWER))), streamed=True,
    )  # fmt: skip

    assert channels.is_post(second.post)
    assert channel is not None
    put_aside(channel.take([plain, busy]))

    assert [each.get("id") for each in second.got if isinstance(each, dict)] == [4, None, 4]
    assert (first.got, told, second.is_over) == ([], ["sent"], False)


def test_an_error_of_the_protocol_goes_down_the_stream_too() -> None:
    """Whatever its status was where it was recorded."""
    channels = Channels()
    client = Client(channels)
    channel = channels.of(client.post)
    assert channel is not None

    put_aside(channel.take([json_reply(400, response_bytes(4, "error", {"code": -32602}))]))

    assert client.got == [{"jsonrpc": "2.0", "id": 4, "error": {"code": -32602}}]


def test_what_is_no_message_answers_the_post() -> None:
    """A 503, for one, which has no place on the stream."""
    channels = Channels()
    client = Client(channels)
    channel = channels.of(client.post)
    busy = Reply(status=503, pieces=(Piece(0, b"busy"),))
    assert channel is not None

    assert channel.take([busy]) is busy
    assert client.got == []


@pytest.mark.parametrize(
    ("broken", "ends"),
    [
        (Reply(status=200, pieces=(Piece(0, LOG),), streamed=True), True),
        (Reply(status=200, streamed=True, end="reset"), True),
        (Reply(status=200, pieces=(Piece(0, LOG),), streamed=True, end="hold"), False),
    ],
    ids=["cut", "reset", "left"],
)
def test_a_broken_answer_breaks_the_stream(broken: Reply, *, ends: bool) -> None:
    """There is no other way to break one; a client that left was waiting, and may wait."""
    channels = Channels()
    client = Client(channels)
    channel = channels.of(client.post)
    assert channel is not None

    put_aside(channel.take([broken]))

    assert client.is_over is ends


def test_a_stream_that_has_gone_answers_nothing() -> None:
    """What is still to be written goes nowhere."""
    channels = Channels()
    client = Client(channels)
    channel = channels.of(client.post)
    assert channel is not None
    reply = channel.take([json_reply(200, ANSWER)])

    client.live.gone()
    put_aside(reply)

    assert client.got == []
    assert channels.of(client.post) is None
    assert channels.is_post(client.post)
    assert not channels.is_post(HttpRequest(method="POST", url=f"{STREAM}?session_id=live"))
