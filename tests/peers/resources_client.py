"""Clients of what model APIs keep beside conversations: files, batches, sound, stored answers."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import anyio
from anthropic import Anthropic
from openai import AsyncOpenAI, OpenAI

from tests.peers.transcript import Transcript

_LINES = b'{"custom_id": "a", "method": "POST", "url": "/v1/responses", "body": {}}\n'
_WAV = b"RIFF\x24\x00\x00\x00WAVE\xff\x00\r\n--not-a-boundary\r\n"
_LONG_WAV = _WAV + bytes(range(256)) * 100


def _hash(content: bytes) -> str:
    return f"{len(content)} {sha256(content).hexdigest()}"


def _openai(client: OpenAI, log: Transcript) -> None:
    """Upload, batch, download, hear, speak, edit, look up, delete."""
    log.plain_step("models", lambda: [model.id for model in client.models.list()])
    file = client.files.create(file=("a.jsonl", _LINES), purpose="batch")
    log.plain_step("file", lambda: client.files.retrieve(file.id).filename)
    log.plain_step("content", lambda: _hash(client.files.content(file.id).read()))
    batch: Any = client.batches.create(
        input_file_id=file.id, endpoint="/v1/responses", completion_window="24h"
    )
    seen = []
    while batch.status != "completed":
        batch = client.batches.retrieve(batch.id)
        seen.append(batch.status)
    log.saw("batch", seen)
    log.plain_step("output", lambda: client.files.content(batch.output_file_id).text)
    log.plain_step("heard", lambda: _heard(client, _WAV))
    log.plain_step("heard at length", lambda: _heard(client, _LONG_WAV))
    log.plain_step("heard in pieces", lambda: _heard_in_pieces(client))
    log.plain_step("spoken", lambda: _hash(_speech(client)))
    log.plain_step("edited", lambda: _edited(client))
    response = client.responses.create(model="ok", input="hello", store=True)
    log.plain_step("stored", lambda: client.responses.retrieve(response.id).status)
    log.plain_step("items", lambda: len(client.responses.input_items.list(response.id).data))
    log.plain_step("cancelled", lambda: client.responses.cancel(response.id).status)
    log.plain_step("deleted", lambda: client.responses.delete(response.id))
    log.plain_step("gone", lambda: client.files.delete(file.id).deleted)
    log.plain_step("never there", lambda: client.files.retrieve("file-none"))


def _heard(client: OpenAI, sound: bytes) -> str:
    file = ("a.wav", sound, "audio/wav")
    return client.audio.transcriptions.create(file=file, model="whisper-1").text


def _heard_in_pieces(client: OpenAI) -> list[str]:
    file = ("a.wav", _WAV, "audio/wav")
    stream = client.audio.transcriptions.create(file=file, model="gpt-x", stream=True)
    return [event.type for event in stream]


def _speech(client: OpenAI) -> bytes:
    return client.audio.speech.create(model="tts-1", voice="alloy", input="hello").read()


def _edited(client: OpenAI) -> str:
    image = ("in.png", b"\x89PNG\r\n\x1a\n\x00", "image/png")
    made: Any = client.images.edit(image=image, prompt="more sky", model="gpt-image-1")
    return f"{made.data[0].revised_prompt} {_hash(made.data[0].b64_json.encode())}"


async def _openai_async(log: Transcript) -> None:
    async with AsyncOpenAI() as client:
        file = await client.files.create(file=("b.bin", b"\x00\x01\xff"), purpose="user_data")
        content = await client.files.content(file.id)
        log.saw("content", _hash(content.read()))
        speech = await client.audio.speech.create(model="tts-1", voice="alloy", input="hello")
        log.saw("spoken", _hash(await speech.aread()))
        raw = await client.models.with_raw_response.list()
        log.saw("raw", [raw.headers["x-request-id"][:4], raw.headers["content-type"]])
        await log.step("never there", client.files.retrieve("file-none"))


def _anthropic(client: Anthropic, log: Transcript) -> None:
    log.plain_step("models", lambda: [model.id for model in client.models.list()])
    file = client.beta.files.upload(file=("a.txt", b"hello", "text/plain"))
    log.plain_step("file", lambda: client.beta.files.retrieve_metadata(file.id).filename)
    log.plain_step("content", lambda: client.beta.files.download(file.id).read().decode())
    messages: Any = [{"role": "user", "content": "hello"}]
    params: Any = {"model": "ok", "max_tokens": 9, "messages": messages}
    log.plain_step("counted", lambda: client.messages.count_tokens(model="ok", messages=messages))
    client.messages.create(**params)
    batch = client.messages.batches.create(requests=[{"custom_id": "a", "params": params}])
    while batch.processing_status != "ended":
        batch = client.messages.batches.retrieve(batch.id)
    log.plain_step("results", lambda: list(client.messages.batches.results(batch.id)))
    log.plain_step("gone", lambda: client.beta.files.delete(file.id).type)


def run(kind: str, _url: str, _models: Sequence[str]) -> Transcript:
    """Run one client against the API its environment names and return what it saw."""
    log = Transcript()
    match kind:
        case "openai-resources":
            with OpenAI() as client:
                _openai(client, log)
            anyio.run(_openai_async, log)
        case _:
            with Anthropic() as other:
                _anthropic(other, log)
    return log
