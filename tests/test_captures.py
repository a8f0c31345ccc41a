"""Traffic of real SDKs is recorded, written, read and found again, whatever they sent."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcprec_addon.cassette.format import read_cassette
from mcprec_addon.cassette.writing import write_cassette
from mcprec_addon.exchange import Cassette, Header, McpExchange, Message, ModelCall, ModelExchange
from mcprec_addon.record.intake import Intake
from mcprec_addon.record.recorder import Item, Recorder
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.staging import stage
from mcprec_addon.self_check import self_check
from mcprec_addon.wire.http import Ending, HttpRequest
from mcprec_addon.wire.jsonrpc import Request, Response, read_body

CAPTURES = sorted((Path(__file__).parent / "fixtures" / "mcp").glob("*.json"))
MODEL_CAPTURES = sorted((Path(__file__).parent / "fixtures" / "model").glob("*.json"))
ORIGIN = "http://127.0.0.1:8000"
ENDINGS: dict[str, Ending] = {"complete": "complete"}


def items(capture: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(capture.read_text())
    return found


def request_of(item: dict[str, Any]) -> HttpRequest:
    asked = item["request"]
    return HttpRequest(
        method=asked["method"],
        url=ORIGIN + asked["path"],
        headers=tuple(
            (name.lower(), value)
            for name, value in asked["headers"].items()
            if name.lower() != "mcp-session-id"  # a replay mints its own
        ),
        body=(asked.get("body") or "").encode(),
        label="peer" if asked["path"].startswith("/mcp") else None,
    )


def recorded(capture: Path) -> Cassette:
    kept: list[Item] = []
    recorder = Recorder(kept.append)
    intake = Intake(recorder, {"peer": f"{ORIGIN}/mcp"})
    for item in items(capture):
        tap = intake.request(request_of(item), 0)
        answered = item["response"]
        if tap is None:
            continue
        if answered is not None:
            lines = [(name.lower(), value) for name, value in answered["headers"].items()]
            tap.head(answered["status"], lines)
            tap.data((answered.get("body_text") or "").encode(), 1)
        tap.finish(ENDINGS.get(item["ended"], "left"), 2)
    exchanges = [each for each in kept if isinstance(each, McpExchange | ModelExchange)]
    return Cassette(
        header=Header(servers=dict(recorder.seen.servers)),
        exchanges=tuple(sorted(exchanges, key=lambda each: each.seq)),
        messages=tuple(each for each in kept if isinstance(each, Message)),
    )


def calls_in(request: HttpRequest) -> list[Request]:
    return [each for each in read_body(request.body) or [] if isinstance(each, Request)]


def answers_in(body: str) -> list[Response]:
    """Return the JSON-RPC answers of a body, whole or an event stream."""
    lines = [line.partition("data:")[2] for line in body.splitlines() if line.startswith("data:")]
    found = [read_body(each.strip().encode()) or [] for each in lines or [body]]
    return [message for each in found for message in each if isinstance(message, Response)]


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_a_captured_session_survives_the_file_and_finds_itself(capture: Path) -> None:
    """Both eras, interim results, header recovery, tasks, broken streams."""
    cassette = recorded(capture)

    read = read_cassette(write_cassette(cassette), path="a.mcp")

    assert len(read.exchanges) == len(cassette.exchanges) > 0
    check = self_check(read, name="a.mcp")
    assert check.holds, check.text()


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_nothing_but_secrets_is_redacted(capture: Path) -> None:
    """Ids, tokens of the protocol, schemas and times of real traffic stay to the character."""
    redactor = Redactor(default_rules(), nonce="0a1b2c3d")

    changed = [each.seq for each in recorded(capture).exchanges if redactor.exchange(each) != each]

    assert changed == []
    assert not redactor.table.minted


@pytest.mark.parametrize("capture", MODEL_CAPTURES, ids=lambda path: path.stem)
def test_nothing_but_secrets_is_redacted_of_what_models_are_asked(capture: Path) -> None:
    """What real SDKs and frameworks send: ids, signatures, cache keys, schemas, pictures."""
    redactor = Redactor(default_rules(), nonce="0a1b2c3d")
    calls = [
        ModelCall(provider="openai", path=item["path"], request=item["body"])
        for item in items(capture)
    ]

    changed = [call.path for call in calls if redactor.call(call) != call]

    assert changed == []
    assert not redactor.table.minted
    assert calls


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_a_captured_request_gets_its_captured_answer(capture: Path) -> None:
    """The very bytes that an SDK sent are answered as they were, in their order."""
    cassette = read_cassette(write_cassette(recorded(capture)), path="a.mcp")
    _, responder = stage(cassette, PlayOptions(), halves=frozenset({"mcp"}))
    compared = 0
    for item in items(capture):
        request = request_of(item)
        if request.label is None or not calls_in(request):
            continue
        reply = responder.respond(request)
        live = answers_in((item["response"] or {}).get("body_text") or "")
        if len(live) == 1 and item["response"]["status"] not in (401, 403):
            again = answers_in(reply.body.decode())
            assert [(each.kind, each.value) for each in again] == [(live[0].kind, live[0].value)]
            compared += 1

    assert compared > 0
