"""A call without a recorded answer: the nearest recorded call, what differs, the likely cause.

A miss is described, never answered: nothing here hands out the nearest call's answer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mcprec_addon.exchange import Call, Exchange, Json, McpCall, McpExchange, Via
from mcprec_addon.jsonvalue import (
    Difference,
    canonical,
    one_line,
    pointer_text,
    shown,
    visible,
)
from mcprec_addon.match.normal import Places
from mcprec_addon.replay.causes import explained
from mcprec_addon.replay.conversation import messages
from mcprec_addon.replay.nearest import asked_part
from mcprec_addon.replay.span import difference_lines, offer, volatile
from mcprec_addon.replay.uploads import body_text, content_lines, part_label
from mcprec_addon.wire.titles import call_title

Cause = Literal[
    "never recorded", "differs", "used up", "diverged", "other way in", "other era", "other server"
]

RECORD_COMMAND = "mcprec record --out FILE --force -- CMD"

_SHOWN = 6  # differences shown in full; the rest is counted
_NAMED = 3  # pointers named in the one line that a client gets
_REASONED = 2  # and sentences of what they look like


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A call that found no recorded answer.

    Attributes:
        call: What was asked, redacted.
        cause: Why there is no answer, as far as it can be told.
        nearest: The nearest recorded exchange, or None where none is of its place.
        differences: Where the nearest call differs, from recorded to asked; pointers are rooted
            at the record, such as ``("args", "query")``.
        recorded_times: How many answers were recorded for this very call.
        asked_times: How often it was asked, this time included; 0 where that is not known.
        message_index: Place in the conversation at which it diverged, as in the pointer.
        nearest_name: Recorded name nearest to one that was never called.
        other_server: Label of the server for which this call was recorded.
        via: The way this call came in, where it is known.
        places: Paths of this replay, for the rules that mean them.
    """

    call: Call
    cause: Cause
    nearest: Exchange | None = None
    differences: tuple[Difference, ...] = ()
    recorded_times: int = 0
    asked_times: int = 0
    message_index: int | None = None
    nearest_name: str | None = None
    other_server: str | None = None
    via: Via | None = None
    places: Places = field(default_factory=Places)

    @property
    def title(self) -> str:
        """The call in a few words."""
        return call_title(self.call)

    def message(self) -> str:
        """Return the miss in one line, for the error that the client gets."""
        line = f"mcprec: no recorded answer for {self.title}"
        if self.nearest is not None and self.differences:
            pointers = [pointer_text(each.pointer) for each in self.differences]
            more = f" and {len(pointers) - _NAMED} more" if len(pointers) > _NAMED else ""
            named = ", ".join(map(visible, pointers[:_NAMED]))
            line += f"; nearest is recorded #{self.nearest.seq}, which differs at {named}{more}"
        return "; ".join([line, *self.reasons()[:_REASONED]])

    def reasons(self) -> list[str]:
        """Return why there is no answer, and what the differences look like."""
        own = _REASONS[self.cause](self)
        recorded = self.nearest.call if self.nearest is not None and self.differences else None
        looks = [] if recorded is None else explained(self.call, recorded, self.differences)
        return [own, *looks] if own else looks

    def brief(self) -> str:
        """Return the call and why it has no answer, in a line."""
        pointers = [visible(pointer_text(each.pointer)) for each in self.differences[:_NAMED]]
        why = next(iter(self.reasons()), f"differs at {', '.join(pointers)}")
        return f"{self.title}: {why}"

    def text(self, *, record_command: str = RECORD_COMMAND) -> str:
        """Return the miss in full, several lines without a newline at the end.

        Args:
            record_command: The command that would record the cassette anew.
        """
        lines = [f"MISS {self.title}", f"  asked:   {_summary(self.call)}"]
        if self.nearest is not None:
            lines.append(f"  nearest: recorded #{self.nearest.seq}, {_summary(self.nearest.call)}")
        lines += _difference_block(self._first_differences(), self.call)
        left = len(self.differences) - len(self._first_differences())
        lines += [f"           and {left} more difference{'s' * (left > 1)}"] if left else []
        lines += [f"  {line}" for line in self._meta_lines()]
        lines += [f"  {reason}" for reason in self.reasons()]
        lines += [f"  {line}" for line in self._remedies(record_command)]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Json]:
        """Return the miss for a report; values are JSON as text, cut at 200 characters."""
        return {
            "title": self.title,
            "half": self.call.half,
            "cause": self.cause,
            "message": self.message(),
            "reasons": list[Json](self.reasons()),
            "asked": _summary(self.call),
            "nearest": self.nearest.seq if self.nearest is not None else None,
            "differences": [
                {
                    "pointer": pointer_text(each.pointer),
                    "kind": each.kind,
                    "shown": list[Json](_lines_of(each)),
                    "volatile": volatile(each, self.places),
                }
                for each in self.differences[: _SHOWN * _SHOWN]
            ],
            "differing": len(self.differences),
            "recorded_times": self.recorded_times,
            "asked_times": self.asked_times,
            "message_index": self.message_index,
            "nearest_name": self.nearest_name,
            "other_server": self.other_server,
        }

    def _first_differences(self) -> Sequence[Difference]:
        """Return what is worth showing: of a diverged conversation only where it began."""
        if self.cause != "diverged":
            return self.differences[:_SHOWN]
        start = self.differences[0].pointer[:3]
        return [each for each in self.differences if each.pointer[:3] == start][:_SHOWN]

    def _meta_lines(self) -> Iterator[str]:
        nearest = self.nearest.call if self.nearest is not None else None
        if not isinstance(self.call, McpCall) or not isinstance(nearest, McpCall):
            return
        if canonical(self.call.meta) != canonical(nearest.meta):
            yield f"_meta:   {shown(self.call.meta)}, recorded {shown(nearest.meta)} (not compared)"

    def _remedies(self, record_command: str) -> Iterator[str]:
        offers = self._offers()
        yield from self.offers()
        if not offers or None in offers or len(self.differences) > _SHOWN:
            asks = "more often" if self.cause == "used up" else "something new"
            yield f"the agent asks {asks}: record again ({one_line(record_command)})"

    def offers(self) -> list[str]:
        """Return a line for each rule that would leave a volatile difference out."""
        return list(dict.fromkeys(each for each in self._offers() if each is not None))

    def _offers(self) -> list[str | None]:
        found = list(self.differences[:_SHOWN])
        name = self.call.name if isinstance(self.call, McpCall) else None
        if name is not None and self.nearest_name is not None and "://" in name:
            found = [Difference(("name",), self.nearest_name, name)]  # an address may have a path
        return [offer(each, self.places) for each in found]


