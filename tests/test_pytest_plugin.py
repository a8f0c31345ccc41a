"""The plugin as a user meets it: marks, fixtures, options, and other plugins beside it."""

import socket
import subprocess
import sys

import pytest

from tests.in_process_cassette import write_cassette
from tests.pytest_project import RunTests

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.door


def test_a_marked_test_is_answered_from_its_cassette(run_tests: RunTests) -> None:
    """No server, no key and no network: that is what a test of an agent has to do without."""
    found = run_tests("""
@pytest.mark.mcprec("triage.mcp")
def test_hi(mcprec_cassette):
    assert ask("hi") == "hello"
    assert [each.path for each in mcprec_cassette.model_requests] == ["/v1/chat/completions"]
    assert mcprec_cassette.used == 1
""")

    found.assert_outcomes(passed=1)
    found.stdout.fnmatch_lines(
        ["*= mcprec =*", "1 cassette, 1 of 6 recorded exchanges used, 0 misses"]
    )


def test_marks_of_module_and_test_are_joined(run_tests: RunTests) -> None:
    """One recorded world for a module, and what is special in the test that it is special for."""
    found = run_tests("""
pytestmark = pytest.mark.mcprec("triage.mcp", half="model", ignore=["/request/model"])

def test_of_the_module():
    assert ask("hi", model="gpt-6") == "hello"

@pytest.mark.mcprec(ignore=["/request/messages"])
def test_of_both():
    assert ask("hello", model="gpt-6") == "hello"

@pytest.mark.mcprec(faults=["3:status=429"])
def test_broken():
    with pytest.raises(RuntimeError):
        ask("hi")

@pytest.mark.mcprec(None)
def test_without(pytestconfig):
    import mcprec_addon.doors.patches as patches
    assert patches.current() is None

@pytest.mark.mcprec(None)
def test_wants_one(mcprec_cassette):
    pass
""")

    found.assert_outcomes(passed=4, errors=1)
    found.stdout.fnmatch_lines(["*mcprec(None) is the nearest mark: the test has no cassette"])


def test_a_fixture_sets_options_for_many_tests(run_tests: RunTests) -> None:
    """What holds for a whole suite is written once, and may be worked out."""
    found = run_tests(
        """
@pytest.mark.mcprec("triage.mcp")
def test_hi(mcprec_cassette):
    assert ask("hi", model="gpt-6") == "hello"
""",
        conftest="""
        import pytest

        @pytest.fixture(scope="session")
        def mcprec_config():
            return {"ignore": ["/request/model"]}

        @pytest.fixture
        def mcprec_cassette_dir(request):
            return request.path.parent / "cassettes"
        """,
    )

    found.assert_outcomes(passed=1)


@pytest.mark.parametrize("library", ["anyio", "asyncio"])
def test_async_tests_are_answered_and_traced(run_tests: RunTests, library: str) -> None:
    """Whichever of the two runs the loop, also where it outlives a test."""
    found = run_tests(
        f"""
import httpx2
{"import pytest_asyncio" if library == "asyncio" else ""}

fixture = {"pytest_asyncio.fixture" if library == "asyncio" else "pytest.fixture"}
pytestmark = [pytest.mark.mcprec("triage.mcp"), {
            "pytest.mark.asyncio(loop_scope='module')"
            if library == "asyncio"
            else "pytest.mark.anyio"
        }]

@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"

@fixture(scope="module"{", loop_scope='module'" if library == "asyncio" else ""})
async def client():
    async with httpx2.AsyncClient(base_url="https://api.openai.com/v1") as client:
        yield client

async def post(client, text):
    body = {{"model": "gpt-5", "messages": [{{"role": "user", "content": text}}]}}
    return await client.post("/chat/completions", json=body)

async def test_first(client, mcprec_cassette):
    assert (await post(client, "hi")).status_code == 200
    assert mcprec_cassette.used == 1

async def test_second(client, mcprec_cassette):
    assert (await post(client, "hi")).status_code == 200
    assert mcprec_cassette.used == 1

async def test_missed(client):
    await post(client, "hello")

async def test_blocking(client):
    assert ask("hi") == "hello"
""",
        "-p",
        "anyio.pytest_plugin",
        "-p",
        "pytest_asyncio.plugin",
        "-W",
        "ignore::pytest.PytestDeprecationWarning",
    )

    found.assert_outcomes(passed=3, failed=1)
    found.stdout.fnmatch_lines(['>       await post(client, "hello")', "E *MISS model call*"])


