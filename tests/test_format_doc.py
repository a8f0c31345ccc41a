"""The examples of docs/cassette-format.md, read as another implementer would."""

import json
import re
from pathlib import Path

import pytest

from mcprec_addon.cassette.format import read_cassette
from mcprec_addon.cassette.writing import write_cassette

TEXT = (Path(__file__).parent.parent / "docs" / "cassette-format.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```jsonl\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)


def as_cassette(block: str) -> bytes:
    """A block as a file: one that shows single records gets a header."""
    return (block if block.startswith('{"mcprec"') else '{"mcprec":1}\n' + block).encode()


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_examples_are_cassettes(block: str) -> None:
    """An implementer copies the examples first."""
    cassette = read_cassette(as_cassette(block), path="cassette-format.md")

    assert read_cassette(write_cassette(cassette), path="again") == cassette
    assert not cassette.warnings


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_examples_use_only_fields_that_are_known(block: str) -> None:
    """A misspelt field would be kept and ignored, and nobody would see it."""
    cassette = read_cassette(as_cassette(block), path="cassette-format.md")

    records = [*cassette.exchanges, *cassette.messages, *cassette.noise, cassette.header]
    assert [record.extra for record in records if record.extra] == []


def test_examples_in_tables_are_json() -> None:
    """Each field is shown as it stands in a file."""
    tables = TEXT.split("\n\n")
    with_examples = [table for table in tables if "| example |" in table.partition("\n")[0]]
    cells = [row.split(" | ")[-1] for table in with_examples for row in table.splitlines()[2:]]
    examples = [example for cell in cells for example in re.findall(r"`([^`]*)`", cell)]

    assert len(examples) > 50
    for example in examples:
        json.loads(example)
