"""What a server sent on its own comes again where it stood, on the stream that is for it."""

import json
from collections.abc import Sequence

import pytest

from mcprec_addon.exchange import Cassette, Json, McpAnswer, McpCall, McpExchange, Message
from mcprec_addon.replay.feed import Feed, Stream
from mcprec_addon.wire.mcp import NOBODY, Caller

KEY = "io.modelcontextprotocol/subscriptionId"
CHANGED = "notifications/tools/list_changed"
DONE = McpAnswer(kind="result", value={})


def exchange(seq: int, method: str, *, http_method: str = "POST") -> McpExchange:
    call = McpCall(server="s", method=method, http_method="GET" if http_method == "GET" else "POST")
    return McpExchange(seq=seq, call=call, answer=DONE)


def said(method: str = CHANGED, *, on: int | None = None, after: int = 0, **more: Json) -> Message:
    return Message(
        server="s", sender="server", method=method, on=on, after=after, params=dict(more) or None
    )


class Client:
    """One open stream, and what came on it."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.got: list[Json] = []
        self.is_over = False
        stream.open(lambda data, _: self.got.append(json.loads(data)), self._close)

    def _close(self) -> None:
        self.is_over = True

    @property
    def methods(self) -> list[str]:
        """The methods of what came; a response has none."""
        return [str(each.get("method")) for each in self.got if isinstance(each, dict)]


def feed(*exchanges: McpExchange, messages: Sequence[Message]) -> Feed:
    return Feed(Cassette(exchanges=exchanges, messages=tuple(messages)))


LISTEN = exchange(2, "subscriptions/listen")
ASKED: Json = {"toolsListChanged": True, "resourceSubscriptions": ["a://b"]}


def listener(made: Feed, *, of: int = 2, asked: Json = ASKED) -> Client:
    return Client(made.stream("s", caller=Caller(id="sub"), of=of, asked=asked))


def test_a_message_comes_behind_the_exchange_that_it_followed() -> None:
    """An agent that lists tools on a change must not do so before it made the change."""
    made = feed(
        LISTEN,
        exchange(3, "tools/call"),
        exchange(4, "tools/call"),
        messages=[said("notifications/subscriptions/acknowledged", on=2), said(on=2, after=3)],
    )
    client = listener(made)
    assert client.methods == ["notifications/subscriptions/acknowledged"]

    made.answered("s", 4)
    assert len(client.got) == 1
    made.answered("s", 3)

    assert client.methods[1:] == [CHANGED]


def test_what_clients_may_leave_out_is_not_waited_for() -> None:
    """A list that this client has cached is never asked for."""
    made = feed(
        LISTEN, exchange(3, "tools/list"), exchange(4, "tools/call"), messages=[said(on=2, after=3)]
    )
    client = listener(made)

    made.answered("s", 4)

    assert client.methods == [CHANGED]


def test_a_stream_that_opens_late_gets_what_is_due() -> None:
    """Nothing is lost because a client was slow to listen."""
    made = feed(LISTEN, exchange(3, "tools/call"), messages=[said(on=2, after=3)])
    made.answered("s", 3)

    assert listener(made).methods == [CHANGED]
    assert not made.has("s")


def test_a_subscription_ends_after_its_last_message() -> None:
    """As the server ended it: a bare end would be an error to the client."""
    made = feed(LISTEN, exchange(3, "tools/call"), messages=[said(on=2, after=3)])
    stream = made.stream("s", caller=Caller(id="sub"), of=2, asked=ASKED)
    stream.ends_with(b'{"id":"sub","result":{}}')
    client = Client(stream)
    assert not client.is_over

    made.answered("s", 3)

    assert client.got[-1] == {"id": "sub", "result": {}}
    assert client.is_over


def test_a_client_that_has_gone_gets_nothing() -> None:
    """What comes later waits for the next stream."""
    made = feed(LISTEN, exchange(3, "tools/call"), messages=[said(on=2, after=3)])
    client = listener(made)
    client.stream.gone()

    made.answered("s", 3)

    assert client.got == []
    assert listener(made).methods == [CHANGED]


def test_a_pipe_gets_what_was_sent_on_a_pipe() -> None:
    """There it answers nothing that the client opened."""
    made = feed(exchange(3, "tools/call"), messages=[said(after=3)])
    client = Client(made.stream("s"))

    made.answered("s", 3)

    assert client.got == [{"jsonrpc": "2.0", "method": CHANGED}]


@pytest.mark.parametrize("era", ["classic", "stateless", None])
def test_a_classic_client_gets_what_came_on_a_subscription(era: str | None) -> None:
    """Without the subscription's id and its acknowledgement; another client listens by itself."""
    made = feed(
        LISTEN,
        exchange(3, "tools/call"),
        messages=[
            said("notifications/subscriptions/acknowledged", on=2, _meta={KEY: "$id"}),
            said(on=2, after=3, _meta={KEY: "$id"}),
        ],
    )
    stream = made.stream("s")
    stream.era = "classic" if era == "classic" else "stateless" if era else None
    client = Client(stream)

    made.answered("s", 3)

    assert client.got == ([{"jsonrpc": "2.0", "method": CHANGED}] if era == "classic" else [])


def test_a_subscription_gets_what_it_asks_for_of_a_classic_stream() -> None:
    """Under its own id."""
    made = feed(
        exchange(1, "", http_method="GET"),
        exchange(3, "tools/call"),
        messages=[
            said(on=1, after=3),
            said("notifications/prompts/list_changed", on=1, after=3),
            said("notifications/resources/updated", on=1, after=3, uri="a://b"),
            said("notifications/resources/updated", on=1, after=3, uri="c://d"),
            said("notifications/message", on=1, after=3, level="info"),
        ],
    )
    client = listener(made, of=9)

    made.answered("s", 3)

    assert client.methods == [CHANGED, "notifications/resources/updated"]
    assert '"a://b"' in json.dumps(client.got)
    assert all(f'{{"{KEY}": "sub"}}' in json.dumps(each) for each in client.got)


def test_two_classic_streams_get_their_own() -> None:
    """Each session has a stream, and what came on it."""
    made = feed(
        exchange(1, "", http_method="GET"),
        exchange(2, "", http_method="GET"),
        messages=[said("notifications/a", on=1), said("notifications/b", on=2)],
    )

    first, second = (Client(made.stream("s", caller=NOBODY, of=seq)) for seq in (1, 2))

    assert (first.methods, second.methods) == (["notifications/a"], ["notifications/b"])


def test_what_the_client_sent_is_not_sent_to_it() -> None:
    """Messages of both directions stand in the cassette."""
    note = Message(server="s", sender="client", method="notifications/initialized")

    assert not feed(messages=[note]).has("s")


def test_a_question_is_asked_again_under_its_id() -> None:
    """Without it a client would take it for a notification, and answer nothing."""
    question = Message(server="s", sender="server", method="roots/list", id=0)
    made = feed(messages=[question])

    pipe = Client(made.stream("s"))

    assert pipe.got == [{"jsonrpc": "2.0", "id": 0, "method": "roots/list"}]
