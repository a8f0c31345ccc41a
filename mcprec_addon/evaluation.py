"""An eval: runs of an agent with a live model, against the MCP servers of a cassette.

Each run has doors, a folder and a player of its own. What leads the agent to its model is left
as it is.
"""

import asyncio
import hashlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcprec_addon import __version__
from mcprec_addon.doors.child import Child, eval_environment, stops_handled
from mcprec_addon.doors.group_child import GroupChild
from mcprec_addon.doors.played_lines import replaying_lines
from mcprec_addon.doors.report_file import read_lines
from mcprec_addon.doors.run_folder import run_folder
from mcprec_addon.doors.run_socket import RunSocket
from mcprec_addon.errors import CassetteFileError, McprecError, UsageError
from mcprec_addon.eval_doors import EvalDoors, check_way, recorded_way
from mcprec_addon.eval_recording import begin_recording, end_recording, recording_problems
from mcprec_addon.exchange import Cassette, Half, Json
from mcprec_addon.played_servers import PlayedServers
from mcprec_addon.redact.sources import held, source_variables
from mcprec_addon.replay.eval_report import EvalReport, joined
from mcprec_addon.replay.report import Exit, RunReport
from mcprec_addon.replay.score_lines import RunFacts, run_line, score_of
from mcprec_addon.replay.scores import RunScore, Source, tool_scores
from mcprec_addon.replay.staging import lines_of, stage
from mcprec_addon.replay_end import Replayed, conclude_replay
from mcprec_addon.replay_run import ReplayRun, prepare, teller
from mcprec_addon.run import Ended

if TYPE_CHECKING:
    from mcprec_addon.doors.recording import Recording

