"""What must hold of the model half before anything else: here, or in the test that is named.

1. Recorded once, replayed twice, nothing missed and nothing left, elsewhere too: chat completions,
   responses and messages, whole and streamed, sealed thoughts among them: `test_run.py`,
   `test_a_model_client_sees_the_same_when_replayed`.
2. Ids that a server mints anew make no other key: below.
3. Every end an answer can have: `test_model_ends.py`.
4. Calls that are in flight at once: `test_model_concurrency.py`.
5. Ids and cache keys that clients make up: below. WebSockets are answered 426:
   `replay/test_responder.py`, `test_a_websocket_of_a_model_api_falls_back_to_http`.
6. No piece of a secret, wherever it stands: `test_canary.py`, `test_canary_run.py`. What is sealed
   stays as it came: `redact/test_fields.py`.
7. One thing changed is a miss that points there: below. Only the date: `replay/test_player.py`,
   `test_only_the_date_changed`.
8. No network but loopback: `test_cli.py`, `test_an_isolated_agent_reaches_the_doors_alone`.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mcprec_addon.exchange import Json, ModelAnswer, ModelCall, ModelExchange
from mcprec_addon.jsonvalue import dumps, loads
from mcprec_addon.match.keys import match_key
from mcprec_addon.wire.http import HttpRequest
from mcprec_addon.wire.model import call_of
from tests.replay.test_player import differing, player, said

CAPTURES = sorted((Path(__file__).parent / "fixtures" / "model").glob("*.json"))
ID_MEMBERS = ("id", "call_id", "tool_call_id", "tool_use_id", "toolUseId", "previous_response_id")


def calls_in(capture: Path) -> Iterator[ModelCall]:
    """Yield what an SDK asked, as far as this version has a row for it."""
    found: list[dict[str, Any]] = json.loads(capture.read_text())
    for item in found:
        url = f"https://api.example.com{item['path']}"
        call = call_of(HttpRequest(method="POST", url=url, body=dumps(item["body"])))
        if call is not None:
            yield call


def ids_in(value: Json) -> Iterator[str]:
    match value:
        case dict():
            for name, member in value.items():
                if name in ID_MEMBERS and isinstance(member, str):
                    yield member
                yield from ids_in(member)
        case list():
            for member in value:
                yield from ids_in(member)
        case _:
            return


def with_other_ids(call: ModelCall) -> ModelCall:
    """Return a call as it would be had every id been minted anew."""
    text, numbers = dumps(call.request).decode(), count(1)
    for minted in dict.fromkeys(ids_in(call.request)):
        text = text.replace(dumps(minted).decode(), f'"minted_{next(numbers)}"')
    return replace(call, request=loads(text.encode()))


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_ids_that_are_minted_anew_make_no_other_key(capture: Path) -> None:
    """Servers mint them in every recording, some frameworks in every run."""
    calls = [*calls_in(capture)]

    changed = [call for call in calls if match_key(with_other_ids(call)) != match_key(call)]

    assert changed == []


def test_captures_hold_ids_at_all() -> None:
    """Else the test above would compare calls with themselves."""
    calls = [call for capture in CAPTURES for call in calls_in(capture)]

    renamed = [call for call in calls if with_other_ids(call) != call]

    assert len(calls) > 60
    assert len(renamed) > 25


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_cache_keys_that_clients_make_up_are_in_no_key(capture: Path) -> None:
    """Frameworks name a run in them where they see the API's own host."""
    for call in calls_in(capture):
        if call.provider != "openai" or not isinstance(call.request, dict):
            continue
        other = {**call.request, "prompt_cache_key": "agents-sdk:run:another"}

        assert match_key(replace(call, request=other)) == match_key(call)


def _prompt(request: Any) -> None:  # noqa: ANN401 - edited in place, as a person would
    request["messages"][0]["content"] += "."


def _model(request: Any) -> None:  # noqa: ANN401
    request["model"] = "other"


def _tools(request: Any) -> None:  # noqa: ANN401
    request["tools"].reverse()


def _temperature(request: Any) -> None:  # noqa: ANN401
    request["temperature"] = 0.1


CHANGES = {
    "/request/messages/0/content": _prompt,
    "/request/model": _model,
    "/request/tools": _tools,
    "/request/temperature": _temperature,
}


@pytest.mark.parametrize(
    ("provider", "path"), [("openai", "/v1/chat/completions"), ("anthropic", "/v1/messages")]
)
@pytest.mark.parametrize("pointer", [*CHANGES])
def test_one_change_is_a_miss_that_points_there(pointer: str, provider: str, path: str) -> None:
    """A cassette that answers what nobody asked for keeps a broken test green."""
    asked: dict[str, Json] = {
        "model": "m",
        "max_tokens": 64,
        "temperature": 0,
        "messages": [{"role": "user", "content": "Any open bugs?"}],
        "tools": [{"name": "find"}, {"name": "make"}],
    }
    call = ModelCall(provider=provider, path=path, request=asked)
    exchange = ModelExchange(seq=1, call=call, answer=ModelAnswer(kind="body", value="three"))
    changed = loads(dumps(asked))
    CHANGES[pointer](changed)

    found = player(exchange).play(replace(call, request=changed))

    assert said(player(exchange).play(call)) == "three"
    assert differing(found) != []
    assert all(each.startswith(pointer) for each in differing(found))
