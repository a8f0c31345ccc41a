"""Exchanges and messages as records, an example for every field."""

import pytest

from mcprec_addon.cassette.fields import Fields, RecordProblemError
from mcprec_addon.cassette.records import (
    mcp_record,
    message_record,
    model_record,
    noise_record,
    read_mcp,
    read_message,
    read_model,
    read_noise,
)
from mcprec_addon.exchange import (
    Input,
    Json,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    Message,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Noise,
)

PROGRESS: dict[str, Json] = {
    "method": "notifications/progress",
    "params": {"progressToken": "$token"},
}


def search(**changes: object) -> McpCall:
    return McpCall(**({"server": "tracker", "method": "tools/call", "name": "search"} | changes))  # type: ignore[arg-type]


def mcp(call: McpCall, answer: McpAnswer) -> McpExchange:
    return McpExchange(seq=2, call=call, answer=answer)


OK = McpAnswer(kind="result", value={"content": []})
HEAD: dict[str, Json] = {
    "seq": 2,
    "server": "tracker",
    "method": "tools/call",
    "name": "search",
}
RESULT: dict[str, Json] = {"result": {"content": []}}

MCP_EXAMPLES: list[tuple[McpExchange, dict[str, Json]]] = [
    (mcp(search(), OK), HEAD | RESULT),
    (mcp(search(args={"q": 1}), OK), HEAD | {"args": {"q": 1}} | RESULT),
    (
        mcp(search(args={"q": 1}, params={"task": {}}), OK),
        HEAD | {"args": {"q": 1}, "params": {"task": {}}} | RESULT,
    ),
    (
        mcp(search(input=Input(state="s", responses={"a": 1})), OK),
        HEAD | {"input": {"state": "s", "responses": {"a": 1}}} | RESULT,
    ),
    (mcp(search(input=Input(responses={})), OK), HEAD | {"input": {"responses": {}}} | RESULT),
    (mcp(search(meta={"logLevel": "info"}), OK), HEAD | {"meta": {"logLevel": "info"}} | RESULT),
    (
        mcp(search(), McpAnswer(kind="result", events=(McpEvent(at_ms=5, message=PROGRESS),))),
        HEAD | {"events": [{"at": 5, "message": PROGRESS}], "result": None},
    ),
    (
        mcp(search(), McpAnswer(kind="error", value={"code": -32601}, status=404)),
        HEAD | {"error": {"code": -32601}, "http": {"status": 404}},
    ),
    (
        mcp(
            search(),
            McpAnswer(
                kind="body",
                value="busy",
                status=429,
                headers={"retry-after": "1", "warning": ["a", "b"]},
            ),
        ),
        HEAD
        | {
            "http": {
                "status": 429,
                "headers": {"retry-after": "1", "warning": ["a", "b"]},
                "body": "busy",
            }
        },
    ),
    (mcp(search(), McpAnswer(kind="body", value="")), HEAD | {"http": {"body": ""}}),
    (mcp(search(), McpAnswer(kind="none", end="cut")), HEAD | {"end": "cut"}),
    (mcp(search(), McpAnswer(kind="none", status=202)), HEAD | {"http": {"status": 202}}),
    (mcp(search(), McpAnswer(kind="none")), HEAD | {"http": {"status": 200}}),
    (
        mcp(McpCall(server="tracker", method="", http_method="GET"), McpAnswer(kind="none")),
        {"seq": 2, "server": "tracker", "http_method": "GET"},
    ),
    (
        McpExchange(
            seq=2,
            call=search(),
            answer=OK,
            era="classic",
            via="proxy",
            ms=412,
            note="slow",
            pin=True,
            extra={"newer": [1]},
        ),
        HEAD
        | RESULT
        | {
            "era": "classic",
            "via": "proxy",
            "ms": 412,
            "note": "slow",
            "pin": True,
            "newer": [1],
        },
    ),
]


@pytest.mark.parametrize(("exchange", "record"), MCP_EXAMPLES)
def test_mcp_exchanges_and_their_records(exchange: McpExchange, record: dict[str, Json]) -> None:
    """Every field stands under its name, in the order a reader expects, and comes back."""
    written = mcp_record(exchange, era=None, via=None)

    assert written == record
    assert list(written) == list(record)
    assert read_mcp(Fields(written), None) == exchange


def test_what_the_header_says_is_not_repeated() -> None:
    """Era and way in are written where they differ."""
    exchange = McpExchange(seq=2, call=search(), answer=OK, era="classic", via="proxy")

    assert mcp_record(exchange, era="classic", via="proxy") == HEAD | RESULT
    assert mcp_record(exchange, era="stateless", via="base-url") == HEAD | RESULT | {
        "era": "classic",
        "via": "proxy",
    }


CALL = ModelCall(provider="openai", path="/v1/responses", request={"model": "m"})
MODEL_HEAD: dict[str, Json] = {
    "kind": "model",
    "seq": 1,
    "provider": "openai",
    "path": "/v1/responses",
    "request": {"model": "m"},
}
MODEL_EXAMPLES: list[tuple[ModelExchange, dict[str, Json]]] = [
    (
        ModelExchange(seq=1, call=CALL, answer=ModelAnswer(kind="body", value={"a": 275.0})),
        MODEL_HEAD | {"status": 200, "body": {"a": 275.0}},
    ),
    (
        ModelExchange(
            seq=1,
            call=CALL,
            answer=ModelAnswer(kind="body", status=429, headers={"retry-after": "1"}),
            via="proxy",
            ms=204,
            note={"by": "me"},
            pin=True,
            extra={"newer": None},
        ),
        MODEL_HEAD
        | {
            "status": 429,
            "headers": {"retry-after": "1"},
            "body": None,
            "via": "proxy",
            "ms": 204,
            "note": {"by": "me"},
            "pin": True,
            "newer": None,
        },
    ),
    (
        ModelExchange(
            seq=1, call=CALL, answer=ModelAnswer(kind="events", tail="data: {", end="cut")
        ),
        MODEL_HEAD | {"status": 200, "events": [{"tail": "data: {"}], "end": "cut"},
    ),
    (
        ModelExchange(
            seq=1,
            call=ModelCall(provider="openai", path="/v1/files/f?x=1", http_method="DELETE"),
            answer=ModelAnswer(kind="none", status=204),
        ),
        {
            "kind": "model",
            "seq": 1,
            "provider": "openai",
            "http_method": "DELETE",
            "path": "/v1/files/f?x=1",
            "status": 204,
        },
    ),
]


