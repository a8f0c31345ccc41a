"""The table of providers tells model calls by path and body, never by host."""

import re

import pytest

from mcprec_addon.exchange import Json
from mcprec_addon.wire.provider import Api
from mcprec_addon.wire.providers import (
    PROVIDERS,
    api_of,
    channels_of,
    error_body,
    error_kind,
    error_status,
    family_of,
    find_api,
    is_absorbed,
    one_of,
    stream_ends_of,
    tools_of,
)

CHAT: Json = {"model": "m", "messages": []}


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


@pytest.mark.parametrize(
    ("names", "family", "expected"),
    [
        (["groq"], "openai", "groq"),
        (["groq", "anthropic"], "openai", "groq"),
        (["groq", "openai"], "openai", "openai"),
        (["groq", "mistral"], "openai", "openai"),
        (["groq"], "anthropic", "anthropic"),
        ([], "openai", "openai"),
    ],
)
def test_who_speaks_alike_is_told_by_where_it_is(
    names: list[str], family: str, expected: str
) -> None:
    """A name is given where there is no doubt; match keys know the family alone."""
    assert one_of(names, family) == expected
    assert family_of(expected) == family


def test_a_provider_that_is_like_another_has_its_streams() -> None:
    """And what it adds."""
    assert set(channels_of("openai")) < set(channels_of("mistral"))
    assert tools_of("groq") == tools_of("openai") != ()
    assert stream_ends_of("azure") == stream_ends_of("openai") != frozenset()
    assert channels_of("unheard-of") == ()


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_types_of_errors_come_with_their_status(name: str) -> None:
    """A fault asked for by type has the status that its provider sends with it, and back."""
    for status, kind in PROVIDERS[name].kinds.items():
        assert error_kind(name, status) == kind
        assert error_status(kind) == status


@pytest.mark.parametrize(
    "api", [api for row in PROVIDERS.values() for api in row.apis], ids=lambda api: api.path
)
def test_a_path_captures_the_model_and_nothing_else(api: Api) -> None:
    """A group that captures beside the model would be taken for it."""
    groups = re.compile(api.path)

    assert set(groups.groupindex) <= {"model"}
    assert groups.groups == len(groups.groupindex)
