"""The events of a stream that is too long to be held: every look goes over it anew, by groups.

What a look holds at a time is one group. A change of the events is made on each look.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import batched, chain, islice, zip_longest
from typing import cast, overload

GROUP_BYTES = 1 << 20
"""Characters of events that are kept together; a shorter stream is no long one."""

_BATCH = 256  # of what is made of events; each is held as briefly as may be

_NOTHING = object()  # equal to no event

type Groups[E] = Iterator[Sequence[E]]


class LongEvents[E](Sequence[E]):
    """A sequence that is read again whenever it is looked at."""

    def __init__(self, read: Callable[[], Groups[E]]) -> None:
        """Take what begins a look at the groups, from the first."""
        self._read = read
        self._length: int | None = None

    def groups(self) -> Groups[E]:
        """Return the events group by group, from the first."""
        return self._read()

    def changed[F](self, change: Callable[[Groups[E]], Groups[F]]) -> "LongEvents[F]":
        """Return what `change` makes of the groups, each time they are looked at."""
        return LongEvents(lambda: change(self._read()))

    def __iter__(self) -> Iterator[E]:
        return chain.from_iterable(self._read())

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(map(len, self._read()))
        return self._length

    @overload
    def __getitem__(self, index: int) -> E: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[E, ...]: ...
    def __getitem__(self, index: int | slice) -> E | tuple[E, ...]:
        if isinstance(index, slice):
            return tuple(islice(self, *index.indices(len(self))))
        place = index + len(self) if index < 0 else index
        for event in islice(self, place, None):
            return event
        message = f"there is no event {index}"
        raise IndexError(message)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        theirs = cast("Sequence[object]", other)
        pairs = zip_longest(self, theirs, fillvalue=_NOTHING)
        return all(one == two for one, two in pairs)

    __hash__ = None  # type: ignore[assignment]  # equal to any sequence of the same events


def changed_each[E, F](events: Sequence[E], change: Callable[[E], F]) -> Sequence[F]:
    """Return events with each one changed: at once, or on each look where they are long."""
    if isinstance(events, LongEvents):
        return events.changed(lambda groups: (tuple(map(change, group)) for group in groups))
    return tuple(map(change, events))


def made_of[E, F](events: Sequence[E], make: Callable[[Iterable[E]], Iterable[F]]) -> Sequence[F]:
    """Return what is made of events in one go: at once, or on each look where they are long."""
    if isinstance(events, LongEvents):
        return LongEvents(lambda: batched(make(events), _BATCH))
    return tuple(make(events))
