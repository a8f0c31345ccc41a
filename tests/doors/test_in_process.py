"""Blocks that a cassette answers, with the clients of real SDKs."""

import asyncio
import contextvars
import http.client
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import aiohttp
import anthropic
import anyio
import httpx
import httpx2
import openai
import pytest
import requests
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from mcprec_addon import (
    CassetteMiss,
    CassetteUnused,
    LiveTrafficError,
    McprecError,
    UsageError,
    use_cassette,
)
from tests.in_process_cassette import CHAT_URL, HI, STREAMED, TRACKER_URL, write_cassette
from tests.peers.process import Peer


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    return write_cassette(tmp_path)


def ask(client: openai.OpenAI, text: str = "hi") -> str | None:
    answer = client.chat.completions.create(
        model="gpt-5", messages=[{"role": "user", "content": text}]
    )
    return answer.choices[0].message.content


async def ask_async(client: openai.AsyncOpenAI) -> str | None:
    answer = await client.chat.completions.create(
        model="gpt-5", messages=[{"role": "user", "content": "hi"}]
    )
    return answer.choices[0].message.content


async def search(target: str | StdioServerParameters, tool: str, **args: object) -> str:
    async with Client(target) as client:
        result = await client.call_tool(tool, args)
    return str(result.content[0].model_dump()["text"])


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_clients_are_answered_also_older_ones(library: ModuleType, cassette: Path) -> None:
    """SDK clients are often made once, when a module is imported."""
    with library.Client() as old:
        with use_cassette(cassette), library.Client() as new:
            answers = [
                each.post(CHAT_URL, json=body) for each, body in ((old, HI), (new, STREAMED))
            ]

        assert [each.status_code for each in answers] == [200, 200]
        assert answers[0].headers["x-request-id"] == "req_1"
        assert answers[1].text.endswith("data: [DONE]\n\n")


def test_an_agent_of_both_halves_runs_in_a_test(cassette: Path) -> None:
    """What a unit test of glue code is: real SDKs, nothing started, no key, no network."""

    async def agent() -> list[str | None]:
        said = await ask_async(openai.AsyncOpenAI())
        found = await search(TRACKER_URL, "search", q="bug")
        read = await search(StdioServerParameters(command="files-server"), "read", path="a.txt")
        return [said, found, read]

    with use_cassette(cassette) as used:
        answers = asyncio.run(agent())

    assert answers == ["hello", "three bugs", "text of a"]
    assert [call.args for call in used.calls("tracker", "search")] == [{"q": "bug"}]
    assert [call.request for call in used.model_requests] == [HI]
    assert [each.seq for each in used.unused] == [4]


def test_a_miss_ends_the_block_though_the_agent_swallowed_it(cassette: Path) -> None:
    """An agent that goes on after an error would else pass with answers nobody recorded."""
    with (
        pytest.raises(CassetteMiss) as raised,
        use_cassette(cassette),
        openai.OpenAI() as client,
        pytest.raises(openai.BadRequestError, match="no recorded answer"),
    ):
        ask(client, "ho")

    text = str(raised.value)
    assert text.startswith(f"{cassette}: 1 miss\nMISS model call /v1/chat/completions")
    assert "test_in_process.py" in text.splitlines()[2]
    assert '"h|o" (changed at character 1)' in text


def test_an_error_that_a_miss_led_to_goes_on_with_the_miss_as_a_note(cassette: Path) -> None:
    """The traceback of the call is what shows where it came from."""

    def agent() -> None:
        httpx2.post(CHAT_URL, json=HI | {"temperature": 1}).raise_for_status()

    with pytest.raises(httpx2.HTTPStatusError) as raised, use_cassette(cassette):
        agent()

    assert "/request/temperature" in "".join(raised.value.__notes__)


def test_nothing_is_live_on_a_miss(cassette: Path, mcp2_server: Peer) -> None:
    """A test that reaches a real server is no test of what was recorded."""
    url = f"{mcp2_server.origin}/mcp"

    with use_cassette(cassette, half="model") as used:
        answer = httpx2.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})

    assert answer.status_code == 403
    assert dict(used.refused) == {mcp2_server.origin.removeprefix("http://"): 1}


