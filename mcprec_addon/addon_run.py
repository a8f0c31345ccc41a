"""What the options of the mitmproxy script ask for, as a recording or a replay."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast, get_args

from mcprec_addon.doors.base_urls import model_upstreams
from mcprec_addon.doors.cassette_file import check_target, load_cassette
from mcprec_addon.doors.mitm import RecordAddon
from mcprec_addon.doors.mitm_replay import ReplayAddon
from mcprec_addon.doors.recording import Recording
from mcprec_addon.doors.rules_file import own_rules
from mcprec_addon.doors.settings_file import Settings
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Half
from mcprec_addon.match.normal import Places
from mcprec_addon.match.rules import rules_of
from mcprec_addon.options import secret_values, server_urls
from mcprec_addon.redact.own_rules import OwnRules, with_own
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.redact.sources import held
from mcprec_addon.replay.faults import check_faults, faults_of
from mcprec_addon.replay.play import ModelStrategy, PlayOptions, Strategy
from mcprec_addon.replay.staging import (
    check_rules,
    check_secrets,
    present_halves,
    several_answers_line,
    stage,
)
from mcprec_addon.replay_end import Replayed, conclude_replay
from mcprec_addon.run import known_environment
from mcprec_addon.wire.providers import PROVIDERS

type Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Option:
    """One `mcprec_…` option of mitmproxy."""

    name: str
    help: str
    default: str | bool | tuple[str, ...] = ""

    @property
    def type(self) -> type:
        """The option's type as mitmproxy wants it."""
        is_list = isinstance(self.default, tuple)
        return cast("type", Sequence[str]) if is_list else type(self.default)


OPTIONS = (
    Option("record", "Record into this cassette."),
    Option("replay", "Replay this cassette."),
    Option("http", "An MCP server as NAME=URL, to record under that name.", ()),
    Option("model", "A model API at an address of its own, as PROVIDER=URL.", ()),
    Option("force", "Overwrite the cassette.", default=False),
    Option("half", "Replay this half alone: mcp or model."),
    Option("match", "How MCP calls are matched: auto, exact, ordered or state.", "auto"),
    Option("model_match", "How model calls are matched; also sequence.", "auto"),
    Option("ignore", "A pointer to leave out of matching.", ()),
    Option("normalize", "What in texts does not count: date, uuid, a regular expression.", ()),
    Option("fault", "Break an answer: SEQ:cut@N, status=CODE, hang and others.", ()),
    Option("secret", "What stands for a placeholder: NAME=VALUE or NAME=env:VARIABLE.", ()),
    Option("redact", "A file of redaction rules of one's own."),
    Option("strict", "Repeat no tool call, guess nothing.", default=False),
    Option("all_used", "Fail when a recorded exchange was never used.", default=False),
)


