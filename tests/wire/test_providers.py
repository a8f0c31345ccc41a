"""The table of providers tells model calls by path and body, never by host."""

import pytest

from mcprec_addon.exchange import Json
from mcprec_addon.wire.providers import PROVIDERS, api_of, error_body, find_api, is_absorbed

CHAT: Json = {"model": "m", "messages": []}
MESSAGES: Json = {"model": "m", "messages": [], "max_tokens": 1}


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/v1/chat/completions", CHAT, ("openai", "chat")),
        ("/openai/v1/chat/completions?x=1", CHAT, ("openai", "chat")),
        ("/chat/completions", CHAT, ("openai", "chat")),
        ("/v1/responses", {"model": "m", "input": "hi"}, ("openai", "responses")),
        ("/v1/messages?beta=true", MESSAGES, ("anthropic", "messages")),
        ("/messages", MESSAGES, ("anthropic", "messages")),
        ("/v1beta/models/g:generateContent", {"contents": []}, ("gemini", "generate")),
        ("/models/g:streamGenerateContent?alt=sse", {"contents": []}, ("gemini", "stream")),
        ("/v1/projects/p/publishers/google/models/g:countTokens", {}, ("gemini", "generate")),
        ("/api/chat", CHAT, ("ollama", "chat")),
        ("/api/generate", {"model": "m", "prompt": "hi"}, ("ollama", "generate")),
        ("/api/embed", {"model": "m", "input": "hi"}, ("ollama", "embed")),
        ("/model/a.b-v1%3A0/converse-stream", {"messages": []}, ("bedrock", "converse")),
    ],
)
def test_a_call_is_known_by_path_and_body(path: str, body: Json, expected: tuple[str, str]) -> None:
    """Gateways and base URLs change the host and what stands before the path."""
    row = find_api(path, body)

    assert row is not None
    assert (row[0].name, row[1].name) == expected


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"model": "m"}),
        ("/v1/messages", {"messages": []}),
        ("/api/messages", [1]),
        ("/v1/chat/completions/extra", CHAT),
        ("/elsewhere", CHAT),
    ],
)
def test_anything_else_is_no_model_call(path: str, body: Json) -> None:
    """A chat service of one's own may have a path called /messages."""
    assert find_api(path, body) is None


def test_the_version_segment_is_not_in_the_key() -> None:
    """Some clients drop /v1 where others keep it."""
    api = api_of("openai", "/v1/chat/completions")

    assert api is not None
    assert api.key_path("/v1/chat/completions") == api.key_path("/chat/completions")
    assert api_of("unheard-of", "/v1/chat/completions") is None


def test_telemetry_is_known_by_its_path() -> None:
    """It is swallowed on a replay and never a miss."""
    assert is_absorbed("/v1/traces/ingest")
    assert not is_absorbed("/v1/chat/completions")


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_has_an_error_of_its_own_shape(name: str) -> None:
    """An SDK shows a message only where it finds its own provider's shape."""
    assert "no answer" in str(error_body(name, "no answer"))
