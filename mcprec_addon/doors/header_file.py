"""The header of a cassette that is there already: rules for matching are added to it.

Every other line stays byte for byte, so that a diff shows what was added and nothing else.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mcprec_addon.cassette.writing import write_header
from mcprec_addon.doors.cassette_file import put_in_place
from mcprec_addon.exchange import Header
from mcprec_addon.match.rules import Rule

_BLOCK_BYTES = 1 << 20


def save_rules(path: Path, header: Header, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Write rules into the header of a cassette; a file that has them all is left alone.

    Args:
        path: The cassette.
        header: Its header, as it was read.
        rules: The rules of a replay.

    Returns:
        The rules that it did not have.

    Raises:
        RecordingError: It cannot be written; the file is as it was.
    """
    held = {"ignore": header.match.ignore, "normalize": header.match.normalize}
    new = tuple(rule for rule in dict.fromkeys(rules) if rule.text not in held[rule.kind])
    if not new:
        return ()
    added = {kind: [rule.text for rule in new if rule.kind == kind] for kind in held}
    match = replace(
        header.match,
        ignore=[*header.match.ignore, *added["ignore"]],
        normalize=[*header.match.normalize, *added["normalize"]],
    )
    put_in_place(path, _with_header(path, write_header(replace(header, match=match))))
    return new


def _with_header(path: Path, header: bytes) -> Iterator[bytes]:
    yield header
    with Path(os.path.realpath(path)).open("rb") as file:
        while (line := file.readline()) and not line.strip():
            pass  # blank lines in front of the old header go with it
        while block := file.read(_BLOCK_BYTES):
            yield block
