"""Faults of other recorders, from a live server to a replay, each as what a client sees of both."""

import asyncio
import gzip
import http.client
import json
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic

import brotli  # type: ignore[import-untyped]  # it brings no types
import pytest
import zstandard

from mcprec_addon.doors.cassette_file import load_cassette
from tests.doors.test_mitm import DONE, HEAD, LAST, Script, chunk, recording, upstream
from tests.test_model_ends import replaying

pytestmark = [pytest.mark.door, pytest.mark.anyio]

CHAT = "/openai/v1/chat/completions"
ASKED = b'{"model":"m","stream":true,"messages":[]}'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # mitmproxy's own loop


@dataclass(frozen=True)
class Got:
    """A response: its status, its header lines, and the pieces of its body."""

    status: int
    headers: list[tuple[str, str]]
    pieces: list[bytes]

    @property
    def body(self) -> bytes:
        """All pieces joined."""
        return b"".join(self.pieces)

    def every(self, name: str) -> list[str]:
        """Return all values of a header, by its lower-case name."""
        return [value for key, value in self.headers if key.lower() == name]


def ask(port: int, *bodies: bytes, accept: str = "identity", reuse: bool = True) -> list[Got]:
    """Post each body, on one connection or on one each."""
    found = []
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    for body in bodies:
        client.request("POST", CHAT, body, {"accept-encoding": accept})
        with closing(client.getresponse()) as response:
            pieces = [*iter(partial(response.read1, 65536), b"")]
            found.append(Got(response.status, response.getheaders(), pieces))
        if not reuse:
            client.close()
    client.close()
    return found


async def recorded(folder: Path, *scripts: Script, client: Callable[[int], list[Got]]) -> list[Got]:
    """Record what a client asks of a server that answers by scripts."""
    with upstream(*scripts) as port:
        async with recording(folder, port) as doors:
            seen = await doors.call(client)
        doors.recording.close()
    return seen


async def replayed(folder: Path, client: Callable[[int], list[Got]]) -> list[Got]:
    """Return what the replay answers."""
    async with replaying(folder, "", "base-url") as replay:
        port = int(replay.at.openai.split(":")[2].partition("/")[0])
        seen = await asyncio.to_thread(client, port)
    assert replay.misses == []
    return seen


def whole(body: bytes, *lines: str, status: str = "200 OK") -> Script:
    head = "".join(f"{line}\r\n" for line in (*lines, f"Content-Length: {len(body)}"))
    return [f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body]


async def test_pieces_come_in_pieces_and_at_once(tmp_path: Path) -> None:
    """Code that handles a stream is to see one, and is not to wait for it."""
    frames: Script = [chunk(b'data: {"i":0}\n\n'), 0.2, chunk(b'data: {"i":1}\n\n'), 0.2]
    last = chunk(b'data: {"i":2}\n\n' + DONE)

    live = await recorded(tmp_path, [HEAD, *frames, last, LAST], client=lambda at: ask(at, ASKED))
    began = monotonic()
    again = await replayed(
        tmp_path, lambda at: ask(at, b'{"stream":true,"messages":[],"model":"m"}')
    )
    took = monotonic() - began

    assert again[0].body == live[0].body
    assert again[0].pieces == [b'data: {"i":%d}\n\n' % number for number in range(3)] + [DONE]
    assert took < 0.3


PLAIN = b'{"id":"r1","output":"fertig"}'
PACKED = {
    "gzip": gzip.compress(PLAIN, mtime=0),
    "deflate": zlib.compress(PLAIN),
    "br": brotli.compress(PLAIN),
    "zstd": zstandard.compress(PLAIN),
}


@pytest.mark.parametrize("coding", PACKED)
async def test_head_and_body_agree_whatever_the_coding(coding: str, tmp_path: Path) -> None:
    """A plain body under a header that calls it packed cannot be read."""
    answer = whole(PACKED[coding], "Content-Type: application/json", f"Content-Encoding: {coding}")

    live = await recorded(tmp_path, answer, client=lambda at: ask(at, ASKED, accept=coding))
    plain = await replayed(tmp_path, lambda at: ask(at, ASKED))
    packed = await replayed(tmp_path, lambda at: ask(at, ASKED, accept="gzip, br, zstd"))

    assert live[0].every("content-encoding") == [coding]
    assert live[0].body == PACKED[coding]
    assert b"fertig" in (tmp_path / "a.mcp").read_bytes()
    for each in (*plain, *packed):
        assert each.body == PLAIN
        assert each.every("content-encoding") == []
        assert each.every("content-length") == [str(len(PLAIN))]


