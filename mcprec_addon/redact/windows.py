"""A long stream under redaction: what might still become part of a secret is held back.

A secret may begin in one event and end in a later one. The last quarter of a group therefore
waits for the next, and a secret that begins before it is found whole.
"""

from collections.abc import Callable, Sequence

type Redact[E] = Callable[[Sequence[E], int | None], tuple[E, ...]]
"""Redacts events; a secret must begin in the first so many of them, where a number is given."""

_HELD_BACK = 4  # one event in so many


class Window[E]:
    """The events of one stream that are not let go yet; its life is that stream."""

    def __init__(self, redact: Redact[E]) -> None:
        self._redact = redact
        self._held: tuple[E, ...] = ()

    def push(self, events: Sequence[E]) -> tuple[E, ...]:
        """Take the next events; return those that are ready, without their secrets."""
        waiting = (*self._held, *events)
        ready = max(0, len(waiting) - 1 - len(events) // _HELD_BACK)
        clean = self._redact(waiting, ready)
        self._held = clean[ready:]
        return clean[:ready]

    def last(self) -> tuple[E, ...]:
        """Return what was held back, without its secrets."""
        return self._redact(self._held, None)

    def rest(self) -> tuple[E, ...]:
        """Return what was held back, secrets that begin in it still in it."""
        return self._held
