"""HTTP requests are sorted into the two halves, and their answers become exchanges."""

import json
from dataclasses import replace

from mcprec_addon.exchange import (
    Exchange,
    Json,
    McpExchange,
    Message,
    ModelExchange,
    Noise,
)
from mcprec_addon.record.intake import Intake
from mcprec_addon.record.recorder import Recorder
from mcprec_addon.record.taps import Tap
from mcprec_addon.wire.http import Ending, HttpRequest

MCP = "http://127.0.0.1:9/mcp"
JSON = [("content-type", "application/json")]
SSE = [("content-type", "text/event-stream")]


class Kept(list[Exchange | Message | Noise]):
    """What an intake handed on."""

    def exchanges(self) -> list[McpExchange]:
        """Return the MCP exchanges."""
        return [each for each in self if isinstance(each, McpExchange)]

    def messages(self) -> list[Message]:
        """Return the messages."""
        return [each for each in self if isinstance(each, Message)]


def intake(**urls: str) -> tuple[Intake, Kept]:
    kept = Kept()
    return Intake(Recorder(kept.append), urls), kept


def post(body: object, url: str = MCP, **headers: str) -> HttpRequest:
    lines = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return HttpRequest(
        method="POST", url=url, headers=lines, body=json.dumps(body).encode(), via="proxy"
    )


def rpc(method: str, request_id: Json = 1, **params: Json) -> dict[str, Json]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def answer(
    tap: Tap | None,
    body: bytes = b"",
    *,
    lines: list[tuple[str, str]] | None = None,
    status: int = 200,
    ending: Ending = "complete",
) -> None:
    assert tap is not None
    tap.head(status, JSON if lines is None else lines)
    if body:
        tap.data(body, 7)
    tap.finish(ending, 9)


def result(value: Json, request_id: Json = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": value}).encode()


def test_a_call_and_its_answer_are_an_exchange() -> None:
    """The server gets its label from the declared address."""
    made, kept = intake(tracker=MCP)

    answer(made.request(post(rpc("tools/list")), 2), result({"tools": []}))

    exchange = kept.exchanges()[0]
    assert (exchange.call.server, exchange.seq, exchange.ms) == ("tracker", 1, 7)
    assert exchange.answer.value == {"tools": []}


def test_an_undeclared_server_is_called_by_host_and_path() -> None:
    """Traffic through the proxy is recorded without being announced."""
    made, kept = intake()

    answer(made.request(post(rpc("tools/list")), 0), result({}))

    assert kept.exchanges()[0].call.server == "127.0.0.1:9/mcp"


def test_a_sign_in_is_never_recorded() -> None:
    """A replay never asks for a token."""
    made, kept = intake(tracker=MCP)
    challenge = [("www-authenticate", 'Bearer resource_metadata="https://x/m"')]

    direct = replace(post(rpc("initialize")), via="base-url")

    answer(made.request(post(rpc("initialize")), 0), b"{}", lines=challenge, status=401)
    assert made.refused_oauth == set()  # through the proxy the client signs in by itself
    answer(made.request(direct, 0), b"{}", lines=challenge, status=401)

    assert kept == []
    assert made.refused_oauth == {"tracker"}


def test_an_answer_to_nothing_asked_is_counted() -> None:
    """Nothing is lost in silence."""
    made, _ = intake(tracker=MCP)

    made.request(post({"jsonrpc": "2.0", "id": 5, "result": {}}), 0)

    assert made.others == {"tracker (answers to nothing asked)": 1}


def test_a_declared_address_is_known_however_it_is_spelt() -> None:
    """Clients write the default port, capitals and a closing slash, or leave them out."""
    made, kept = intake(tracker="https://Host.example:443/mcp/")

    answer(made.request(post(rpc("tools/list"), "https://host.example/mcp"), 0), result({}))

    assert kept.exchanges()[0].call.server == "tracker"


def test_a_classic_stream_becomes_messages() -> None:
    """The GET stream has no answer of its own; leaving it completes it."""
    made, kept = intake(tracker=MCP)
    request = HttpRequest(method="GET", url=MCP, headers=(("accept", "text/event-stream"),))
    event = b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'

    answer(made.request(request, 0), event, lines=SSE, ending="left")

    assert [(each.method, each.on, each.at_ms) for each in kept.messages()] == [
        ("notifications/tools/list_changed", 1, 7)
    ]
    assert kept.exchanges()[0].answer.end is None


def test_a_model_call_is_known_by_its_body() -> None:
    """The host says nothing: gateways have any."""
    made, kept = intake()
    body = {"model": "m", "messages": []}

    answer(made.request(post(body, "http://gw/v1/chat/completions"), 0), b'{"id":"x"}')

    exchange = kept[0]
    assert isinstance(exchange, ModelExchange)
    assert exchange.answer.value == {"id": "x"}


def test_what_belongs_to_neither_half_is_counted_by_host() -> None:
    """It passes unrecorded, and the summary says so."""
    made, _ = intake()

    assert made.request(post({"q": 1}, "https://api.example.com/search"), 0) is None
    assert made.others == {"api.example.com": 1}


def test_a_servers_question_keeps_the_clients_answer() -> None:
    """In the classic era the reply is a POST of its own."""
    made, kept = intake(tracker=MCP)
    tap = made.request(post(rpc("tools/call", 1, name="ask")), 0)
    assert tap is not None
    tap.head(200, SSE)
    tap.data(b'data: {"jsonrpc":"2.0","id":0,"method":"roots/list"}\n\n', 1)

    made.request(post({"jsonrpc": "2.0", "id": 0, "result": {"roots": []}}), 2)
    tap.data(b"data: " + result({}) + b"\n\n", 3)
    tap.finish("complete", 4)

    assert kept.exchanges()[0].answer.events[0].answer == {"roots": []}