@pytest.mark.parametrize("reuse", [True, False], ids=["one connection", "one each"])
async def test_payloads_that_look_like_the_end_come_back(*, reuse: bool, tmp_path: Path) -> None:
    r"""`0\r\n\r\n` in a chunk is data; a chunk extension and a trailer lose no exchange."""
    head = HEAD.replace(b"text/event-stream", b"text/plain")
    tricky: Script = [head, chunk(b"count: 0\r\n\r\n"), chunk(b"more"), LAST]
    extended: Script = [head, b"1;pad=1\r\nx\r\n0;pad=2\r\nX-Sum: 9\r\n\r\n"]
    bodies = [b'{"messages":[%d]}' % number for number in range(3)]

    live = await recorded(tmp_path, tricky, extended, tricky, client=lambda at: ask(at, *bodies))
    again = await replayed(tmp_path, lambda at: ask(at, *bodies, reuse=reuse))

    assert [each.body for each in live] == [b"count: 0\r\n\r\nmore", b"x", b"count: 0\r\n\r\nmore"]
    assert [each.body for each in again] == [each.body for each in live]


async def test_a_header_that_comes_twice_comes_twice_again(tmp_path: Path) -> None:
    """Two challenges joined by a comma, or the last alone, lead a client elsewhere."""
    answer = whole(
        b"",
        "Set-Cookie: a=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
        "set-cookie: b=2",
        'WWW-Authenticate: Bearer resource_metadata="https://x.example.test/m"',
        'WWW-Authenticate: Basic realm="old"',
        "X-Empty:",
        status="401 Unauthorized",
    )

    live = await recorded(tmp_path, answer, client=lambda at: ask(at, ASKED))
    again = await replayed(tmp_path, lambda at: ask(at, ASKED))

    assert again[0].status == 401
    assert again[0].every("www-authenticate") == live[0].every("www-authenticate")
    assert len(again[0].every("www-authenticate")) == len(again[0].every("set-cookie")) == 2
    assert again[0].every("x-empty") == [""]


ODD = b'{"mean":275.0,"std":NaN,"max":-Infinity,"n":12345678901234567890123,"n":1}'


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_numbers_come_back_as_they_were_written(*, streamed: bool, tmp_path: Path) -> None:
    """Local models say NaN, and typed clients read `275.0` as another type than `275`."""
    script: Script = [HEAD, chunk(b"data: %b\n\n" % ODD), chunk(DONE), LAST]
    if not streamed:
        script = whole(ODD, "Content-Type: application/json")

    live = await recorded(
        tmp_path, script, client=lambda at: ask(at, b'{"messages":[],"temperature":1.0}')
    )
    again = await replayed(tmp_path, lambda at: ask(at, b'{"messages":[],"temperature":1}'))

    assert again[0].body == live[0].body
    for line in (tmp_path / "a.mcp").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)


async def test_a_client_that_left_is_told_from_one_that_had_it_all(tmp_path: Path) -> None:
    """Behind the end marker nothing is missing; before it, the rest is."""

    def hang_up(port: int, mark: bytes) -> list[Got]:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        client.request("POST", CHAT, ASKED.replace(b"[]", b'["%b"]' % mark))
        response = client.getresponse()
        while mark not in response.readline():
            pass
        response.close()
        client.close()
        return []

    script: Script = [HEAD, chunk(b'data: {"said":"ok"}\n\n'), 0.2, chunk(DONE), 0.2, LAST]
    await recorded(
        tmp_path, script, script, client=lambda at: hang_up(at, b"[DONE]") + hang_up(at, b"ok")
    )

    ends = [each.answer.end for each in load_cassette(tmp_path / "a.mcp").exchanges]
    assert ends == [None, "left"]
