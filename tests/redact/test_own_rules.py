"""What a project adds to the rules is found, allowed or left alone, and named by one hash."""

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Json
from mcprec_addon.redact.own_rules import OwnRules, read_own_rules, with_own
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import Rules, default_rules

OWN = OwnRules(
    patterns={"employee": "EMP-[0-9]{6}"},
    keys=("employeeId",),
    allow=("support@acme.com",),
    off=("url-secret",),
)


def redacted(value: Json, own: OwnRules = OWN) -> str:
    rules: Rules = with_own(default_rules(), own)
    return str(Redactor(rules, nonce="0a1b2c3d").value(value))


def test_a_pattern_of_ones_own_finds_its_class() -> None:
    """Beside the built-in ones."""
    found = redacted("EMP-004711 wrote to ana@corp.com")

    assert "mcprec-0a1b2c3d-employee-1-x wrote to mcprec-0a1b2c3d-email-1-x@" in found


@pytest.mark.parametrize("name", ["employeeId", "employee_id", "EMPLOYEE-ID"])
def test_a_name_of_ones_own_holds_a_secret(name: str) -> None:
    """However it is spelled, and inside JSON in a string as well."""
    assert "tt-4410-x" not in redacted({name: "tt-4410-x"})
    assert "tt-4410-x" not in redacted(f'{{"{name}": "tt-4410-x"}}')
    assert "tt-4410-x" in redacted({"employee": "tt-4410-x"})


def test_what_is_allowed_stays() -> None:
    """An address that everybody knows makes a cassette readable."""
    found = redacted({"to": "support@acme.com", "cc": "ana@acme.com"})

    assert "support@acme.com" in found
    assert "ana@acme.com" not in found


def test_a_class_that_is_off_is_not_looked_for() -> None:
    """And all others are."""
    url = "https://x.example/?api_key=abcdef123456"

    assert "abcdef123456" in redacted(url)
    assert "abcdef123456" not in redacted(url, OwnRules())


def test_the_hash_is_of_what_the_rules_say() -> None:
    """Not of how they are written down; no rules have none."""
    same = OwnRules(
        patterns=dict(OWN.patterns), keys=("employee_id",), allow=OWN.allow, off=OWN.off
    )

    assert OWN.digest == same.digest
    assert OWN.digest != OwnRules(off=("email",)).digest
    assert OwnRules().digest is None
    assert with_own(default_rules(), OwnRules()) is default_rules()
    assert with_own(default_rules(), OWN).custom == OWN.digest


def test_a_file_of_rules_is_read() -> None:
    """As TOML gives it."""
    table = {"patterns": {"employee": "EMP-[0-9]{6}"}, "keys": ["a"], "off": ["email"]}

    assert read_own_rules(table, where="r.toml") == OwnRules(
        patterns={"employee": "EMP-[0-9]{6}"}, keys=("a",), off=("email",)
    )


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"pattern": {}}, "r.toml: pattern is no redaction rule; there are patterns, keys,"),
        ({"patterns": []}, "r.toml: patterns must be a table"),
        ({"patterns": {"x": "(?=a)"}}, "r.toml: patterns.x: RE2 cannot run it: invalid perl"),
        ({"patterns": {"x": "a*"}}, "r.toml: patterns.x: it matches the empty text"),
        ({"patterns": {"X y": "a"}}, "r.toml: patterns.X y: name a class in lower case"),
        ({"patterns": {"x": 1}}, "r.toml: patterns.x must be a pattern as a string"),
        ({"keys": "a"}, "r.toml: keys must be a list of strings"),
        ({"allow": [1]}, "r.toml: allow must be a list of strings"),
    ],
)
def test_what_is_no_rule_is_named(
    table: dict[str, object], says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """In one line, and nothing of the library's own beside it."""
    with pytest.raises(UsageError) as raised:
        read_own_rules(table, where="r.toml")

    assert says in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
    assert capfd.readouterr().err == ""


def test_rules_are_joined() -> None:
    """Those that come first decide on a class."""
    more = OwnRules(patterns={"employee": "E[0-9]+", "badge": "B[0-9]+"}, off=("email",))

    joined = OWN.joined(more)

    assert joined.patterns == {"employee": "EMP-[0-9]{6}", "badge": "B[0-9]+"}
    assert joined.off == ("url-secret", "email")
