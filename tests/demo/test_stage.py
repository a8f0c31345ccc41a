"""The demo's stage: what is shown, and how its processes begin and end."""

import io
import os
import sys
from pathlib import Path

import pytest

from mcprec_addon.demo import stage
from mcprec_addon.demo.stage import (
    Screen,
    StepError,
    clean_environment,
    run_command,
    server_process,
)

pytestmark = pytest.mark.door


def shown(*, color: bool) -> str:
    screen = Screen(out=io.StringIO(), color=color)
    screen.heading("Begin")
    screen.command(["mcprec", "inspect", "my file.mcp"])
    screen.output("no newline")
    screen.look_at("this")
    assert isinstance(screen.out, io.StringIO)
    return screen.out.getvalue()


def test_screen_is_plain_text_without_colours() -> None:
    """A log of the demo is read in an editor."""
    assert shown(color=False) == (
        "\n1. Begin\n$ mcprec inspect 'my file.mcp'\nno newline\nlook at: this\n"
    )


def test_colours_end_where_they_begin() -> None:
    """A terminal is left as it was found."""
    text = shown(color=True)

    assert "\033[1m1. Begin\033[0m\n" in text
    assert text.count("\033[0m") * 2 == text.count("\033[")


def test_environment_leads_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy or a key of the user's own has no place in a demo on loopback."""
    for name in ("OPENAI_API_KEY", "HTTPS_PROXY", "no_proxy", "MCPREC_MATCH", "TRACKER_URL"):
        monkeypatch.setenv(name, "users own")

    environment = clean_environment(TRACKER_URL="http://127.0.0.1:1/mcp")

    assert "users own" not in environment.values()
    assert environment["TRACKER_URL"] == "http://127.0.0.1:1/mcp"
    assert environment["PATH"] == os.environ["PATH"]


def test_command_runs_with_this_python(tmp_path: Path) -> None:
    """What is shown as `python` is the interpreter the demo itself runs in."""
    code = "import os, sys; print(sys.executable, os.getcwd()); sys.exit(4)"

    done = run_command(["python", "-c", code], folder=tmp_path, environment=dict(os.environ))

    assert done.status == 4
    assert done.stdout == f"{sys.executable} {tmp_path}\n"


def test_command_that_hangs_is_a_failed_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo ends within its minute whatever happens."""
    monkeypatch.setattr(stage, "_LONGEST_COMMAND_S", 0.2)
    command = ["python", "-c", "import time; time.sleep(60)"]

    with pytest.raises(StepError, match=r"did not end in 0\.2 s"):
        run_command(command, folder=tmp_path, environment=dict(os.environ))


def test_server_that_does_not_start_is_a_failed_step() -> None:
    """A missing module is named instead of waited for."""
    environment = dict(os.environ)

    with (
        pytest.raises(StepError, match=r"mcprec_addon\.errors does not start"),
        server_process("mcprec_addon.errors", environment=environment),
    ):
        pytest.fail("it started")
