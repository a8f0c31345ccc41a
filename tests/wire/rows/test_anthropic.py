"""The row of Anthropic."""

import pytest

from mcprec_addon.exchange import Json, ModelCall
from mcprec_addon.match.keys import match_key
from mcprec_addon.wire.providers import api_of, error_body, find_api

ASKED: Json = {"model": "m", "messages": [], "max_tokens": 1}


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/v1/messages?beta=true", ASKED, "messages"),
        ("/messages", ASKED, "messages"),
        ("/v1/messages/count_tokens", {"model": "m", "messages": []}, "count_tokens"),
        ("/v1/messages/batches", {"requests": []}, "batches"),
    ],
)
def test_a_call_is_known_by_path_and_body(path: str, body: Json, expected: str) -> None:
    """Some clients drop the version, and some add a query."""
    row = find_api(path, body)

    assert row is not None
    assert (row[0].name, row[1].name) == ("anthropic", expected)


def test_streams_end_as_anthropic_says() -> None:
    """A ping is no end."""
    api = api_of("anthropic", "/v1/messages")

    assert api is not None
    assert api.ends("", {"type": "message_stop"})
    assert api.ends("", {"type": "error", "error": {"type": "overloaded_error"}})
    assert not api.ends("", {"type": "ping"})


def test_a_billing_line_is_not_in_the_key() -> None:
    """Claude Code puts one into the prompt, with a hash that changes on every call."""

    def call(*system: str) -> ModelCall:
        blocks: list[Json] = [{"type": "text", "text": text} for text in system]
        request: Json = {"model": "m", "max_tokens": 1, "messages": [], "system": blocks}
        return ModelCall(provider="anthropic", path="/v1/messages", request=request)

    plain = match_key(call("You are Claude."))

    assert match_key(call("x-anthropic-billing-header: cch=1;", "You are Claude.")) == plain
    assert match_key(call("You are not Claude.")) != plain


def test_errors_have_the_shape_that_clients_read() -> None:
    """The SDK shows its message and makes a class of its type."""
    assert error_body("anthropic", "m", kind="overloaded_error") == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "m"},
    }
