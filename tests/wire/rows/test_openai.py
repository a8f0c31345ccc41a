"""Rows of OpenAI, Azure OpenAI and those that speak as OpenAI does."""

import pytest

from mcprec_addon.exchange import Json, ModelCall
from mcprec_addon.wire.providers import (
    api_of,
    error_body,
    error_kind,
    family_of,
    find_api,
    model_name,
    resource_of,
)

CHAT: Json = {"model": "m", "messages": []}


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/v1/chat/completions", CHAT, ("openai", "chat")),
        ("/api/v1/chat/completions", CHAT, ("openai", "chat")),
        ("/openai/v1/responses", {"model": "m", "input": "hi"}, ("openai", "responses")),
        ("/v1/responses", {"model": "m", "previous_response_id": "r"}, ("openai", "responses")),
        ("/v1/responses/input_tokens", {"input": "hi"}, ("openai", "input_tokens")),
        ("/v1/completions", {"model": "m", "prompt": "hi"}, ("openai", "completions")),
        ("/v1/fim/completions", {"model": "m", "prompt": "hi"}, ("openai", "completions")),
        ("/v1/embeddings", {"model": "m", "input": ["hi"]}, ("openai", "embeddings")),
        ("/openai/deployments/d/chat/completions?api-version=1", CHAT, ("azure", "chat")),
        ("/openai/deployments/d/embeddings", {"input": "hi"}, ("azure", "embeddings")),
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
        ("/chat/completions", {"prompt": "hi"}),
        ("/v1/embeddings", {"input": "hi"}),
        ("/v1/responses", {"model": "m"}),
    ],
)
def test_a_request_without_the_members_is_none(path: str, body: Json) -> None:
    """A service of one's own may have such a path."""
    assert find_api(path, body) is None


def test_deployment_and_version_of_azure_are_in_the_key() -> None:
    """The deployment is the model there, and the body may name none."""
    path = "/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21"
    api = api_of("azure", path)
    call = ModelCall(provider="azure", path=path, request={"model": None, "messages": []})

    assert api is not None
    assert api.key_path(path) == "/deployments/my-gpt/chat/completions?api-version=2024-10-21"
    assert api.key_path(path) != api.key_path(path.replace("2024", "2025"))
    assert model_name(call) == "my-gpt"


@pytest.mark.parametrize("name", ["azure", "groq", "mistral", "openrouter"])
def test_what_speaks_as_openai_has_its_endpoints(name: str) -> None:
    """A call counts the same whichever of them it is known for."""
    assert api_of(name, "/v1/chat/completions") == api_of("openai", "/v1/chat/completions")
    assert family_of(name) == "openai"
    assert resource_of(name, "/v1/models") is not None


def test_errors_have_the_shapes_that_clients_read() -> None:
    """An SDK shows a message only where it finds its own provider's shape."""
    assert error_body("openai", "m") == {
        "error": {
            "message": "m",
            "type": "invalid_request_error",
            "param": None,
            "code": "mcprec_miss",
        }
    }
    assert error_body("mistral", "m")["message"] == "m"
    assert error_kind("mistral", 429) == "rate_limited"
    assert error_body("openrouter", "m", kind="rate_limit_exceeded")["error"] == {
        "code": 429,
        "message": "m",
        "metadata": {"kind": "rate_limit_exceeded"},
    }


def test_gateways_report_a_failure_as_data() -> None:
    """Behind a status of 200 there is no other place for it."""
    chat = api_of("openrouter", "/api/v1/chat/completions")

    assert chat is not None
    assert chat.ends("", {"error": {"code": 502, "message": "gone"}, "choices": []})
    assert chat.ends("[DONE]", None)
    assert not chat.ends("", {"choices": []})
