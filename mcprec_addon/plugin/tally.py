"""What the tests of a session made of their cassettes, also those of other processes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mcprec_addon.plugin.plan import shown_path
from mcprec_addon.replay.report import count_text

_LISTED = 10  # names in a list; the rest is counted


@dataclass(slots=True)
class Played:
    """How one cassette, or several that are played as one, was used.

    Attributes:
        exchanges: How many there are in it.
        unused: Those that no test has used so far: seq and title.
    """

    exchanges: int
    unused: dict[str, str]


@dataclass(slots=True)
class Tally:
    """What became of all cassettes of a session.

    Attributes:
        played: How each was used, by its paths.
        misses: Titles of calls without an answer, by test.
        refused: Requests that belonged to no half, by host.
        recorded: What was recorded, a line each.
    """

    played: dict[tuple[str, ...], Played] = field(default_factory=dict[tuple[str, ...], Played])
    misses: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    refused: dict[str, int] = field(default_factory=dict[str, int])
    recorded: list[str] = field(default_factory=list[str])

    def add(self, test: str, outcome: Mapping[str, object]) -> None:
        """Take what a test made of its cassette.

        Args:
            test: The test's id.
            outcome: As `Use.outcome` returns it, maybe from another process.
        """
        recorded = cast("list[str]", outcome["recorded"])
        self.recorded += recorded
        if not recorded:
            self._play(outcome)
        misses = cast("list[str]", outcome["misses"])
        if misses:
            self.misses[test] = misses
        for host, times in cast("dict[str, int]", outcome["refused"]).items():
            self.refused[host] = self.refused.get(host, 0) + times

    def _play(self, outcome: Mapping[str, object]) -> None:
        paths = tuple(cast("list[str]", outcome["paths"]))
        unused = cast("dict[str, str]", outcome["unused"])
        before = self.played.get(paths)
        left = {
            seq: title for seq, title in unused.items() if before is None or seq in before.unused
        }
        self.played[paths] = Played(cast("int", outcome["exchanges"]), left)

    def unused(self) -> int:
        """Return how many recorded exchanges no test used."""
        return sum(len(played.unused) for played in self.played.values())

    def lines(self, *, lists: bool) -> Iterator[str]:
        """Yield what is to be said at the end, one line where all is well.

        Args:
            lists: What was never used is listed, and not only counted.
        """
        yield from self.recorded
        for test, titles in self.misses.items():
            yield from (f"MISS {title}: {test}" for title in titles)
        for paths, played in self.played.items():
            if played.unused:
                count = count_text(len(played.unused), "recorded exchange")
                yield f"{_shown(paths)}: {count} never used{'' if lists else ' (-v lists them)'}"
                names = [f"#{seq} {title}" for seq, title in played.unused.items()]
                yield from _listed(names if lists else ())
        for host, times in self.refused.items():
            yield f"refused: {host}, {count_text(times, 'time')}"
        if self.played:
            yield self._sum()

    def _sum(self) -> str:
        every = sum(played.exchanges for played in self.played.values())
        used = every - sum(len(played.unused) for played in self.played.values())
        misses = count_text(sum(map(len, self.misses.values())), "miss")
        cassettes = count_text(len(self.played), "cassette")
        return f"{cassettes}, {used} of {every} recorded exchanges used, {misses}"


def _shown(paths: Iterable[str]) -> str:
    return " + ".join(shown_path(Path(path)) for path in paths)


def _listed(names: Iterable[str]) -> Iterator[str]:
    every = list(names)
    yield from (f"  {name}" for name in every[:_LISTED])
    if len(every) > _LISTED:
        yield f"  and {len(every) - _LISTED} more"
