"""Inside mitmproxy, streams and broken ends are replayed by a server on loopback."""

import pytest
from mitmproxy import http
from mitmproxy.connection import Server
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from mitmproxy.test import taddons, tflow, tutils

from mcprec_addon.doors.mitm_replay import ReplayAddon
from mcprec_addon.exchange import Cassette, Json, ModelAnswer, ModelCall, ModelExchange, StreamEvent
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.staging import stage

pytestmark = [pytest.mark.door, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # mitmproxy's own loop


def addon(answer: ModelAnswer) -> ReplayAddon:
    request: Json = {"messages": []}
    call = ModelCall(provider="openai", path="/v1/chat/completions", request=request)
    cassette = Cassette(exchanges=(ModelExchange(seq=1, call=call, answer=answer),))
    _, responder = stage(cassette, PlayOptions(), halves=frozenset({"model"}))
    return ReplayAddon(responder)


def flow() -> http.HTTPFlow:
    request = tutils.treq(
        method=b"POST", path=b"/v1/chat/completions", content=b'{"messages":[]}',
        host="api.openai.com", port=443, scheme=b"https", authority=b"",
    )  # fmt: skip
    return tflow.tflow(req=request)


async def test_a_whole_body_is_answered_at_once() -> None:
    """Mitmproxy can write it itself."""
    made = addon(ModelAnswer(kind="body", value={"id": "x"}))
    with taddons.context(made) as context:
        asked = flow()
        await context.cycle(made, asked)

    assert asked.response is not None
    assert asked.response.content == b'{"id":"x"}'


async def test_a_stream_is_led_to_the_loopback_server() -> None:
    """Only its address is let through; the Host header stays the agent's."""
    event = StreamEvent(at_ms=0, kind="text", value="[DONE]")
    made = addon(ModelAnswer(kind="events", events=(event,)))
    await made.running()
    try:
        asked = flow()
        made.request(asked)
        request = asked.request
        own = ServerConnectionHookData(Server(address=(request.host, request.port)), None)  # type: ignore[arg-type]
        other = ServerConnectionHookData(Server(address=("api.openai.com", 443)), None)  # type: ignore[arg-type]
        made.server_connect(own)
        made.server_connect(other)
    finally:
        await made.done()

    assert request.host == "127.0.0.1"
    assert own.server.error is None
    assert other.server.error is not None


async def test_an_answer_that_never_began_is_silence() -> None:
    """Mitmproxy would make a 502 of its own of a connection that closes."""
    made = addon(ModelAnswer(kind="none", status=0, end="reset"))
    await made.running()
    try:
        asked = flow()
        made.request(asked)
        led = asked.response is None
        asked.live = True
        made.error(asked)
    finally:
        await made.done()

    assert led
    assert asked.error is not None
    assert asked.error.msg == asked.error.KILLED_MESSAGE


async def test_what_fails_inside_is_no_success() -> None:
    """Mitmproxy would log it and go on, and the run would look fine."""
    made = addon(ModelAnswer(kind="none"))
    broken = flow()
    broken.request.headers["content-encoding"] = "gzip"

    def fail(*_: object) -> None:
        message = "broken"
        raise ValueError(message)

    made._responder.respond = fail  # type: ignore[method-assign, assignment]  # noqa: SLF001
    made.request(broken)

    assert broken.response is not None
    assert broken.response.status_code == 500
    assert [str(each) for each in made.failures] == ["broken"]
