"""The cassette of one test, from its first fixture to its last finalizer.

Whatever the test asks meanwhile is answered by it, also from clients of fixtures that live longer.
A miss fails the phase it came in, at the line that asked, whatever became of its error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType
from typing import cast

from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.cassette_in_use import Cassette, Missed
from mcprec_addon.doors.cassette_options import CassetteOptions
from mcprec_addon.doors.in_process import begin, end
from mcprec_addon.errors import CassetteMiss, CassetteUnused, UsageError
from mcprec_addon.exchange import Cassette as Recorded
from mcprec_addon.plugin.agent_run import Agent, AgentRun, record_agent, replay_agent
from mcprec_addon.plugin.modes import Mode
from mcprec_addon.plugin.plan import shown_path
from mcprec_addon.plugin.trace import Place, places, traceback_of
from mcprec_addon.upkeep.merge import merge
from mcprec_addon.upkeep.merged_header import Source
from mcprec_addon.wire.titles import call_title


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a test wants of its cassette.

    Attributes:
        paths: The files; several are played as one.
        options: How they are used.
        command: The command that records this test anew.
        code: The test function.
        mode: Whether it is recorded, and how.
    """

    paths: Sequence[Path]
    options: CassetteOptions
    command: str
    code: CodeType | None
    mode: Mode = "none"


@dataclass(slots=True, kw_only=True)
class Use:
    """A cassette in use by a test.

    Attributes:
        cassette: It, answering in this process.
        wanted: What the test wants of it.
        runs: What agents came to that the test ran as programs.
    """

    cassette: Cassette
    wanted: Wanted
    runs: list[AgentRun] = field(default_factory=list[AgentRun])
    _told: list[Missed] = field(default_factory=list[Missed])
    _places: list[tuple[Missed, list[Place]]] = field(
        default_factory=list[tuple[Missed, list[Place]]]
    )

    @classmethod
    def begun(cls, wanted: Wanted, recorded: Recorded | None = None) -> "Use":
        """Read the cassettes, and have them answer from here on.

        Args:
            wanted: What the test wants.
            recorded: What is answered from, where it is not what the files hold.

        Raises:
            McprecError: They cannot be read, or not be replayed so.
        """
        name = Path(" + ".join(map(shown_path, wanted.paths)))
        cassette = Cassette(name, recorded or _joined(wanted.paths), **wanted.options)
        cassette.record_command = wanted.command
        use = cls(cassette=cassette, wanted=wanted)
        cassette.tell = use._missed
        begin(cassette)
        return use

    def end(self) -> None:
        """Have the cassette answer no more."""
        end(self.cassette)
        self._places.clear()  # each holds a frame, and with it all that was in it

    def _missed(self, miss: Missed) -> None:
        self._places.append((miss, places(self.wanted.code)))

    def check(self, error: BaseException | None) -> None:
        """Check, where a phase of the test has ended, that all it asked was answered.

        Args:
            error: What the phase ended with.

        Raises:
            CassetteMiss: Something was not. Its traceback ends at the line that asked first.
        """
        new = [
            miss for miss in self.cassette.misses if all(miss is not told for told in self._told)
        ]
        self._told += new
        if not new:
            return
        missed = CassetteMiss(str(self.cassette.path), [miss.text for miss in new])
        found = traceback_of(next(at for miss, at in self._places if miss is new[0]))
        if error is None:
            raise missed.with_traceback(found)
        if _tells(error, new):  # a client's words for the same
            raise missed.with_traceback(found or error.__traceback__) from None
        raise missed.with_traceback(found) from error

    def check_used(self) -> None:
        """Check, where a test has ended, that it used what it had to.

        Raises:
            CassetteUnused: It did not use all, and had to.
        """
        unused = self.unused()
        if self.wanted.options.get("all_used") and unused:
            lines = [f"  #{seq} {title}" for seq, title in unused.items()]
            raise CassetteUnused(str(self.cassette.path), lines)

    def run(self, agent: Agent, *, check: bool) -> AgentRun:
        """Run an agent as a program against the same cassette, from its beginning.

        Raises:
            CassetteMiss: It asked something that is not recorded.
            CassetteUnused: It used nothing of a half.
            McprecError: It cannot be run.
        """
        __tracebackhide__ = True
        if self.wanted.mode != "none":
            return self._record(agent)
        options = self.wanted.options.copy()
        options["all_used"] = False  # by the test as a whole, which is not over
        run = replay_agent(agent, self.wanted.paths[0], options)
        run = replace(
            run,
            misses=tuple(
                text.replace(run.record_command, self.wanted.command) for text in run.misses
            ),
        )
        self.runs.append(run)
        if check and run.misses:
            raise CassetteMiss(str(self.cassette.path), run.misses)
        if check and run.cause is not None:
            raise CassetteUnused(str(self.cassette.path), [f"  {run.cause}"])
        return run

    def _record(self, agent: Agent) -> AgentRun:
        __tracebackhide__ = True
        path = self.wanted.paths[0]
        if self.runs or (self.wanted.mode == "new" and path.exists()):
            message = (
                f"{shown_path(path)}: a program's cassette is recorded whole, by one run; give each"
                " run a test and a cassette of its own"
            )
            raise UsageError(message)
        run = record_agent(agent, path, self.wanted.options)
        self.runs.append(run)
        return run

    def unused(self) -> dict[int, str]:
        """Return what neither the test nor an agent it ran has used: seq and title."""
        own = {each.seq: call_title(each.call) for each in self.cassette.unused}
        for run in self.runs:
            own = {seq: title for seq, title in own.items() if seq in run.unused}
        return own

    def outcome(self) -> Mapping[str, object]:
        """Return what a session is told of this use, in values that JSON has."""
        shown = shown_path(self.wanted.paths[0])
        exchanges = self.cassette.used + len(self.cassette.unused)
        unused = self.unused()
        texts = (text for run in self.runs for text in run.misses)
        titles = (text.partition("\n")[0].removeprefix("MISS ") for text in texts)
        return {
            "paths": [str(path) for path in self.wanted.paths],
            "exchanges": exchanges,
            "unused": {str(seq): title for seq, title in unused.items()},
            "misses": [*(miss.title for miss in self.cassette.misses), *titles],
            "refused": dict(self.cassette.refused),
            "recorded": [f"{shown}: {run.recorded}" for run in self.runs if run.recorded],
        }


def _joined(paths: Sequence[Path]) -> Recorded:
    recorded = [load_cassette(path) for path in paths]
    if len(paths) == 1:
        return recorded[0]
    sources = [
        Source(name=str(path), cassette=cassette)
        for path, cassette in zip(paths, recorded, strict=True)
    ]
    return merge(sources).cassette


def _tells(error: BaseException, misses: Sequence[Missed]) -> bool:
    """Whether an error, one in its group, or one it came of says that there was a miss."""
    told = {miss.miss.message().partition(";")[0] for miss in misses}
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if any(each in str(one) for each in told):
            return True
        if isinstance(one, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", one).exceptions
        waiting += filter(None, (one.__cause__, one.__context__))
    return False
