"""How placeholders are written, and found again."""

import pytest

from mcprec_addon.redact.forms import (
    Finals,
    Spelling,
    as_number,
    covering,
    final,
    number_of,
    private,
    respelled,
    spelled,
    spelling_of,
)
from mcprec_addon.redact.personal import is_card, is_phone


def test_what_finds_placeholders() -> None:
    """email-1 is never found inside email-12, and a name must have its domain."""
    text = "email-12@mcprec.example api-key-3 email-1 key-4 email-7%40mcprec.example"

    found = list(Finals({"email", "key", "api-key"}).found(text))

    assert [each.name for each in found] == ["email-12", "api-key-3", "key-4", "email-7"]
    assert [each.at for each in found] == ["@", "", "", "%40"]
    assert not Finals(())
    assert final("email", 1) == "email-1@mcprec.example"


@pytest.mark.parametrize("cls", ["phone", "card", "number"])
@pytest.mark.parametrize("number", [1, 99, 100, 4_999, 5_000, 1_000_001])
def test_digits_tell_class_and_number(cls: str, number: int) -> None:
    """A replay reads the number off whatever spelling the traffic had."""
    letters: tuple[Spelling, ...] = ("x", "d", "s", "h")
    for spelling in letters:
        written = final(cls, number, spelling)
        (found,) = Finals({"phone", "card", "number", "email"}).found(f"\\n{written}.")
        assert (found.name, found.text) == (f"{cls}-{number}", written)
        assert number_of(cls, written) == number


@pytest.mark.parametrize("number", [1, 250, 4_999])
def test_validators_accept_them(number: int) -> None:
    """An agent checks a number before it uses it, in a replay as well."""
    assert is_card(final("card", number))
    assert is_phone(final("phone", number))
    assert final("phone", number)[5:10] == "55501"


def test_digits_of_another_number_are_none() -> None:
    """Neither a longer number nor one with a wrong check digit was given out."""
    finals = Finals({"phone", "card", "number"})
    card, phone = final("card", 7), final("phone", 7)
    wrong = card[:-1] + str((int(card[-1]) + 1) % 10)

    assert list(finals.found(f"1{card} {card}1 {wrong} {phone}0 9{phone[1:]}")) == []
    assert [each.name for each in finals.found(f"%20{phone[1:]}")] == ["phone-7"]


def test_spellings_of_a_number() -> None:
    """What stood in groups stands in groups, and a JSON number is one again."""
    assert final("card", 1, "s") == "4000 0099 0000 0012"
    assert final("card", 1, "h") == "4000-0099-0000-0012"
    assert final("phone", 1, "u") == "%2B12015550101"
    assert as_number(final("phone", 1, "n")) == 12015550101
    assert as_number("api-key-1") == "api-key-1"
    assert spelled("email", "a@b.c", "d") == "a@b.c"
    assert [spelling_of("card", each) for each in ("4 1", "4-1", "41")] == ["s", "h", "x"]
    assert spelling_of("phone", "4155552671") == "d"
    assert spelling_of("phone", "+4930", in_url=True) == "u"


def test_a_placeholder_is_written_anew_in_a_spelling() -> None:
    """While recording the spelling is a letter of the private placeholder."""
    mark = private("0a1b2c3d", "card", 4)

    assert respelled(mark, "card", "s") == mark.removesuffix("x") + "s"
    assert respelled(final("card", 4), "card", "s") == final("card", 4, "s")
    assert respelled("api-key-1", "number", "n") == "api-key-1"


def test_a_covered_placeholder_stands_by_itself() -> None:
    """A secret that only contains a placeholder's name is a secret."""
    covered = covering("", {"api-key", "card"})

    assert covered.search("x api-key-1 y")
    assert covered.search(f"x {final('card', 3)} y")
    assert not covered.search("my-api-key-1-9f8e7d")
