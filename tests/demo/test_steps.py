"""The demo from end to end, and what it says when it cannot be."""

import io
from pathlib import Path

import pytest

from mcprec_addon.demo import steps
from mcprec_addon.demo.stage import Finished, StepError
from mcprec_addon.demo.steps import CASSETTE, EMAIL, PLACEHOLDER, run_demo
from mcprec_addon.errors import UsageError

pytestmark = pytest.mark.door


def test_demo_shows_what_it_promises(tmp_path: Path) -> None:
    """It is the first thing a newcomer runs, and every line of it is checked here."""
    out = io.StringIO()

    status = run_demo(keep=tmp_path / "kept", color=False, out=out)

    text = out.getvalue()
    assert status == 0, text
    assert "$ mcprec record --out triage.mcp --http tracker=http://127.0.0.1:" in text
    assert "$ mcprec replay triage.mcp --strict -- python -m mcprec_addon.demo.agent\n" in text
    assert f"ask {EMAIL}.\n" in text
    assert f"ask {PLACEHOLDER}.\n" in text
    assert "differs: /args/query" in text
    assert "mcprec: exit 3: 1 miss" in text
    assert text.count("look at: ") == 6
    assert EMAIL not in (tmp_path / "kept" / CASSETTE).read_text(encoding="utf-8")


def test_excerpts_fit_and_show_the_placeholder() -> None:
    """A line of a cassette is long; what is worth seeing in it is not."""
    line = '{"seq":6,' + '"x":"y",' * 50 + f'"email":"{PLACEHOLDER}"' + ',"z":1' * 20

    excerpt = steps._excerpt(line)  # noqa: SLF001 (what it shows is the demo's point)

    assert len(excerpt) == steps._WIDTH  # noqa: SLF001
    assert excerpt.startswith('{"seq":6,')
    assert PLACEHOLDER in excerpt


def test_failed_step_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads the last line knows where to look."""
    out = io.StringIO()

    def ends_badly(*_arguments: object, **_options: object) -> Finished:
        return Finished(status=4, stdout="", stderr="mcprec: exit 4: 0 exchanges\n")

    monkeypatch.setattr(steps, "run_command", ends_badly)

    status = run_demo(keep=tmp_path, color=False, out=out)

    assert status == 1
    assert out.getvalue().splitlines()[-1] == (
        "demo: step 1. Record an agent: its MCP server and its model, in one cassette did not "
        "end as it should: it exited 4 instead of 0"
    )


def test_other_answer_is_a_failed_step() -> None:
    """A replay that answers something else must not look like one that works."""
    done = Finished(status=0, stdout="Nothing.\n", stderr="")

    with pytest.raises(StepError, match="instead of"):
        steps._expect_answer(done, "Something.\n")  # noqa: SLF001 (what the steps rest on)


@pytest.mark.parametrize("missing", ["mcp", "openai", "mitmproxy"])
def test_missing_extra_is_one_line(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain installation has none of the SDKs."""
    monkeypatch.setitem(steps._NEEDED, missing, f"no_{missing}_here.at_all")  # noqa: SLF001

    with pytest.raises(UsageError) as raised:
        run_demo(keep=None, color=False, out=io.StringIO())

    assert str(raised.value) == f"the demo needs {missing}; pip install 'mcprec-addon[demo]'"


def test_cassette_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    """A kept demo may hold somebody's edits."""
    (tmp_path / CASSETTE).write_text("mine", encoding="utf-8")

    with pytest.raises(UsageError, match="is there already; give another folder"):
        run_demo(keep=tmp_path, color=False, out=io.StringIO())

    assert (tmp_path / CASSETTE).read_text(encoding="utf-8") == "mine"


def test_folder_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    """A file stands where the folder should."""
    taken = tmp_path / "taken"
    taken.touch()

    with pytest.raises(UsageError, match="give another folder"):
        run_demo(keep=taken / "demo", color=False, out=io.StringIO())
