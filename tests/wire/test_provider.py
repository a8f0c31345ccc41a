"""A row knows its calls, the model they ask for, and where a stream ends."""

import pytest

from mcprec_addon.exchange import Json
from mcprec_addon.wire.provider import ANY, Api, ends_at, members

ROW = Api(
    name="stream",
    path=r"/models/(?P<model>[^/:]+):go",
    markers=members(),
    asked=frozenset({"alt"}),
    conversation="contents",
    temperature=("config", "temperature"),
    end_at=ends_at({"/done": ANY, "/parts/*/type": frozenset({"stop"})}),
    end_events=frozenset({"metadata"}),
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
    [
        ({"done": True}, True),
        ({"done": False}, False),
        ({"parts": [{"type": "go"}, {"type": "stop"}]}, True),
        ({"parts": [{"type": "go"}]}, False),
        ({"error": "no"}, True),
        ({}, False),
        (None, False),
    ],
)
def test_a_row_knows_the_end_of_its_stream(value: Json, ends: bool) -> None:  # noqa: FBT001
    """What comes behind the end marker, or never comes, is no loss."""
    assert ROW.ends("", value) is ends
    assert ROW.ends("", value, "metadata")


def test_a_request_needs_the_members_of_one_set() -> None:
    """One endpoint may be asked in several ways."""
    row = Api(name="r", path="/r", markers=(frozenset({"a"}), frozenset({"b", "c"})))

    assert row.takes("/v1/r", {"a": 1})
    assert row.takes("/r?x", {"b": 1, "c": 1})
    assert not row.takes("/r", {"b": 1})
    assert not row.takes("/other", {"a": 1})
