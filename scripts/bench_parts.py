"""The programs under measurement as processes, and the cassettes they replay."""

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

from bench_load import requests_per_s

from mcprec_addon.cassette.writing import write_cassette
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
from mcprec_addon.jsonvalue import dumps
from mcprec_addon.wire import mcp, mcp_reply, model

_BIN = Path(sys.executable).parent
_LONGEST_START_S = 20
CHAT_PATH = "/v1/chat/completions"
_CHAT: dict[str, Json] = {
    "messages": [{"role": "user", "content": "hi"}],
    "model": "m",
    "stream": True,
}
_TOOL: dict[str, Json] = {"name": "get", "arguments": {"id": 1, "pad": "x" * 800}}

RPC_BODY = dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": _TOOL})
CHAT_BODY = dumps({"model": "m", "messages": [{"role": "user", "content": "x" * 800}]})
LIST_BODY = dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
CALLS = {
    "MCP JSON": ("/mcp", LIST_BODY),
    "chat, 20 events": (CHAT_PATH, dumps(_CHAT)),
}


@dataclass(frozen=True, slots=True)
class Served:
    """A process that serves: its ports, the model's and the MCP server's."""

    model: int
    server: int
    pid: int

    def port_for(self, path: str) -> int:
        """Return the port that answers a path."""
        return self.server if path == "/mcp" else self.model

    def path_for(self, path: str) -> str:
        """Return a path as it is asked for there: model APIs have a prefix while recording."""
        return path if path == "/mcp" else f"/openai{path}"


def free_port() -> int:
    """Return a loopback port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


async def python(*arguments: str) -> str:
    """Run this interpreter and return what it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return out.decode().strip()


def _environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "PROXY" not in name.upper()}
    return kept | more


@contextmanager
def _running(
    command: list[str], environment: Mapping[str, str], *, stdout: int | None = None
) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, env=environment, text=True, stderr=subprocess.DEVNULL, stdout=stdout
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _await_port(port: int) -> None:
    deadline = perf_counter() + _LONGEST_START_S
    while perf_counter() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        sleep(0.05)
    message = f"nothing listens on {port}"
    raise RuntimeError(message)


@contextmanager
def mitmdump(upstream: int, *options: str) -> Generator[int]:
    """Run mitmdump in front of an upstream; yields its port."""
    port = free_port()
    mode = f"reverse:http://127.0.0.1:{upstream}@127.0.0.1:{port}"
    command = [str(_BIN / "mitmdump"), "-q", "--mode", mode, *options]
    with _running(command, _environment()):
        _await_port(port)
        yield port


@contextmanager
def recorder(out: Path, upstream: int) -> Generator[Served]:
    """Run `mcprec record` without a command, in front of an upstream."""
    origin = f"http://127.0.0.1:{upstream}"
    command = [sys.executable, "-m", "mcprec_addon", "record", "--out", str(out)]
    with _mcprec(
        [*command, "--http", f"tracker={origin}/mcp"], _environment(OPENAI_BASE_URL=f"{origin}/v1")
    ) as served:
        yield served


@contextmanager
def replayer(path: Path, *options: str) -> Generator[Served]:
    """Run `mcprec replay` without a command."""
    command = [sys.executable, "-m", "mcprec_addon", "replay", str(path), *options]
    with _mcprec(command, _environment()) as served:
        yield served


