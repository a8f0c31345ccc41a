"""A report as a file; its suffix tells the kind."""

from pathlib import Path

from mcprec_addon.errors import CassetteFileError, UsageError
from mcprec_addon.jsonvalue import dumps
from mcprec_addon.replay.report import RunReport

_KINDS = (".json", ".xml")


def check_report(path: Path) -> None:
    """Make sure, before anything starts, that a report can be written.

    Raises:
        UsageError: The suffix tells no kind, or the folder is not there.
    """
    if path.suffix not in _KINDS:
        message = f"--report {path}: the suffix tells the kind; give it .json or .xml"
        raise UsageError(message)
    if not path.parent.is_dir():
        message = f"--report {path}: no such folder; make it first"
        raise UsageError(message)


def write_report(path: Path, report: RunReport) -> None:
    """Write a report: JSON, or JUnit where the suffix is ``.xml``.

    Raises:
        CassetteFileError: It cannot be written.
    """
    as_xml = path.suffix == ".xml"
    data = report.junit().encode() if as_xml else dumps(report.as_json()) + b"\n"
    try:
        path.write_bytes(data)
    except OSError as error:
        raise CassetteFileError(str(path), f"cannot be written, {error.strerror}") from error
