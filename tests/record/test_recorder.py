"""Each call is numbered when it arrives and ends exactly once."""

from mcprec_addon.exchange import (
    McpAnswer,
    McpCall,
    McpExchange,
    Message,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    ModelUse,
)
from mcprec_addon.record.recorder import Item, Recorder

ANSWER = McpAnswer(kind="result", value={})


def call(server: str = "tracker", method: str = "tools/list") -> McpCall:
    return McpCall(server=server, method=method)


def recorder() -> tuple[Recorder, list[Item]]:
    kept: list[Item] = []
    return Recorder(kept.append), kept


def test_numbers_follow_arrival_and_lines_follow_the_end() -> None:
    """Two calls in flight may end in the other order."""
    made, kept = recorder()
    first = made.begin(call(), at_ms=0, via="proxy")
    second = made.begin(call(), at_ms=5, via="proxy")

    made.finish(second, ANSWER, at_ms=20)
    made.finish(first, ANSWER, at_ms=30)

    ended = [(each.seq, each.ms) for each in kept if isinstance(each, McpExchange | ModelExchange)]
    assert ended == [(2, 15), (1, 30)]


def test_an_exchange_ends_once() -> None:
    """Mitmproxy and a stop of the recorder may both want to end it."""
    made, kept = recorder()
    pending = made.begin(call(), at_ms=0, via=None)

    made.finish(pending, ANSWER, at_ms=1)
    made.finish(pending, McpAnswer(kind="none", end="stopped"), at_ms=2)

    assert len(kept) == 1


def test_a_dropped_call_leaves_no_line() -> None:
    """Traffic of a sign-in is never written."""
    made, kept = recorder()
    pending = made.begin(call(), at_ms=0, via=None)

    made.drop(pending)
    made.finish(pending, ANSWER, at_ms=1)

    assert kept == []


def test_a_message_stands_behind_the_last_answered_exchange() -> None:
    """On a replay it is sent at the same place."""
    made, kept = recorder()
    made.message("tracker", "client", {"method": "a"})
    made.finish(made.begin(call("wiki"), at_ms=0, via=None), ANSWER, at_ms=1)
    made.finish(made.begin(call(), at_ms=0, via=None), ANSWER, at_ms=1)
    made.message("tracker", "client", {"method": "b"})

    after = [each.after for each in kept if isinstance(each, Message)]
    assert after == [0, 2]


def test_the_header_learns_servers_and_models() -> None:
    """A probe that is refused does not settle a server's era."""
    made, _ = recorder()
    made.server("tracker", transport="http", url="https://mcp.acme.com/mcp")
    made.begin(call(method="server/discover"), at_ms=0, via="base-url", era="stateless")
    made.begin(call(method="initialize"), at_ms=0, via="base-url", era="classic")
    made.handshake("tracker", name="acme", version="3")
    request = ModelCall(provider="openai", path="/v1/x", request={"model": "m", "temperature": 0})
    pending = made.begin(request, at_ms=0, via="base-url")
    made.finish(pending, ModelAnswer(kind="none", end="cut"), at_ms=1)

    server = made.seen.servers["tracker"]
    assert (server.era, server.via, server.name, server.version) == (
        "classic",
        "base-url",
        "acme",
        "3",
    )
    assert made.seen.models == [ModelUse(provider="openai", name="m", temperature=0)]
    assert made.seen.ends == {"cut": 1}
