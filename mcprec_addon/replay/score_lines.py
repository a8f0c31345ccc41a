"""The lines of an eval's report, one for each run, as they are written and read."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcprec_addon.exchange import Json
from mcprec_addon.replay.report import RunReport
from mcprec_addon.replay.scores import MissScore, RunScore, Source, ToolScore

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is known of a run beside what it replayed.

    Attributes:
        number: Its number, from 1.
        of: How many runs were asked for.
        ms: How long it took, in whole milliseconds.
        timed_out: It was ended because its time was over.
        is_broken: mcprec itself failed in it.
    """

    number: int
    of: int
    ms: int
    timed_out: bool = False
    is_broken: bool = False


def run_line(
    source: Source, facts: RunFacts, report: RunReport, tools: Sequence[ToolScore]
) -> dict[str, Json]:
    """Return the line of the report that one run makes."""
    ended = report.exit
    return {
        "mcprec_eval": _VERSION,
        "mcprec": source.version,
        "cassette": {
            "path": source.path,
            "digest": source.digest,
            "models": list[Json](source.recorded_models),
        },
        "on_miss": source.on_miss,
        "match": source.strategy,
        "models": list[Json](source.models),
        "run": facts.number,
        "of": facts.of,
        "ms": facts.ms,
        "timed_out": facts.timed_out,
        "broken": facts.is_broken,
        "own": ended.is_own,
        "tools": [
            {
                "server": each.server,
                "name": each.name,
                "hits": each.hits,
                "missed": each.missed,
                "corrected": each.corrected,
                "repeated": each.repeated,
                "unused": each.unused,
            }
            for each in tools
        ],
        **report.as_json(),
    }


def score_of(line: Json) -> RunScore:
    """Return what a line of a report says.

    Raises:
        ValueError: It is no line of an eval's report; the message says what it lacks.
    """
    fields = Fields(line)
    version = fields.whole.get("mcprec_eval")
    if version != _VERSION:
        message = (
            "no line of an eval's report; give files that mcprec eval --report FILE.jsonl wrote"
        )
        raise ValueError(message)
    cassette, ended = fields.member("cassette"), fields.member("exit")
    return RunScore(
        source=Source(
            path=cassette.text("path"),
            digest=cassette.text("digest"),
            version=fields.text("mcprec"),
            on_miss=fields.text("on_miss"),
            strategy=fields.text("match"),
            recorded_models=cassette.texts("models"),
            models=fields.texts("models"),
        ),
        number=fields.number("run"),
        of=fields.number("of"),
        status=ended.number("status"),
        cause=ended.text("cause"),
        is_own=fields.flag("own"),
        ms=fields.number("ms"),
        timed_out=fields.flag("timed_out"),
        is_broken=fields.flag("broken"),
        used=sum(fields.member("used").counts().values()),
        tools=tuple(map(_tool, fields.members("tools"))),
        misses=tuple(
            MissScore(
                title=each.text("title"), asked=each.text("asked"), message=each.text("message")
            )
            for each in fields.members("misses")
        ),
        unused={each.number("seq"): each.text("title") for each in fields.members("unused")},
        refused=fields.member("refused").counts(),
        idle_rules=fields.texts("idle_rules"),
        warnings=fields.texts("warnings"),
        whole=fields.whole,
    )


def _tool(each: "Fields") -> ToolScore:
    return ToolScore(
        server=each.text("server"),
        name=each.text("name"),
        hits=each.number("hits"),
        missed=each.number("missed"),
        corrected=each.number("corrected"),
        repeated=each.number("repeated"),
        unused=each.number("unused"),
    )


class Fields:
    """An object of a report, its members read with their types."""

    def __init__(self, value: Json) -> None:
        """Take it.

        Raises:
            ValueError: It is no object.
        """
        if not isinstance(value, dict):
            message = "a JSON object was expected here"
            raise ValueError(message)  # noqa: TRY004 (what a file holds is no programming error)
        self.whole = value

    def _get[T](self, name: str, kind: type[T]) -> T:
        value = self.whole.get(name)
        if not isinstance(value, kind):
            message = f'member "{name}" is no {kind.__name__}'
            raise ValueError(message)  # noqa: TRY004 (likewise)
        return value

    def _list(self, name: str) -> list[Json]:
        value = self.whole.get(name)
        if not isinstance(value, list):
            message = f'member "{name}" is no list'
            raise ValueError(message)  # noqa: TRY004 (likewise)
        return value

    def text(self, name: str) -> str:
        """Return a text."""
        return self._get(name, str)

    def number(self, name: str) -> int:
        """Return a whole number."""
        return self._get(name, int)

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        return self._get(name, bool)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(map(str, self._list(name)))

    def member(self, name: str) -> "Fields":
        """Return an object."""
        return Fields(self.whole.get(name))

    def members(self, name: str) -> list["Fields"]:
        """Return a list of objects."""
        return [Fields(each) for each in self._list(name)]

    def counts(self) -> dict[str, int]:
        """Return all members, numbers each."""
        return {name: self.number(name) for name in self.whole}
