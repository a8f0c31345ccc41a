"""What the runs of an eval came to together, as text, JSON and JUnit, and the exit it leads to.

Statuses, the first that holds: 4 as given by the caller; 3 for misses where they fail a run,
for a run in which mcprec failed, and where no run used anything; with a required number of
passes 0 or 1 by that; for a stop 128 and its signal; else the first that is not 0.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from signal import Signals
from xml.etree import ElementTree as ET

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import one_line
from mcprec_addon.replay.report import Exit, add_case, count_text, idle_line, junit_text
from mcprec_addon.replay.scores import RunScore, Source, ToolScore, wilson

_LISTED = 10  # of a list; the rest is counted
_DIGITS = 12  # of a digest, enough to tell two cassettes apart by eye
_COLUMNS = ("hits", "missed", "corrected", "repeated", "unused")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalReport:
    """The runs of an eval.

    Attributes:
        source: Where they come from.
        runs: Those that ended, in the order of their numbers.
        asked: How many were asked for.
        required: How many have to pass, or None.
        stopped_by: The signal that ended the eval early, or None.
        given: An exit that the caller already knows of.
    """

    source: Source
    runs: Sequence[RunScore]
    asked: int
    required: int | None = None
    stopped_by: int | None = None
    given: Exit | None = None

    @property
    def passed(self) -> int:
        """How many runs passed."""
        return sum(run.passed for run in self.runs)

    @property
    def exit(self) -> Exit:
        """How the command ends."""
        if self.given is not None:
            return self.given
        failed = self._failure()
        if failed is not None:
            return Exit(status=3, cause=failed)
        if self.required is not None:
            enough = self.passed >= self.required
            cause = f"{self._passes()}, {self.required} had to"
            return Exit(status=0 if enough else 1, cause=f"{cause}{self._unended()}")
        if self.stopped_by is not None:
            cause = f"stopped by {Signals(self.stopped_by).name}: {self._passes()}"
            return Exit(status=128 + self.stopped_by, cause=f"{cause}{self._unended()}")
        first = next((run for run in self.runs if not run.passed), None)
        if first is None:
            return Exit(status=0, cause=self._passes(), is_own=False)
        cause = f"{self._passes()}; run {first.number}: {first.reason}"
        return Exit(status=first.status, cause=cause, is_own=first.is_own)

    def _failure(self) -> str | None:
        broken = next((run for run in self.runs if run.is_broken), None)
        if broken is not None:
            return f"run {broken.number}: {broken.reason}"
        missing = [run for run in self.runs if run.misses]
        if self.source.on_miss == "fail" and missing:
            misses = count_text(sum(len(run.misses) for run in missing), "miss")
            return f"{misses} in {count_text(len(missing), 'run')}"
        if self.runs and not any(run.came_in for run in self.runs):
            return "nothing of the mcp half was asked for; does the agent reach its servers?"
        return None

    def _passes(self) -> str:
        return f"{self.passed} of {count_text(len(self.runs), 'run')} passed"

    def _unended(self) -> str:
        left = self.asked - len(self.runs)
        return f"; {left} of {count_text(self.asked, 'run')} did not end" if left else ""

    def text(self) -> str:
        """Return the report for a person; the last line names the cause of the exit."""
        lines = [
            *_source_lines(self.source),
            *(_run_line(run) for run in self.runs),
            *_tool_lines(self.tools()),
            *self._missed_lines(),
            *self._unused_lines(),
            *self._refused_lines(),
            *self._warning_lines(),
            *([self._rate_line()] if len(self.runs) > 1 else []),
            self.exit.line,
        ]
        return "\n".join(lines)

    def tools(self) -> list[ToolScore]:
        """Return how the calls of each tool went in all runs together."""
        found: dict[tuple[str, str], ToolScore] = {}
        for run in self.runs:
            for each in run.tools:
                known = found.get((each.server, each.name))
                found[each.server, each.name] = each if known is None else known.plus(each)
        return list(found.values())

    def missed(self) -> list[tuple[str, str, str, int, int]]:
        """Return title, arguments, reason, times and runs of each missed call, frequent first."""
        times: Counter[tuple[str, str]] = Counter()
        runs: Counter[tuple[str, str]] = Counter()
        reasons: dict[tuple[str, str], str] = {}
        for run in self.runs:
            asked = [(miss.title, miss.asked) for miss in run.misses]
            times.update(asked)
            runs.update(set(asked))
            for miss in run.misses:
                reasons.setdefault((miss.title, miss.asked), miss.message)
        ranked = sorted(times, key=lambda each: (-runs[each], -times[each]))
        return [(*each, reasons[each], times[each], runs[each]) for each in ranked]

    def unused(self) -> dict[int, str]:
        """Return the title of each recorded exchange that no run used, by seq."""
        if not self.runs:
            return {}
        first, *others = (run.unused for run in self.runs)
        return {seq: title for seq, title in first.items() if all(seq in each for each in others)}

    def idle_rules(self) -> list[str]:
        """Return the rules for matching that nothing in any run was for."""
        if not self.runs:
            return []
        first, *others = (run.idle_rules for run in self.runs)
        return [rule for rule in first if all(rule in each for each in others)]

    def as_json(self) -> dict[str, Json]:
        """Return the report for a program."""
        ended, (low, high) = self.exit, wilson(self.passed, len(self.runs))
        repeated: Counter[int] = Counter()
        for run in self.runs:
            for each in _objects(run.whole.get("repeated")):
                repeated[int(str(each.get("seq")))] += int(str(each.get("times")))
        return {
            "exit": {"status": ended.status, "cause": ended.cause},
            "mcprec": self.source.version,
            "cassette": {
                "path": self.source.path,
                "digest": self.source.digest,
                "models": list[Json](self.source.recorded_models),
            },
            "models": list[Json](self.source.models),
            "on_miss": self.source.on_miss,
            "match": self.source.strategy,
            "asked": self.asked,
            "ended": len(self.runs),
            "passed": self.passed,
            "required": self.required,
            "rate": self.passed / len(self.runs) if self.runs else None,
            "interval": [low, high],
            "tools": [
                {"server": each.server, "name": each.name, **_counts(each)} for each in self.tools()
            ],
            "misses": [
                {"title": title, "asked": asked, "message": reason, "times": times, "runs": runs}
                for title, asked, reason, times, runs in self.missed()
            ],
            "unused": [{"seq": seq, "title": title} for seq, title in self.unused().items()],
            "repeated": [{"seq": seq, "times": times} for seq, times in sorted(repeated.items())],
            "refused": dict[str, Json](self._refused()),
            "idle_rules": list[Json](self.idle_rules()),
            "runs": [run.whole for run in self.runs],
        }

    def junit(self) -> str:
        """Return the report as JUnit XML: a test case for each run, and one for the whole."""
        suite = ET.Element("testsuite", name="mcprec eval")
        ended = self.exit
        for run in self.runs:
            add_case(suite, f"run {run.number}", None if run.passed else run.reason, _run_line(run))
        add_case(suite, "eval", ended.cause if ended.status else None, self.text())
        return junit_text(suite)

    def _rate_line(self) -> str:
        low, high = (round(100 * each) for each in wilson(self.passed, len(self.runs)))
        rate = round(100 * self.passed / len(self.runs))
        return f"pass rate {rate} %, 95 % interval {low} to {high} %"

    def _missed_lines(self) -> Iterator[str]:
        ranked = self.missed()
        if ranked:
            yield "missed, what to record next first:"
        for title, asked, reason, times, runs in ranked[:_LISTED]:
            yield f"  {title} {asked}: {count_text(times, 'time')} in {count_text(runs, 'run')}"
            _, _, why = reason.partition("; ")
            if why:
                yield f"    {why}"
        if len(ranked) > _LISTED:
            yield f"  and {len(ranked) - _LISTED} more; --report FILE.json lists them all"

    def _unused_lines(self) -> Iterator[str]:
        titles = [f"  #{seq} {title}" for seq, title in self.unused().items()]
        if titles:
            runs = " in any run" if len(self.runs) > 1 else ""
            yield f"never used{runs}: {count_text(len(titles), 'recorded exchange')}"
        yield from titles[:_LISTED]
        if len(titles) > _LISTED:
            yield f"  and {len(titles) - _LISTED} more"

    def _refused(self) -> Mapping[str, int]:
        total: Counter[str] = Counter()
        for run in self.runs:
            total.update(run.refused)
        return total

    def _refused_lines(self) -> Iterator[str]:
        for host, times in self._refused().items():
            yield f"refused: {one_line(host)}, {count_text(times, 'time')}"

    def _warning_lines(self) -> Iterator[str]:
        runs = Counter(warning for run in self.runs for warning in dict.fromkeys(run.warnings))
        for warning, number in runs.items():
            some = f" (in {number} of {len(self.runs)} runs)" if len(self.runs) > 1 else ""
            yield f"warning: {one_line(warning)}{some}"
        where = "in any run" if len(self.runs) > 1 else "in this run"
        yield from (idle_line(rule, where) for rule in self.idle_rules())


def joined(reports: Mapping[str, Sequence[RunScore]], *, required: int | None) -> EvalReport:
    """Return the runs of several files as one report, numbered anew where there are several.

    Args:
        reports: The runs of each file, by its name; at least one has one.
        required: How many have to pass, or None.

    Raises:
        ValueError: They are of different cassettes, or were evaluated in different ways; the
            message names the files.
    """
    named = [(name, run) for name, runs in reports.items() for run in runs]
    first_name, first = named[0]
    for name, run in named:
        for what, one, other in _ways(first.source, run.source):
            if one != other:
                message = (
                    f"{name}: {what} {_short(other)}, but {first_name} has {_short(one)}; "
                    "join only runs of one eval"
                )
                raise ValueError(message)
    models = dict.fromkeys(model for _, run in named for model in run.source.models)
    asked = sum(max((run.of for run in runs), default=0) for runs in reports.values())
    return EvalReport(
        source=Source(
            path=first.source.path,
            digest=first.source.digest,
            version=", ".join(dict.fromkeys(run.source.version for _, run in named)),
            on_miss=first.source.on_miss,
            strategy=first.source.strategy,
            recorded_models=first.source.recorded_models,
            models=tuple(models),
        ),
        runs=_numbered([run for _, run in sorted(named, key=_place)], is_anew=len(reports) > 1),
        asked=asked,
        required=required,
    )


def _place(named: tuple[str, RunScore]) -> tuple[str, int]:
    return named[0], named[1].number


def _numbered(runs: Sequence[RunScore], *, is_anew: bool) -> list[RunScore]:
    if not is_anew:
        return list(runs)
    return [replace(run, number=number) for number, run in enumerate(runs, 1)]


def _ways(one: Source, other: Source) -> Iterator[tuple[str, str, str]]:
    yield "the cassette", one.digest, other.digest
    yield "--on-miss", one.on_miss, other.on_miss
    yield "--match", one.strategy, other.strategy


def _short(text: str) -> str:
    kind, colon, digits = text.partition(":")
    return f"{kind}{colon}{digits[:_DIGITS]}"


def _source_lines(source: Source) -> Iterator[str]:
    recorded = f", recorded with {', '.join(source.recorded_models)}"
    live = f", live: {', '.join(source.models)}"
    yield one_line(
        f"eval of {source.path} ({_short(source.digest)}), mcprec {source.version}"
        + (recorded if source.recorded_models else "")
        + (live if source.models else "")
    )


def _run_line(run: RunScore) -> str:
    hits = sum(each.hits for each in run.tools)
    missed = sum(each.missed for each in run.tools)
    corrected = sum(each.corrected for each in run.tools)
    went = f"{count_text(hits, 'hit')}, {missed} missed"
    went += f" ({corrected} corrected)" if missed else ""
    return f"run {run.number}: {'passed' if run.passed else f'failed, {run.reason}'}; {went}"


def _tool_lines(tools: Sequence[ToolScore]) -> Iterator[str]:
    if not tools:
        return
    rows: list[tuple[str, ...]] = [("tool", *_COLUMNS)]
    rows += [
        (one_line(f"{each.name} ({each.server})"), *map(str, _counts(each).values()))
        for each in tools
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for name, *counts in rows:
        cells = [f"{text:>{width}}" for text, width in zip(counts, widths[1:], strict=True)]
        yield f"{name:<{widths[0]}}  {'  '.join(cells)}"


def _counts(each: ToolScore) -> dict[str, int]:
    return {
        "hits": each.hits,
        "missed": each.missed,
        "corrected": each.corrected,
        "repeated": each.repeated,
        "unused": each.unused,
    }


def _objects(value: Json) -> list[dict[str, Json]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
