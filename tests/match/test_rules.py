"""A rule says what does not count in a match, and for which calls."""

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Json, Matching, McpCall
from mcprec_addon.match.keys import Keys
from mcprec_addon.match.rules import Kind, parse_rule, rule_text, rules_in_use, rules_of


def search(args: Json, server: str = "tracker") -> McpCall:
    return McpCall(server=server, method="tools/call", name="search", args=args)


def is_same(keys: Keys, one: McpCall, other: McpCall) -> bool:
    return keys.canonical(keys.compared(one)) == keys.canonical(keys.compared(other))


@pytest.mark.parametrize(
    ("kind", "body", "change"), [("ignore", "/args/q", "b"), ("normalize", "date", "2026-10-06")]
)
def test_a_rule_holds_for_the_calls_it_names(kind: Kind, body: str, change: str) -> None:
    """A rule for one tool must not loosen another."""
    rule = parse_rule(kind, f"server=tracker,name=search:{body}")
    keys = Keys(rules=[rule])
    old: Json = {"q": "2026-10-05", "n": 1}
    new: dict[str, Json] = {"q": change, "n": 1}

    assert is_same(keys, search(old), search(new))
    assert not is_same(keys, search(old), search({**new, "n": 2}))
    assert not is_same(keys, search(old, "wiki"), search(new, "wiki"))


def test_a_rule_that_finds_nothing_is_known() -> None:
    """Rules pile up; one that is of no use any more can go."""
    rules = [
        *rules_of("ignore", ["/args/q", "/args/gone"], origin="--ignore"),
        *rules_of("normalize", ["date", "uuid"], origin="--normalize"),
    ]
    keys = Keys(rules=rules)
    keys.compared(search({"q": 1, "day": "2026-10-05"}))

    assert [rule.text for rule in keys.idle_rules()] == ["/args/gone", "uuid"]


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        ("ignore", "args", "is no pointer"),
        ("ignore", "", "leave out everything"),
        ("normalize", "dates", "'dates' is no pattern; there are date, time"),
        ("normalize", "(?=x)y", "it has no lookaround"),
        ("normalize", "server=:date", "with a value"),
    ],
)
def test_a_wrong_rule_is_refused(kind: Kind, text: str, problem: str) -> None:
    """With where it was written, so that it can be found."""
    with pytest.raises(UsageError, match=r"^mcprec\.toml: .*") as caught:
        rules_of(kind, [text], origin="mcprec.toml")

    assert problem in str(caught.value)


def test_a_scope_is_read_as_it_is_written() -> None:
    """Also with an address in it, which has colons."""
    scope = (("method", "resources/read"), ("name", "file:///a"))

    assert parse_rule("normalize", rule_text("tmp", scope)).scope == scope


def test_rules_of_the_cassette_are_joined() -> None:
    """Each once."""
    given = rules_of("ignore", ["/args/a"], origin="--ignore")
    match = Matching(ignore=["/args/a"], normalize=["date"])

    assert [rule.text for rule in rules_in_use(given, match)] == ["/args/a", "date"]