@dataclass(slots=True, kw_only=True)
class AddonRun:
    """A recording or a replay inside the user's mitmproxy."""

    addon: RecordAddon | ReplayAddon
    recording: Recording | None = None
    replayed: Replayed | None = None
    all_used: bool = False
    strict: bool = False
    path: Path = field(default_factory=Path)
    _is_over: bool = False

    @classmethod
    def of(cls, given: Mapping[str, object], *, say: Say = lambda _: None) -> "AddonRun":
        """Return what the options ask for.

        Args:
            given: Value by option name, as mitmproxy parsed them.
            say: Takes lines for the person at the terminal.

        Raises:
            McprecError: Neither or both are asked for, or a value is none of those that there
                are, or the cassette cannot be read or written.
        """
        record, replay = str(given["record"]), str(given["replay"])
        if bool(record) == bool(replay):
            message = "give one of --set mcprec_record=FILE and --set mcprec_replay=FILE"
            raise UsageError(message)
        if record:
            return cls._recording(Path(record), given, say)
        return cls._replay(Path(replay), given, say)

    @classmethod
    def _recording(cls, path: Path, given: Mapping[str, object], say: Say) -> "AddonRun":
        check_target(path, force=bool(given["force"]))
        urls = server_urls(list(cast("Sequence[str]", given["http"])), option="--set mcprec_http")
        recording = Recording(
            path,
            urls=urls,
            models=_models(given),
            known=known_environment(),
            rules=with_own(default_rules(), _own_rules(given)),
            on_failure=lambda error: say(f"{error}; the traffic goes on, recording has ended"),
        )
        return cls(addon=RecordAddon(recording), recording=recording, path=path)

    @classmethod
    def _replay(cls, path: Path, given: Mapping[str, object], say: Say) -> "AddonRun":
        half = _choice(given, "half", ("", *get_args(Half)))
        strategy = cast("Strategy", _choice(given, "match", get_args(Strategy)))
        model_strategy = cast(
            "ModelStrategy", _choice(given, "model_match", get_args(ModelStrategy))
        )
        ignore = list(cast("Sequence[str]", given["ignore"]))
        normalize = list(cast("Sequence[str]", given["normalize"]))
        faults = list(cast("Sequence[str]", given["fault"]))
        secrets = list(cast("Sequence[str]", given["secret"]))
        cassette = load_cassette(path)
        asked = cast("frozenset[Half]", frozenset({half} if half else ()))
        halves = present_halves(cassette, asked, path=path)
        options = PlayOptions(
            strategy=strategy,
            model_strategy=model_strategy,
            strict=bool(given["strict"]),
            rules=(
                *rules_of("ignore", ignore, origin="--set mcprec_ignore"),
                *rules_of("normalize", normalize, origin="--set mcprec_normalize"),
            ),
            places=Places(cwd=str(Path.cwd()), home=os.environ.get("HOME", "")),
            faults=faults_of(faults, option="--set mcprec_fault"),
            own_rules=_own_rules(given),
            secrets=secret_values(secrets, os.environ, option="--set mcprec_secret"),
        )
        check_rules(options.own_rules, cassette, path=path)
        check_secrets(options.secrets, cassette, option="--set mcprec_secret")
        check_faults(options.faults, cassette, halves=halves, option="--set mcprec_fault")
        for warning in cassette.warnings:
            say(warning)
        player, responder = stage(cassette, options, halves=halves, known=held(os.environ))
        responder.know_models(_models(given))
        for exchange in player.several_answers():
            say(several_answers_line(exchange))
        addon = ReplayAddon(responder)
        replayed = Replayed(
            cassette=cassette,
            player=player,
            turned=responder.turned,
            halves=halves,
            allowed=(),
            child=None,
            failures=addon.failures,
            distrusted=addon.distrusted,
        )
        return cls(
            addon=addon,
            replayed=replayed,
            all_used=bool(given["all_used"]),
            strict=options.strict,
            path=path,
        )

    def conclude(self) -> tuple[list[str], int]:
        """Return the lines to print and the exit status; a second call has nothing to say."""
        if self._is_over:
            return [], 0
        self._is_over = True
        if self.recording is not None:
            recorded = self.recording.close()
            problems = list(recorded.problems())
            last = [f"mcprec: exit 4: {'; '.join(problems)}"] if problems else []
            notices = [f"mcprec: {line}" for line in recorded.notices()]
            return [*notices, recorded.line(), *last], 4 if problems else 0
        if self.replayed is None:
            return [], 0
        report = conclude_replay(
            self.replayed, path=self.path, strict=self.strict, all_used=self.all_used
        )
        return [report.text()], report.exit.status


def _models(given: Mapping[str, object]) -> dict[str, str]:
    """Return the base URLs of model APIs: those given, and those in our environment."""
    told = server_urls(list(cast("Sequence[str]", given["model"])), option="--set mcprec_model")
    for name in told:
        if name not in PROVIDERS:
            known = ", ".join(PROVIDERS)
            message = f"--set mcprec_model={name}=…: no such provider; choose one of {known}"
            raise UsageError(message)
    return model_upstreams(os.environ) | told


def _own_rules(given: Mapping[str, object]) -> OwnRules:
    file = str(given["redact"])
    return own_rules(Settings(), Path(file) if file else None)


def _choice(given: Mapping[str, object], name: str, known: Sequence[str]) -> str:
    value = str(given[name])
    if value not in known:
        choices = ", ".join(filter(None, known))
        message = f"--set mcprec_{name}={value}: no such value; choose one of {choices}"
        raise UsageError(message)
    return value
