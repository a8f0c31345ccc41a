"""Secrets in one text: overlaps, spellings, JSON inside strings."""

from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.jsonvalue import dumps, loads
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules
from tests.redact.samples import SECRETS

KNOWN = "tt-4410/nobody+knows?this=shape"
NONCE = "0a1b2c3d"
PLACEHOLDER = f"mcprec-{NONCE}-api-key-1-x"


def redactor(*known: str) -> Redactor:
    made = Redactor(default_rules(), nonce=NONCE)
    for secret in known:
        made.learn(secret)
    return made


@pytest.mark.parametrize(
    "spelling",
    [
        KNOWN,
        "tt-4410%2Fnobody%2Bknows%3Fthis%3Dshape",
        "tt-4410%2fnobody%2bknows%3fthis%3dshape",
        "tt-4410%252Fnobody%252Bknows%253Fthis%253Dshape",
        "tt-4410\\/nobody\\u002bknows?this=shape",
    ],
)
def test_a_known_value_is_found_in_every_spelling(spelling: str) -> None:
    """A secret without a shape leaks through the encoding nobody thought of."""
    assert redactor(KNOWN).text(f"<{spelling}>") == f"<{PLACEHOLDER}>"


def test_what_was_in_hex_stays_in_hex() -> None:
    """What reads it decodes it; the case of its digits is the sender's."""
    code = KNOWN.encode().hex()

    found = redactor(KNOWN).text(f"ff{code}00 {code.upper()}")

    expected = PLACEHOLDER.encode().hex()
    assert found == f"ff{expected}00 {expected.upper()}"


@given(before=st.text(max_size=5), after=st.text(max_size=5), safe=st.booleans())
def test_a_known_value_is_found_inside_base64(before: str, after: str, safe: bool) -> None:  # noqa: FBT001
    """Credentials travel in base64 at any alignment; the rest of the run stays what it says."""
    made = redactor(KNOWN)
    whole = before + KNOWN + after
    code = b64encode(whole.encode("utf-8", "replace")).decode()
    if safe:
        code = urlsafe_b64encode(whole.encode("utf-8", "replace")).decode()

    redacted = made.text(f"code: {code}!")

    assert code not in redacted
    assert made.text(redacted) == redacted
    assert made.leaks(dumps({"result": redacted}).decode()) == ()


def test_base64_that_is_no_text_loses_the_covered_stretch_alone() -> None:
    """A run that does not decode to text cannot be written anew."""
    code = b64encode(b"\xff\xfe\xfd" + KNOWN.encode() + b"\xff").decode()

    redacted = redactor(KNOWN).text(code)

    assert PLACEHOLDER in redacted
    assert redacted.startswith("//79")


def test_short_and_plain_known_values_stay() -> None:
    """LOG=1 must not turn every 1 of a cassette into a placeholder."""
    made = redactor("1", "true", "production", "12345678")

    assert made.text("1 true production 12345678") == "1 true production 12345678"


def test_a_password_in_a_url_leaves_the_host() -> None:
    """`password@host` looks like an e-mail, but the host must stay readable."""
    redacted = redactor().text("see https://u:pw-77@db.example.test/x")

    assert redacted == f"see https://u:mcprec-{NONCE}-url-password-1-x@db.example.test/x"


def test_a_token_as_the_user_of_a_url_is_found_too() -> None:
    """Git remotes carry the token where the user would stand."""
    token = dict(SECRETS)["github-token"]

    redacted = redactor().text(f"https://{token}:x-oauth-basic@github.com/a/b")

    assert token not in redacted


def test_an_escape_before_an_address_stays_whole() -> None:
    r"""In a tool's arguments ``\n`` stands before the address; its ``n`` is not part of it."""
    redacted = redactor().text('{"q": "to:\\nana@example.test')

    assert redacted == f'{{"q": "to:\\nmcprec-{NONCE}-email-1-x@mcprec.example'


