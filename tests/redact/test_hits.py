"""What is found, and which of it counts."""

from mcprec_addon.redact.hits import COVER, Edit, Hit, applied, placed_hit, shifted, winners


def hit(first: int, last: int, *, is_lifted: bool = False) -> Hit:
    return Hit(first, first, last, last, "s", "token", is_lifted=is_lifted)


def test_edits_are_made_in_order() -> None:
    """What is between them stays."""
    assert applied("a bb c", [Edit(0, 1, "x"), Edit(2, 4, "")]) == "x  c"


def test_of_overlapping_hits_the_first_counts() -> None:
    """Leftmost, then longest; under an escape before all."""
    text = "0123456789"

    assert winners([hit(2, 5), hit(0, 3), hit(0, 4), hit(6, 8)], text) == [hit(0, 4), hit(6, 8)]
    assert winners([hit(0, 4), hit(3, 5, is_lifted=True)], text) == [hit(3, 5, is_lifted=True)]
    assert winners([hit(0, 2)], COVER + text) == []


def test_a_placed_secret_is_without_its_scheme() -> None:
    """A token in a member is the same as in a header."""
    found = placed_hit("token", "Bearer kx91-secret-value")

    assert found is not None
    assert (found.secret, found.first) == ("kx91-secret-value", 7)
    assert placed_hit("phone", "call me") is None
    assert shifted(hit(0, 1), 3) == hit(3, 4)
