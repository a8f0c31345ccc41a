"""Every error is one line: where, what, what to do; those of a block list what it lacked below."""

import pickle

import pytest

from mcprec_addon.errors import (
    CassetteFileError,
    CassetteFormatError,
    CassetteMiss,
    CassetteUnused,
    ListenError,
    LiveTrafficError,
    McprecError,
    RecordingError,
    UsageError,
)

ERRORS: list[tuple[McprecError, str, int]] = [
    (UsageError("--http 'a': write it as NAME=URL"), "--http 'a': write it as NAME=URL", 2),
    (CassetteFormatError("a.mcp", 3, "is torn"), "a.mcp:3: is torn", 2),
    (CassetteFileError("a.mcp", "is empty"), "a.mcp: is empty", 2),
    (RecordingError("a.mcp", "disk full"), "a.mcp: disk full", 4),
    (
        ListenError("127.0.0.1:80", "the port is in use"),
        "cannot listen on 127.0.0.1:80, the port is in use; stop what listens there first",
        2,
    ),
    (CassetteMiss("a.mcp", ["MISS x", "MISS y"]), "a.mcp: 2 misses\nMISS x\nMISS y", 3),
    (CassetteUnused("a.mcp", ["  #1 x"]), "a.mcp: 1 recorded exchange never used\n  #1 x", 3),
    (LiveTrafficError("a.example", "is refused"), "a.example: is refused", 3),
]


@pytest.mark.parametrize(("error", "text", "status"), ERRORS, ids=lambda each: type(each).__name__)
def test_an_error_reads_where_and_what(error: McprecError, text: str, status: int) -> None:
    """The line is the whole output of a failed command, and the exit status comes with it."""
    assert str(error) == text
    assert error.exit_status == status


@pytest.mark.parametrize("error", [each[0] for each in ERRORS], ids=lambda e: type(e).__name__)
def test_an_error_survives_a_process_boundary(error: McprecError) -> None:
    """Test runners send errors between their processes, by their arguments."""
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)

    assert (type(again), str(again)) == (type(error), str(error))
    assert vars(again) == vars(error)


def test_fields_are_kept_apart() -> None:
    """A tool that opens the file at the line must not have to parse the message."""
    error = CassetteFormatError("a.mcp", 3, "is torn")

    assert (error.path, error.line, error.problem) == ("a.mcp", 3, "is torn")


def test_every_error_is_in_the_table_above() -> None:
    """A new class without a test of its line would be the first to read badly."""
    assert {type(error) for error, _, _ in ERRORS} == {*McprecError.__subclasses__()} - {
        each for each in McprecError.__subclasses__() if each.__module__ != McprecError.__module__
    }
