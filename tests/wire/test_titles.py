"""A call is called the same everywhere."""

from mcprec_addon.exchange import McpCall, ModelCall
from mcprec_addon.wire.titles import call_title


def test_a_title_says_what_and_where() -> None:
    """Misses, reports and inspect speak of the same exchange."""
    call = McpCall(server="tracker", method="tools/call", name="search")

    assert call_title(call) == "tools/call search (server tracker)"
    assert call_title(McpCall(server="t", method="", http_method="GET")) == "GET stream (server t)"
    assert call_title(ModelCall(provider="p", path="/x")) == "model call /x (provider p)"
    assert call_title(ModelCall(provider="p", path="/x", http_method="GET")) == (
        "model call GET /x (provider p)"
    )
