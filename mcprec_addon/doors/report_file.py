"""A report as a file; its suffix tells the kind."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from mcprec_addon.errors import CassetteFileError, UsageError
from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import dumps, loads
from mcprec_addon.replay.score_lines import score_of
from mcprec_addon.replay.scores import RunScore

_KINDS = (".json", ".xml")
_LINES = ".jsonl"


class Reportable(Protocol):
    """What can be written as a report."""

    def as_json(self) -> dict[str, Json]:
        """Return the report for a program."""
        ...

    def junit(self) -> str:
        """Return the report as JUnit XML."""
        ...


def check_report(path: Path, *, lines: bool = False) -> None:
    """Make sure, before anything starts, that a report can be written.

    Args:
        path: Where it goes.
        lines: It may also be a line for each run.

    Raises:
        UsageError: The suffix tells no kind, or the folder is not there.
    """
    kinds = (*_KINDS, _LINES) if lines else _KINDS
    if path.suffix not in kinds:
        known = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
        message = f"--report {path}: the suffix tells the kind; give it {known}"
        raise UsageError(message)
    if not path.parent.is_dir():
        message = f"--report {path}: no such folder; make it first"
        raise UsageError(message)


def write_report(path: Path, report: Reportable) -> None:
    """Write a report: JSON, or JUnit where the suffix is ``.xml``; one of lines is there already.

    Raises:
        CassetteFileError: It cannot be written.
    """
    if path.suffix == _LINES:
        return
    as_xml = path.suffix == ".xml"
    data = report.junit().encode() if as_xml else dumps(report.as_json()) + b"\n"
    _put(path, data)


def begin_report(path: Path | None) -> Callable[[dict[str, Json]], None]:
    """Check where the report of an eval goes, and return what takes the line of each run.

    A report of lines begins anew, and has each line as soon as its run has ended.

    Raises:
        McprecError: The suffix tells no kind, or the file cannot be written.
    """
    if path is None:
        return lambda _: None
    check_report(path, lines=True)
    if path.suffix != _LINES:
        return lambda _: None
    _put(path, b"")
    return lambda line: _put(path, dumps(line) + b"\n", mode="ab")


def _put(path: Path, data: bytes, *, mode: Literal["ab", "wb"] = "wb") -> None:
    try:
        with path.open(mode) as file:
            file.write(data)
    except OSError as error:
        raise CassetteFileError(str(path), f"cannot be written, {error.strerror}") from error


def read_lines(path: Path) -> list[RunScore]:
    """Return what the lines of a report say.

    Raises:
        CassetteFileError: It cannot be read.
        UsageError: A line of it is none of such a report.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise CassetteFileError(str(path), f"cannot be read, {error.strerror}") from error
    scores: list[RunScore] = []
    for number, line in enumerate(lines, 1):
        try:
            scores.append(score_of(loads(line)))
        except ValueError as error:
            message = f"{path}:{number}: {error}"
            raise UsageError(message) from error
    return scores