def test_an_address_in_a_query_is_written_in_its_spelling() -> None:
    """The placeholder of an e-mail in a URL is percent-encoded, and is the same e-mail."""
    redacted = redactor().text(
        "ana@example.test /find?mail=ana%40example.test&x=hello%20ana@example.test"
    )

    mark = f"mcprec-{NONCE}-email-1-x"
    assert redacted == (
        f"{mark}@mcprec.example /find?mail={mark}%40mcprec.example&x=hello%20{mark}@mcprec.example"
    )


def test_json_in_a_string_is_redacted_by_name_and_stays_as_written() -> None:
    """Tool arguments are JSON text; bytes outside the secret do not move."""
    text = '{ "api_key" : "kx91-secret-value",\n "next_page_token": "kx92-cursor-value", "n": 1.0 }'

    redacted = redactor().text(text)

    assert redacted == text.replace("kx91-secret-value", PLACEHOLDER)


def test_json_in_json_in_a_string() -> None:
    """A tool that wraps the answer of another wraps its secrets too."""
    inner = dumps({"password": 'hunter2"hunter'}).decode()
    text = dumps({"body": inner, "to": "ana@example.test"}).decode()

    redacted = loads(redactor().text(text))

    assert isinstance(redacted, dict)
    assert loads(str(redacted["body"])) == {"password": f"mcprec-{NONCE}-password-1-x"}


def test_text_in_a_data_uri_is_decoded() -> None:
    """Text that hides a key in base64 is text all the same."""
    key = dict(SECRETS)["aws-key"]
    code = b64encode(f"key={key}".encode()).decode()

    redacted = redactor().text(f"data:text/plain;base64,{code}")

    assert code not in redacted
    assert redacted.startswith("data:text/plain;base64,")


def test_a_private_key_goes_from_begin_to_end() -> None:
    """The lines between are the secret; one that is cut off ends the text."""
    begin = "-----BEGIN RSA PRIVATE" + " KEY-----"
    end = "-----END RSA PRIVATE" + " KEY-----"

    assert redactor().text(f"a\n{begin}\nabc\n{end}\nz") == f"a\nmcprec-{NONCE}-private-key-1-x\nz"
    assert redactor().text(f"a\n{begin}\nabc") == f"a\nmcprec-{NONCE}-private-key-1-x"


def test_a_finished_placeholder_is_no_secret() -> None:
    """Redacting a finished cassette again must not change it."""
    text = '{"password":"password-1","mail":"email-12@mcprec.example","token":"github-token-2"}'

    assert redactor().text(text) == text


pieces = st.sampled_from(
    [secret for _, secret in SECRETS]
    + ["4242 4242 4242 4242", "4242424242424242", "+49 30 5550101", "415-555-2671", "+", "7"]
    + [KNOWN, "ana@b.c.d.e.f.g.h.i.j.k.l", "https://u:pw", "@", "%40", "\\n", "\\", '"', "Bearer "]
    + ['{"token":"', '"}', "/", "-", " ", "x", "ä", "?token=", "=", "--api-key "]
)


@given(st.lists(pieces, max_size=8).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """Close runs the redactor over everything again."""
    made = redactor(KNOWN)

    once = made.text(text)

    assert made.text(once) == once
    assert made.leaks(dumps({"result": once}).decode()) == ()


@pytest.mark.parametrize(
    "start", ["ghp_", "sk-proj-", "sk-ant-api03-", "ya29.", "glpat-", "eyJhbGciOiJub25l.eyJ"]
)
def test_a_token_may_be_as_long_as_it_likes(start: str) -> None:
    """What is left of a token behind a bound is still most of a secret."""
    tail = "Zq7" * 1000

    redacted = redactor().text(f"token {start}{tail} ends")

    assert tail[-12:] not in redacted
    assert redacted.startswith("token ")
    assert redacted.endswith(" ends")
