"""Uploads, files and sound: recorded, written, read and replayed, and what a miss says of them."""

import json
from base64 import b64encode
from random import Random

import pytest

from mcprec_addon.cassette.blobs import check_blob
from mcprec_addon.cassette.format import read_cassette, read_lines
from mcprec_addon.cassette.lines import Line
from mcprec_addon.cassette.writing import cassette_pieces, write_cassette
from mcprec_addon.exchange import Cassette, Header, ModelCall, ModelExchange, Opaque, Redaction
from mcprec_addon.jsonvalue import Difference
from mcprec_addon.record.intake import Intake
from mcprec_addon.record.recorder import Item, Recorder
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.responder import Responder
from mcprec_addon.replay.staging import stage
from mcprec_addon.replay.uploads import body_text, content_lines, part_label
from mcprec_addon.self_check import self_check
from mcprec_addon.wire.http import HttpRequest
from tests.wire.test_multipart import WAV, form

HOST = "https://api.openai.com"
NOISE = Random(4).randbytes(20_000)  # noqa: S311 - sound, no secret
MP3 = b"\xff\xf3\x44\xc4" + NOISE


def ask(
    method: str, path: str, body: bytes = b"", kind: str = "application/json", host: str = HOST
) -> HttpRequest:
    headers = (("content-type", kind),) if body else ()
    return HttpRequest(method=method, url=host + path, headers=headers, body=body, via="proxy")


def upload(boundary: str, body: bytes) -> HttpRequest:
    kind = f"multipart/form-data; boundary={boundary}"
    return ask("POST", "/v1/audio/transcriptions", body, kind)


def recorded(*pairs: tuple[HttpRequest, bytes, str], status: int = 200) -> Cassette:
    """Return a cassette of requests and their answers, through its file."""
    kept: list[Item] = []
    recorder = Recorder(kept.append)
    intake = Intake(recorder, {})
    for request, body, kind in pairs:
        tap = intake.request(request, 0)
        assert tap is not None, request
        tap.head(status, [("content-type", kind), ("content-length", str(len(body)))])
        tap.data(body, 3)
        tap.finish("complete", 5)
    exchanges = tuple(each for each in kept if isinstance(each, ModelExchange))
    return read_cassette(write_cassette(Cassette(exchanges=exchanges)), path="a.mcp")


def replay(cassette: Cassette, misses: list[Miss] | None = None) -> Responder:
    player, _ = stage(cassette, PlayOptions(), halves=frozenset({"model"}))
    noted = misses if misses is not None else []
    return Responder(cassette, player, halves=frozenset({"model"}), on_miss=noted.append)


HELLO = (upload("b-1f0c", form("b-1f0c")), b'{"text":"hello"}', "application/json")


def test_an_upload_hits_under_any_boundary() -> None:
    """Each run makes a new one."""
    reply = replay(recorded(HELLO)).respond(upload("b-77aa", form("b-77aa")))

    assert (reply.status, reply.body) == (200, b'{"text":"hello"}')


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            form("b-3", WAV[:-2] + b"!!"),
            '/request/1/base64 (part "file")\n           recorded 34 bytes, sha256',
        ),
        (
            form("b-3", model="stt-2"),
            '/request/0/text (part "model")\n           recorded "stt-|1"',
        ),
    ],
)
def test_a_miss_names_the_part(body: bytes, said: str) -> None:
    """Not that some byte of a body differs."""
    misses: list[Miss] = []

    reply = replay(recorded(HELLO), misses).respond(upload("b-3", body))

    assert reply.status == 400
    assert said in misses[0].text()
    assert "model: " in misses[0].text().splitlines()[1]
    assert "a.wav, audio/wav" in misses[0].text().splitlines()[2]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (MP3, "audio/mpeg"),
        (b'{"custom_id":"a"}\n', "application/octet-stream"),
        (b'{"id": 1}\n{"id": 2}\n', "application/x-jsonl"),
        ("Grüße\r\n".encode("latin-1"), "text/plain; charset=latin-1"),
        (b"1\n", "text/plain"),
        (b"", "application/octet-stream"),
    ],
)
def test_an_answer_that_is_no_json_comes_back_to_the_byte(body: bytes, kind: str) -> None:
    """A file is a file: sound, lines of JSON, or one line that only looks like JSON."""
    asked = ask("GET", "/v1/files/file-1/content")
    cassette = recorded((asked, body, kind))

    reply = replay(cassette).respond(asked)

    assert reply.body == body
    assert ("content-type", kind) in reply.headers
    assert self_check(cassette, name="a.mcp").holds


def test_large_content_is_a_file_of_its_kind() -> None:
    """The bytes of sound have no place in a line that people read."""
    speech = ask("POST", "/v1/audio/speech", b'{"input":"hi","model":"tts","voice":"x"}')
    sent = form("zz", MP3)
    kept = recorded((speech, MP3, "audio/mpeg"), (upload("zz", sent), b"{}", "application/json"))
    pieces = list(cassette_pieces(kept, has_blobs=True))
    blobs = {name: data for piece in pieces for name, data in piece.blobs}
    text = b"".join(piece.data for piece in pieces)

    again = read_lines(
        (Line(text=line) for line in text.split(b"\n")),
        path="a.mcp",
        is_journal=False,
        read_blob=lambda digest: check_blob(
            next(data for name, data in blobs.items() if name.startswith(digest)),
            digest,
            name=digest,
        ),
    )

    assert sorted(blobs.values()) == [MP3]
    assert next(iter(blobs)).endswith(".mp3")
    assert len(text) < 2000
    assert again.exchanges == kept.exchanges
    assert replay(again).respond(speech).body == MP3


