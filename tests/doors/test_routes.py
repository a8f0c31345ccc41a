"""Each of a recording's own ports stands for an upstream."""

import pytest

from mcprec_addon.doors.routes import ModelRoute, ServerRoute, door_url

MODELS = ModelRoute(
    upstreams={"openai": "http://gw:9/v1", "anthropic": "https://api.anthropic.com"}
)


@pytest.mark.parametrize("path", ["/mcp?x=1", "/.well-known/oauth-protected-resource", "/"])
def test_a_server_port_keeps_paths(path: str) -> None:
    """OAuth and message paths beside the endpoint stay where they are."""
    target = ServerRoute(label="t", upstream="https://h/mcp").target(path)

    assert (target.url, target.label) == (f"https://h{path}", "t")


@pytest.mark.parametrize(
    ("upstream", "origin", "host", "port"),
    [
        ("https://h/mcp", "https://h", "h", 443),
        ("http://h/mcp", "http://h", "h", 80),
        ("http://h:443/mcp", "http://h:443", "h", 443),
        ("https://user:pw@h:8443/mcp", "https://h:8443", "h", 8443),
    ],
)
def test_the_upstream_gives_scheme_host_and_port(
    upstream: str, origin: str, host: str, port: int
) -> None:
    """The default port of the scheme is left out, as clients and certificates do."""
    target = ServerRoute(label="t", upstream=upstream).target("/")

    assert (target.origin, target.host, target.port) == (origin, host, port)


def test_a_request_without_a_path_asks_for_the_root() -> None:
    """A request line cannot be empty."""
    assert ServerRoute(label="t", upstream="http://h").target("").url == "http://h/"


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/openai/v1/chat/completions", "http://gw:9/v1/chat/completions"),
        ("/anthropic/v1/messages?beta=true", "https://api.anthropic.com/v1/messages?beta=true"),
        ("/openai", "http://gw:9/"),
    ],
)
def test_the_model_port_goes_by_prefix(path: str, url: str) -> None:
    """Behind the prefix stands the upstream's own path; no model API has a label."""
    target = MODELS.target(path)

    assert target is not None
    assert (target.url, target.label) == (url, None)


@pytest.mark.parametrize("path", ["/nobody/v1", "/v1/chat/completions", "/", ""])
def test_an_unknown_prefix_leads_nowhere(path: str) -> None:
    """A guess would send one provider's key to another."""
    assert MODELS.target(path) is None


@pytest.mark.parametrize(
    ("upstream", "url"),
    [
        ("https://h/mcp", "http://127.0.0.1:8/mcp"),
        ("https://user:pw@h:8443/mcp?key=1", "http://127.0.0.1:8/mcp?key=1"),
        ("https://h", "http://127.0.0.1:8"),
    ],
)
def test_a_door_has_the_path_and_query_of_what_it_stands_for(upstream: str, url: str) -> None:
    """The agent is told another origin and nothing else."""
    assert door_url(8, upstream) == url