@pytest.mark.parametrize(("exchange", "record"), MODEL_EXAMPLES)
def test_model_exchanges_and_their_records(
    exchange: ModelExchange, record: dict[str, Json]
) -> None:
    """Every field stands under its name, in the order a reader expects, and comes back."""
    written = model_record(exchange, via=None)

    assert written == record
    assert list(written) == list(record)
    del written["kind"]
    assert read_model(Fields(written)) == exchange


def test_the_way_in_of_the_section_is_not_repeated() -> None:
    """One line says it for all model calls."""
    exchange = ModelExchange(seq=1, call=CALL, answer=ModelAnswer(kind="none"), via="base-url")

    assert "via" not in model_record(exchange, via="base-url")


def test_messages_and_their_records() -> None:
    """What one side sent on its own says behind which exchange, and on which stream."""
    plain = Message(server="a", sender="client", method="notifications/initialized")
    full = Message(
        server="a",
        sender="server",
        method="notifications/tools/list_changed",
        params={"x": 1},
        after=3,
        on=2,
        at_ms=40,
        id=0,
        answer={"roots": []},
        extra={"newer": 1},
    )

    assert message_record(plain) == {
        "kind": "message",
        "server": "a",
        "from": "client",
        "method": "notifications/initialized",
        "after": 0,
    }
    assert message_record(full) == {
        "kind": "message",
        "server": "a",
        "from": "server",
        "method": "notifications/tools/list_changed",
        "params": {"x": 1},
        "after": 3,
        "on": 2,
        "at": 40,
        "id": 0,
        "answer": {"roots": []},
        "newer": 1,
    }
    for message in (plain, full):
        record = message_record(message)
        del record["kind"]
        assert read_message(Fields(record), None) == message


def test_noise_and_its_record() -> None:
    """A banner on stdout is shown to whoever asks why nothing was recorded."""
    noise = Noise(server="a", text="Server running", after=1, extra={"newer": 1})
    record = noise_record(noise)

    assert record == {
        "kind": "noise",
        "server": "a",
        "after": 1,
        "text": "Server running",
        "newer": 1,
    }
    del record["kind"]
    assert read_noise(Fields(record), None) == noise


def test_the_server_may_be_left_out() -> None:
    """A hand-written cassette of one server does not repeat its label."""
    record: dict[str, Json] = {"seq": 1, "method": "ping", "result": {}}

    assert read_mcp(Fields({**record}), "only").call.server == "only"
    with pytest.raises(RecordProblemError, match='no "server", and the header names several'):
        read_mcp(Fields({**record}), None)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"seq": None}, 'no "seq"; number the exchanges from 1'),
        ({"seq": 0}, 'no "seq"; number the exchanges from 1'),
        ({"method": None}, 'no "method"'),
        ({"error": {}}, 'gives "result" and "error"; an exchange has one answer'),
        ({"http": {"body": ""}}, 'gives "result" and "body"'),
        ({"end": "lost"}, '"end" must be "cut" or "reset" or "left" or "stopped"'),
        ({"era": "modern"}, '"era" must be "stateless" or "classic"'),
        ({"http": {"status": "ok"}}, '"status" must be a whole number'),
        ({"http": {"headers": {"a": 1}}}, '"headers" must be made of strings'),
        ({"input": "x"}, '"input" must be an object'),
        ({"ms": 1.5}, '"ms" must be a whole number'),
    ],
)
def test_a_wrong_mcp_record_is_named(change: dict[str, Json], problem: str) -> None:
    """A hand edit fails where it was made."""
    record: dict[str, Json] = {"seq": 1, "server": "a", "method": "ping", "result": {}}

    with pytest.raises(RecordProblemError) as caught:
        read_mcp(Fields(record | change), None)

    assert problem in str(caught.value)


def test_a_record_without_an_answer_is_refused() -> None:
    """An exchange that answers nothing would hang the agent."""
    with pytest.raises(RecordProblemError, match='no answer; give it "result", "error"'):
        read_mcp(Fields({"seq": 1, "method": "ping"}), "a")


def test_a_wrong_model_record_is_named() -> None:
    """A hand edit fails where it was made."""
    record: dict[str, Json] = {"seq": 1, "provider": "x", "path": "/v1"}

    with pytest.raises(RecordProblemError, match='gives "body" and "events"'):
        read_model(Fields(record | {"body": 1, "events": []}))
    with pytest.raises(RecordProblemError, match='no "provider"'):
        read_model(Fields({"seq": 1, "path": "/v1"}))
    with pytest.raises(RecordProblemError, match='no "path"'):
        read_model(Fields({"seq": 1, "provider": "x"}))


def test_a_message_says_who_sent_it() -> None:
    """A message of the client is never sent to the client."""
    with pytest.raises(RecordProblemError, match='no "from"; give it "client" or "server"'):
        read_message(Fields({"method": "x"}), "a")
