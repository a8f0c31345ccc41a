"""The command that joins cassettes."""

from pathlib import Path
from typing import Annotated

import typer

from mcprec_addon.cli_options import Force
from mcprec_addon.cli_terminal import say


def merge_files(
    cassettes: Annotated[
        list[Path], typer.Argument(metavar="CASSETTE…", help="The cassettes, the main one first.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where the joined one goes.")
    ],
    same: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A server that is one, whatever its addresses; may be repeated."
        ),
    ] = None,
    *,
    force: Force = False,
) -> int:
    """Join cassettes into one that each of their runs replays from."""
    from mcprec_addon.joining import merge_cassettes  # noqa: PLC0415

    merged = merge_cassettes(cassettes, out, same=same or (), force=force)
    for note in merged.notes:
        say(note)
    typer.echo(merged.line(str(out), len(cassettes)))
    return 0
