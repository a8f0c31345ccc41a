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
    Opaque,
)
from mcprec_addon.record.intake import Intake, Tap
from mcprec_addon.record.recorder import Recorder
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


def test_a_notification_is_a_message() -> None:
    """202 with nothing in it is what the protocol says."""
    made, kept = intake(tracker=MCP)
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    answer(made.request(post(note), 0), status=202, lines=[])

    assert [(each.sender, each.method) for each in kept.messages()] == [
        ("client", "notifications/initialized")
    ]


def test_an_odd_acknowledgement_is_an_exchange() -> None:
    """A server that answers 200 null is replayed as it is, so that one can test against it."""
    made, kept = intake(tracker=MCP)
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    answer(made.request(post(note), 0), b"null")

    exchange = kept.exchanges()[0]
    assert (exchange.call.method, exchange.answer.kind, exchange.answer.value) == (
        "notifications/initialized",
        "body",
        "null",
    )


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


def test_a_body_that_cannot_be_decoded_is_kept() -> None:
    """An empty answer in its place would be a wrong answer."""
    made, kept = intake(tracker=MCP)
    lines = [*JSON, ("content-encoding", "unheard-of")]

    answer(made.request(post(rpc("tools/list")), 0), b"\xff\x01", lines=lines)

    assert kept.exchanges()[0].answer.value == Opaque(b"\xff\x01")


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


def test_a_batch_is_an_exchange_for_each_request() -> None:
    """Keys are built from members, not from how they were packed."""
    made, kept = intake(tracker=MCP)
    batch = [rpc("tools/list", 1), rpc("prompts/list", 2)]

    answers = b"[" + result({"prompts": []}, 2) + b"," + result({"tools": []}, 1) + b"]"
    answer(made.request(post(batch), 0), answers)

    assert [each.answer.value for each in kept.exchanges()] == [{"tools": []}, {"prompts": []}]


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


def test_identity_and_version_reach_the_header() -> None:
    """A reader of the cassette sees what it was recorded from."""
    kept = Kept()
    made = Recorder(kept.append)
    taking = Intake(made, {"tracker": MCP})
    info: Json = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "acme", "version": "3"}}

    answer(taking.request(post(rpc("initialize")), 0), result(info))

    assert made.seen.protocol == ["2025-06-18"]
    assert made.seen.servers["tracker"].name == "acme"


def test_a_session_id_on_a_refusal_is_no_session() -> None:
    """Stateful servers mint one for every request they turn down."""
    made, kept = intake(tracker=MCP)
    lines = [*JSON, ("mcp-session-id", "orphan")]
    refused = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32600}}).encode()

    answer(made.request(post(rpc("initialize")), 0), refused, lines=lines, status=400)
    answer(made.request(post(rpc("initialize")), 0), result({}), lines=lines)

    assert [each.answer.headers for each in kept.exchanges()] == [
        {},
        {"mcp-session-id": "$session"},
    ]
