"""Names of two recordings are one secret where nothing contradicts it."""

from mcprec_addon.upkeep.same_secrets import Table


def table(source: dict[str, list[str]], merged: dict[str, list[str]]) -> Table:
    counts = {"email": 2, "api-key": 2}
    return Table(source=source, merged=merged, counts=counts, merged_counts=counts, is_one=False)


def test_names_go_one_to_one() -> None:
    """Two people never become one, and one never becomes two."""
    made = table({}, {})

    assert made.agree(["email-1"], ["email-2"])
    assert not made.agree(["email-1"], ["email-1"])
    assert not made.agree(["email-2"], ["email-2"])
    assert not made.agree(["email-2", "email-2"], ["email-1", "email-2"])
    assert made.agree(["email-2"], ["email-1"])


def test_a_look_alike_is_only_itself() -> None:
    """A number beyond the recording's is a text that happens to look like a placeholder."""
    made = table({}, {})

    assert made.agree(["email-9"], ["email-9"])
    assert not made.agree(["email-9"], ["email-1"])
    assert not made.agree(["email-1"], ["email-9"])


def test_other_sources_are_another_secret() -> None:
    """What variables of different names hold is not the same by standing in one place."""
    made = table({"api-key-1": ["env:B"]}, {"api-key-1": ["env:A"]})

    assert not made.agree(["api-key-1"], ["api-key-1"])
    made.add("api-key-1", {"api-key-3"})
    assert made.numbers == {"api-key-1": 4}
