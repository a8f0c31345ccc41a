"""How a model call ends, in every way: SDKs raise on a replay what they raise live.

Each SDK, sync and async, asks an API in this process directly, through a recording and of the
replay, and everything that it shows is compared: class and fields of the exception, how much of
a stream came before it, ids of requests and rate limits, and the retries in between.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from time import monotonic
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.doors.mitm import RecordAddon
from mcprec_addon.doors.mitm_server import MitmServer, free_ports
from mcprec_addon.doors.recording import Recording
from mcprec_addon.doors.routes import ModelRoute
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.staging import stage
from tests.peers.model_scenes import LIMITS, SCENES, Scenes, serving_scenes

pytestmark = [pytest.mark.door, pytest.mark.anyio]

type Sdk = Any
"""An object of an SDK, whose attributes are read as a user would."""
type Seen = dict[str, object]

_PATIENCE_S = 0.5  # how long a client waits for what never comes
_FIELDS = ("status_code", "request_id", "body", "code", "param", "type", "message")
_WAITING = ("silent", "stalled")
_BROKEN = ("refused", "reset", *_WAITING)  # a retry would wait for a time of its own
_MESSAGES: list[Any] = [{"role": "user", "content": "Say it all."}]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # mitmproxy's own loop


@pytest.fixture(scope="module")
def scenes() -> Generator[Scenes]:
    with serving_scenes() as served:
        yield served


async def _settled(value: Sdk) -> Sdk:
    return await value if inspect.isawaitable(value) else value


async def _each(stream: Sdk) -> AsyncIterator[Sdk]:
    if hasattr(stream, "__aiter__"):
        async for item in stream:
            yield item
    else:
        for item in stream:
            yield item


@dataclass(frozen=True)
class Client:
    """One API of one SDK, as it is asked here."""

    api: str
    sdk: Sdk
    request: dict[str, Any]

    @property
    def calls(self) -> Sdk:
        """What creates answers."""
        found = self.sdk
        for name in self.api.split("."):
            found = getattr(found, name)
        return found

    def asking(self, scene: str) -> "Client":
        """Return the client for a scene: without retries where they would take their time."""
        options: dict[str, Any] = {"max_retries": 0} if scene in _BROKEN else {}
        options |= {"timeout": _PATIENCE_S} if scene in _WAITING else {}
        return Client(self.api, self.sdk.with_options(**options), {**self.request, "model": scene})

    async def whole(self, seen: Seen) -> None:
        """Ask for a whole answer, with its headers."""
        raw = await _settled(self.calls.with_raw_response.create(**self.request))
        seen["headers"] = _limits(raw.headers)
        seen["retries"] = raw.retries_taken
        answer = await _settled(raw.parse())
        seen["request_id"] = getattr(answer, "_request_id", None)
        seen["answer"] = _said(answer)

    async def streamed(self, seen: Seen) -> None:
        """Ask for a stream."""
        seen["events"] = events = []
        stream = await _settled(self.calls.create(**self.request, stream=True))
        seen["headers"] = _limits(stream.response.headers)
        async for event in _each(stream):
            events.append(_said(event))  # noqa: PERF401 - those before it breaks

    async def ask(self, scene: str, way: str) -> Seen:
        """Play one scene, and return what the SDK shows of it."""
        seen: Seen = {}
        client = self.asking(scene)
        try:
            await (client.streamed(seen) if way == "streamed" else client.whole(seen))
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises is what is compared
            seen["raised"] = _told(error)
        return seen


def _limits(headers: Sdk) -> dict[str, str | None]:
    return {name: headers.get(name) for name in (*LIMITS, "x-request-id", "request-id")}


def _said(value: Sdk) -> object:
    """Return an answer or an event without what the API mints anew in each run."""
    if not hasattr(value, "model_dump"):
        return repr(value)
    minted = {"id", "created", "created_at", "item_id", "call_id", "_request_id"}

    def plain(each: object) -> object:
        match each:
            case dict():
                return {name: plain(of) for name, of in each.items() if name not in minted}
            case list():
                return [plain(of) for of in each]
            case _:
                return each

    return plain(value.model_dump(mode="json", warnings=False))


def _told(error: Exception) -> Seen:
    """Return what an exception tells a program that catches it."""
    response = getattr(error, "response", None)
    return {
        "class": f"{type(error).__module__}.{type(error).__qualname__}",
        "cause": type(error.__cause__).__name__,
        "headers": _limits(response.headers) if response is not None else None,
        **{name: str(getattr(error, name, None)) for name in _FIELDS},
    }


def _openai(kind: str, origin: str, proxy: str | None) -> Sdk:
    url = f"{origin}/v1"
    if kind == "async":
        http = httpx2.AsyncClient(proxy=proxy) if proxy else None
        return openai.AsyncOpenAI(base_url=url, api_key="sk-x", http_client=http)
    return openai.OpenAI(
        base_url=url, api_key="sk-x", http_client=httpx2.Client(proxy=proxy) if proxy else None
    )


def _anthropic(kind: str, origin: str, proxy: str | None) -> Sdk:
    if kind == "async":
        http = httpx2.AsyncClient(proxy=proxy) if proxy else None
        return anthropic.AsyncAnthropic(base_url=origin, api_key="sk-ant-x", http_client=http)
    return anthropic.Anthropic(
        base_url=origin,
        api_key="sk-ant-x",
        http_client=httpx2.Client(proxy=proxy) if proxy else None,
    )


APIS: dict[str, tuple[Callable[[str, str, str | None], Sdk], str, dict[str, Any]]] = {
    "chat": (_openai, "chat.completions", {"messages": _MESSAGES}),
    "responses": (_openai, "responses", {"input": "Say it all."}),
    "messages": (_anthropic, "messages", {"messages": _MESSAGES, "max_tokens": 9}),
}


@dataclass(frozen=True, kw_only=True)
class Origins:
    """Where a phase has its model APIs."""

    openai: str
    anthropic: str
    proxy: str | None = None


async def seen_by(api: str, kind: str, at: Origins) -> dict[str, Seen]:
    """Play every scene with one client, and return what it saw by scene and way."""
    make, calls, request = APIS[api]
    origin = at.openai if make is _openai else at.anthropic
    client = Client(calls, make(kind, origin, at.proxy), request)

    async def play(scenes: Iterable[str]) -> dict[str, Seen]:
        asked = [*product(scenes, ("whole", "streamed"))]
        asking = [client.ask(scene, way) for scene, way in asked]
        if kind == "sync":
            asking = [asyncio.to_thread(asyncio.run, each) for each in asking]
        seen = await asyncio.gather(*asking)
        return {f"{scene} {way}": each for (scene, way), each in zip(asked, seen, strict=True)}

    try:
        # Those that wait come by themselves: nothing else is to make them late.
        return await play(SCENES.keys() - _WAITING) | await play(_WAITING)
    finally:
        await _settled(client.sdk.close())


@asynccontextmanager
async def recording(folder: Path, origin: str, via: str) -> AsyncGenerator[Origins]:
    """Record what is asked until the block ends."""
    made = Recording(folder / "a.mcp", urls={}, models={"openai": origin, "anthropic": origin})
    proxy, door = free_ports(2)
    server = MitmServer(confdir=folder / "conf")
    route = ModelRoute(upstreams={"openai": origin, "anthropic": origin})
    await server.start(RecordAddon(made, routes={door: route}), proxy_port=proxy, ports=[door])
    try:
        yield _origins(door, origin, via, proxy=proxy)
    finally:
        await server.stop()
        assert not [*made.close().problems()]


@dataclass
class Replay:
    """A replay under way, and what is left of the cassette."""

    at: Origins
    misses: list[str] = field(default_factory=list)
    unused: list[int] = field(default_factory=list)


@asynccontextmanager
async def replaying(
    folder: Path, origin: str, via: str, pace: float | None = None
) -> AsyncGenerator[Replay]:
    """Replay what was recorded until the block ends."""
    cassette = load_cassette(folder / "a.mcp")
    player, responder = stage(cassette, PlayOptions(), halves=frozenset({"model"}))
    responder.pace = pace
    server = HttpServer(responder.respond, authority=None, pace=pace)
    port = await server.listen()
    played = Replay(_origins(port, origin, via, proxy=port))
    try:
        yield played
    finally:
        await server.close()
        played.misses = [miss.text() for miss in player.tally.misses]
        played.unused = [each.seq for each in player.unused()]
        assert server.failures == []


def _origins(door: int, origin: str, via: str, *, proxy: int) -> Origins:
    here = f"http://127.0.0.1:{door}"
    if via == "proxy":
        return Origins(openai=origin, anthropic=origin, proxy=f"http://127.0.0.1:{proxy}")
    return Origins(openai=f"{here}/openai", anthropic=f"{here}/anthropic")


@pytest.mark.parametrize(
    ("api", "kind", "via"),
    [
        ("chat", "sync", "base-url"),
        ("chat", "async", "proxy"),
        ("responses", "async", "base-url"),
        ("messages", "sync", "proxy"),
        ("messages", "async", "base-url"),
    ],
)
async def test_an_sdk_shows_every_end_alike(
    api: str, kind: str, via: str, scenes: Scenes, tmp_path: Path
) -> None:
    """Error handling is what a glue test is for, and it hangs on the class and its fields."""
    live = Origins(openai=scenes.origin, anthropic=scenes.origin)
    scenes.again()
    direct = await seen_by(api, kind, live)
    scenes.again()
    async with recording(tmp_path, scenes.origin, via) as at:
        recorded = await seen_by(api, kind, at)
    async with replaying(tmp_path, scenes.origin, via) as replay:
        replayed = await seen_by(api, kind, replay.at)

    assert recorded == direct
    assert replayed == direct
    assert replay.misses == []
    assert replay.unused == []
    ends = {exchange.answer.end for exchange in load_cassette(tmp_path / "a.mcp").exchanges}
    assert ends == {None, "cut", "reset", "left"}


async def test_told_waits_take_no_time_unless_paced(scenes: Scenes, tmp_path: Path) -> None:
    """`retry-after: 60` in a cassette is not to cost a minute; at a pace it takes its share."""
    took: list[float] = []
    scenes.again()
    async with recording(tmp_path, scenes.origin, "base-url") as at:
        await ask_once("429-200", at)
    for pace in (None, 0.1):
        async with replaying(tmp_path, scenes.origin, "base-url", pace=pace) as replay:
            began = monotonic()
            seen = await ask_once("429-200", replay.at)
            took.append(monotonic() - began)
        assert seen["retries"] == 1
        assert replay.misses == []

    assert took[0] < 0.25
    assert took[1] >= 0.3  # ten times slower than the 30 ms that the API told


async def ask_once(scene: str, at: Origins) -> Seen:
    """Play one scene with the OpenAI SDK."""
    _, calls, request = APIS["chat"]
    async with _openai("async", at.openai, None) as sdk:
        return await Client(calls, sdk, request).ask(scene, "whole")
