"""The row of Ollama."""

import pytest

from mcprec_addon.exchange import Json, ModelCall
from mcprec_addon.wire.providers import api_of, error_body, find_api, is_lookup, resource_of


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("chat", {"model": "m", "messages": []}),
        ("generate", {"model": "m", "prompt": "hi"}),
        ("generate", {"model": "m"}),
        ("embed", {"model": "m", "input": "hi"}),
        ("embeddings", {"model": "m", "prompt": "hi"}),
        ("show", {"name": "m"}),
        ("pull", {"model": "m"}),
    ],
)
def test_a_call_is_known_by_path_and_body(name: str, body: Json) -> None:
    """Its paths have no version."""
    row = find_api(f"/api/{name}", body)

    assert row is not None
    assert (row[0].name, row[1].name) == ("ollama", name)


def test_what_a_model_can_do_is_asked_at_any_time() -> None:
    """Frameworks ask it some times a run, in no fixed place."""
    show = ModelCall(provider="ollama", path="/api/show", request={"model": "m"})
    chat = ModelCall(provider="ollama", path="/api/chat", request={"model": "m", "messages": []})

    assert is_lookup(show)
    assert not is_lookup(chat)
    assert resource_of("ollama", "/api/tags") is not None


def test_streams_end_as_ollama_says() -> None:
    """A pull ends with its status, an answer where it is done."""
    chat, pull = api_of("ollama", "/api/chat"), api_of("ollama", "/api/pull")

    assert chat is not None
    assert chat.ends("", {"done": True})
    assert not chat.ends("", {"done": False})
    assert chat.ends("", {"error": "out of memory"})
    assert pull is not None
    assert pull.ends("", {"status": "success"})
    assert not pull.ends("", {"status": "pulling manifest"})


def test_errors_have_the_shape_that_clients_read() -> None:
    """One text, under one name."""
    assert error_body("ollama", "m") == {"error": "m"}
