"""What is printed changes only on purpose; cassettes of every version are still read."""

from pathlib import Path

import pytest

from tests.golden_cases import CASES, printed


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_printed_is_as_it_was(case: Path) -> None:
    """`make golden` rewrites it; the diff is the review."""
    for name, text in printed(case).items():
        assert text == (case / name).read_text(), f"{case.name}/{name}: make golden rewrites it"