def test_every_exchange_may_have_to_be_used(cassette: Path) -> None:
    """A recording that is longer than the run it is for hides what changed."""
    with (
        pytest.raises(CassetteUnused, match=r"6 recorded exchanges never used\n  #1 tools/call"),
        use_cassette(cassette, all_used=True),
    ):
        pass


def test_other_libraries_are_refused_and_nothing_goes_live(cassette: Path) -> None:
    """They would else reach the network, and the test would pass by it."""

    async def by_aiohttp() -> None:
        async with aiohttp.ClientSession() as session:
            await session.get("https://api.example.com/v1/models")

    with use_cassette(cassette) as used:
        with pytest.raises(LiveTrafficError, match="mcprec replay"):
            http.client.HTTPConnection("api.example.com").request("GET", "/")
        with pytest.raises(LiveTrafficError, match="urllib3"):
            requests.get("https://api.example.com/", timeout=5)
        with pytest.raises(LiveTrafficError, match="aiohttp"):
            asyncio.run(by_aiohttp())

    assert dict(used.refused) == {"api.example.com": 3}


def test_an_allowed_host_is_reached_live(cassette: Path, mcp2_server: Peer) -> None:
    """A test's own database or server may stand on this machine."""
    url = f"{mcp2_server.origin}/mcp"

    with use_cassette(cassette, allow=["127.0.0.1"]):
        first = httpx2.get(url)
        second = requests.get(url, timeout=5)

    assert "mcprec" not in first.text
    assert first.status_code == second.status_code


def test_no_patch_outlives_the_block(cassette: Path) -> None:
    """What a test leaves behind breaks the next one."""
    methods = [
        (httpx.HTTPTransport, "handle_request"),
        (httpx2.AsyncHTTPTransport, "handle_async_request"),
        (aiohttp.ClientSession, "_request"),
    ]
    before = [getattr(owner, name) for owner, name in methods]
    environment = dict(os.environ)

    with use_cassette(cassette):
        assert os.environ["OPENAI_API_KEY"]
        assert before != [getattr(owner, name) for owner, name in methods]
        with pytest.raises(KeyError), use_cassette(cassette):
            raise KeyError

    assert before == [getattr(owner, name) for owner, name in methods]
    assert dict(os.environ) == environment


def test_blocks_nest_and_the_inner_one_answers(tmp_path: Path) -> None:
    """A helper with a cassette of its own is called in a test that has one."""
    outer, inner = write_cassette(tmp_path), write_cassette(tmp_path, name="inner.mcp")

    with use_cassette(outer) as first:
        with use_cassette(inner) as second:
            ask(openai.OpenAI())
        ask(openai.OpenAI())

    assert (len(first.model_requests), len(second.model_requests)) == (1, 1)


def test_tasks_with_blocks_of_their_own_do_not_mix(tmp_path: Path) -> None:
    """Tests of one loop run side by side, each against its own recording."""
    paths = [write_cassette(tmp_path, name=f"{number}.mcp") for number in range(8)]
    client = openai.AsyncOpenAI(api_key="-")

    async def one(path: Path) -> int:
        async with use_cassette(path) as used:
            for _ in range(2):
                await asyncio.sleep(0)
                assert await search(TRACKER_URL, "search", q="bug") == "three bugs"
            await ask_async(client)
        return len(used.model_requests)

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*map(one, paths))

    assert asyncio.run(all_of_them()) == [1] * 8


