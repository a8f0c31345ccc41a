"""What a replay found: misses first, then what was left over, and the exit it leads to.

Statuses, the first that holds: 2 and 4 as given by the caller; 3 for misses, for a replayed
half of which nothing was used, and with `all_used` for anything unused; 1 as given by the
caller; else the command's own. The last line always names the cause.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from signal import Signals
from xml.etree import ElementTree as ET

from mcprec_addon.exchange import Exchange, Half, Json
from mcprec_addon.jsonvalue import one_line
from mcprec_addon.replay.folding import folded, in_order
from mcprec_addon.replay.miss import RECORD_COMMAND, Miss
from mcprec_addon.wire.titles import call_title

_IN_FULL = 5  # misses, or groups of alike ones, that are printed in full
_LISTED = 10  # names in a list; the rest is counted
_SIGNALS = {int(each): each.name for each in Signals}
_HALVES: tuple[Half, ...] = ("mcp", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a command ends.

    Attributes:
        status: Its exit status.
        cause: Why, in a few words.
        is_own: The status was decided here; else it is the command's own.
    """

    status: int
    cause: str
    is_own: bool = True

    @property
    def line(self) -> str:
        """The last line a command prints."""
        if not self.is_own or not self.status:
            return f"mcprec: {self.cause}"
        return f"mcprec: exit {self.status}: {self.cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What a run has to fulfil to be fine.

    Attributes:
        all_used: Every recorded exchange must have been used.
        strict: Refused traffic counts as a miss.
        no_misses: Misses fail the run (an eval may go on after them).
    """

    all_used: bool = False
    strict: bool = False
    no_misses: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run found.

    Attributes:
        misses: In the order they happened.
        unused: Recorded exchanges never handed out; the caller leaves out what does not count
            (`left` and `stopped` ones, GET streams).
        used: How many recorded exchanges were handed out, by half.
        halves: The halves that were replayed and that the cassette holds.
        repeated: Seq of an answer that was handed out again, to how often.
        guessed: Seqs of answers among several fitting ones, taken in recorded order.
        titles: Seq to title, for `repeated` and `guessed`.
        refused: Hosts that belong to no replayed half, with how often they were asked.
        absorbed: Hosts of swallowed telemetry, likewise.
        allowed: Hosts let through on request, likewise; 0 where that was not counted.
        faults: What became of each answer that was to be broken, a sentence each.
        idle_rules: Rules for matching that nothing was for, each with where it was written.
        warnings: Anything else to be said, a sentence each.
        child: Exit status of the command; None where there was none.
        demands: What makes the run fail.
        given: An exit that the caller already knows of: usage, incomplete recording, a check.
        record_command: The command that would record the cassette anew.
    """

    misses: Sequence[Miss] = ()
    unused: Sequence[Exchange] = ()
    used: Mapping[Half, int] = field(default_factory=dict[Half, int])
    halves: frozenset[Half] = frozenset()
    repeated: Mapping[int, int] = field(default_factory=dict[int, int])
    guessed: Sequence[int] = ()
    titles: Mapping[int, str] = field(default_factory=dict[int, str])
    refused: Mapping[str, int] = field(default_factory=dict[str, int])
    absorbed: Mapping[str, int] = field(default_factory=dict[str, int])
    allowed: Mapping[str, int] = field(default_factory=dict[str, int])
    faults: Sequence[str] = ()
    idle_rules: Sequence[str] = ()
    warnings: Sequence[str] = ()
    child: int | None = None
    demands: Demands = field(default_factory=Demands)
    given: Exit | None = None
    record_command: str = RECORD_COMMAND

    @property
    def exit(self) -> Exit:
        """How the command ends."""
        return conclude(self)

    def text(self) -> str:
        """Return the report for a person; the last line names the cause of the exit."""
        lines = [*_miss_lines(self), *_leftover_lines(self), self.exit.line]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Json]:
        """Return the report for a program."""
        ended = self.exit
        misses = in_order(self.misses)
        return {
            "exit": {"status": ended.status, "cause": ended.cause},
            "misses": [
                {**miss.as_json(), "text": miss.text(record_command=self.record_command)}
                for miss in misses
            ],
            "causes": [each.as_json() for each in folded(misses)],
            "unused": [
                {"seq": each.seq, "half": each.call.half, "title": call_title(each.call)}
                for each in self.unused
            ],
            "repeated": [
                {"seq": seq, "title": self.titles.get(seq), "times": times}
                for seq, times in sorted(self.repeated.items())
            ],
            "refused": dict[str, Json](self.refused),
            "absorbed": dict[str, Json](self.absorbed),
            "allowed": dict[str, Json](self.allowed),
            "guessed": [
                {"seq": seq, "title": self.titles.get(seq)} for seq in dict.fromkeys(self.guessed)
            ],
            "used": {half: self.used.get(half, 0) for half in _HALVES if half in self.halves},
            "faults": list[Json](self.faults),
            "idle_rules": list[Json](self.idle_rules),
            "warnings": list[Json](self.warnings),
            "child": self.child,
            "record_command": self.record_command,
        }

    def junit(self) -> str:
        """Return the report as JUnit XML: a test case for the run, one for each cause of misses."""
        ended = self.exit
        suite = ET.Element("testsuite", name="mcprec")
        add_case(suite, "run", ended.cause if ended.status else None, self.text())
        for each in folded(self.misses):
            fails = each.misses[0].message() if self.demands.no_misses else None
            add_case(suite, each.title, fails, each.text(record_command=self.record_command))
        return junit_text(suite)


