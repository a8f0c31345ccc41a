"""The options of the mitmproxy script are turned into a recording or a replay."""

from dataclasses import replace
from pathlib import Path

import pytest

from mcprec_addon.addon_run import OPTIONS, AddonRun
from mcprec_addon.errors import UsageError
from mcprec_addon.wire.http import HttpRequest
from tests.test_cli import CASSETTE

pytestmark = pytest.mark.door


def given(**options: object) -> dict[str, object]:
    return {option.name: option.default for option in OPTIONS} | options


def test_one_of_the_two_is_asked_for() -> None:
    """Neither would do nothing in silence; both is a mistake."""
    with pytest.raises(UsageError, match="one of"):
        AddonRun.of(given())
    with pytest.raises(UsageError, match="one of"):
        AddonRun.of(given(record="a", replay="b"))


def test_a_replay_concludes_once(tmp_path: Path) -> None:
    """Mitmproxy may call `done` again when it reloads the script."""
    path = tmp_path / "a.mcp"
    path.write_text(CASSETTE)
    run = AddonRun.of(given(replay=str(path)))

    lines, status = run.conclude()

    assert status == 3
    assert "nothing of the mcp half was used" in lines[-1]
    assert run.conclude() == ([], 0)


def test_a_recording_of_nothing_is_incomplete(tmp_path: Path) -> None:
    """The last line names the cause."""
    run = AddonRun.of(given(record=str(tmp_path / "a.mcp")))

    lines, status = run.conclude()

    assert status == 4
    assert lines[-1].startswith("mcprec: exit 4: 0 exchanges")


MODELS = HttpRequest(method="GET", url="https://llm.corp.example/v1/models", via="proxy")


@pytest.mark.parametrize("where", ["option", "environment"])
def test_a_gateway_is_known_before_its_first_call(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents list the models first, which nothing but the address tells."""
    url = "https://llm.corp.example/v1"
    options = {"model": (f"openai={url}",)} if where == "option" else {}
    if where == "environment":
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    run = AddonRun.of(given(record=str(tmp_path / "a.mcp"), **options))
    assert run.recording is not None

    tap = run.recording.request(MODELS)
    assert tap is not None
    tap.head(200, [("content-type", "application/json")])
    tap.data(b'{"data":[]}', 1)
    tap.finish("complete", 1)
    run.conclude()
    replay = AddonRun.of(given(replay=str(tmp_path / "a.mcp"), **options))
    assert replay.replayed is not None
    missed = replace(MODELS, url="https://llm.corp.example/v1/files")
    replay.addon._responder.respond(missed)  # type: ignore[union-attr]  # noqa: SLF001

    assert [miss.title for miss in replay.replayed.player.tally.misses] == [
        "model call GET /v1/files (provider openai)"
    ]


def test_a_provider_that_there_is_not_is_named(tmp_path: Path) -> None:
    """A typo would leave the gateway unknown in silence."""
    with pytest.raises(UsageError, match="mcprec_model=opnai=…: no such provider; choose"):
        AddonRun.of(given(record=str(tmp_path / "a.mcp"), model=("opnai=https://a/v1",)))


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_has_a_type_that_mitmproxy_knows(option: object) -> None:
    """Mitmproxy refuses others at start."""
    assert option in OPTIONS
