"""Answers become exchanges, whatever form they came in."""

import json

from mcprec_addon.exchange import Json, Opaque
from mcprec_addon.record.intake import Intake
from mcprec_addon.record.recorder import Recorder
from tests.record.test_intake import JSON, MCP, Kept, answer, intake, post, result, rpc


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


def test_a_body_that_cannot_be_decoded_is_kept() -> None:
    """An empty answer in its place would be a wrong answer."""
    made, kept = intake(tracker=MCP)
    lines = [*JSON, ("content-encoding", "unheard-of")]

    answer(made.request(post(rpc("tools/list")), 0), b"\xff\x01", lines=lines)

    assert kept.exchanges()[0].answer.value == Opaque(b"\xff\x01")


def test_a_batch_is_an_exchange_for_each_request() -> None:
    """Keys are built from members, not from how they were packed."""
    made, kept = intake(tracker=MCP)
    batch = [rpc("tools/list", 1), rpc("prompts/list", 2)]

    answers = b"[" + result({"prompts": []}, 2) + b"," + result({"tools": []}, 1) + b"]"
    answer(made.request(post(batch), 0), answers)

    assert [each.answer.value for each in kept.exchanges()] == [{"tools": []}, {"prompts": []}]


def test_identity_and_version_reach_the_header() -> None:
    """A reader of the cassette sees what it was recorded from."""
    kept = Kept()
    made = Recorder(kept.append)
    taking = Intake(made, {"tracker": MCP})
    info: Json = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "acme", "version": "3"}}

    answer(taking.request(post(rpc("initialize")), 0), result(info))

    assert made.seen.protocol == ["2025-06-18"]
    assert made.seen.servers["tracker"].name == "acme"


def test_a_batch_may_be_answered_in_any_order_by_events_of_their_own() -> None:
    """Each answer is told by its id; what names a request by its token belongs to that one."""
    made, kept = intake(tracker=MCP)
    batch = [rpc("tools/list", 1, _meta={"progressToken": "p"}), rpc("prompts/list", 2)]
    progress: Json = {"progressToken": "p", "progress": 1}
    said = {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
    both = b"[" + json.dumps(said).encode() + b"," + result({"prompts": []}, 2) + b"]"

    events = b"data: " + both + b"\n\ndata: " + result({"tools": []}, 1) + b"\n\n"
    tap = made.request(post(batch), 0)
    assert tap is not None
    tap.head(200, [("content-type", "text/event-stream")])
    tap.data(events[: len(both) + 8], 5)
    tap.data(events[len(both) + 8 :], 7)
    tap.finish("complete", 9)

    found = [(each.answer.value, len(each.answer.events), each.ms) for each in kept.exchanges()]
    assert found == [({"tools": []}, 1, 7), ({"prompts": []}, 0, 5)]


def test_a_refused_batch_is_refused_for_each_request() -> None:
    """Servers of later versions answer a batch with one error, which names nobody."""
    made, kept = intake(tracker=MCP)
    refused = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}'

    answer(made.request(post([rpc("ping", 1), rpc("tools/list", 2)]), 0), refused, status=400)

    assert [(each.answer.kind, each.answer.status) for each in kept.exchanges()] == [
        ("body", 400),
        ("body", 400),
    ]


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
