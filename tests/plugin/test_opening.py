"""Which cassette answers a test, and what is said where there is none."""

import pytest

from tests.pytest_project import RunTests

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.door


def test_a_missing_cassette_fails_with_the_command_that_records_it(run_tests: RunTests) -> None:
    """A test without its cassette must not be green, and must not go live."""
    found = run_tests(
        """
class TestGreeting:
    @pytest.mark.mcprec
    @pytest.mark.parametrize("text", ["a/b"])
    def test_hi(self, text):
        ask("hi")

@pytest.mark.mcprec("there.mcp")
def test_beside():
    pass
""",
        conftest="from pathlib import Path\nPath('there.mcp').touch()",
    )

    found.assert_outcomes(errors=2)
    found.stdout.re_match_lines(
        [
            (
                r"cassettes/test_agent/TestGreeting\.test_hi\[a-b\]~[0-9a-f]{8}\.mcp: is not there;"
                r".*pytest 'test_agent\.py::TestGreeting::test_hi\[a/b\]' --mcprec-record=once"
            ),
            r".*--mcprec-record=once; or name the one beside the test: '\.\./there\.mcp'",
        ]
    )


def test_several_cassettes_answer_as_one(run_tests: RunTests, pytester: pytest.Pytester) -> None:
    """A model's answers and a server's may have been recorded apart."""
    whole = (pytester.path / "cassettes" / "triage.mcp").read_text().splitlines()
    at = next(i for i, line in enumerate(whole) if '"kind":"section"' in line)
    for name, lines in (("mcp", whole[:at]), ("model", whole[:1] + whole[at:])):
        (pytester.path / "cassettes" / f"{name}.mcp").write_text("\n".join([*lines, ""]))

    found = run_tests("""
@pytest.mark.mcprec("mcp.mcp", "model.mcp")
def test_both(mcprec_cassette):
    assert ask("hi") == "hello"
    assert len(mcprec_cassette.exchanges) == 6
""")

    found.assert_outcomes(passed=1)
