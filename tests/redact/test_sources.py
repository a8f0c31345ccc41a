"""A secret that stands somewhere in a replay, too, stands for its placeholder."""

from mcprec_addon.exchange import Redaction
from mcprec_addon.redact.sources import held, source_values, source_variables

REDACTION = Redaction(
    placeholders={"api-key": 2},
    sources={"api-key-1": ["config:a/env/KEY", "env:A_KEY"], "api-key-2": ["header:x-api-key"]},
)


def test_variables_are_told_from_other_sources() -> None:
    """Only a variable can get a dummy."""
    assert source_variables(REDACTION) == {"A_KEY"}


def test_what_a_source_holds_stands_for_its_placeholder() -> None:
    """Of several the last that holds anything; an empty one holds nothing."""
    assert source_values(REDACTION, held({"A_KEY": "live", "B": "x"})) == {"api-key-1": "live"}
    assert source_values(REDACTION, held({"A_KEY": ""})) == {}
