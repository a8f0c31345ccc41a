"""Each of a recording's own ports stands for an upstream."""

from mcprec_addon.doors.routes import ModelRoute, ServerRoute, door_url


def test_a_server_port_keeps_paths() -> None:
    """OAuth and message paths beside the endpoint stay where they are."""
    target = ServerRoute(label="t", upstream="https://h/mcp").target("/mcp?x=1")

    assert (target.url, target.label, target.port) == ("https://h/mcp?x=1", "t", 443)
    assert door_url(8, "https://h/mcp?x=1") == "http://127.0.0.1:8/mcp?x=1"


def test_the_model_port_goes_by_prefix() -> None:
    """Behind the prefix stands the upstream's own path."""
    route = ModelRoute(upstreams={"openai": "http://gw:9/v1"})
    target = route.target("/openai/v1/chat/completions")

    assert target is not None
    assert target.url == "http://gw:9/v1/chat/completions"
    assert route.target("/nobody/v1") is None
