"""What counts as a secret by name, and what is too plain to be one."""

import pytest

from mcprec_addon.redact.rules import (
    BUILTIN,
    CREDENTIAL_HEADERS,
    cookie_values,
    default_rules,
    header_class,
    is_plain,
    key_class,
    placed_secret,
    url_passwords,
    without_scheme,
)


@pytest.mark.parametrize(
    "name",
    [
        "token",
        "access_token",
        "accessToken",
        "clientSecret",
        "api_key",
        "apiKey",
        "OPENAI_API_KEY",
        "aws_secret_access_key",
        "password",
        "userPasswd",
        "session-id",
        "Authorization",
        "cookie",
        "credentials",
        "X-Auth-Token",
    ],
)
def test_names_that_hold_credentials(name: str) -> None:
    """Tokens without a shape are known by the name of their member alone."""
    assert key_class(name) is not None


@pytest.mark.parametrize(
    "name",
    [
        "token_count",
        "max_tokens",
        "maxTokens",
        "progressToken",
        "nextPageToken",
        "page_token",
        "continuationToken",
        "tokenizer",
        "key",
        "keyboard",
        "secretary",
        "passwordless",
        "id",
    ],
)
def test_names_that_only_sound_like_it(name: str) -> None:
    """Cursors and counters are matched on, and must stay readable."""
    assert key_class(name) is None


@pytest.mark.parametrize("name", [*CREDENTIAL_HEADERS, "X-Api-Key", "Proxy-Authorization"])
def test_credential_headers_in_any_case(name: str) -> None:
    """One registry says it for storing, learning and hiding."""
    assert header_class(name) is not None


@pytest.mark.parametrize("name", ["mcp-session-id", "content-type", "x-request-id", "retry-after"])
def test_headers_of_the_protocol_hold_no_credential(name: str) -> None:
    """A session id is minted by the server and replayed."""
    assert header_class(name) is None


@pytest.mark.parametrize(
    "value",
    ["short", "1", "true", "production", "12345678", "OPENAI_API_KEY", "${TOKEN}", "<your key>"],
)
def test_plain_values(value: str) -> None:
    """A plain word as a secret would blot out innocent text everywhere."""
    assert is_plain(value)


@pytest.mark.parametrize("value", ["kx91-secret-value", "hunter2hunter", "abcdEFGH1234"])
def test_values_that_are_not_plain(value: str) -> None:
    """A secret needs no known shape."""
    assert not is_plain(value)


def test_the_secret_of_a_placed_value_is_without_its_scheme() -> None:
    """The same token must get the same placeholder with and without Bearer."""
    assert placed_secret("token", "Bearer kx91-secret-value") == "kx91-secret-value"
    assert placed_secret("token", "The token to use for this") is None
    assert without_scheme("token  abc") == "abc"


def test_passwords_of_addresses() -> None:
    """As they are typed elsewhere: percent-encoding is of the address."""
    text = "a postgres://me:p%40ss@db/x and redis://:word@cache, http://plain/x:y@z"

    assert url_passwords(text) == ["p@ss", "word"]


def test_cookies_are_secret_value_by_value() -> None:
    """Names and attributes of cookies are no secrets."""
    assert cookie_values("sid=abc123def456; theme=dark") == ["abc123def456"]


def test_an_older_version_has_no_newer_rules() -> None:
    """A replay uses the rules its cassette was recorded under."""
    assert default_rules(0).patterns == ()
    assert default_rules().version == BUILTIN
