"""What `mcprec merge` does: reads cassettes, joins them and puts the result in place."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from mcprec_addon.doors.cassette_file import check_target, load_cassette, put_cassette
from mcprec_addon.exchange import Cassette
from mcprec_addon.upkeep.merge import Merged, merge
from mcprec_addon.upkeep.merged_header import Source


def merge_cassettes(
    paths: Sequence[Path], out: Path, *, same: Iterable[str] = (), force: bool = False
) -> Merged:
    """Join cassettes into one.

    Args:
        paths: The cassettes; the first keeps its numbers.
        out: Where the joined one goes.
        same: Labels of servers that are one wherever they were recorded.
        force: An existing file may be replaced.

    Raises:
        McprecError: One cannot be read, they do not go together, or nothing can be written.
    """
    check_target(out, force=force)
    sources = [
        Source(name=str(path), cassette=_rebased(load_cassette(path), path, out)) for path in paths
    ]
    merged = merge(sources, same=same)
    warnings = [warning for source in sources for warning in source.cassette.warnings]
    put_cassette(out, merged.cassette)
    return replace(merged, notes=(*warnings, *merged.notes))


def _rebased(cassette: Cassette, path: Path, out: Path) -> Cassette:
    """Return a cassette whose configs are named as seen from another folder."""
    old, new = path.parent.resolve(), out.parent.resolve()
    if old == new:
        return cassette
    config = [Path(os.path.relpath(old / each, new)).as_posix() for each in cassette.header.config]
    return replace(cassette, header=replace(cassette.header, config=config))
