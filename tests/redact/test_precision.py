"""What is no secret stays as it is: look-alikes of every kind, ten thousand of each."""

import json
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import md5, sha1, sha256
from random import Random

import pytest

from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules
from tests.redact.samples import INNOCENT

COUNT = 10_000
ABC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def _id(random: Random, prefix: str, length: int) -> str:
    return prefix + "".join(random.choices(ABC, k=length))


def _time(random: Random) -> str:
    return f"2026-{random.randrange(1, 13):02d}-11T09:{random.randrange(60):02d}:07Z"


def _version(random: Random) -> str:
    return ".".join(str(random.randrange(99)) for _ in range(3))


def _path(random: Random) -> str:
    return f"/home/user/project-{random.randrange(999)}/src/main_{random.randrange(99)}.py"


KINDS: dict[str, Callable[[Random], str]] = {
    "seconds": lambda random: str(random.randrange(10**9, 2 * 10**9)),
    "milliseconds": lambda random: str(random.randrange(10**12, 2 * 10**12)),
    "times": _time,
    "uuids": lambda random: str(uuid.UUID(int=random.getrandbits(128))),
    "md5": lambda random: md5(random.randbytes(8), usedforsecurity=False).hexdigest(),
    "sha1": lambda random: sha1(random.randbytes(8), usedforsecurity=False).hexdigest(),
    "sha256": lambda random: sha256(random.randbytes(8)).hexdigest(),
    "commits": lambda random: f"{random.getrandbits(28):07x}",
    "tool calls": lambda random: _id(random, "call_", 24),
    "tool uses": lambda random: _id(random, "toolu_01", 22),
    "messages": lambda random: _id(random, "msg_01", 22),
    "versions": _version,
    "paths": _path,
    "microseconds": lambda random: str(random.randrange(10**15, 2 * 10**15)),
    "offsets": lambda random: f"+{random.randrange(10**6):d}",
    "added times": lambda random: f"+{random.randrange(10**9, 2 * 10**9)}",
    "addresses": lambda random: ".".join(str(random.randrange(256)) for _ in range(4)),
    "amounts": lambda random: f"{random.randrange(999)},{random.randrange(1000):03d}.00",
    "ranges": lambda random: f"{random.randrange(100, 999)}-{random.randrange(1000, 9999)}",
    "links": lambda random: f"https://example.com/issues/{random.randrange(9999)}?page=2&sort=asc",
}


def untouched(texts: Iterator[str]) -> list[str]:
    """Return those of the texts that are changed, each alone and in a sentence."""
    redactor = Redactor(default_rules(), nonce="0a1b2c3d")
    found: list[str] = []
    for text in texts:
        said = f"it is {text}, as before"
        if redactor.text(text) != text or redactor.text(said) != said:
            found.append(text)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_look_alikes_stay(kind: str) -> None:
    """A rule that fires on an id breaks the replay, and one on a time makes noise of a diff."""
    random = Random(kind)  # noqa: S311 - no secret

    assert untouched(KINDS[kind](random) for _ in range(COUNT)) == []


def test_samples_of_real_traffic_stay() -> None:
    """From public reports of other tools' false alarms."""
    assert untouched(iter(INNOCENT)) == []


def test_pictures_stay() -> None:
    """Base64 of any bytes has every short pattern in it sooner or later."""
    random = Random(5)  # noqa: S311 - no secret
    redactor = Redactor(default_rules(), nonce="0a1b2c3d")

    for _ in range(300):
        data = b64encode(random.randbytes(3000)).decode()
        block = {"content": [{"type": "image", "mimeType": "image/png", "data": data}]}
        assert redactor.json(json.loads(json.dumps(block)), "result", "mcp") == block
        url = {"image_url": {"url": f"data:image/png;base64,{data}"}}
        assert redactor.json(json.loads(json.dumps(url)), "request", "model") == url