def _never_recorded(miss: Miss) -> str:
    call = miss.call
    if not isinstance(call, McpCall):
        return "never recorded: no call of this endpoint"
    if call.name is None:
        return f"never recorded: no {one_line(call.method) or 'GET stream'} of this server"
    line = f'never recorded: no {call.method} named "{visible(call.name)}"'
    if miss.nearest_name is None:
        return line
    return f'{line}; the nearest recorded name is "{visible(miss.nearest_name)}"'


def _used_up(miss: Miss) -> str:
    times = "1 time" if miss.recorded_times == 1 else f"{miss.recorded_times} times"
    return f"used up: recorded {times}, this is call {miss.asked_times}"


def _other_way_in(miss: Miss) -> str:
    ways = {"base-url": "base URLs", "proxy": "the proxy"}
    asked: Via = miss.via or "base-url"
    recorded: Via = "proxy" if asked == "base-url" else "base-url"
    return (
        f"recorded through {ways[recorded]}, asked through {ways[asked]}, which changes what some"
        f" agents send: replay with --via {recorded}"
    )


def _other_era(miss: Miss) -> str:
    era = miss.nearest.era if isinstance(miss.nearest, McpExchange) else None
    recorded = f"the {era} era" if era else "the other protocol era"
    return f"recorded in {recorded} only: its answer is not mapped to the agent's era"


def _other_server(miss: Miss) -> str:
    label = visible(miss.other_server or "")
    return f"recorded for server {label}: is the server renamed in the config?"


_REASONS: Mapping[Cause, Callable[[Miss], str]] = {
    "never recorded": _never_recorded,
    "differs": lambda _: "",
    "used up": _used_up,
    "diverged": lambda _: "",
    "other way in": _other_way_in,
    "other era": _other_era,
    "other server": _other_server,
}


def _summary(call: Call) -> str:
    part = asked_part(call)
    if isinstance(call, McpCall):
        if not part:
            return "no arguments"
        return shown(part["args"] if part.keys() == {"args"} else part)
    talk = messages(call)
    if not talk:
        return body_text(call)
    head = "1 message," if len(talk) == 1 else f"{len(talk)} messages, the last"
    return f"{head} {shown(talk[-1])}"


def _difference_block(differences: Sequence[Difference], call: Call) -> Iterator[str]:
    head = "  differs: "
    for each in differences:
        yield head + visible(pointer_text(each.pointer)) + part_label(call, each)
        head = " " * len(head)
        yield from (head + line for line in _lines_of(each))


def _lines_of(difference: Difference) -> list[str]:
    return list(content_lines(difference)) or difference_lines(difference)
