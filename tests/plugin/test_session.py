"""A cassette is in use around each test that has one, and what it lacked fails that test."""

import pytest

from tests.in_process_cassette import write_cassette
from tests.pytest_project import RunTests

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.door


def test_a_miss_fails_the_test_at_the_call_though_the_agent_swallows_it(
    run_tests: RunTests,
) -> None:
    """An agent that retries or gives up quietly must not turn a test green."""
    found = run_tests("""
@pytest.mark.mcprec("triage.mcp")
def test_quiet():
    ask_quietly("hello")
    ask_quietly("hi")

@pytest.mark.mcprec("triage.mcp")
def test_after():
    assert ask("hi") == "hello"
""")

    found.assert_outcomes(failed=1, passed=1)
    found.stdout.fnmatch_lines(
        [
            '>       ask_quietly("hello")',
            "*test_agent.py:6: *",
            '>       reply = httpx2.post("https://api.openai.com/v1/chat/completions", json=body)',
            "E *CassetteMiss: cassettes/triage.mcp: 1 miss",
            "E *MISS model call /v1/chat/completions (provider openai)",
            "E *nearest: recorded #3*",
            "E *record again (pytest test_agent.py --mcprec-record=all)",
            "agent.py:5: CassetteMiss",
            "MISS model call /v1/chat/completions (provider openai): test_agent.py::test_quiet",
            "1 cassette, 1 of 6 recorded exchanges used, 1 miss",
        ]
    )
    assert "site-packages" not in found.stdout.str()


def test_a_miss_that_reaches_the_test_is_told_once(run_tests: RunTests) -> None:
    """The client's error says in its own words what the miss says in full."""
    found = run_tests("""
@pytest.mark.mcprec("triage.mcp")
def test_loud():
    ask("hello")
""")

    found.assert_outcomes(failed=1)
    found.stdout.no_fnmatch_line("*RuntimeError*")
    assert found.stdout.str().count(" nearest: ") == 1


def test_an_assertion_that_fails_for_a_miss_is_shown_with_it(run_tests: RunTests) -> None:
    """What the test found wrong is worth seeing, and comes of the miss."""
    found = run_tests("""
@pytest.mark.mcprec("triage.mcp")
def test_wrong():
    found = ask_quietly("hello")
    assert found == "hello"
""")

    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(
        [
            "E *AssertionError: assert None == 'hello'",
            "The above exception was the direct cause of the following exception:",
            '>       found = ask_quietly("hello")',
            "E *CassetteMiss: *",
        ]
    )


def test_misses_that_a_test_looked_at_do_not_fail_it(run_tests: RunTests) -> None:
    """How an agent takes a failed call can be a test's very matter."""
    found = run_tests("""
@pytest.mark.mcprec("triage.mcp")
def test_of_a_miss(mcprec_cassette):
    assert ask_quietly("hello") is None
    assert [miss.half for miss in mcprec_cassette.misses] == ["model"]
    mcprec_cassette.misses.clear()

@pytest.mark.mcprec("triage.mcp")
@pytest.mark.xfail(raises=RuntimeError, strict=True)
def test_expected():
    ask("hi")
    raise RuntimeError
""")

    found.assert_outcomes(passed=1, xfailed=1)


def test_a_fixture_that_misses_is_an_error_of_its_phase(run_tests: RunTests) -> None:
    """Clients connect in fixtures, and say goodbye there."""
    found = run_tests("""
@pytest.fixture
def early():
    ask_quietly("early")

@pytest.fixture
def late():
    yield
    ask_quietly("late")

@pytest.mark.mcprec("triage.mcp")
def test_early(early):
    pass

@pytest.mark.mcprec("triage.mcp")
def test_late(late):
    assert ask("hi") == "hello"
""")

    found.assert_outcomes(errors=2, passed=1)
    found.stdout.fnmatch_lines(
        ["*ERROR at setup of test_early*", '>*ask_quietly("early")', "E *CassetteMiss*"]
    )
    found.stdout.fnmatch_lines(
        ["*ERROR at teardown of test_late*", '>*ask_quietly("late")', "E *CassetteMiss*"]
    )


