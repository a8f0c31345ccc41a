"""Rows of Gemini, and of Gemini and Claude on Vertex."""

import pytest

from mcprec_addon.exchange import Json, ModelCall
from mcprec_addon.wire.providers import api_of, error_body, find_api, model_name

ASKED: Json = {"contents": []}
PROJECT = "/v1beta1/projects/p/locations/us-central1"


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/v1beta/models/g:generateContent", ASKED, ("gemini", "generate")),
        ("/models/g:streamGenerateContent?alt=sse", ASKED, ("gemini", "stream")),
        ("/v1/models/g:countTokens", ASKED, ("gemini", "generate")),
        ("/v1beta/models/g:batchEmbedContents", {"requests": []}, ("gemini", "generate")),
        (f"{PROJECT}/publishers/google/models/g:generateContent", ASKED, ("vertex", "generate")),
        (f"{PROJECT}/endpoints/12:streamGenerateContent", ASKED, ("vertex", "stream")),
        (f"{PROJECT}/publishers/google/models/e:predict", {"instances": []}, ("vertex", "predict")),
        (
            "/v1/projects/p/locations/l/publishers/anthropic/models/claude@1:streamRawPredict",
            {"anthropic_version": "vertex-2023-10-16", "messages": []},
            ("vertex", "claude"),
        ),
    ],
)
def test_a_call_is_known_by_its_path(path: str, body: Json, expected: tuple[str, str]) -> None:
    """Vertex has its projects and places before the same models."""
    row = find_api(path, body)

    assert row is not None
    assert (row[0].name, row[1].name) == expected


def test_model_and_framing_are_in_the_key_and_the_project_is_not() -> None:
    """Another project asks the same model the same."""
    path = f"{PROJECT}/publishers/google/models/g:streamGenerateContent?alt=sse&key=k"
    api = api_of("vertex", path)

    assert api is not None
    assert api.key_path(path) == "/publishers/google/models/g:streamGenerateContent?alt=sse"
    assert api.model(path, {}) == "g"


def test_claude_on_vertex_is_known_by_its_path() -> None:
    """Its body names no model, and it streams as at home."""
    path = "/v1/projects/p/locations/l/publishers/anthropic/models/claude@1:streamRawPredict"
    call = ModelCall(provider="vertex", path=path, request={"messages": []})
    api = api_of("vertex", path)

    assert model_name(call) == "claude@1"
    assert api is not None
    assert api.ends("", {"type": "message_stop"})
    assert not api.may_end_unmarked


def test_errors_have_the_shape_that_clients_read() -> None:
    """Code, message and status."""
    for name in ("gemini", "vertex"):
        assert error_body(name, "m", kind="NOT_FOUND") == {
            "error": {"code": 404, "message": "m", "status": "NOT_FOUND"}
        }
