"""The table of shapes against samples of each."""

import pytest

from mcprec_addon.redact.engine import Haystack, Matcher, Sieve
from mcprec_addon.redact.patterns import PATTERNS, Pattern
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules
from tests.redact.samples import INNOCENT, SECRETS


def redactor() -> Redactor:
    return Redactor(default_rules(), nonce="0a1b2c3d")


@pytest.mark.parametrize(
    ("cls", "secret"), SECRETS, ids=[f"{n}-{cls}" for n, (cls, _) in enumerate(SECRETS)]
)
@pytest.mark.parametrize("around", ["{}", "key: {}, next", '"{}"', "clé\n{}\nça", "x\\n{} y"])
def test_each_shape_is_found_in_text(cls: str, secret: str, around: str) -> None:
    """A token leaks from wherever it stands, not only from a field of its own."""
    text = around.format(secret)

    redacted = redactor().text(text)

    assert secret not in redacted
    assert f"mcprec-0a1b2c3d-{cls}-1-x" in redacted


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    """Ids and fingerprints are what replays match on."""
    assert redactor().text(text) == text


@pytest.mark.parametrize(
    "pattern", PATTERNS, ids=[f"{n}-{row.cls}" for n, row in enumerate(PATTERNS)]
)
def test_a_hint_occurs_wherever_its_pattern_does(pattern: Pattern) -> None:
    """A hint that is too narrow would let a secret through the sieve."""
    matcher, sieve = Matcher(pattern.regex), Sieve([pattern.hint])

    for _, secret in SECRETS:
        hay = Haystack(f" {secret} ")
        if list(matcher.find(hay)):
            assert sieve.match(hay.data)


def test_classes_survive_in_urls_and_shells() -> None:
    """Placeholders of all classes but e-mail are their class and a number."""
    for pattern in PATTERNS:
        assert pattern.cls.replace("-", "").isalnum()
        assert pattern.cls.islower()