def test_a_thread_gets_the_only_block_and_of_several_the_one_it_brings(tmp_path: Path) -> None:
    """A thread knows nothing of the block it was started in, and may never go live by chance."""
    one, two = write_cassette(tmp_path), write_cassette(tmp_path, name="two.mcp")
    client = openai.OpenAI(api_key="-", max_retries=0)

    with ThreadPoolExecutor(1) as pool:
        with use_cassette(one):
            assert pool.submit(ask, client).result() == "hello"
        with use_cassette(one), use_cassette(two) as inner:
            with pytest.raises(LiveTrafficError, match="several cassettes"):
                pool.submit(ask, client).result()
            context = contextvars.copy_context()
            assert pool.submit(context.run, ask, client).result() == "hello"

    assert inner.used == 1


def test_a_sync_client_in_a_running_loop_and_its_threads(cassette: Path) -> None:
    """Many SDKs block the loop on purpose; the answer must not need it."""

    async def test() -> list[str | None]:
        client = openai.OpenAI()
        blocking = ask(client)
        with use_cassette(cassette):
            return [blocking, await asyncio.to_thread(ask, client)]

    with use_cassette(cassette):
        assert asyncio.run(test()) == ["hello", "hello"]
    assert threading.active_count() <= 3


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_any_event_loop_will_do(backend: str, cassette: Path) -> None:
    """Httpx runs on both, and so do the SDKs on top of it."""

    async def agent() -> list[str | None]:
        async with use_cassette(cassette), openai.AsyncOpenAI() as client:
            read = await search(StdioServerParameters(command="files-server"), "read", path="a.txt")
            return [await ask_async(client), read]

    assert anyio.run(agent, backend=backend) == ["hello", "text of a"]


def test_a_function_may_be_a_block(cassette: Path) -> None:
    """Existing tests get a cassette by one line above them."""

    @use_cassette(cassette)
    def whole(text: str) -> str | None:
        return ask(openai.OpenAI(), text)

    @use_cassette(cassette)
    async def later() -> str | None:
        return await ask_async(openai.AsyncOpenAI())

    assert whole("hi") == "hello"
    assert whole("hi") == "hello"  # each call has a cassette that nothing was used of
    assert asyncio.run(later()) == "hello"
    with pytest.raises(openai.BadRequestError, match="no recorded answer"):
        whole("ho")


def test_a_cut_and_a_reset_stream_raise_what_they_raised_live(tmp_path: Path) -> None:
    """An agent's handling of a broken stream is what such a test is for."""
    chunks: list[str | None] = []

    with (
        use_cassette(write_cassette(tmp_path, end="reset")),
        openai.OpenAI() as client,
        pytest.raises(openai.APIConnectionError) as raised,
    ):
        chunks.extend(
            chunk.choices[0].delta.content
            for chunk in client.chat.completions.create(
                model="gpt-5", messages=[{"role": "user", "content": "hi"}], stream=True
            )
        )

    assert chunks == ["Three", " bugs"]
    assert isinstance(raised.value.__cause__, httpx2.RemoteProtocolError)
    assert "incomplete chunked read" in str(raised.value.__cause__)


def test_bad_options_are_named(cassette: Path, tmp_path: Path) -> None:
    """A test file is written once and read by others."""
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"match": "fuzzy"}, "match='fuzzy': no such value; choose one of auto, exact"),
        ({"half": "both"}, "half='both': no such value"),
        ({"faults": ["9:cut"]}, "faults '9:cut': write it as"),
    ]
    for options, says in wrong:
        with pytest.raises(UsageError, match=says):
            use_cassette(cassette, **options).__enter__()
    with pytest.raises(TypeError, match="has no option 'ignored'"):
        use_cassette(cassette, ignored=[]).__enter__()  # type: ignore[call-arg]
    with pytest.raises(McprecError, match="mcprec record"):
        use_cassette(tmp_path / "no.mcp").__enter__()


def test_another_sdk_of_the_same_library_is_answered_too(cassette: Path) -> None:
    """Whoever asks, a call that is not recorded gets an error of its provider's shape."""
    with (
        pytest.raises(CassetteMiss),
        use_cassette(cassette),
        pytest.raises(anthropic.BadRequestError, match="never recorded"),
    ):
        anthropic.Anthropic().messages.create(
            model="claude", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        )