def test_fixtures_of_a_wider_scope_are_answered_too(run_tests: RunTests) -> None:
    """A client that a session shares must not go live because it is older than the test."""
    found = run_tests("""
@pytest.fixture(scope="session")
def greeting():
    return ask("hi")

@pytest.fixture(scope="module")
def mcprec_config():
    return {"normalize": ["date"]}

@pytest.mark.mcprec("triage.mcp")
def test_first(greeting):
    assert greeting == "hello"

@pytest.mark.mcprec("triage.mcp")
def test_second(greeting):
    assert greeting == ask("hi")
""")

    found.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("mcprec('triage.mcp', mach='exact')", "a cassette has no option 'mach'; it has half,*"),
        ("mcprec('triage.mcp', match='exat')", "match='exat': no such value; choose one of*"),
        ("mcprec('triage.mcp', record='once')", "a mark does not record, or CI would;*"),
        ("mcprec(3)", "mcprec(3): not the path of a cassette;*"),
    ],
)
def test_a_mark_that_is_wrong_is_one_line(run_tests: RunTests, mark: str, said: str) -> None:
    """A traceback into the plugin does not tell what to write instead."""
    found = run_tests(f"@pytest.mark.{mark}\ndef test_hi(): pass\n")

    found.assert_outcomes(errors=1)
    found.stdout.fnmatch_lines([said])
    found.stdout.no_fnmatch_line("*session.py*")
    found.stdout.no_fnmatch_line("*traceback*")


def test_all_used_fails_a_run_that_leaves_something(run_tests: RunTests) -> None:
    """An exchange that no test uses any more is noise in every review."""
    source = """
pytestmark = pytest.mark.mcprec("triage.mcp", half="model")

def test_one():
    ask("hi")

def test_other(mcprec_cassette):
    import httpx2
    body = {"model": "gpt-5", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    httpx2.post("https://api.openai.com/v1/chat/completions", json=body)
"""

    together = run_tests(source, "--mcprec-all-used")
    alone = run_tests(source, "--mcprec-all-used", "-k", "test_one")

    assert together.ret == 0
    assert alone.ret == 1
    alone.stdout.fnmatch_lines(
        [
            "cassettes/triage.mcp: 1 recorded exchange never used",
            "  #4 model call /v1/chat/completions (provider openai)",
            "1 recorded exchange never used (--mcprec-all-used)",
        ]
    )


def test_a_mark_may_ask_that_its_test_uses_all(run_tests: RunTests) -> None:
    """A cassette of one test is that test's alone to use up."""
    found = run_tests("""
@pytest.mark.mcprec("triage.mcp", half="model", all_used=True)
def test_one():
    ask("hi")
""")

    found.assert_outcomes(passed=1, errors=1)
    found.stdout.fnmatch_lines(["E *CassetteUnused: cassettes/triage.mcp: 1 recorded exchange*"])


def test_orphans_are_named(run_tests: RunTests, pytester: pytest.Pytester) -> None:
    """A renamed test leaves its cassette behind, and nobody sees it."""
    write_cassette(pytester.path / "cassettes", name="old.mcp")
    source = """
@pytest.mark.mcprec("triage.mcp")
def test_one():
    ask("hi")

@pytest.mark.mcprec("old.mcp")
def test_two():
    ask("hi")
"""

    fine = run_tests(source, "--mcprec-orphans", "-k", "test_one")
    found = run_tests(source.replace("old.mcp", "triage.mcp"), "--mcprec-orphans", "--collect-only")

    assert fine.ret == 0
    assert found.ret == 1
    found.stdout.fnmatch_lines(
        ["1 cassette that no test has (--mcprec-orphans)", "  cassettes/old.mcp"]
    )
