"""Real clients meet answers that are broken on purpose, as they would meet a broken server."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from mcprec_addon.cli import status_of
from mcprec_addon.doors import stdio_relay
from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.doors.played_lines import replaying_lines
from mcprec_addon.doors.run_folder import run_folder
from mcprec_addon.doors.run_socket import RunSocket
from mcprec_addon.exchange import (
    Cassette,
    Exchange,
    Header,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Server,
    StreamEvent,
)
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.faults import faults_of
from mcprec_addon.replay.line_responder import LineResponder
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.responder import Responder
from tests.test_cli import cassette as cassette_file

pytestmark = [pytest.mark.door, pytest.mark.anyio]

type Sdk = Any
"""An object of an SDK, whose attributes are read as a user would."""

MESSAGES: list[Any] = [{"role": "user", "content": "hi"}]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def chat(*, stream: bool) -> ModelExchange:
    request: Json = {"model": "m", "messages": MESSAGES}
    if stream:
        request = {"model": "m", "messages": MESSAGES, "stream": True}
    call = ModelCall(provider="openai", path="/v1/chat/completions", request=request)
    if not stream:
        message: Json = {"role": "assistant", "content": "hello"}
        choice: Json = {"index": 0, "message": message, "finish_reason": "stop"}
        body: Json = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
        assert isinstance(body, dict)
        answer = ModelAnswer(kind="body", value={**body, "choices": [choice]})
        return ModelExchange(seq=1, call=call, answer=answer)
    events = [
        StreamEvent(
            at_ms=at,
            kind="json",
            value={
                "id": "c",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": [{"index": 0, "delta": {"content": text}}],
            },
        )
        for at, text in enumerate(("he", "ll", "o"))
    ]
    done = StreamEvent(at_ms=9, kind="text", value="[DONE]")
    return ModelExchange(
        seq=1, call=call, answer=ModelAnswer(kind="events", events=(*events, done))
    )


def claude() -> ModelExchange:
    request: Json = {"model": "m", "max_tokens": 9, "messages": MESSAGES}
    body: Json = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "hello"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    call = ModelCall(provider="anthropic", path="/v1/messages", request=request)
    return ModelExchange(seq=1, call=call, answer=ModelAnswer(kind="body", value=body))


def tool() -> tuple[McpExchange, McpExchange]:
    said: Json = {
        "resultType": "complete",
        "content": [{"type": "text", "text": "sunny"}],
        "isError": False,
    }
    call = McpCall(server="s", method="tools/call", name="weather")
    tools: Json = [{"name": "weather", "inputSchema": {"type": "object"}}]
    cached: Json = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete", "tools": tools}
    return (
        McpExchange(seq=1, call=call, answer=McpAnswer(kind="result", value=said)),
        McpExchange(
            seq=2,
            call=McpCall(server="s", method="tools/list"),
            answer=McpAnswer(kind="result", value=cached),
        ),
    )


def player_of(exchanges: tuple[Exchange, ...], fault: str) -> tuple[Cassette, Player]:
    header = Header(servers={"s": Server(transport="http", url="http://127.0.0.1:9/mcp")})
    made = Cassette(header=header, exchanges=exchanges)
    options = PlayOptions(faults=faults_of([fault]))
    bindings = Bindings(made.header.redaction, default_rules())
    return made, Player(made, bindings=bindings, options=options)


@asynccontextmanager
async def replaying(
    *exchanges: Exchange, fault: str, label: str | None = None
) -> AsyncGenerator[tuple[str, Player]]:
    made, player = player_of(exchanges, fault)
    responder = Responder(made, player, halves=frozenset({"mcp", "model"}))
    server = HttpServer(responder.respond, authority=None)
    port = await server.listen(label=label)
    try:
        yield f"http://127.0.0.1:{port}", player
    finally:
        await server.close()
        assert server.failures == []


async def test_a_client_that_retries_gets_over_a_429() -> None:
    """Whether an agent does is the first thing to test, and it takes no waiting."""
    async with (
        replaying(chat(stream=False), fault="1:status=429") as (url, player),
        openai.AsyncOpenAI(base_url=f"{url}/openai/v1", api_key="sk-x") as client,
    ):
        answer: Sdk = await client.chat.completions.create(model="m", messages=MESSAGES)

    assert answer.choices[0].message.content == "hello"
    assert [*player.faults.lines()] == ["fault 1:status=429: applied"]
    assert player.unused() == []


async def test_a_client_that_does_not_retry_sees_the_providers_error() -> None:
    """The exception is the one that the live API would have raised."""
    async with (
        replaying(claude(), fault="1:error=overloaded_error") as (url, _),
        anthropic.AsyncAnthropic(
            base_url=f"{url}/anthropic", api_key="sk-ant-x", max_retries=0
        ) as client,
    ):
        with pytest.raises(anthropic.APIStatusError) as raised:
            await client.messages.create(model="m", max_tokens=9, messages=MESSAGES)
        again: Sdk = await client.messages.create(model="m", max_tokens=9, messages=MESSAGES)

    assert raised.value.status_code == 529
    assert "overloaded_error" in str(raised.value)
    assert again.content[0].text == "hello"


@pytest.mark.parametrize("kind", ["cut", "reset", "rst"])
async def test_a_stream_breaks_after_its_event(kind: str) -> None:
    """What came before reaches the agent; a clean cut looks like an end, as it does live."""
    said: list[str] = []
    broke = False

    async def events(stream: Sdk) -> None:
        async for event in stream:
            said.append(event.choices[0].delta.content)  # noqa: PERF401 - those before it breaks

    async with (
        replaying(chat(stream=True), fault=f"1:{kind}@2") as (url, _),
        openai.AsyncOpenAI(base_url=f"{url}/openai/v1", api_key="sk-x", max_retries=0) as client,
    ):
        stream: Sdk = await client.chat.completions.create(
            model="m", messages=MESSAGES, stream=True
        )
        try:
            await events(stream)
        except (openai.APIError, httpx2.TransportError):
            broke = True

    assert said == ["he", "ll"]
    assert broke == (kind != "cut")


async def test_a_call_that_hangs_runs_into_the_clients_timeout() -> None:
    """Not a byte comes; the retry is answered."""
    async with (
        replaying(chat(stream=False), fault="1:hang") as (url, _),
        openai.AsyncOpenAI(
            base_url=f"{url}/openai/v1", api_key="sk-x", max_retries=0, timeout=0.3
        ) as client,
    ):
        with pytest.raises(openai.APITimeoutError):
            await client.chat.completions.create(model="m", messages=MESSAGES)
        again: Sdk = await client.chat.completions.create(model="m", messages=MESSAGES)

    assert again.choices[0].message.content == "hello"


async def test_a_tool_call_fails_with_its_code() -> None:
    """An MCP client raises it under its own id, and goes on."""
    async with (
        replaying(*tool(), fault="1:error=-32000", label="s") as (url, _),
        Client(f"{url}/mcp", mode="2026-07-28") as client,
    ):
        with pytest.raises(MCPError, match="fault 1:error=-32000") as raised:
            await client.call_tool("weather")
        again: Sdk = await client.call_tool("weather")

    assert raised.value.error.code == -32000
    assert again.content[0].text == "sunny"


@asynccontextmanager
async def on_a_pipe(*exchanges: Exchange, fault: str) -> AsyncGenerator[StdioServerParameters]:
    made, player = player_of(exchanges, fault)
    responder = Responder(made, player, halves=frozenset({"mcp"}))
    with run_folder() as folder:
        run = RunSocket(
            folder, replaying_lines(lambda label: LineResponder(player, responder.feed, label))
        )
        await run.start()
        arguments = ["-I", "-S", stdio_relay.__file__, str(run.path), "s"]
        try:
            yield StdioServerParameters(command=sys.executable, args=arguments)
        finally:
            await run.stop()
            assert run.failures == []


async def test_a_hanging_tool_call_on_stdio_leaves_the_rest_alone() -> None:
    """The server goes on to answer what else it is asked."""
    async with (
        on_a_pipe(*tool(), fault="1:hang") as parameters,
        Client(parameters, mode="2026-07-28", read_timeout_seconds=0.5) as client,
    ):
        with pytest.raises(MCPError, match=r"(?i)timed out"):
            await client.call_tool("weather")
        tools = await client.list_tools()

    assert [each.name for each in tools.tools] == ["weather"]


async def test_a_reset_on_stdio_is_the_end_of_the_server() -> None:
    """There is no other way to break an answer there."""
    async with on_a_pipe(*tool(), fault="1:reset@0") as parameters:
        process = await asyncio.create_subprocess_exec(
            parameters.command,
            *parameters.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        ask: Json = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "weather"},
        }
        process.stdin.write(json.dumps(ask).encode() + b"\n")

        assert await asyncio.wait_for(process.stdout.read(), 20) == b""
        assert await asyncio.wait_for(process.wait(), 20) == 0


def test_a_run_with_a_fault_says_what_became_of_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A fault that was never reached changes no status, and is not passed over."""
    path = cassette_file(tmp_path)

    status = status_of(["replay", path, "--fault", "1:hang", "--", sys.executable, "-c", ""])

    err = capfd.readouterr().err
    assert status == 3  # nothing of the cassette was used
    assert "fault 1:hang: never reached, #1 was not asked for" in err
