"""Telephone and card numbers: which are ones, and which digits are something else."""

from typing import TYPE_CHECKING

import pytest

from mcprec_addon.redact.forms import private
from mcprec_addon.redact.own_rules import OwnRules, with_own
from mcprec_addon.redact.personal import (
    end_of,
    is_card,
    is_number,
    is_personal,
    is_phone,
    luhn_digit,
    personal_class,
    plain,
    shape,
)
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules

if TYPE_CHECKING:
    from mcprec_addon.exchange import Json

NONCE = "0a1b2c3d"
PHONE = private(NONCE, "phone", 1)
CARD = private(NONCE, "card", 1)


def redactor() -> Redactor:
    return Redactor(default_rules(), nonce=NONCE)


@pytest.mark.parametrize(
    "number",
    [
        "+49 30 5550101",
        "+4930123456",
        "+49 (30) 123456",
        "+44 (0)20 7946 0958",
        "+33 1 23 45 67 89",
        "+1 415 555 2671",
        "+1-415-555-2671",
        "+14155552671",
        "(415) 555-2671",
        "415-555-2671",
        "415.555.2671",
        "1-415-555-2671",
    ],
)
@pytest.mark.parametrize("around", ["{}", "call {}, please", "tel:{}", "({}).", "\\n{}"])
def test_a_telephone_number_is_found(number: str, around: str) -> None:
    """Wherever it stands in a sentence, and whole."""
    assert redactor().text(around.format(number)) == around.format(PHONE)


@pytest.mark.parametrize(
    "number",
    ["4242424242424242", "5555 5555 5555 4444", "3782-822463-10005", "6011111111111117",
     "2223003122003222", "30569309025904", "3566002020360505"],
)  # fmt: skip
def test_a_card_is_found(number: str) -> None:
    """Of every scheme, by its check digit."""
    redacted = redactor().text(f"paid with {number}.")

    assert redacted.removeprefix("paid with ")[:-2] == CARD[:-1]
    assert is_card(number)


@pytest.mark.parametrize(
    "text",
    [
        "4242424242424241",  # the check digit is another
        "1796075104",
        "+1796075104",  # an added line of a diff
        "1796075104123456",
        "14242424242424242",
        "4242424242424242-x",
        "v1.415.555.2671",
        "0415-555-2671",
        "415-555-26710",
        "2026-11-30 21:48:59",
        "+0200",
        "abc+4930123456",
        "123e4567-4242-4242-4242-424242424242",
        "1+23456",
    ],
)
def test_other_digits_stay(text: str) -> None:
    """Times, ids and versions are matched on, and are nobody's number."""
    assert redactor().text(text) == text


def test_two_spellings_are_one_secret() -> None:
    """An agent that tidies a number up before it calls a tool still means the same person."""
    made = redactor()

    texts = [made.text(each) for each in ("+1 (415) 555-2671", "(415) 555-2671")]
    cards = [made.text(each) for each in ("4242 4242 4242 4242", "4242424242424242")]

    assert texts == [PHONE, PHONE]
    assert cards == [f"{CARD[:-1]}s", CARD]
    assert plain("phone", "+44 (0)20 7946 0958") == "+442079460958"
    assert plain("phone", "030 5550101") == "0305550101"
    assert plain("email", "a-b@c.d") == "a-b@c.d"


def test_a_name_says_what_digits_are() -> None:
    """A local number has no shape; the member it stands under gives it away, in JSON text too."""
    made = redactor()

    assert made.value({"phone": "030 5550101"}) == {"phone": PHONE}
    assert made.value({"mobileNumber": 4155552671}) == {
        "mobileNumber": private(NONCE, "phone", 2)[:-1] + "n"
    }
    assert made.text('{"tel": "030 5550101", "cardNumber":4242424242424242}') == (
        f'{{"tel": "{PHONE}", "cardNumber":{CARD}}}'
    )
    kept: Json = {
        "phone": "n/a",
        "card": 1234567890123456,
        "page": 4155552671,
        "tel": True,
        "fax": 12,
    }
    assert made.value(kept) == kept


def test_a_secret_number_has_a_class_of_its_own() -> None:
    """A number stays a number, so its placeholder is one too."""
    made = redactor()
    made.learn("1234567890123456789", source="env:APP_SECRET")
    known = private(NONCE, "number", 1)

    clean = made.value({"n": 1234567890123456789, "t": "is 1234567890123456789", "token": 10**16})

    other = private(NONCE, "number", 2)
    assert clean == {"n": f"{known[:-1]}n", "t": f"is {known}", "token": f"{other[:-1]}n"}


@pytest.mark.parametrize("cls", ["phone", "card", "email"])
def test_each_class_can_be_switched_off(cls: str) -> None:
    """Test data full of made-up numbers may stay readable."""
    values = {"phone": "+49 30 5550101", "card": "4242424242424242", "email": "ana@corp.test"}
    rules = with_own(default_rules(), OwnRules(off=(cls,)))

    clean = Redactor(rules, nonce=NONCE).value(dict(values))

    assert isinstance(clean, dict)
    assert [name for name in values if clean[name] == values[name]] == [cls]


def test_an_allowed_number_stays_in_every_spelling() -> None:
    """The hotline on every page is nobody's secret."""
    rules = with_own(default_rules(), OwnRules(allow=("+1 (415) 555-2671",)))

    assert Redactor(rules, nonce=NONCE).text("415-555-2671") == "415-555-2671"


def test_what_follows_a_number_is_not_part_of_it() -> None:
    """A space may end a number or be inside of it."""
    text = "+4930555010 (2024-11-30)"

    assert redactor().text(text) == f"{PHONE} (2024-11-30)"
    assert end_of("phone", "+49 30 5550101-x", 0, 14) is None
    assert end_of("card", "4242424242424242", 0, 16) == 16


def test_single_rules() -> None:
    """Each on its own."""
    assert luhn_digit("424242424242424") == "2"
    assert is_phone("+442079460958")
    assert not is_phone("+14155")
    assert not is_phone("3055501")
    assert is_personal("phone", "030 5550101")
    assert not is_personal("phone", "2026")
    assert is_number("1234567890123456")
    assert not is_number("123456789")
    assert (shape("4242424242424242"), shape("+4930123456"), shape("4155552671")) == (
        "card",
        "phone",
        None,
    )


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("phone", "phone"),
        ("phoneNumber", "phone"),
        ("home_phone", "phone"),
        ("telephone_no", "phone"),
        ("card", "card"),
        ("creditCardNumber", "card"),
        ("cc-number", "card"),
        ("pan", "card"),
        ("phonetic", None),
        ("cardinality", None),
        ("hotel", None),
        ("number", None),
    ],
)
def test_names(name: str, cls: str | None) -> None:
    """The last words of a name count."""
    assert personal_class(name) == cls
