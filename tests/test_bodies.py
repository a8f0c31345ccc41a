"""Calls that are no POST of JSON, and answers that are none, through real SDKs and every door."""

import sys
from pathlib import Path

import pytest

from mcprec_addon.exchange import ModelExchange
from mcprec_addon.self_check import self_check
from tests.test_run import CLIENTS, play

pytestmark = pytest.mark.door


@pytest.mark.parametrize("kind", ["openai-resources", "anthropic-resources"])
def test_a_client_sees_its_files_again(
    kind: str, model_env: dict[str, str], tmp_path: Path
) -> None:
    """Uploads, downloads, sound, batches and stored answers: nothing misses, nothing is refused."""
    client = [sys.executable, CLIENTS, kind]

    session = play(client, folder=tmp_path, **model_env)

    session.check()
    assert "not recorded" not in session.recorded.err
    for replay in session.replays:
        assert "refused" not in replay.err
    models = [each for each in session.cassette.exchanges if isinstance(each, ModelExchange)]
    assert {each.call.http_method for each in models} >= {"GET", "POST"}
    assert self_check(session.cassette, name="run.mcp").holds
