"""The first span at which two texts differ, and how much differs in all."""

import random

from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.replay.edits import common_head, first_edit


def test_common_head() -> None:
    """Found by halving, so the ends matter."""
    assert [
        common_head(*pair) for pair in [("", "a"), ("ab", "ab"), ("abc", "abd"), ("x", "y")]
    ] == [
        0,
        2,
        2,
        0,
    ]


def test_two_words_in_a_book_are_two_words() -> None:
    """A text that is too long for difflib must not count as another one from there on."""
    chance = random.Random(1)  # noqa: S311 (any text does)
    words = [f"word{chance.randrange(3000)}" for _ in range(60_000)]
    changed = [*words[:15_000], "zebra", *words[15_000:40_000], "\ud800", *words[40_000:]]
    old, new = " ".join(words), " ".join(changed)

    edit = first_edit(old, new)

    assert new[edit.start : edit.new_end] == "zebra "
    assert (edit.added, edit.removed) == (len("zebra ? "), 0)


@given(old=st.text(), new=st.text())
def test_first_edit_is_where_the_texts_part(old: str, new: str) -> None:
    """Whatever the texts, the head is common and the lines are lines."""
    edit = first_edit(old, new)

    assert old[: edit.start] == new[: edit.start]
    assert edit.start <= edit.old_end <= len(old)
    assert edit.start <= edit.new_end <= len(new)
    if old != new:
        assert edit.added + edit.removed > 0


@given(
    head=st.lists(st.sampled_from(["alpha ", "beta\n", "gamma", " "]), min_size=60),
    tail=st.lists(st.sampled_from(["alpha ", "beta\n", "delta", " "]), min_size=60),
)
def test_first_edit_of_long_texts(head: list[str], tail: list[str]) -> None:
    """Long texts are taken apart by words, which must keep the places right."""
    old, new = "".join(head + tail), "".join(head[:30] + tail + head[30:])

    edit = first_edit(old, new)

    assert old[: edit.start] == new[: edit.start]
    assert len(new) - len(old) == edit.added - edit.removed
