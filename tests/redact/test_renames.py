"""Placeholders change their numbers and nothing else."""

from base64 import b64encode

from mcprec_addon.exchange import Json
from mcprec_addon.redact.forms import final
from mcprec_addon.redact.renames import Renames


def changed(numbers: dict[str, int], value: Json) -> Json:
    return Renames(numbers).json(value, "args", "mcp")


def test_two_may_change_places() -> None:
    """One after the other they would become one."""
    text = "from email-1@mcprec.example to email-2%40mcprec.example, not email-12@mcprec.example"

    assert changed({"email-1": 2, "email-2": 1}, text) == (
        "from email-2@mcprec.example to email-1%40mcprec.example, not email-12@mcprec.example"
    )


def test_inside_base64_too() -> None:
    """A basic credential holds its user name there, and two of them may change places."""
    code = b64encode(b"email-1@mcprec.example:api-key-1").decode()

    new = changed({"email-1": 2, "email-2": 1, "api-key-1": 9}, f"Basic {code}")

    assert new == f"Basic {b64encode(b'email-2@mcprec.example:api-key-9').decode()}"


def test_inside_hex_too() -> None:
    """Two may change places there as well, also where what is around is no text."""
    code = f"ff{b'api-key-1 api-key-2 api-key-12'.hex()}ff"

    new = changed({"api-key-1": 2, "api-key-2": 1}, code.upper())

    assert new == f"ff{b'api-key-2 api-key-1 api-key-12'.hex()}ff".upper()


def test_digits_keep_their_spelling_and_numbers_stay_numbers() -> None:
    """An agent that checks a card or reads an id goes on."""
    value: Json = {
        "card": final("card", 1, "s"),
        "id": int(final("number", 1)),
        "other": 7,
        "flag": True,
    }

    assert changed({"card-1": 3, "number-1": 4}, value) == {
        "card": final("card", 3, "s"),
        "id": int(final("number", 4)),
        "other": 7,
        "flag": True,
    }


def test_nothing_to_change_changes_nothing() -> None:
    """A value comes back as it was, and a request state to the character."""
    assert not Renames({"email-1": 1})
    assert changed({"email-1": 1}, "email-1@mcprec.example") == "email-1@mcprec.example"
    assert Renames({"email-1": 2}).state("email-1@mcprec.example") == "email-1@mcprec.example"
