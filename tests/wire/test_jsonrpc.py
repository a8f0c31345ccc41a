"""JSON-RPC messages are told apart, and ids come back in value and type."""

import pytest

from mcprec_addon.exchange import Json
from mcprec_addon.wire.jsonrpc import (
    Notification,
    Request,
    Response,
    error_bytes,
    is_batch,
    message_bytes,
    read_body,
    response_bytes,
)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"jsonrpc":"2.0","id":0,"method":"ping"}', Request(0, "ping", None)),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', Request(None, "ping", None)),
        (b'{"jsonrpc":"2.0","method":"n","params":{}}', Notification("n", {})),
        (b'{"jsonrpc":"2.0","id":"a","result":null}', Response("a", "result", None)),
        (b'{"jsonrpc":"2.0","error":{"code":1}}', Response(None, "error", {"code": 1})),
    ],
)
def test_each_kind_of_message_is_known(
    body: bytes, message: Request | Notification | Response
) -> None:
    """A request wants an answer, a notification none, a response is one."""
    assert read_body(body) == [message]


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"null", b'{"jsonrpc":"1.0","method":"x"}', b"[1,2]", b"{", b"\xff"]
)
def test_anything_else_is_no_message(body: bytes) -> None:
    """What is no JSON-RPC belongs to another part of the traffic."""
    assert read_body(body) is None


def test_a_batch_is_all_its_members() -> None:
    """The classic era knows arrays of messages."""
    body = b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]'

    assert read_body(body) == [Request(1, "a", None), Notification("b", None)]
    assert is_batch(body)


@pytest.mark.parametrize("request_id", ["1", 1, 0, "", 9007199254740993, "q-é", -5, None], ids=repr)
def test_the_id_comes_back_exactly_as_sent(request_id: Json) -> None:
    """A client that sent "1" never finds the answer to 1."""
    found = read_body(response_bytes(request_id, "result", {}))

    assert found == [Response(request_id, "result", {})]
    assert type(found[0]) is Response
    assert type(found[0].id) is type(request_id)


def test_errors_and_messages_are_written_whole() -> None:
    """What goes out is JSON-RPC 2.0."""
    error: Json = {"code": 4001, "message": "no"}
    plain: dict[str, Json] = {"method": "m"}

    assert read_body(error_bytes(3, 4001, "no")) == [Response(3, "error", error)]
    assert message_bytes(plain) == b'{"jsonrpc":"2.0","method":"m"}'
