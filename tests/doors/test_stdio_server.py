"""Lines in, lines out, until the client closes its end."""

import io

import pytest

from mcprec_addon.doors.stdio_server import serve_lines
from tests.replay.test_line_responder import ask, responder, tool

pytestmark = pytest.mark.door


def served(*lines: bytes, **how: str) -> list[bytes]:
    sink = io.BytesIO()
    made = responder(tool(1, "a"), tool(2, "b", end=how.get("end")))
    serve_lines(made, io.BytesIO(b"".join(lines)), sink)
    return sink.getvalue().splitlines()


def test_lines_end_in_any_way() -> None:
    """Windows clients send CRLF, and the last line may have no end at all."""
    answers = served(ask("a") + b"\r\n", b"\n", b"noise\n", ask("b"))

    assert len(answers) == 2


def test_a_server_that_died_dies_again() -> None:
    """What comes after the recorded end is not answered."""
    assert len(served(ask("b") + b"\n", ask("a") + b"\n", end="reset")) == 0


class Gone(io.BytesIO):
    def write(self, _: object) -> int:
        """Fail as a pipe does whose reader is gone."""
        raise BrokenPipeError


def test_a_client_that_is_gone_is_no_error() -> None:
    """Agents kill their servers without a word."""
    serve_lines(responder(tool(1, "a")), io.BytesIO(ask("a")), Gone())
