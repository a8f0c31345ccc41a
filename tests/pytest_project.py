"""A project of a user of the plugin, with an agent and a cassette, whose tests pytest runs.

What the runs within import they forget again at their end, so whatever takes long is imported here.
"""

from collections.abc import Callable

import httpx2  # noqa: F401 - see above
import pytest
import pytest_asyncio.plugin  # noqa: F401 - see above
from mcp import Client  # noqa: F401 - see above

import mcprec_addon.plugin.opening
import mcprec_addon.plugin.runner
import mcprec_addon.plugin.tally  # noqa: F401 - see above
from tests.in_process_cassette import write_cassette

type RunTests = Callable[..., pytest.RunResult]
"""Takes the text of a test module, options of pytest, and by name the text of further modules."""

_AGENT = """
    import httpx2

    def ask(text, model="gpt-5"):
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        reply = httpx2.post("https://api.openai.com/v1/chat/completions", json=body)
        if reply.status_code != 200:
            raise RuntimeError(reply.text)
        return reply.json()["choices"][0]["message"]["content"]

    def ask_quietly(text):
        try:
            return ask(text)
        except RuntimeError:
            return None
"""
_HEAD = "import pytest\nfrom agent import ask, ask_quietly\n\n"


def project(pytester: pytest.Pytester) -> RunTests:
    """Write the agent and ``cassettes/triage.mcp``; return what runs tests beside them."""
    pytester.makepyfile(agent=_AGENT)
    pytester.syspathinsert()
    cassettes = pytester.path / "cassettes"
    cassettes.mkdir()
    write_cassette(cassettes)

    def run_tests(source: str, *options: str, **modules: str) -> pytest.RunResult:
        pytester.makepyfile(test_agent=_HEAD + source.strip("\n"), **modules)
        return pytester.runpytest_inprocess("-p", "mcprec_addon.pytest_plugin", *options)

    return run_tests
