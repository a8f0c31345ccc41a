"""Secrets of every class in every place: none of them reaches a file, and the run replays."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

import pytest

from mcprec_addon.doors.cassette_file import journal_path, load_cassette
from mcprec_addon.doors.recording import Recording
from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import dumps
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.personal import luhn_digit
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.responder import Responder
from mcprec_addon.wire.http import HttpRequest
from tests.redact.samples import SECRETS

pytestmark = pytest.mark.door

MCP = "http://127.0.0.1:9/mcp"
CHAT = "http://127.0.0.1:9/v1/chat/completions"
JSON = [("content-type", "application/json")]
SSE = [("content-type", "text/event-stream")]
PIECE = 10  # characters of a secret that must not be found anywhere


def varied(secret: str, number: int) -> str:
    """Return another secret of the same shape."""
    if "@" in secret:
        return f"canary{number:06d}@example.test"
    if secret.startswith("+49"):
        return f"+49 30 {number * 7919 % 10**7:07d}"
    if secret.startswith("4242"):
        digits = f"4242{number * 7_919_993 % 10**11:011d}"
        return digits + luhn_digit(digits)
    random = Random(number)  # noqa: S311 - no secret but for this test
    tail = list(secret[-16:])
    places = [at for at, char in enumerate(tail) if char.isalnum()]
    chars = [tail[at] for at in places]
    random.shuffle(chars)
    for at, char in zip(places, chars, strict=True):
        tail[at] = char
    return secret[:-16] + "".join(tail)


@dataclass(frozen=True)
class Asked:
    """One request of the session, and the answer it gets."""

    request: HttpRequest
    lines: list[tuple[str, str]]
    body: bytes


def rpc(number: int, params: Json) -> bytes:
    return dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


def answer(number: int, **member: Json) -> bytes:
    return dumps({"jsonrpc": "2.0", "id": number, **member})


def event(value: Json) -> bytes:
    return b"data: " + dumps(value) + b"\n\n"


def post(url: str, body: bytes, **headers: str) -> HttpRequest:
    lines = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return HttpRequest(method="POST", url=url, headers=lines, body=body)


def chunk(**delta: Json) -> Json:
    return {"choices": [{"index": 0, "delta": delta}]}


def session(secret: str, numbers: Iterator[int]) -> Iterator[tuple[Asked, list[str]]]:
    """Yield a request for each place, and the secrets in it and its answer."""

    def new() -> str:
        return varied(secret, next(numbers))

    arg, deep, key, text, data = (new() for _ in range(5))
    params: Json = {
        "name": "t",
        "arguments": {"q": f"use {arg} now", "in": {"deep": [deep]}, f"k {key}": 1, "n": key[:4]},
    }
    result: Json = {
        "content": [{"type": "text", "text": f"it is {text}."}],
        "structuredContent": {"v": data},
    }
    request = post(MCP, rpc(1, params))
    yield Asked(request, JSON, answer(1, result=result)), [arg, deep, key, text, data]

    asked, failed, told = new(), new(), new()
    note: Json = {"level": "info", "data": f"saw {told}"}
    events = event({"jsonrpc": "2.0", "method": "notifications/message", "params": note})
    error: Json = {"code": -1, "message": f"no {failed} here"}
    request = post(MCP, rpc(2, {"name": "e", "arguments": {"url": f"https://x/?api_key={asked}"}}))
    yield (
        Asked(request, SSE, events + b"data: " + answer(2, error=error) + b"\n\n"),
        [
            asked,
            failed,
            told,
        ],
    )

    prompt, inside, said, used = (new() for _ in range(4))
    tool: Json = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "t", "arguments": json.dumps({"q": inside})},
    }
    body: Json = {
        "model": "m",
        "stream": True,
        "messages": [
            {"role": "user", "content": f"my key is {prompt}, keep it"},
            {"role": "assistant", "tool_calls": [tool]},
        ],
    }
    half = len(said) // 2
    stream = [
        chunk(content=f"so {said[:3]}"),
        chunk(content=said[3:half]),
        chunk(content=f"{said[half:]} then"),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": f'{{"q":"{used[:7]}'}}]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": f'{used[7:]}"}}'}}]),
    ]
    request = post(CHAT, dumps(body), authorization=f"Bearer {prompt}")
    done = b"".join(map(event, stream)) + b"data: [DONE]\n\n"
    yield Asked(request, SSE, done), [prompt, inside, said, used]


def everything(first: int) -> tuple[list[Asked], list[str]]:
    """Return the requests for secrets of every class, and the secrets."""
    numbers = count(first)
    found = [each for _, secret in SECRETS for each in session(secret, numbers)]
    return [asked for asked, _ in found], [secret for _, some in found for secret in some]


def record(recording: Recording, asked: list[Asked]) -> None:
    for each in asked:
        tap = recording.request(each.request)
        assert tap is not None
        tap.head(200, each.lines)
        tap.data(each.body, recording.now_ms())
        tap.finish("complete", recording.now_ms())
        recording.end(tap)


def pieces(text: str) -> set[str]:
    return {text[at : at + PIECE] for at in range(len(text) - PIECE + 1)}


def own_pieces(secret: str) -> set[str]:
    """Return the pieces that only this secret has, not every one of its kind."""
    return pieces(secret[-16:]) if "@" not in secret else pieces(secret.partition("@")[0])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cassette of the session, its journal copied beside it while it was recorded."""
    path = tmp_path_factory.mktemp("canary") / "a.mcp"
    recording = Recording(path, urls={"s": MCP})
    lines = recording.lines("pipe")
    asked, secrets = everything(1)
    record(recording, asked)
    for number, secret in enumerate(secrets[:200]):
        lines.feed("server", f"starting with {secret}\n".encode(), 1)
        lines.feed("client", rpc(number, {"name": "p", "arguments": {"a": secret}}) + b"\n", 1)
        lines.feed("server", answer(number, result={"said": secret}) + b"\n", 2)
    recording.end_lines("pipe", lines, "left", died=None)
    path.with_name("journal").write_bytes(journal_path(path).read_bytes())
    recording.close()
    return path


@pytest.mark.parametrize("name", ["a.mcp", "journal"])
def test_no_piece_of_a_secret_is_in_a_file(name: str, recorded: Path) -> None:
    """Neither while it is recorded nor in what is committed."""
    _, secrets = everything(1)
    found = pieces(recorded.with_name(name).read_text())

    leaked = [secret for secret in secrets if own_pieces(secret) & found]

    assert leaked == []
    assert len(set(secrets)) == len(secrets) == 12 * len(SECRETS)


@pytest.mark.parametrize("first", [1, 5000], ids=["the same secrets", "others"])
def test_the_session_replays(first: int, recorded: Path) -> None:
    """With the values of the recording, and with those of another machine."""
    cassette = load_cassette(recorded)
    bindings = Bindings(cassette.header.redaction, default_rules())
    player = Player(cassette, bindings=bindings, options=PlayOptions())
    missed = list[Miss]()
    responder = Responder(
        cassette, player, halves=frozenset({"mcp", "model"}), on_miss=missed.append
    )
    asked, _ = everything(first)

    for each in asked:
        responder.respond(each.request)

    assert [miss.text() for miss in missed] == []
