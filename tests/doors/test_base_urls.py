"""Base-URL variables lead to our ports and back to where they led before."""

import pytest

from mcprec_addon.doors.base_urls import (
    live_variables,
    model_upstreams,
    needed_variables,
    played_variables,
)
from mcprec_addon.wire.providers import PROVIDERS

DOOR = "http://127.0.0.1:9"


def test_a_host_alone_is_an_upstream() -> None:
    """Ollama's variable may say no more than a host or a port, or where its server listens."""
    for given, expected in (
        ("10.0.0.7", "http://10.0.0.7:11434"),
        ("gpu:80", "http://gpu:80"),
        (":1234", "http://127.0.0.1:1234"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 (a server says so)
    ):
        assert model_upstreams({"OLLAMA_HOST": given})["ollama"] == expected


def test_a_live_api_whose_clients_sign_its_address_is_left_to_the_proxy() -> None:
    """AWS refuses a call that was signed for our port."""
    gateway = {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https://gateway.example"}

    assert "bedrock" not in model_upstreams({})
    assert "AWS_ENDPOINT_URL_BEDROCK_RUNTIME" in played_variables(9)
    assert model_upstreams(gateway)["bedrock"] == "https://gateway.example"
    assert "ANTHROPIC_BEDROCK_BASE_URL" not in live_variables(9, gateway)


def test_every_variable_has_the_path_that_its_clients_expect() -> None:
    """One client wants the version in it, another adds it."""
    made = live_variables(9, {})

    assert made["OPENAI_BASE_URL"] == made["OPENAI_API_BASE"] == f"{DOOR}/openai/v1"
    assert made["ANTHROPIC_BASE_URL"] == f"{DOOR}/anthropic"
    assert made["GOOGLE_GEMINI_BASE_URL"] == f"{DOOR}/gemini"
    assert made["GEMINI_API_BASE"] == f"{DOOR}/gemini/v1beta"
    assert made["GROQ_BASE_URL"] == f"{DOOR}/groq"


@pytest.mark.parametrize(
    ("given", "led", "upstream"),
    [
        ("https://gw.example/llm/v1", "/llm/v1", "https://gw.example/llm"),
        ("https://gw.example:4000/", "", "https://gw.example:4000"),
        ("https://gw.example/openai", "/openai", "https://gw.example/openai"),
    ],
)
def test_a_variable_that_is_set_keeps_its_path(given: str, led: str, upstream: str) -> None:
    """A gateway may have no version segment, and further ones."""
    environment = {"OPENAI_BASE_URL": given}

    assert live_variables(9, environment)["OPENAI_BASE_URL"] == f"{DOOR}/openai{led}"
    assert model_upstreams(environment)["openai"] == upstream


def test_a_service_of_ones_own_is_led_where_it_is_known() -> None:
    """A variable for Azure tells some agents to use Azure: it is not set for nothing."""
    azure = {"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com/"}

    assert live_variables(9, azure)["AZURE_OPENAI_ENDPOINT"] == f"{DOOR}/azure"
    assert "AZURE_API_BASE" not in live_variables(9, azure)
    assert "azure" not in model_upstreams({})
    assert "AZURE_OPENAI_ENDPOINT" not in played_variables(9)
    assert played_variables(9, ["azure"])["AZURE_OPENAI_ENDPOINT"] == f"{DOOR}/azure"


def test_two_regions_are_not_led_to_one() -> None:
    """Claude and Gemini on Vertex may be in different places."""
    environment = {
        "GOOGLE_VERTEX_BASE_URL": "https://us-central1-aiplatform.googleapis.com",
        "ANTHROPIC_VERTEX_BASE_URL": "https://europe-west1-aiplatform.googleapis.com/v1",
    }

    assert "ANTHROPIC_VERTEX_BASE_URL" not in live_variables(9, environment)
    environment["ANTHROPIC_VERTEX_BASE_URL"] = "https://us-central1-aiplatform.googleapis.com/v1"
    assert live_variables(9, environment)["ANTHROPIC_VERTEX_BASE_URL"] == f"{DOOR}/vertex/v1"


def test_a_replay_brings_what_recorded_clients_need_to_start() -> None:
    """boto3 looks for a region before it looks for an address."""
    assert needed_variables({}, ["bedrock", "unheard-of"]) == {"AWS_DEFAULT_REGION": "us-east-1"}
    assert needed_variables({"AWS_REGION": "eu-west-1"}, ["bedrock"]) == {}
    assert needed_variables({}, ["openai"]) == {}


def test_no_variable_is_two_providers() -> None:
    """The second would take it from the first."""
    names = [name for row in PROVIDERS.values() for name in row.base_urls]

    assert len(names) == len(set(names))
