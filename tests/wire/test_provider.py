"""A row knows its calls, the model they ask for, and where a stream ends."""

import pytest

from mcprec_addon.exchange import Json
from mcprec_addon.wire.provider import Api, aws_error, google_error, ollama_error

ROW = Api(
    name="stream",
    path=r"/models/(?P<model>[^/:]+):go",
    markers=frozenset(),
    conversation="contents",
    temperature=("config", "temperature"),
    end_member="done",
    streams_array=True,
)


@pytest.mark.parametrize("before", ["", "/v1", "/v1beta", "/gateway/v1", "/projects/p/google"])
def test_the_model_in_a_path_stays_in_the_key(before: str) -> None:
    """Another model is another call; a gateway or another version is not."""
    path = f"{before}/models/a%3Ab:go?alt=sse&key=x"

    assert ROW.key_path(path) == "/models/a:b:go?alt=sse"
    assert ROW.model(path, {}) == "a:b"


def test_the_framing_a_client_asks_for_is_in_the_key() -> None:
    """A client that reads events cannot read an array."""
    assert ROW.key_path("/models/a:go") != ROW.key_path("/models/a:go?alt=sse")


def test_the_temperature_is_found_where_the_row_says() -> None:
    """The header of a cassette tells how the model was asked."""
    assert ROW.heat({"config": {"temperature": 0.5}}) == 0.5
    assert ROW.heat({"temperature": 0.5}) is None
    assert ROW.model("/elsewhere", {"model": "m"}) == "m"


@pytest.mark.parametrize(
    ("value", "ends"),
    [({"done": True}, True), ({"done": False}, False), ({"error": "no"}, True), ({}, False)],
)
def test_a_row_knows_the_end_of_its_stream(value: Json, ends: bool) -> None:  # noqa: FBT001
    """What comes behind the end marker, or never comes, is no loss."""
    assert ROW.ends("", value) is ends


def test_errors_have_the_shapes_that_clients_read() -> None:
    """An SDK shows a message only where it finds its own provider's shape."""
    assert google_error("m", "NOT_FOUND", "", 404) == {
        "error": {"code": 404, "message": "m", "status": "NOT_FOUND"}
    }
    assert aws_error("m", "ValidationException", "", 400) == {
        "__type": "ValidationException",
        "message": "m",
    }
    assert ollama_error("m", "", "", 400) == {"error": "m"}
