"""The options of the mitmproxy script are turned into a recording or a replay."""

from pathlib import Path

import pytest

from mcprec_addon.addon_run import OPTIONS, AddonRun
from mcprec_addon.errors import UsageError
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


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_has_a_type_that_mitmproxy_knows(option: object) -> None:
    """Mitmproxy refuses others at start."""
    assert option in OPTIONS
