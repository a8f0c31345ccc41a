"""Escapes, percent-encoding and base64, undone and written again."""

from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.jsonvalue import dumps
from mcprec_addon.redact.spellings import (
    base64_cores,
    hex_spellings,
    layers,
    quoted,
    run_at,
    runs_around,
)

plain = st.text(st.characters(exclude_categories=["Cs"]))


@given(text=plain, escape=st.booleans())
def test_a_layer_maps_every_character_back(text: str, escape: bool) -> None:  # noqa: FBT001
    """What is found under an escape is replaced in the text as it was written."""
    raw = dumps(text).decode()[1:-1] if escape else quote(text, safe="")

    for layer in layers(raw):
        if layer.is_url is not escape:
            assert layer.text == text
            for at, char in enumerate(layer.text):
                piece = raw[layer.raw(at) : layer.raw(at + 1)]
                assert piece in (dumps(char).decode()[1:-1], quote(char, safe=""))


@given(secret=st.binary(min_size=8, max_size=40), before=st.binary(), after=st.binary())
def test_a_core_is_in_the_base64_of_anything_around(
    secret: bytes, before: bytes, after: bytes
) -> None:
    """A known value is found at each of the three alignments, in both alphabets."""
    text = secret.hex()
    whole = before + text.encode() + after

    for encode in (b64encode, urlsafe_b64encode):
        code = encode(whole).decode()
        assert any(core in code for core in base64_cores(text))


def test_a_run_is_written_as_it_was() -> None:
    """Padding and alphabet stay as the sender has them."""
    padded = b64encode(b"user:password!").decode()
    bare = urlsafe_b64encode("ÿ?ÿ>password".encode()).decode().rstrip("=")

    found = next(runs_around(f"Basic {padded}, x", 8, 12))
    url_safe = [run for run in runs_around(f"/{bare}/", 4, 8) if "password" in run.text]

    assert (found.start, found.text, found.encoded(found.text)) == (6, "user:password!", padded)
    assert url_safe[0].encoded(url_safe[0].text) == bare
    assert run_at("!", 0) is None


def test_other_spellings() -> None:
    """An e-mail placeholder in a URL is percent-encoded; hex has two cases."""
    assert quoted("email-1@mcprec.example") == "email-1%40mcprec.example"
    assert hex_spellings("jk") == {"6a6b", "6A6B"}
