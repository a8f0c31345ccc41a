"""The fields of a call are those of its record, absent ones left out."""

from mcprec_addon.exchange import (
    Cassette,
    Input,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
)


def test_a_call_shows_only_what_it_has() -> None:
    """Empty and absent are the same."""
    call = McpCall(server="s", method="tools/call", name="t", args={}, input=Input(state="x"))

    assert call.record() == {
        "server": "s",
        "method": "tools/call",
        "name": "t",
        "input": {"state": "x"},
    }
    assert ModelCall(provider="p", path="/x", http_method="GET").record() == {
        "provider": "p",
        "http_method": "GET",
        "path": "/x",
    }


def test_a_cassette_has_two_halves() -> None:
    """Each exchange belongs to one of them."""
    mcp = McpExchange(
        seq=1, call=McpCall(server="s", method="ping"), answer=McpAnswer(kind="result")
    )
    model = ModelExchange(
        seq=2, call=ModelCall(provider="p", path="/"), answer=ModelAnswer(kind="none")
    )
    cassette = Cassette(exchanges=(mcp, model))

    assert cassette.half("mcp") == (mcp,)
    assert cassette.half("model") == (model,)
