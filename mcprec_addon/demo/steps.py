"""The demo: records the bundled agent, then replays it without server, key and network.

Each step is a real command line, run as a user would run it, and is checked: the demo ends
with 0 only when everything it shows is so.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

from mcprec_addon.demo.stage import (
    Finished,
    Screen,
    StepError,
    clean_environment,
    run_command,
    server_process,
)
from mcprec_addon.errors import UsageError

CASSETTE = "triage.mcp"
EMAIL = "ana@acme.com"
PLACEHOLDER = "email-1@mcprec.example"

_API_KEY = "sk-proj-" + "Demo0Demo1Demo2Demo3Demo4"  # not one line: scanners would report it
_AGENT = ("python", "-m", "mcprec_addon.demo.agent")
_REPLAY = ("mcprec", "replay", CASSETTE, "--strict", "--")
_ISOLATED = ("mcprec", "replay", CASSETTE, "--strict", "--isolate", "--")
_NO_ISOLATION = "mcprec: --isolate: "  # how it begins to say that the system forbids it
_NEEDED = {"mcp": "mcp.server.mcpserver", "openai": "openai", "mitmproxy": "mitmproxy"}
_SHOWN_LINES = (  # what each line has in it
    ('"mcprec":',),
    ('"name":"get_issue"', PLACEHOLDER),
    ('"kind":"section"',),
    ('"kind":"model"', PLACEHOLDER),
)
_WIDTH = 100  # characters of a line that are shown
_BEFORE, _AFTER = 20, 8  # characters around a placeholder that are shown


def run_demo(*, keep: Path | None, color: bool, out: TextIO) -> int:
    """Play the demo.

    Args:
        keep: Folder for its files; None plays in a temporary one that is removed.
        color: Whether to colour it; the variable NO_COLOR overrules that.
        out: Where it is shown.

    Returns:
        0 where every step ended as expected, else 1.

    Raises:
        UsageError: What the demo needs is not installed, or `keep` has its cassette already.
    """
    _require_installed()
    screen = Screen(out=out, color=color and not os.environ.get("NO_COLOR"))
    try:
        with _folder(keep) as folder:
            _play(_Play(screen=screen, folder=folder))
    except StepError as problem:
        screen.output(f"demo: step {screen.step} did not end as it should: {problem}")
        return 1
    if keep is not None:
        screen.say(f"the files are in {keep}")
    return 0


def _require_installed() -> None:
    missing = [name for name, module in _NEEDED.items() if not _is_installed(module)]
    if missing:
        problem = f"the demo needs {', '.join(missing)}; pip install 'mcprec-addon[demo]'"
        raise UsageError(problem)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # what it is a part of is not there
        return False


@contextmanager
def _folder(keep: Path | None) -> Generator[Path]:
    if keep is None:
        with TemporaryDirectory(prefix="mcprec-demo-") as name:
            yield Path(name)
        return
    if (keep / CASSETTE).exists():
        problem = f"{keep / CASSETTE}: is there already; give another folder"
        raise UsageError(problem)
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"{keep}: {error.strerror}; give another folder"
        raise UsageError(problem) from error
    yield keep


@dataclass(frozen=True, slots=True, kw_only=True)
class _Play:
    screen: Screen
    folder: Path

    def run(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        *,
        status: int = 0,
    ) -> Finished:
        """Show and run a command, and hold it to its exit status."""
        self.screen.command(command)
        done = run_command(command, folder=self.folder, environment=environment)
        self.screen.output(done.stdout)
        self.screen.output(done.stderr)
        if done.status != status:
            problem = f"it exited {done.status} instead of {status}"
            raise StepError(problem)
        return done


def _play(play: _Play) -> None:
    tracker_url, answer = _record(play)
    _show_cassette(play)
    # As in CI: the agent is started as ever, but there is no key and nobody at the URL.
    environment = clean_environment(TRACKER_URL=tracker_url)
    _replay(play, environment, answer)
    _replay_without_network(play, environment, answer)
    _miss(play, environment)
    play.screen.heading("What is in it")
    play.run(["mcprec", "inspect", CASSETTE], environment)
    play.screen.look_at("servers, methods, models and what was redacted, by count")


def _record(play: _Play) -> tuple[str, str]:
    play.screen.heading("Record an agent: its MCP server and its model, in one cassette")
    with ExitStack() as servers:
        tracker, model = (
            servers.enter_context(server_process(module, environment=clean_environment()))
            for module in ("mcprec_addon.demo.server", "mcprec_addon.demo.model")
        )
        tracker_url = f"http://127.0.0.1:{tracker}/mcp"
        environment = clean_environment(
            TRACKER_URL=tracker_url,
            OPENAI_BASE_URL=f"http://127.0.0.1:{model}/v1",
            OPENAI_API_KEY=_API_KEY,
        )
        play.screen.say(
            f"an issue tracker listens on port {tracker}, a stub of the OpenAI API on port "
            f"{model} (OPENAI_BASE_URL)"
        )
        http = f"tracker={tracker_url}"
        command = ["mcprec", "record", "--out", CASSETTE, "--http", http, "--", *_AGENT]
        done = play.run(command, environment)
    if EMAIL not in done.stdout:
        problem = f"the agent's answer does not name {EMAIL}"
        raise StepError(problem)
    play.screen.look_at("the agent's answer is its own; the last line says what was recorded")
    play.screen.say("tracker and stub are stopped now")
    return tracker_url, done.stdout


def _show_cassette(play: _Play) -> None:
    play.screen.heading(f"The cassette is text: lines of {CASSETTE}, cut to fit")
    text = (play.folder / CASSETTE).read_text(encoding="utf-8")
    for secret in (EMAIL, _API_KEY):
        if secret in text:
            problem = f"{secret} stands in the cassette"
            raise StepError(problem)
    lines = text.splitlines()
    for marks in _SHOWN_LINES:
        found = next((line for line in lines if all(mark in line for mark in marks)), None)
        if found is None:
            problem = f"the cassette has no line with {' and '.join(marks)}"
            raise StepError(problem)
        play.screen.output(_excerpt(found))
    play.screen.look_at(f"{PLACEHOLDER} stands for a real address; the API key is nowhere")


def _excerpt(line: str) -> str:
    hidden = line.rfind(PLACEHOLDER)
    if hidden < _WIDTH:
        return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
    around = line[hidden - _BEFORE : hidden + len(PLACEHOLDER) + _AFTER]
    return f"{line[: _WIDTH - len(around) - 2]}…{around}…"


def _replay(play: _Play, environment: dict[str, str], answer: str) -> None:
    play.screen.heading("Replay it: no server, no model, no key")
    _expect_answer(play.run([*_REPLAY, *_AGENT], environment), answer)
    play.screen.look_at("the same answer, with the placeholder where the address was")


def _replay_without_network(play: _Play, environment: dict[str, str], answer: str) -> None:
    play.screen.heading("Once more, where there is no network but loopback")
    attempt = run_command([*_ISOLATED, "true"], folder=play.folder, environment=environment)
    if attempt.stderr.startswith(_NO_ISOLATION):
        play.screen.look_at(f"nothing; {attempt.stderr.removeprefix(_NO_ISOLATION).strip()}")
        return
    _expect_answer(play.run([*_ISOLATED, *_AGENT], environment), answer)
    play.screen.look_at("the same answer: a replay has nobody to ask")


def _expect_answer(done: Finished, recorded: str) -> None:
    expected = recorded.replace(EMAIL, PLACEHOLDER)
    if done.stdout != expected:
        problem = f"the agent answered {done.stdout!r} instead of {expected!r}"
        raise StepError(problem)


def _miss(play: _Play, environment: dict[str, str]) -> None:
    play.screen.heading("Change the agent: it now sorts its search")
    done = play.run([*_REPLAY, *_AGENT, "--sort", "updated"], environment, status=3)
    if "/args/query" not in done.stderr:
        problem = "the miss does not name /args/query"
        raise StepError(problem)
    play.screen.look_at("the miss names what the agent asks now, what was recorded, and where")
