"""Misses that have one cause, put together: what one change did to fifty calls is one thing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mcprec_addon.exchange import Json, McpCall
from mcprec_addon.jsonvalue import one_line, pointer_text
from mcprec_addon.replay.miss import Cause, Miss

_SAYS: dict[Cause, str] = {
    "never recorded": "were never recorded",
    "used up": "were asked more often than recorded",
    "other era": "were recorded in the other era only",
    "other server": "were recorded for another server",
}


@dataclass(frozen=True, slots=True)
class Fold:
    """Misses of one cause.

    Attributes:
        says: What they have in common, such as ``differ only in /args/since``.
        what: Of which calls they are.
        misses: In the order they are told; at least one.
        places: Where each stands among all, counted from 0.
    """

    says: str
    what: str
    misses: Sequence[Miss]
    places: Sequence[int]

    @property
    def title(self) -> str:
        """The misses in a line; one alone is its call."""
        if len(self.misses) == 1:
            return self.misses[0].title
        return f"{len(self.misses)} {self.what} {self.says}"

    @property
    def brief(self) -> str:
        """The misses in a line that says why."""
        return self.title if len(self.misses) > 1 else self.misses[0].brief()

    def text(self, *, record_command: str) -> str:
        """Return the first of them in full, behind a line that says what all have in common.

        Args:
            record_command: The command that would record the cassette anew.
        """
        first = self.misses[0].text(record_command=record_command)
        return first if len(self.misses) == 1 else f"{self.title}; the first:\n{first}"

    def as_json(self) -> dict[str, Json]:
        """Return them for a report, whose misses they name by their places."""
        return {
            "title": self.title,
            "cause": self.misses[0].cause,
            "count": len(self.misses),
            "misses": list[Json](self.places),
        }


def in_order(misses: Iterable[Miss]) -> list[Miss]:
    """Return misses in the order in which they are told.

    Clients that get no answer to a discovery fall back to the other era without a word, and what
    misses then is only its consequence.
    """
    return sorted(misses, key=lambda miss: not _is_discovery(miss))


def _is_discovery(miss: Miss) -> bool:
    return isinstance(miss.call, McpCall) and miss.call.method == "server/discover"


def folded(misses: Iterable[Miss]) -> list[Fold]:
    """Return misses by cause, each cause where its first miss stands."""
    told = in_order(misses)
    found: dict[tuple[str, ...], list[int]] = {}
    for place, miss in enumerate(told):
        found.setdefault(_kind(miss), []).append(place)
    return [
        Fold(says, what, [told[place] for place in places], places)
        for (says, what, *_), places in found.items()
    ]


def _kind(miss: Miss) -> tuple[str, ...]:
    """Return what misses of one cause have in common, of which calls they are, and what else."""
    what = "model calls" if miss.call.half == "model" else f"calls of {miss.title}"
    if miss.cause == "diverged":
        # Behind one that diverged all later turns do, by the same change.
        first = miss.differences[0]
        return (
            next(iter(miss.reasons())),
            what,
            *(miss.offers() or (f"{first.old}", f"{first.new}")),
        )
    if miss.cause in ("differs", "other way in"):
        pointers = sorted({_pattern(each.pointer) for each in miss.differences})
        return f"differ only in {', '.join(pointers)}", what
    return _SAYS[miss.cause], f"calls of {miss.title}"


def _pattern(pointer: Sequence[str]) -> str:
    steps = ("*" if step.isdigit() and at > 1 else step for at, step in enumerate(pointer))
    return one_line(pointer_text(tuple(steps)))
