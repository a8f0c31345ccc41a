"""A cassette by itself: what is asked of it, its transports, its routes among respx's."""

import asyncio
from pathlib import Path

import httpx
import httpx2
import openai
import pytest
import respx

from mcprec_addon import Cassette, CassetteMiss, use_cassette
from tests.in_process_cassette import CHAT_URL, HI, STREAMED, write_cassette


@pytest.fixture
def cassette(tmp_path: Path) -> Cassette:
    return Cassette.load(write_cassette(tmp_path))


def test_a_transport_is_for_clients_of_both_libraries_and_kinds(cassette: Cassette) -> None:
    """Who hands in a client needs nothing patched."""

    async def later() -> str:
        async with httpx2.AsyncClient(transport=cassette.async_transport()) as client:
            return (await client.post(CHAT_URL, json=STREAMED)).text

    client = openai.OpenAI(api_key="-", http_client=httpx2.Client(transport=cassette.transport()))
    answer = client.chat.completions.create(
        model="gpt-5", messages=[{"role": "user", "content": "hi"}]
    )
    with httpx.Client(transport=cassette.transport()) as other:
        streamed = other.post(CHAT_URL, json=STREAMED).status_code

    assert answer.choices[0].message.content == "hello"
    assert (streamed, [each.title for each in cassette.misses]) == (200, [])
    assert "no recorded answer" in asyncio.run(later())  # each of them is handed out once


def test_what_it_holds_is_typed_and_can_be_saved(cassette: Cassette, tmp_path: Path) -> None:
    """Tools of one's own read a cassette, and write it back."""
    cassette.save(tmp_path / "copy.mcp")
    copy = Cassette.load(tmp_path / "copy.mcp")

    assert copy.exchanges == cassette.exchanges
    assert {each.call.half for each in copy.exchanges} == {"mcp", "model"}
    assert copy.header.servers["files"].command == "files-server"


def test_routes_of_respx_come_first_and_the_cassette_behind_them(cassette: Cassette) -> None:
    """Existing tests keep their hand-written answers, wherever they stand."""
    with respx.mock(assert_all_called=False) as router:
        router.get("https://before.example/").respond(text="before")
        cassette.mount(router)
        router.get("https://after.example/").respond(text="after")

        texts = [httpx.get(f"https://{name}.example/").text for name in ("before", "after")]
        answer = httpx.post(CHAT_URL, json=HI)
        with httpx.stream("POST", CHAT_URL, json=STREAMED) as response:
            streamed = [line for line in response.iter_lines() if line]

    assert texts == ["before", "after"]
    assert answer.json()["choices"][0]["message"]["content"] == "hello"
    assert streamed[-1] == "data: [DONE]"
    assert cassette.used == 2


def test_a_mounted_cassette_in_a_block_leaves_httpx_to_respx(tmp_path: Path) -> None:
    """httpx2 has no respx, so one test may need both."""
    with use_cassette(write_cassette(tmp_path)) as used, respx.mock as router:
        router.get("https://written.example/").respond(text="by hand")
        used.mount(router)

        assert httpx.get("https://written.example/").text == "by hand"
        assert httpx.post(CHAT_URL, json=HI).status_code == 200
        assert httpx2.post(CHAT_URL, json=STREAMED).status_code == 200


def test_an_async_client_is_routed_too(cassette: Cassette) -> None:
    """Respx awaits where the client does."""

    async def ask() -> int:
        async with respx.mock as router, httpx.AsyncClient() as client:
            cassette.mount(router)
            return (await client.post(CHAT_URL, json=HI)).status_code

    assert asyncio.run(ask()) == 200


def test_refused_requests_count_where_it_is_strict(tmp_path: Path) -> None:
    """A test that must not need anything else says so."""
    cassette = Cassette.load(write_cassette(tmp_path), strict=True)
    with httpx2.Client(transport=cassette.transport()) as client:
        client.get("https://elsewhere.example/")

    with pytest.raises(CassetteMiss, match=r"refused: elsewhere\.example, 1 times"):
        cassette.check()
