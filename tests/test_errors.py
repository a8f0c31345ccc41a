"""Every error is one line: where, what, what to do."""

import pytest

from mcprec_addon.errors import (
    CassetteFileError,
    CassetteFormatError,
    ListenError,
    McprecError,
    RecordingError,
)


@pytest.mark.parametrize(
    ("error", "text", "status"),
    [
        (CassetteFormatError("a.mcp", 3, "is torn"), "a.mcp:3: is torn", 2),
        (CassetteFileError("a.mcp", "is empty"), "a.mcp: is empty", 2),
        (RecordingError("a.mcp", "disk full"), "a.mcp: disk full", 4),
    ],
    ids=["format", "file", "recording"],
)
def test_an_error_reads_where_and_what(error: McprecError, text: str, status: int) -> None:
    """The exit status comes with it."""
    assert str(error) == text
    assert error.exit_status == status


def test_a_taken_port_is_named() -> None:
    """The address is what a person can change."""
    assert "127.0.0.1:80" in str(ListenError("127.0.0.1:80", "the port is in use"))