def conclude(report: RunReport) -> Exit:
    """Return how a run ends, by the order 2, 4, 3, 1, the command's own."""
    given = report.given if report.given is not None and report.given.status else None
    if given is not None and given.status in (2, 4):
        return given
    failing = _failure(report)
    if failing is not None:
        return Exit(status=3, cause=_with_child(failing, report.child))
    if given is not None:
        return given
    return Exit(
        status=report.child or 0,
        cause=_with_child(_fine(report), report.child),
        is_own=False,
    )


def _failure(report: RunReport) -> str | None:
    refused = sum(report.refused.values()) if report.demands.strict else 0
    left = f"{count_text(len(report.unused), 'recorded exchange')} never used"
    causes: list[str] = []
    if report.demands.no_misses and report.misses:
        causes.append(count_text(len(report.misses), "miss"))
    if refused:
        causes.append(f"{count_text(refused, 'refused request')} (--strict counts them as misses)")
    if causes:
        return ", ".join([*causes, left] if report.unused else causes)
    nothing = [half for half in _HALVES if half in report.halves and not report.used.get(half)]
    if nothing:
        causes = [_miss_count(report), f"nothing of the {' and the '.join(nothing)} half was used"]
        return ", ".join([*causes, left] if report.unused else causes)
    return f"{_miss_count(report)}, {left} (--all-used)" if _leaves_too_much(report) else None


def _leaves_too_much(report: RunReport) -> bool:
    return report.demands.all_used and bool(report.unused)


def _fine(report: RunReport) -> str:
    if report.child:
        return _miss_count(report)
    used = sum(report.used.values())
    return f"{_miss_count(report)}, {used} of {used + len(report.unused)} recorded exchanges used"


def _miss_count(report: RunReport) -> str:
    return count_text(len(report.misses), "miss")


def _with_child(cause: str, child: int | None) -> str:
    if not child:
        return cause
    name = _SIGNALS.get(child - 128)
    if name is not None:
        return f"{cause}; the command was ended by {name} ({child})"
    return f"{cause}; the command exited {child}"


def count_text(number: int, noun: str) -> str:
    """Return a number and its noun, such as ``3 misses``."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def _miss_lines(report: RunReport) -> Iterator[str]:
    folds = folded(report.misses)
    yield from (each.text(record_command=report.record_command) for each in folds[:_IN_FULL])
    rest = folds[_IN_FULL:]
    yield from (f"MISS {each.brief}" for each in rest[:_LISTED])
    left = sum(len(each.misses) for each in rest[_LISTED:])
    if left:
        yield f"and {count_text(left, 'more miss')}; --report FILE.json lists them all"


def _leftover_lines(report: RunReport) -> Iterator[str]:
    titles = [f"#{each.seq} {call_title(each.call)}" for each in report.unused]
    yield from _listed(f"never used: {count_text(len(titles), 'recorded exchange')}", titles)
    again = [
        f"#{seq} {report.titles.get(seq, '')}".rstrip() + f", {count_text(times, 'time')}"
        for seq, times in sorted(report.repeated.items())
    ]
    yield from _listed("repeated: the last recorded answer was given again", again)
    guessed = [f"#{seq} {report.titles.get(seq, '')}".rstrip() for seq in sorted({*report.guessed})]
    yield from _listed(
        "guessed: several recorded calls fitted, taken in recorded order; --secret settles it",
        guessed,
    )
    yield from (f"refused: {_times(host, times)}" for host, times in report.refused.items())
    yield from (
        f"allowed: {_times(host, times) if times else one_line(host)}, live"
        for host, times in report.allowed.items()
    )
    if report.absorbed:
        hosts = ", ".join(_times(host, times) for host, times in report.absorbed.items())
        yield f"absorbed telemetry: {hosts}"
    yield from map(one_line, report.faults)
    yield from (f"warning: {one_line(warning)}" for warning in report.warnings)
    yield from (idle_line(rule, "in this run") for rule in report.idle_rules)


def idle_line(rule: str, where: str) -> str:
    """Return what is said of a rule for matching that nothing was for."""
    return f"warning: {one_line(rule)} matched nothing {where}; drop it"


def _times(host: str, times: int) -> str:
    return f"{one_line(host)}, {count_text(times, 'time')}"


def _listed(head: str, names: Sequence[str]) -> Iterator[str]:
    if not names:
        return
    yield head
    yield from (f"  {name}" for name in names[:_LISTED])
    if len(names) > _LISTED:
        yield f"  and {len(names) - _LISTED} more"


def add_case(suite: ET.Element, name: str, failure: str | None, text: str) -> None:
    """Add a test case to a suite, failed where `failure` says why."""
    case = ET.SubElement(suite, "testcase", classname="mcprec", name=_xml_text(name))
    if failure is not None:
        ET.SubElement(case, "failure", message=_xml_text(failure)).text = _xml_text(text)
    else:
        ET.SubElement(case, "system-out").text = _xml_text(text)


def junit_text(suite: ET.Element) -> str:
    """Return a suite whose test cases are all there, as a file holds it."""
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode")


def _xml_text(text: str) -> str:
    # XML 1.0 has no way at all to write these.
    return re.sub(
        "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\N{REPLACEMENT CHARACTER}", text
    )
