"""Of many recorded calls those are kept that have most in common with a call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import Json
from mcprec_addon.replay.sieve import KEPT, sieved, words_in_common

MANY = 20 * KEPT


def rows(of: int, **changed: Json) -> Json:
    table: list[Json] = [{"at": at, "text": f"row {at} of {of}", "kind": "x"} for at in range(9)]
    return {"args": {"id": of, "rows": table, **changed}}


def talk(of: int, length: int = 30) -> list[Json]:
    system: Json = {"role": "system", "content": "You are helpful."}
    said: list[Json] = [{"role": "user", "content": f"{of}: turn {at}"} for at in range(1, length)]
    return [system, *said]


@pytest.mark.parametrize(
    ("parts", "asked", "nearest"),
    [
        ([rows(of) for of in range(MANY)], rows(77, rows=[]), 77),
        ([rows(of) for of in range(MANY)], rows(77, id="other"), 77),
        ([talk(of) for of in range(MANY)], [*talk(77)[:-1], "other"], 77),
        ([[*talk(0), f"last word {of}"] for of in range(MANY)], [*talk(0), "word 77 last"], 77),
        ([talk(of // 30, 1 + of % 30) for of in range(MANY)], [*talk(7, 20), "other"], 7 * 30 + 20),
        ([{"q": f"label {of} open"} for of in range(MANY)], {"q": "label 77 shut"}, 77),
        ([{"q": "x" * 500 + f" {of} open"} for of in range(MANY)], {"q": "x" * 500 + " 77"}, 77),
    ],
    ids=[
        "an id",
        "rows",
        "one message",
        "the last words",
        "longest",
        "words",
        "behind a long head",
    ],
)
def test_what_tells_calls_apart_is_found(parts: list[Json], asked: Json, nearest: int) -> None:
    """It may be anywhere, beside much that all have in common."""
    kept = sieved(parts, asked)

    assert nearest in kept
    assert len(kept) == KEPT
    assert list(kept) == sorted(kept)


def test_few_are_all_kept() -> None:
    """Then there is nothing to gain."""
    assert list(sieved([1, 2, 3], 4)) == [0, 1, 2]


leaves = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a", "b c"])
values: st.SearchStrategy[Json] = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner),
)


@given(parts=st.lists(values, min_size=2, max_size=6), asked=values)
def test_any_calls_can_be_sieved(parts: list[Json], asked: Json) -> None:
    """Whatever their shapes."""
    kept = sieved(parts * KEPT, asked)

    assert len({*kept}) == len(kept) == KEPT
    assert {*kept} <= {*range(len(parts) * KEPT)}


def test_words_in_common_are_those_of_the_first_text_that_differs() -> None:
    """A text that is equal says nothing of which call is nearer."""
    parts: list[Json] = [{"a": "same", "b": "one two"}, {"a": "same", "b": "three"}, {"a": 1}]

    assert words_in_common(parts, {"a": "same", "b": "two one four"}) == [2, 0, 0]
