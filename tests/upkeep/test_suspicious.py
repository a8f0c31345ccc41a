"""What looks drawn by chance is shown to a person, and what everybody writes is not."""

from random import Random
from string import ascii_letters, digits

import pytest

from mcprec_addon.upkeep.suspicious import suspicious_runs

COUNT = 1000


def drawn(alphabet: str, length: int) -> float:
    """Return the share of random texts that are suspicious."""
    random = Random(length)  # noqa: S311 - no secret
    texts = ("".join(random.choices(alphabet, k=length)) for _ in range(COUNT))
    return sum(any(suspicious_runs(f'key="{text}", then')) for text in texts) / COUNT


@pytest.mark.parametrize(
    ("alphabet", "length"),
    [(ascii_letters + digits, 24), (ascii_letters + digits + "+/", 40), (digits + "abcdef", 32)],
    ids=["letters and digits", "base64", "hex"],
)
def test_most_random_keys_are_seen(alphabet: str, length: int) -> None:
    """Of what has no shape of its own this is all that a person has to go by."""
    assert drawn(alphabet, length) > 0.9


@pytest.mark.parametrize(
    "text",
    [
        "src/main/java/com/acme/tracker/IssueController2.java",
        "https://docs.acme.com/guides/getting-started-with-the-tracker-2026?page=2",
        "123e4567-e89b-12d3-a456-426614174000",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "2026-11-30T21:48:59.123456Z",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "task-management-for-really-long-project-names-2026",
        "aaaaaaaaaaaaaaaaaaaaaaaa1111111111",
        "12345678901234567890123456",
    ],
)
def test_what_everybody_writes_is_not(text: str) -> None:
    """A list that is mostly noise is read once."""
    assert list(suspicious_runs(f"see {text} for more")) == []


def test_a_run_is_named_where_it_begins() -> None:
    """Without the punctuation around it."""
    key = "x9Kq2vTz8LmP4wRb7NcY"

    assert list(suspicious_runs(f"it is ({key}).")) == [(7, key)]
