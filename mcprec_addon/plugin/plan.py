"""What is known of a test's cassette before the test runs: its marks, its file, its command."""

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mcprec_addon.errors import CassetteFileError
from mcprec_addon.plugin.marks import Asked, asked_by
from mcprec_addon.plugin.paths import FOLDER, default_path

if TYPE_CHECKING:
    import pytest

FIXTURES = frozenset({"mcprec_cassette", "mcprec_run"})
"""What gives a test a cassette without a mark, as a bare one does."""

_NAMED = 3  # files in a command; with more of them it runs all tests


def asked_of(item: "pytest.Item") -> Asked | None:
    """Return what a test asks for by its marks or fixtures, or None where it has no cassette.

    Raises:
        UsageError: A mark is wrong.
    """
    marks = list(item.iter_markers("mcprec"))
    fixtures: Iterable[str] = getattr(item, "fixturenames", ())
    return asked_by(marks) if marks or not FIXTURES & set(fixtures) else Asked()


def folder_beside(file: Path, name: str = FOLDER) -> Path:
    """Return the folder of the cassettes of a test file."""
    return file.parent / name


def own_path(item: "pytest.Item", folder: Path) -> Path:
    """Return where a test's own cassette stands."""
    classes = [node.name for node in item.listchain() if type(node).__name__.endswith("Class")]
    return default_path(folder, item.path.stem, classes, item.name)


def paths_of(asked: Asked, item: "pytest.Item", folder: Path) -> tuple[Path, ...]:
    """Return the files that a test asks for; names are within the folder of its cassettes."""
    named = (Path(os.path.normpath(folder / each)) for each in asked.paths)
    return tuple(named) or (own_path(item, folder),)


def record_command(item: "pytest.Item", mode: str, *, users: Iterable[str] = ()) -> str:
    """Return the command that records a test's cassette.

    Args:
        item: The test.
        mode: How it is recorded.
        users: Ids of all tests that have this cassette: what one of them alone asks, recorded
            anew, would not do for the others.
    """
    tests = {*users, item.nodeid}
    here, root = item.config.invocation_params.dir, item.config.rootpath
    nodes: list[str] = []
    for name in sorted({test.partition("::")[0] for test in tests}):
        file = root / name
        shown = os.path.relpath(file, here) if file.is_relative_to(here) else str(file)
        nodes.append(Path(shown).as_posix())
    if len(tests) == 1:
        nodes[0] += item.nodeid.removeprefix(item.nodeid.partition("::")[0])
    named = f"{shlex.join(nodes)} " if len(nodes) <= _NAMED else ""
    return f"pytest {named}--mcprec-record={mode}"


def missing_error(path: Path, item: "pytest.Item") -> CassetteFileError:
    """Return the error for a cassette that is not there."""
    remedy = f"is not there; record it: {record_command(item, 'once')}"
    beside = item.path.parent / path.name
    if beside != path and beside.is_file():
        there = os.path.relpath(beside, path.parent)
        remedy += f"; or name the one beside the test: {Path(there).as_posix()!r}"
    return CassetteFileError(shown_path(path), remedy)


def shown_path(path: Path) -> str:
    """Return a path as one at the terminal would type it."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