_HALVES: frozenset[Half] = frozenset({"mcp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRun:
    """What to evaluate.

    Attributes:
        replay: The cassette, the agent and how its MCP calls are answered.
        runs: How often the agent is run.
        jobs: How many of the runs go on at once.
        required: How many have to pass; None: all.
        timeout_s: How long a run may take; None: for ever.
        record_model: A cassette to write what the model says into, or None.
        on_end: Told of each run as it ends.
    """

    replay: ReplayRun
    runs: int = 1
    jobs: int = 1
    required: int | None = None
    timeout_s: float | None = None
    record_model: Path | None = None
    on_end: Callable[[dict[str, Json]], None] = lambda _: None


def run_eval(run: EvalRun) -> EvalReport:
    """Run `evaluate` to its end."""
    return asyncio.run(evaluate(run))


async def evaluate(run: EvalRun) -> EvalReport:
    """Run the agent as often as asked for, and say what came of it.

    Raises:
        McprecError: The cassette cannot be read, has no MCP half, or the command cannot be
            started; or the options do not go together.
    """
    _check(run)
    asked = replace(
        run.replay,
        halves=_HALVES,
        options=replace(run.replay.options, halves=_HALVES),
    )
    _, played = prepare(asked)
    way = run.replay.via or recorded_way(played.recorded)
    check_way(way, jobs=run.jobs, records=run.record_model is not None)
    played, asked = replace(played, via=way), replace(asked, via=way)
    crew = _Crew(replace(run, replay=asked), played, _source(asked, played.cassette))
    await crew.work()
    return EvalReport(
        source=crew.source,
        runs=sorted(crew.scores, key=lambda score: score.number),
        asked=run.runs,
        required=run.required,
        stopped_by=crew.stopped_by,
        given=crew.given,
    )


def _check(run: EvalRun) -> None:
    """Check that the options go together.

    Raises:
        UsageError: Two of them do not.
    """
    problem = None
    if run.required is not None and run.required > run.runs:
        problem = f"--require {run.required}: there are only {run.runs} runs; raise --runs"
    if run.runs > 1 and not run.replay.command:
        problem = f"--runs {run.runs}: there is no command to run; give it after --"
    if run.runs > 1 and run.record_model is not None:
        problem = f"--record-model: one cassette holds one run; drop --runs {run.runs}"
    if run.jobs > 1 and run.replay.in_place:
        problem = "--in-place: one config cannot be swapped for several runs at once; drop --jobs"
    if problem is not None:
        raise UsageError(problem)


def _source(run: ReplayRun, cassette: Cassette) -> Source:
    return Source(
        path=str(run.path),
        digest=content_digest(run.path),
        version=__version__,
        on_miss=run.options.on_miss,
        strategy=run.options.strategy,
        recorded_models=tuple(
            dict.fromkeys(each.name for each in cassette.header.model if each.name)
        ),
    )


def content_digest(path: Path) -> str:
    """Return the SHA-256 of a cassette's content, the same whatever its line ends are.

    Raises:
        CassetteFileError: It cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            for line in file:
                digest.update(line.removesuffix(b"\n").removesuffix(b"\r") + b"\n")
    except OSError as error:
        raise CassetteFileError(str(path), f"cannot be read, {error.strerror}") from error
    return f"sha256:{digest.hexdigest()}"


@dataclass(slots=True, kw_only=True)
class _Life:
    """One run as it goes on."""

    number: int
    child: GroupChild | None = None
    stopped_by: int | None = None

    def stop(self, number: int) -> None:
        """Pass a stop on, also to a child that is not made yet."""
        self.stopped_by = number
        if self.child is not None:
            self.child.stop(number)

    def made(
        self,
        run: EvalRun,
        command: Sequence[str],
        environment: Mapping[str, str],
    ) -> Child | GroupChild:
        """Make the child: in the foreground where it is the only one, and may take its time."""
        if run.runs == 1 and run.timeout_s is None:
            return Child(command, environment)
        name = f"run {self.number}" if run.runs > 1 else None
        self.child = GroupChild(command, environment, name=name, timeout_s=run.timeout_s)
        if self.stopped_by is not None:
            self.child.stop(self.stopped_by)
        return self.child


class _Crew:
    """The runs of one eval.

    Attributes:
        source: Where their numbers come from.
        scores: Those that ended.
        stopped_by: The signal that ended the eval early, or None.
        given: How the eval ends whatever its runs came to, or None.
    """

    def __init__(self, run: EvalRun, played: PlayedServers, source: Source) -> None:
        self._run = run
        self._played = played
        self._living: list[_Life] = []
        self.source = source
        self.scores: list[RunScore] = []
        self.stopped_by: int | None = None
        self.given: Exit | None = None

    async def work(self) -> None:
        """Run all of them, so many at once as there are jobs.

        Raises:
            McprecError: One of them cannot be started.
        """
        numbers = iter(range(1, self._run.runs + 1))
        is_alone = self._run.runs == 1 and self._run.timeout_s is None
        # A child in the foreground gets the terminal's signals, and handles them itself.
        handled = nullcontext() if is_alone else stops_handled(self._stop)
        with handled:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(self._run.jobs, self._run.runs)):
                        group.create_task(self._one_by_one(numbers))
            except* McprecError as failed:
                raise failed.exceptions[0] from None

    def _stop(self, number: signal.Signals) -> None:
        self.stopped_by = self.stopped_by or int(number)
        for each in self._living:
            each.stop(number)

    async def _one_by_one(self, numbers: Iterator[int]) -> None:
        for number in numbers:
            if self.stopped_by is not None:
                return
            life = _Life(number=number)
            self._living.append(life)
            try:
                await self._one(life)
            finally:
                self._living.remove(life)

    async def _one(self, life: _Life) -> None:
        began = time.monotonic()
        replayed, ended = await self._played_once(life)
        if ended.was_stopped and self._run.replay.command:
            self.stopped_by = self.stopped_by or signal.SIGINT
            return
        run = self._run
        report = self._report(replayed, run.replay)
        facts = RunFacts(
            number=life.number,
            of=run.runs,
            ms=int((time.monotonic() - began) * 1000),
            timed_out=life.child is not None and life.child.timed_out,
            is_broken=bool(replayed.failures),
        )
        tools = tool_scores(replayed.player.tally, report, replayed.cassette)
        line = run_line(self.source, facts, report, tools)
        self.scores.append(score_of(line))
        run.on_end(line)

    def _report(self, replayed: Replayed, run: ReplayRun) -> RunReport:
        report = conclude_replay(replayed, path=run.path, command=run.command)
        fails = run.options.on_miss == "fail"
        demands = replace(report.demands, no_misses=fails)
        # A run that only missed has reached its servers, so that nothing used proves nothing.
        only_missed = bool(report.misses) and not report.used.get("mcp")
        halves = frozenset[Half]() if only_missed else report.halves
        return replace(report, demands=demands, halves=halves)

    async def _played_once(self, life: _Life) -> tuple[Replayed, Ended]:
        """Open the doors of one run, run the agent and close them."""
        run, played = self._run.replay, self._played
        used = {
            *source_variables(played.cassette.header.redaction),
            *played.servers.credentials(),
        }
        environment = eval_environment(os.environ, used=used, keep=run.keep)
        tell = teller(run)
        secrets = played.servers.secrets(os.environ)
        player, responder = stage(
            played.cassette,
            run.options,
            halves=_HALVES,
            known={**held(environment), **secrets},
            aliases={**held(os.environ), **secrets},
            on_miss=tell,
        )
        responder.know(played.addresses(os.environ))
        recording = self._recording(used, environment)
        if recording is not None:
            responder.on_answer = recording.replayed
        with run_folder() as folder:
            made = lines_of(player, responder, halves=_HALVES, on_miss=tell)
            socket = RunSocket(folder, replaying_lines(made, pace=run.pace))
            doors = EvalDoors(
                run=run,
                played=played,
                responder=responder,
                socket=socket,
                folder=folder,
                child=partial(life.made, self._run),
                recording=recording,
            )
            try:
                ended = await doors.run_child(environment)
            finally:
                self._recorded(recording)
        replayed = Replayed(
            cassette=played.cassette,
            player=player,
            turned=responder.turned,
            halves=_HALVES,
            allowed=(),
            child=ended.status,
            failures=[*doors.server.failures, *socket.failures],
            distrusted=doors.distrusted,
            declared=played.options(),
        )
        return replayed, ended

    def _recording(self, used: Iterable[str], environment: Mapping[str, str]) -> "Recording | None":
        run, out = self._run.replay, self._run.record_model
        if out is None:
            return None
        dummies = {name: environment[name] for name in used if name in environment}
        own = run.options.own_rules
        return begin_recording(out, self._played, own, dummies=dummies, say=run.say)

    def _recorded(self, recording: "Recording | None") -> None:
        if recording is None:
            return
        recorded = end_recording(recording, self._played, self._run.replay.path)
        self.source = replace(self.source, models=recording.models())
        self._run.replay.say(recorded.line())
        problems = recording_problems(recorded)
        if problems:
            self.given = Exit(status=4, cause="; ".join(problems))


def join_reports(paths: Sequence[Path], *, required: int | None) -> EvalReport:
    """Return the runs of several reports of lines as one.

    Raises:
        McprecError: One cannot be read, they hold no run, or are of different evals.
    """
    read = {str(path): read_lines(path) for path in paths}
    if not any(read.values()):
        message = f"{', '.join(read)}: no run has ended; there is nothing to report"
        raise UsageError(message)
    try:
        return joined(read, required=required)
    except ValueError as error:
        raise UsageError(str(error)) from error
