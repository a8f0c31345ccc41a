"""How one difference is shown, and when a rule is offered for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import Difference
from mcprec_addon.match.normal import Places
from mcprec_addon.replay.span import difference_lines, offer, volatile


def at(old: Json, new: Json, pointer: str = "since") -> Difference:
    return Difference(("args", pointer), old, new)


def test_added_and_removed_text_is_marked() -> None:
    """The bar shows where, the number where to look in a long value."""
    assert difference_lines(at("ab", "aXb")) == ['"a|X|b" (added at character 1)']
    assert difference_lines(at("state:open x", "state:open")) == [
        '"state:open| x" (removed at character 10)'
    ]
    assert difference_lines(at("state:open", "state:shut")) == [
        'recorded "state:|open"',
        'asked    "state:|shut" (changed at character 6)',
    ]


def test_same_json_in_other_text_is_said() -> None:
    """Arguments that hold JSON as text differ in spelling often, in value seldom."""
    text = '{"a":1,"b":"\u00e9"}'
    others = {
        '{"a": 1, "b": "\u00e9"}': "white space",
        '{"b": "\u00e9", "a": 1}': "key order",
        '{"a":1,"b":"\\u00e9"}': "escapes",
        '{"a":1.0,"b":"\u00e9"}': "numbers",
    }

    for other, spelling in others.items():
        lines = difference_lines(at(text, other))
        assert f"same JSON, different text: {spelling}" in lines[-1]
    assert "same JSON" not in difference_lines(at(text, '{"a":2}'))[-1]


def test_another_order_is_one_line() -> None:
    """Ten elements that all moved have not all changed."""
    tools: list[Json] = [{"name": "find"}, {"name": "get"}]

    assert difference_lines(at(tools, tools[::-1])) == [
        "the same 2 elements in another order: recorded find, get, asked get, find"
    ]
    assert difference_lines(at([1, 2], [2, 1])) == [
        "the same 2 elements in another order: recorded [1,2], asked [2,1]"
    ]


def test_a_value_that_is_cut_says_how_long_it_is() -> None:
    """What is shown of it must not pass for all of it."""
    (line,) = difference_lines(Difference(("args",), {"q": "x" * 992}, 4))

    assert line.endswith("\N{HORIZONTAL ELLIPSIS} (1000 characters), asked 4")


def test_texts_that_look_alike_are_told_apart() -> None:
    """Two values that print the same would make the report look wrong."""
    assert "same text in another Unicode form" in difference_lines(at("\u00e9", "e\u0301"))[-1]
    assert "only white space differs" in difference_lines(at("a b", "a  b"))[-1]


def test_long_text_is_cut_around_the_first_difference() -> None:
    """A system prompt of pages must not scroll the cause away."""
    prompt = "\n".join(f"rule {number}: be careful" for number in range(400))
    edited = prompt.replace("rule 100: be careful", "rule 100: be brave and bold")
    edited = edited.replace("rule 300: be careful", "rule 300: be quick")

    lines = difference_lines(at(prompt, edited))

    assert all(len(line) < 320 for line in lines)
    assert "rule 100: be |careful|" in lines[0]
    assert "rule 100: be |brave and bold|" in lines[1]
    assert f"the first at character {prompt.index('rule 100') + 13}" in lines[1]


def test_true_size_of_a_long_difference_is_given() -> None:
    """The cut must not hide how much changed."""
    old = "x" * 300
    new = old + "y" * 312

    assert "(+312 \N{MINUS SIGN}0 characters" in difference_lines(at(old, new))[-1]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("2026-10-05", "2026-10-09", "date"),
        ("since:2026-10-05 state:open", "since:2026-11-19 state:open", "date"),
        ("Today is October 5, 2026.", "Today is November 30, 2026.", "date"),
        ("at 10:05:01", "at 9:07:22", "time"),
        ("2026-10-05T10:05:01Z", "2026-10-05T11:06:59Z", "time"),
        ("2026-10-05T10:05:01.123Z", "2026-10-09T11:06:59Z", "date time"),
        (
            "run 0d7f9e3c-1111-4222-8333-444455556666",
            "run 1e8f0a4d-9999-4aaa-8bbb-ccccddddeeee",
            "uuid",
        ),
        ("in /var/folders/zz/T/a.txt", "in /private/var/folders/x8/a.txt", "tmp"),
        ("attempt 2 of 3", "attempt 3 of 3", "counter"),
        (1_760_000_000, 1_760_003_600, "time"),
        ("label:bug", "label:docs", None),
        ("2026-10-05 open", "2026-10-09 shut", None),
        ("issue 4", "issue 5", None),
        (4, 5, None),
        (1, True, None),
        (None, "2026-10-05", None),
    ],
)
def test_volatile(old: Json, new: Json, kind: str | None) -> None:
    """A rule is offered only where it would have made both the same."""
    assert volatile(at(old, new)) == kind


PLACES = Places(cwd="/builds/x/proj", home="/github/home")


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("in /home/ana/a.py", "in /Users/bob/a.py", "home"),
        ("in /home/ana/a.py", "in /github/home/a.py", "home"),
        ("in /home/ana/src/proj/a.py", "in /builds/x/proj/a.py", "cwd"),
        ("/home/ana/src/proj, /home/ana/.b", "/builds/x/proj, /github/home/.b", "cwd home"),
        ("/home/ana/proj on 2026-10-05", "/home/bob/proj on 2026-11-30", "date home"),
        ("in /home/ana/a.py", "in /home/ana/b.py", None),
    ],
)
def test_paths_of_another_machine(old: str, new: str, kind: str | None) -> None:
    """Whose folder it is says nothing of what is asked; what is in it does."""
    assert volatile(at(old, new), PLACES) == kind


def test_counter_member_is_volatile_by_its_name() -> None:
    """A bare number says nothing; an id must never be offered for ignoring."""
    assert volatile(at(1, 2, "retry_count")) == "counter"
    assert volatile(at(1, 2, "account")) is None
    assert volatile(at(1, 2, "issue")) is None


def test_offers() -> None:
    """The line can be copied to the command line as it is."""
    assert offer(at("2026-10-05", "2026-10-09")) == (
        "looks like a date that changes by itself: --ignore /args/since"
    )
    assert offer(at(1, 2, "attempt")) == (
        "looks like a counter that changes by itself: --ignore /args/attempt"
    )
    assert "--ignore '/args/a b'" in str(offer(at("10:00", "10:01", "a b")))
    assert offer(at("in /home/a, 2026-10-05", "in /home/b, 2026-10-09"), PLACES) == (
        "looks like a date and a home folder that change by themselves:"
        " --normalize date --normalize home"
    )
    assert offer(at("a", "b")) is None


def test_a_place_in_a_conversation_is_not_offered() -> None:
    """The next turn has another message there, and what is left out of it is never seen again."""
    said = Difference(("request", "messages", "3", "content"), "2026-10-05", "2026-10-09")
    name = Difference(("name",), "file:///tmp/a1/x", "file:///tmp/b2/x")

    assert str(offer(said)).endswith(": --normalize date")
    assert str(offer(name)).endswith(": --normalize tmp")


@given(old=st.text(), new=st.text())
def test_whatever_the_texts_a_line_is_a_line(old: str, new: str) -> None:
    """A text of a stranger must not write lines of the report."""
    assert all("\n" not in line for line in difference_lines(at(old, new)))
