"""The row of Cohere."""

import pytest

from mcprec_addon.exchange import Json
from mcprec_addon.wire.providers import api_of, error_body, find_api


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/v2/chat", {"model": "m", "messages": []}, "chat"),
        ("/gateway/v2/embed", {"model": "m", "input_type": "search_query"}, "embed"),
        ("/v2/rerank", {"query": "q", "documents": []}, "rerank"),
    ],
)
def test_a_call_is_known_by_path_and_body(path: str, body: Json, expected: str) -> None:
    """The version is part of its paths: without it they are everybody's."""
    row = find_api(path, body)

    assert row is not None
    assert (row[0].name, row[1].name) == ("cohere", expected)
    assert find_api("/chat", body) is None


def test_streams_end_as_cohere_says() -> None:
    """Its events are named, and say their name again."""
    chat = api_of("cohere", "/v2/chat")

    assert chat is not None
    assert chat.ends("", {"type": "message-end", "delta": {}}, "message-end")
    assert not chat.ends("", {"type": "content-end", "index": 0}, "content-end")


def test_errors_have_the_shape_that_clients_read() -> None:
    """A message, and no more."""
    assert error_body("cohere", "m") == {"message": "m"}
