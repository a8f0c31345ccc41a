"""Which requests beside generation are model calls, and what they ask."""

import json

import pytest

from mcprec_addon.exchange import ModelCall, Opaque
from mcprec_addon.wire.http import HttpRequest
from mcprec_addon.wire.providers import resource_of
from mcprec_addon.wire.resources import Origins, resource_call, without_prefix

OPENAI = "https://api.openai.com"
GATEWAY = "https://llm.corp.example"


def request(
    method: str, url: str, body: bytes = b"", *, provider: str | None = None, **headers: str
) -> HttpRequest:
    lines = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return HttpRequest(method=method, url=url, headers=lines, body=body, provider=provider)


@pytest.mark.parametrize(
    ("provider", "path", "place"),
    [
        ("openai", "/v1/models", "/models"),
        ("openai", "/v1/models/gpt-5", "/models/gpt-5"),
        ("openai", "/v1/responses/resp_1/input_items?limit=2", "/responses/*/input_items"),
        ("openai", "/files/file-1/content", "/files/*/content"),
        ("openai", "/gateway/v1/files/file-1", "/files/*"),
        ("openai", "/v1/vector_stores/vs_1/files/file-1", "/vector_stores/*/files/*"),
        ("openai", "/v1/fine_tuning/jobs/ft-1/events", "/fine_tuning/jobs/*/events"),
        ("openai", "/v1/audio/speech", "/audio/speech"),
        ("anthropic", "/v1/messages/batches/b_1/results", "/messages/batches/*/results"),
        ("anthropic", "/v1/files", "/files"),
    ],
)
def test_paths_are_known_by_their_place(provider: str, path: str, place: str) -> None:
    """Ids are told from names: a model asked for by name is another call."""
    found = resource_of(provider, path)

    assert found is not None
    assert found.place == place


@pytest.mark.parametrize("path", ["/seen", "/v1/traces/ingest", "/filesystem", "/v1/orders/files2"])
def test_other_paths_are_nothing(path: str) -> None:
    """A known host may serve more than a model API."""
    assert resource_of("openai", path) is None
    assert resource_of("anthropic", path) is None
    assert resource_of("nobody", "/v1/files") is None


def test_a_provider_is_known_by_its_own_host() -> None:
    """An agent may list models before it asks any."""
    call = Origins().call(request("GET", f"{OPENAI}/v1/models?limit=2&api-key=s3cret"))

    assert call == ModelCall(provider="openai", http_method="GET", path="/v1/models?limit=2")


def test_a_gateway_is_known_by_the_calls_that_went_there() -> None:
    """A path like /files is everybody's, until the host has answered as a model API."""
    origins = Origins()
    files = request("GET", f"{GATEWAY}/v1/files")
    chat = request("POST", f"{GATEWAY}/v1/chat/completions", b'{"messages":[]}')

    assert origins.call(files) is None
    assert origins.call(chat) is not None
    assert origins.call(files) is not None


def test_a_gateway_is_known_that_clients_were_told() -> None:
    """A base URL of the agent's own counts also where its traffic comes through the proxy."""
    origins = Origins({"openai": f"{GATEWAY}/v1"})

    assert origins.call(request("GET", f"{GATEWAY}/v1/files")) is not None


def test_a_gateway_may_speak_for_several() -> None:
    """Anthropic's clients name its version in a header."""
    origins = Origins()
    for path, body in (
        ("/v1/chat/completions", {"messages": []}),
        ("/v1/messages", {"messages": [], "max_tokens": 1}),
    ):
        origins.call(request("POST", f"{GATEWAY}{path}", json.dumps(body).encode()))

    theirs = origins.call(request("GET", f"{GATEWAY}/v1/files", anthropic_version="2023-06-01"))
    other = origins.call(request("GET", f"{GATEWAY}/v1/files"))

    assert (theirs and theirs.provider, other and other.provider) == ("anthropic", "openai")


def test_a_host_says_which_of_those_that_speak_alike_is_asked() -> None:
    """Paths and members of Groq and Azure are those of OpenAI."""
    body = b'{"messages":[]}'
    origins = Origins({"azure": "https://mine.openai.azure.com"})

    for host, provider in (
        ("https://api.groq.com", "groq"),
        ("https://openrouter.ai", "openrouter"),
        ("https://mine.openai.azure.com", "azure"),
        (GATEWAY, "openai"),
    ):
        call = origins.call(request("POST", f"{host}/openai/v1/chat/completions", body))
        assert call is not None
        assert call.provider == provider


def test_a_base_url_door_says_whose_request_it_is() -> None:
    """Nothing else need have come by it."""
    mine = request("DELETE", "http://127.0.0.1:9/openai/v1/files/file-1")

    bare = without_prefix(mine)

    assert (bare.path, bare.provider) == ("/v1/files/file-1", "openai")
    assert Origins().call(bare) is not None


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        (b"", {}, None),
        (b'{"a":1}', {}, {"a": 1}),
        (
            b'--b\r\nContent-Disposition: form-data; name="p"\r\n\r\nx\r\n--b--',
            {"content_type": "multipart/form-data; boundary=b"},
            [{"name": "p", "text": "x"}],
        ),
        (b"\xff\x00", {}, Opaque(b"\xff\x00")),
        (b"plain", {}, Opaque("plain")),
        (b"not gzip", {"content_encoding": "gzip"}, Opaque(b"not gzip")),
    ],
)
def test_any_body_is_taken(body: bytes, headers: dict[str, str], expected: object) -> None:
    """None, JSON, a form, or bytes: what was sent is what is matched."""
    call = resource_call(request("POST", f"{OPENAI}/v1/files", body, **headers), "openai")

    assert call is not None
    assert call.request == expected


def test_a_call_is_no_probe() -> None:
    """HEAD has no answer worth keeping."""
    assert resource_call(request("HEAD", f"{OPENAI}/v1/models"), "openai") is None