@contextmanager
def _mcprec(command: list[str], environment: Mapping[str, str]) -> Generator[Served]:
    with _running(command, environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        exports: dict[str, str] = {}
        for line in process.stdout:
            name, _, value = line.removeprefix("export ").strip().partition("=")
            exports[name] = value.strip("'")
            if name == "MCPREC_RUN_DIR":
                break
        yield Served(
            _port(exports["OPENAI_BASE_URL"]), _port(exports["MCPREC_URL_TRACKER"]), process.pid
        )


def _port(url: str) -> int:
    found = re.search(r":(\d+)", url)
    assert found is not None
    return int(found[1])


@contextmanager
def uvicorn_app(folder: Path, path: Path) -> Generator[int]:
    """Run a plain ASGI app that returns the bytes of the small cassette's answers."""
    del path
    tools, chat = _small()
    assert isinstance(tools, McpExchange)
    assert isinstance(chat, ModelExchange)
    whole = mcp_reply.reply_of(tools.answer, mcp.Caller(id=1)).body
    pieces = [piece.data for piece in model.reply_of(chat.answer).pieces]
    app = folder / "plain_app.py"
    app.write_text(_APP.format(whole=whole, pieces=pieces))
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "plain_app:app", "--http", "httptools"]
    options = ["--port", str(port), "--no-access-log", "--app-dir", str(folder)]
    with _running([*command, *options], _environment()):
        _await_port(port)
        yield port


_APP = """
WHOLE, PIECES = {whole!r}, {pieces!r}

async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    is_chat = scope["path"].endswith("/completions")
    kind = b"text/event-stream" if is_chat else b"application/json"
    headers = [(b"content-type", kind)]
    if not is_chat:
        headers.append((b"content-length", str(len(WHOLE)).encode()))
    await send({{"type": "http.response.start", "status": 200, "headers": headers}})
    if not is_chat:
        await send({{"type": "http.response.body", "body": WHOLE}})
        return
    for piece in PIECES:
        await send({{"type": "http.response.body", "body": piece, "more_body": True}})
    await send({{"type": "http.response.body", "body": b""}})
"""


def _small() -> tuple[Exchange, Exchange]:
    description = "x" * 900
    tools: Json = {"tools": [{"name": "get", "description": description}]}
    events = [
        StreamEvent(
            at_ms=number,
            kind="json",
            value={
                "id": "chatcmpl-1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": [{"index": 0, "delta": {"content": f"word {number} "}}],
            },
        )
        for number in range(19)
    ]
    events.append(StreamEvent(at_ms=19, kind="text", value="[DONE]"))
    listed = McpExchange(
        seq=1,
        call=McpCall(server="tracker", method="tools/list"),
        answer=McpAnswer(kind="result", value=tools),
    )
    chat = ModelExchange(
        seq=2,
        call=ModelCall(provider="openai", path=CHAT_PATH, request=dict(_CHAT)),
        answer=ModelAnswer(kind="events", events=tuple(events)),
    )
    return listed, chat


def small_cassette(path: Path) -> Path:
    """Write a cassette of one MCP list and one streamed chat answer."""
    return _written(path, _small())


def big_cassette(path: Path, count: int) -> Path:
    """Write a cassette of so many tool calls of 1 kB, and a list."""
    calls = (
        McpExchange(
            seq=number + 3,
            call=McpCall(
                server="tracker",
                method="tools/call",
                name="get",
                args={"id": number, "pad": f"{number:0400d}"},
            ),
            answer=McpAnswer(
                kind="result", value={"content": [{"type": "text", "text": f"{number:0400d}"}]}
            ),
        )
        for number in range(count)
    )
    return _written(path, (*_small(), *calls))


def _written(path: Path, exchanges: tuple[Exchange, ...]) -> Path:
    servers = {"tracker": Server(transport="http", url="http://127.0.0.1:9/mcp")}
    path.write_bytes(write_cassette(Cassette(header=Header(servers=servers), exchanges=exchanges)))
    return path


@dataclass(frozen=True, slots=True)
class Started:
    """How long a replay took from its start to its first answer, and its peak memory."""

    took_s: float
    peak_mib: float


async def first_answer(path: Path) -> Started:
    """Start a replay and ask for one answer."""
    began = perf_counter()
    with replayer(path) as served:
        where = served.port_for("/mcp")
        await requests_per_s(where, path="/mcp", body=LIST_BODY, clients=1, total=1)
        return Started(perf_counter() - began, _peak_mib(served.pid))


def _peak_mib(pid: int) -> float:
    """Return the most memory a process ever held, 0 where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text() if status.exists() else "")
    return int(peak[1]) / 1024 if peak else 0
