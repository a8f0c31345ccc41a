"""Model calls that are in flight at once: each caller its answer, each answer once, in any order.

All of it is asked of one replay server in this process, over many connections; what differs from
seed to seed is who starts when.
"""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx2
import openai
import pytest

from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.exchange import Cassette, Json, ModelAnswer, ModelCall, ModelExchange
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.staging import stage
from mcprec_addon.wire.http import HttpRequest, Reply

pytestmark = [pytest.mark.door, pytest.mark.anyio]

type Message = Any
"""A part of a body, as an agent reads it."""

PATH = "/v1/chat/completions"
SEEDS = 100
AGENTS = 4
TURNS = 4


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def completion(text: str, call: Json = None) -> Json:
    message: dict[str, Json] = {"role": "assistant", "content": text}
    if call is not None:
        message["tool_calls"] = [call]
    choice: Json = {"index": 0, "message": message, "finish_reason": "stop"}
    body: Json = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    assert isinstance(body, dict)
    return {**body, "choices": [choice]}


def request_of(*messages: Json) -> Json:
    return {"model": "m", "messages": [*messages]}


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def exchange(seq: int, request: Json, body: Json) -> ModelExchange:
    call = ModelCall(provider="openai", path=PATH, request=request)
    return ModelExchange(seq=seq, call=call, answer=ModelAnswer(kind="body", value=body))


@dataclass
class Replays:
    """A server that replays one cassette after the other.

    Attributes:
        url: Where it answers.
        served: What it answered since the last cassette, in that order.
    """

    url: str = ""
    served: list[str] = field(default_factory=list)
    _answer: Callable[[HttpRequest], Reply] | None = None

    def begin(self, *exchanges: ModelExchange) -> Player:
        """Replay a cassette from now on."""
        player, responder = stage(
            Cassette(exchanges=exchanges), PlayOptions(), halves=frozenset({"model"})
        )
        self._answer = responder.respond
        self.served.clear()
        return player

    def respond(self, request: HttpRequest) -> Reply:
        """Answer a request from the cassette that is replayed."""
        assert self._answer is not None
        reply = self._answer(request)
        self.served.append(text_of(json.loads(reply.body)))
        return reply


def text_of(body: Json) -> str:
    match body:
        case {"choices": [{"message": {"content": str(text)}}]}:
            return text
        case _:
            return json.dumps(body)


@asynccontextmanager
async def replaying() -> AsyncGenerator[Replays]:
    replays = Replays()
    server = HttpServer(replays.respond, authority=None)
    replays.url = f"http://127.0.0.1:{await server.listen()}"
    try:
        yield replays
    finally:
        await server.close()
        assert server.failures == []


async def some_steps(chance: random.Random) -> None:
    """Let others go first, or not."""
    for _ in range(chance.randrange(6)):
        await asyncio.sleep(0)


async def ask(
    client: httpx2.AsyncClient, replays: Replays, chance: random.Random, request: Json
) -> str:
    """Ask at some moment, on some connection, and return what was answered."""
    await some_steps(chance)
    response = await client.post(f"{replays.url}/openai{PATH}", json=request)
    return text_of(response.json())


async def test_each_of_six_calls_at_once_gets_its_answer() -> None:
    """Three of them are the same to the byte: each of their answers goes out once, in order."""
    same = [exchange(seq, request_of(user("same")), completion(f"same {seq}")) for seq in (1, 3, 5)]
    others = [
        exchange(seq, request_of(user(f"other {seq}")), completion(f"other {seq}"))
        for seq in (2, 4, 6)
    ]
    recorded = [*same, *others]

    async with replaying() as replays, httpx2.AsyncClient() as client:
        for seed in range(SEEDS):
            chance = random.Random(seed)  # noqa: S311 - what is drawn is found again
            player = replays.begin(*sorted(recorded, key=lambda each: each.seq))
            chance.shuffle(recorded)
            asked = [ask(client, replays, chance, each.call.request) for each in recorded]
            answers = await asyncio.gather(*asked)

            found = {text for text in answers if text.startswith("same")}
            assert found == {"same 1", "same 3", "same 5"}, seed
            for each, text in zip(recorded, answers, strict=True):
                assert each in same or text == f"other {each.seq}", seed
            in_turn = [text for text in replays.served if text.startswith("same")]
            assert in_turn == ["same 1", "same 3", "same 5"], seed
            assert (player.tally.misses, player.unused()) == ([], []), seed


class LiveModel:
    """A model that never says the same twice; it keeps what it was asked and what it said."""

    def __init__(self) -> None:
        self.exchanges: list[ModelExchange] = []

    async def ask(self, chance: random.Random, request: Json) -> Json:
        """Answer after some time."""
        await some_steps(chance)
        seq = len(self.exchanges) + 1
        function: Json = {"name": "look", "arguments": json.dumps({"at": seq})}
        call: Json = {"id": f"call_{seq}", "type": "function", "function": function}
        body = completion(f"turn {seq}", call)
        self.exchanges.append(exchange(seq, request, body))
        await some_steps(chance)
        return body


async def sub_agent(prompt: str, ask_model: Callable[[Json], Awaitable[Message]]) -> None:
    """Do what the model says, a few turns long; what a tool finds hangs on its arguments alone."""
    messages: list[Json] = [user(prompt)]
    for _ in range(TURNS):
        body = await ask_model(request_of(*messages))
        message = body["choices"][0]["message"]
        call = message["tool_calls"][0]
        found = f"found by {call['function']['arguments']}"
        messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": found}]


async def ask_replay(
    client: httpx2.AsyncClient, url: str, chance: random.Random, request: Json
) -> Message:
    await some_steps(chance)
    response = await client.post(f"{url}/openai{PATH}", json=request)
    return response.json()


@pytest.mark.parametrize("prompts", ["of their own", "all alike"])
async def test_sub_agents_may_take_turns_otherwise_than_recorded(prompts: str) -> None:
    """Who comes first is chance, also among sub-agents that were told the same."""
    told = [f"task {number if prompts != 'all alike' else ''}" for number in range(AGENTS)]

    async with replaying() as replays, httpx2.AsyncClient() as client:
        for seed in range(SEEDS // 4):
            chance = random.Random(seed)  # noqa: S311 - what is drawn is found again
            live = LiveModel()
            ask_live = partial(live.ask, chance)
            await asyncio.gather(*(sub_agent(each, ask_live) for each in told))
            player = replays.begin(*live.exchanges)

            chance.shuffle(told)
            ask_again = partial(ask_replay, client, replays.url, chance)
            await asyncio.gather(*(sub_agent(each, ask_again) for each in told))

            assert [miss.text() for miss in player.tally.misses] == [], seed
            assert player.unused() == [], seed


async def test_an_sdk_may_ask_for_much_at_once() -> None:
    """One client, many connections: what real agents do with `gather`."""
    recorded = [exchange(1 + n, request_of(user("q")), completion(f"a {n}")) for n in range(20)]

    async with replaying() as replays:
        player = replays.begin(*recorded)
        async with openai.AsyncOpenAI(base_url=f"{replays.url}/openai/v1", api_key="sk-x") as sdk:
            asked = [
                sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "q"}])
                for _ in recorded
            ]
            answers = await asyncio.gather(*asked)

    assert {each.choices[0].message.content for each in answers} == {f"a {n}" for n in range(20)}
    assert (player.tally.misses, player.unused()) == ([], [])