def test_secrets_in_form_fields_are_redacted_and_sound_is_not() -> None:
    """A field is named like a credential as a member is; chance in a picture is no secret."""
    chance = MP3 + b" ana@acme.com sk-proj-abcdefghijklmnopqrstuvwxyz012345 "
    body = form("zz", chance, model="write to ana@acme.com").replace(
        b'name="model"', b'name="api_key"'
    )
    body = body.replace(b"write to ana@acme.com", b"xk29-77ab-4410-zz19")
    asked = upload("zz", body)
    cassette = recorded((asked, chance, "audio/mpeg"))
    redactor = Redactor(default_rules(), nonce="0a1b2c3d")

    closed = redactor.close([redactor.exchange(each) for each in cassette.exchanges])

    (exchange,) = closed.exchanges
    assert exchange.call.record()["request"] == [
        {"name": "api_key", "text": "api-key-1"},
        {
            "name": "file",
            "filename": "a.wav",
            "mime": "audio/wav",
            "base64": b64encode(chance).decode(),
        },
    ]
    assert exchange.answer.value == Opaque(chance)
    header = Header(redaction=closed.redaction)
    assert replay(Cassette(header=header, exchanges=(exchange,))).respond(asked).body == chance


def test_a_known_secret_in_sound_is_counted() -> None:
    """It cannot be taken out, so whoever commits the cassette is told where it is."""
    secret = "live-value-4711-of-mine"
    redactor = Redactor(default_rules(), nonce="0a1b2c3d")
    redactor.learn(secret)
    data = MP3 + secret.encode()
    cassette = recorded((upload("zz", form("zz", data)), data, "audio/mpeg"))

    closed = redactor.close([redactor.exchange(each) for each in cassette.exchanges])
    text = write_cassette(Cassette(exchanges=closed.exchanges))

    assert closed.redaction.inside == ["/request/1/base64", "/body"]
    assert [redactor.leaks(line) for line in text.decode().splitlines()] == [()] * 4


def test_secrets_in_the_lines_of_a_file_are_found_by_name() -> None:
    """A file of JSON lines is JSON, line by line."""
    lines = b'{"custom_id":"a","password":"xk29-77ab-4410-zz19"}\n{"n":1}\n'
    body = form("zz", lines).replace(b"audio/wav", b"application/jsonl")
    redactor = Redactor(default_rules(), nonce="0a1b2c3d")
    cassette = recorded((upload("zz", body), lines, "application/octet-stream"))

    (exchange,) = redactor.close([redactor.exchange(each) for each in cassette.exchanges]).exchanges

    assert "xk29" not in repr(exchange)
    assert exchange.answer.value == Opaque('{"custom_id":"a","password":"password-1"}\n{"n":1}\n')


def test_a_status_that_is_polled_more_often_stays_what_it_became() -> None:
    """How often a job is asked for depends on the clock; what is made is made once."""
    poll = ask("GET", "/v1/batches/batch_1")
    make = ask("POST", "/v1/batches", b'{"input_file_id":"file-1"}')
    states = [
        (poll, f'{{"status":"{status}"}}'.encode(), "application/json")
        for status in ("running", "completed")
    ]
    responder = replay(recorded((make, b'{"id":"batch_1"}', "application/json"), *states))

    seen = [json.loads(responder.respond(poll).body)["status"] for _ in range(4)]

    assert seen == ["running", "completed", "completed", "completed"]
    assert [responder.respond(make).status for _ in range(2)] == [200, 400]


def test_what_a_gateway_answered_is_replayed_for_it() -> None:
    """Its address is in no cassette, and the first request may be one without a body."""
    gateway = "https://llm.corp.example"
    chat = ask("POST", "/v1/chat/completions", b'{"messages":[]}', host=gateway)
    models = ask("GET", "/v1/models", host=gateway)
    listed = (models, b'{"data":[]}', "application/json")
    responder = replay(recorded((chat, b"{}", "application/json"), listed))

    assert responder.respond(models).body == b'{"data":[]}'
    assert responder.respond(ask("GET", "/v1/models", host="https://shop.example")).status == 200
    assert responder.respond(ask("GET", "/v1/files", host="https://shop.example")).status == 403


def test_another_id_is_a_miss_that_says_so() -> None:
    """A file that no answer named, beside two that were recorded."""
    told = b'{"data":[{"id":"file-1"},{"id":"file-2"}]}'
    misses: list[Miss] = []
    responder = replay(
        recorded(
            (ask("GET", "/v1/files"), told, "application/json"),
            (ask("GET", "/v1/files/file-1"), b"{}", "application/json"),
            (ask("GET", "/v1/files/file-2"), b"{}", "application/json"),
        ),
        misses,
    )

    reply = responder.respond(ask("GET", "/v1/files/file-3"))

    assert reply.status == 400
    assert '"/v1/files/file-|3"' in misses[0].text()
    assert "GET /v1/files/file-3, no body" in misses[0].text()


def test_bodies_are_shown_in_a_line() -> None:
    """What was asked stands in a miss, however it was sent."""
    raw = ModelCall(provider="openai", path="/v1/x", request=Opaque("plain"))
    sound = ModelCall(provider="openai", path="/v1/x", request=Opaque(b"\xff\x00"))

    assert body_text(raw) == '"plain"'
    assert body_text(sound).startswith("2 bytes, sha256 ")
    assert body_text(ModelCall(provider="o", path="/x", request={"a": 1})) == '{"a":1}'
    assert part_label(raw, Difference(("request", "0"), 1, 2)) == ""
    other = Difference(("args", "base64"), "x", "y")
    assert list(content_lines(other)) == []
    assert Redaction().inside == []