def test_a_call_of_an_mcp_client_is_traced_to_the_test(run_tests: RunTests) -> None:
    """The client sends from a task of its own, which knows nothing of the test."""
    found = run_tests(
        """
from mcp import Client

@pytest.fixture
def anyio_backend():
    return "asyncio"

async def search(client, q):
    try:
        return await client.call_tool("search", {"q": q})
    except Exception:
        return None

@pytest.mark.anyio
@pytest.mark.mcprec("triage.mcp")
async def test_search(mcprec_cassette):
    async with Client("https://tracker.example/mcp") as client:
        assert (await search(client, "bug")).content[0].text == "three bugs"
        assert mcprec_cassette.calls("tracker", "search")
        await search(client, "feature")
        await search(client, "bug")
""",
        "-p",
        "anyio.pytest_plugin",
    )

    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(
        [
            '>           await search(client, "feature")',
            '>           return await client.call_tool("search", {"q": q})',
            "E *MISS tools/call search (server tracker)",
        ]
    )


def test_disabled_is_as_if_there_were_none(run_tests: RunTests) -> None:
    """Now and then the same tests are to be live."""
    found = run_tests(
        """
@pytest.mark.mcprec("nowhere.mcp")
def test_live():
    import mcprec_addon.doors.patches as patches
    assert patches.current() is None

@pytest.mark.mcprec("triage.mcp")
def test_looks(mcprec_cassette):
    pass
""",
        "--mcprec-disable",
    )

    found.assert_outcomes(passed=1, skipped=1)


def test_workers_of_xdist_share_a_cassette(run_tests: RunTests, pytester: pytest.Pytester) -> None:
    """A suite that runs in several processes is one suite, and says so in one place."""
    write_cassette(pytester.path / "cassettes", name="old.mcp")
    found = run_tests(
        """
pytestmark = pytest.mark.mcprec("triage.mcp")

@pytest.mark.parametrize("n", range(8))
def test_hi(n, mcprec_cassette):
    assert ask("hi") == "hello"
    assert mcprec_cassette.used == 1

def test_hello():
    ask_quietly("hello")
""",
        "-p",
        "xdist",
        "-n",
        "3",
        "--mcprec-orphans",
    )

    found.assert_outcomes(passed=8, failed=1)
    found.stdout.fnmatch_lines(
        [
            "MISS model call /v1/chat/completions (provider openai): test_agent.py::test_hello",
            "1 cassette, 1 of 6 recorded exchanges used, 1 miss",
            "1 cassette that no test has (--mcprec-orphans)",
            "  cassettes/old.mcp",
        ]
    )


def test_loading_it_loads_next_to_nothing() -> None:
    """It is loaded in every run of pytest on the machine, most of which have no cassette."""
    code = (
        "import sys, pytest; before = set(sys.modules); import mcprec_addon.pytest_plugin\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["mcprec_addon"]


def test_none_means_none(run_tests: RunTests, pytester: pytest.Pytester) -> None:
    """A server that is there and would answer is not asked, and no file of ours changes."""
    folder = pytester.path / "cassettes"
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        found = run_tests(
            f"""
import httpx, httpx2, urllib.request

URL = "http://127.0.0.1:{server.getsockname()[1]}/v1/chat/completions"
pytestmark = pytest.mark.mcprec("triage.mcp")

@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_miss(library):
    body = {{"model": "gpt-5", "messages": [{{"role": "user", "content": "hello"}}]}}
    assert library.post(URL, json=body).status_code == 400

def test_neither_half():
    assert httpx2.get(URL.replace("/v1/chat/completions", "/elsewhere")).status_code == 403

def test_another_library():
    urllib.request.urlopen(URL)
"""
        )
        with pytest.raises(BlockingIOError):  # nobody has connected
            server.accept()

    found.assert_outcomes(passed=1, failed=3)
    found.stdout.fnmatch_lines(["E *LiveTrafficError: 127.0.0.1*", "refused: 127.0.0.1*"])
    assert before == {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()
    }


def test_a_blocking_call_in_a_running_loop_is_answered(run_tests: RunTests) -> None:
    """Many SDKs block the loop, and many agents call them in threads of it."""
    found = run_tests(
        """
import asyncio, threading

pytestmark = [pytest.mark.mcprec("triage.mcp", model_match="exact"), pytest.mark.asyncio]

async def test_three(mcprec_cassette):
    first = ask("hi")
    others = await asyncio.gather(asyncio.to_thread(ask, "hi"), asyncio.to_thread(ask, "hi"))
    assert [first, *others] == ["hello"] * 3
    assert len(asyncio.all_tasks()) == 1

def test_a_loop_of_its_own(mcprec_cassette):
    async def agent():
        return ask("hi")
    assert asyncio.run(agent()) == "hello"
""",
        "-p",
        "pytest_asyncio.plugin",
        "-W",
        "error",
        "-W",
        "ignore::pytest.PytestDeprecationWarning",
        "-W",
        "ignore::pytest.PytestWarning",  # the mark of a loop at the sync test
    )

    found.assert_outcomes(passed=2)
