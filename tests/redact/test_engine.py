"""The typed face of google-re2."""

import pytest

from mcprec_addon.redact.engine import Found, Haystack, Matcher, Sieve, escaped


def test_offsets_are_in_characters() -> None:
    """Text is searched as bytes, but replaced as characters."""
    found = list(Matcher("b(c)d").find(Haystack("äöü bcd")))

    assert found == [Found(4, 7, 5, 6)]


def test_a_lone_surrogate_is_one_character() -> None:
    """JSON can hold what UTF-8 cannot; a secret behind it still has to be found."""
    found = list(Matcher("key").find(Haystack("\ud800 key")))

    assert found == [Found(2, 5, 2, 5)]


@pytest.mark.parametrize(("regex", "text"), [("x*", "é"), ("(x*)b?", "éb"), ("(x)?b", "bé")])
def test_nothing_is_found_where_nothing_is(regex: str, text: str) -> None:
    """RE2 looks at bytes, and a match of nothing may stand in the middle of a character."""
    assert list(Matcher(regex).find(Haystack(text))) == []


def test_the_sieve_sees_the_end_of_a_long_text() -> None:
    """An automaton that ran out of memory would say nothing at all."""
    sieve = Sieve(["nee+dle", escaped("a.b"), "x{20}"])
    text = "abc xyz " * 100_000

    assert list(sieve.match(text.encode())) == []
    assert sorted(sieve.match((text + "needle a.b").encode())) == [0, 1]
    assert list(sieve.match(b"aXb")) == []
