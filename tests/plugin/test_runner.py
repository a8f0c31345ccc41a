"""Agents that a test starts as programs."""

import pytest

from tests.pytest_project import RunTests

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.door

PROGRAM = """
    import http.client, json, os, sys
    from urllib.parse import urlsplit

    def ask(text):
        address = urlsplit(os.environ["OPENAI_BASE_URL"])
        connection = http.client.HTTPConnection(address.netloc)
        body = {"model": "gpt-5", "messages": [{"role": "user", "content": text}]}
        key = os.environ["OPENAI_API_KEY"]
        headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
        connection.request("POST", address.path + "/chat/completions", json.dumps(body), headers)
        reply = json.loads(connection.getresponse().read())
        return reply["choices"][0]["message"]["content"] if "choices" in reply else None

    print(ask(sys.stdin.read() or "hi"))
    sys.exit(int(sys.argv[1]))
"""


def test_an_agent_may_be_a_program(run_tests: RunTests) -> None:
    """Most agents are started, and only some are functions that a test can call."""
    found = run_tests(
        """
import subprocess
import sys

pytestmark = pytest.mark.mcprec("triage.mcp", half="model", all_used=True)

def test_program(mcprec_run, mcprec_cassette):
    done = mcprec_run([sys.executable, "program.py", "7"], timeout=60)
    assert (done.stdout, done.status, done.used, done.misses) == ("hello\\n", 7, 1, ())
    assert list(done.unused) == [4]
    import httpx2
    body = {"model": "gpt-5", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    assert httpx2.post("https://api.openai.com/v1/chat/completions", json=body).status_code == 200

def test_program_that_misses(mcprec_run):
    mcprec_run([sys.executable, "program.py", "0"], input="hello")

def test_program_that_is_not_there(mcprec_run):
    mcprec_run(["./no-such-program"])
""",
        program=PROGRAM,
    )

    found.assert_outcomes(passed=1, failed=2)
    found.stdout.fnmatch_lines(
        [
            '>       mcprec_run([[]sys.executable, "program.py", "0"], input="hello")',
            "E *CassetteMiss: cassettes/triage.mcp: 1 miss",
            "E *MISS model call /v1/chat/completions (provider openai)",
            "E *nearest: recorded #3*",
            "E *(pytest test_agent.py --mcprec-record=all)",
            '>       mcprec_run([[]"./no-such-program"])',
            "E *UsageError: ./no-such-program: command not found*",
            "MISS model call /v1/chat/completions (provider openai): *test_program_that_misses",
        ]
    )


def test_a_program_is_recorded_where_that_is_asked_for(
    run_tests: RunTests, model_env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Test and cassette are made with one command, and the next run needs no network."""
    for name, value in model_env.items():
        monkeypatch.setenv(name, value)
    source = """
import sys

@pytest.mark.mcprec
def test_program(mcprec_run):
    done = mcprec_run([sys.executable, "program.py", "0"])
    assert done.status == 0
    assert done.stdout.strip() != "None"
"""

    recorded = run_tests(source, "--mcprec-record=once", program=PROGRAM)
    replayed = run_tests(source, "--mcprec-record=once", program=PROGRAM)

    recorded.assert_outcomes(passed=1)
    line = "cassettes/test_agent/test_program.mcp: recorded 1 exchange from 0 servers and 1 model"
    recorded.stdout.fnmatch_lines([line])
    replayed.assert_outcomes(passed=1)
    replayed.stdout.no_fnmatch_line(line)
    replayed.stdout.fnmatch_lines(["1 cassette, 1 of 1 recorded exchanges used, 0 misses"])
