"""The fields of a call are those of its record, absent ones left out."""

import dataclasses

import pytest

from mcprec_addon.exchange import (
    Cassette,
    Input,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Server,
)

FULL = McpCall(
    server="s",
    method="tools/call",
    name="t",
    args={"q": 1},
    params={"task": {}},
    input=Input(state="x", responses={"a": 1}),
    meta={"level": "debug"},
)


def test_a_call_shows_all_it_asks() -> None:
    """In the order of a cassette's line; `meta` is in no key and so not among them."""
    record = FULL.record()

    assert list(record) == ["server", "method", "name", "args", "params", "input"]
    assert record["input"] == {"state": "x", "responses": {"a": 1}}


@pytest.mark.parametrize("empty", [None, {}], ids=repr)
def test_absent_and_empty_are_the_same(empty: Json) -> None:
    """SDKs differ in how they ask for nothing."""
    call = McpCall(server="s", method="tools/call", name="", args=empty, params=empty)

    assert call.record() == {"server": "s", "method": "tools/call", "name": ""}


@pytest.mark.parametrize("falsy", [0, False, "", []], ids=repr)
def test_falsy_arguments_are_not_absent(falsy: Json) -> None:
    """What Python takes for nothing is a value on the wire."""
    call = McpCall(server="s", method="m", args=falsy, params=falsy)

    assert call.record() == {"server": "s", "method": "m", "args": falsy, "params": falsy}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (Input(), {}),
        (Input(state="x"), {"state": "x"}),
        (Input(responses={}), {"responses": {}}),
    ],
    ids=["neither", "state", "responses"],
)
def test_state_and_responses_are_each_optional(given: Input, shown: Json) -> None:
    """A retry with neither is still a retry."""
    assert McpCall(server="s", method="m", input=given).record()["input"] == shown


def test_a_stream_has_no_method() -> None:
    """A classic GET stream is told by its HTTP method."""
    call = McpCall(server="s", method="", http_method="GET")

    assert call.record() == {"server": "s", "http_method": "GET"}


def test_a_model_call_shows_what_it_has() -> None:
    """Usual values go without saying; JSON null is no body."""
    bare = ModelCall(provider="p", path="/x", http_method="GET")
    full = ModelCall(provider="p", path="/x", request={"model": "m"})

    assert bare.record() == {"provider": "p", "http_method": "GET", "path": "/x"}
    assert full.record() == {"provider": "p", "path": "/x", "request": {"model": "m"}}
    assert ModelCall(provider="p", path="/x", request={}).record()["request"] == {}


def test_a_cassette_has_two_halves() -> None:
    """Each exchange belongs to one of them, in the order of the file."""
    mcp = [
        McpExchange(seq=seq, call=FULL, answer=McpAnswer(kind="result", value={})) for seq in (3, 1)
    ]
    call = ModelCall(provider="p", path="/")
    model = ModelExchange(seq=2, call=call, answer=ModelAnswer(kind="none"))
    cassette = Cassette(exchanges=(mcp[0], model, mcp[1]))

    assert cassette.half("mcp") == (mcp[0], mcp[1])
    assert cassette.half("model") == (model,)


def test_values_cannot_be_changed() -> None:
    """Every part holds the same exchange, so none may alter it under the others."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        FULL.name = "other"  # type: ignore[misc]


def test_defaults_are_not_shared() -> None:
    """A field noted on one server must not appear on the next."""
    Server().extra["x"] = 1

    assert Server().extra == {}
