"""Which placeholders of one recording stand for the same secrets as those of another.

They are one where their `sources` agree, or where they stand in the same place of the same call.
What contradicts that, one name for two or other sources, keeps them apart.
"""

from collections.abc import Iterable, Mapping, Sequence

from mcprec_addon.redact.forms import name_of


class Table:
    """Which placeholders of one recording are which of the merged cassette, one to one."""

    def __init__(
        self,
        *,
        source: Mapping[str, Sequence[str]],
        merged: Mapping[str, Sequence[str]],
        counts: Mapping[str, int],
        merged_counts: Mapping[str, int],
        is_one: bool,
    ) -> None:
        """Begin with what the sources say.

        Args:
            source: Names to sources of the recording.
            merged: Those of the merged cassette.
            counts: Placeholders of the recording, by class.
            merged_counts: Those of the merged cassette.
            is_one: A name means the same secret in both.
        """
        self._theirs = source
        self._ours = merged
        self._counts = dict(counts)
        self._merged_counts = dict(merged_counts)
        self._is_one = is_one
        self._names: dict[str, str] = {}
        for name in source if not is_one else ():
            taken = set(self._names.values())
            alike = (each for each in merged if each not in taken and self._is_alike(name, each))
            found = next(alike, None)
            if found is not None:
                self._names[name] = found

    def _is_alike(self, theirs: str, ours: str) -> bool:
        return _class(theirs) == _class(ours) and bool(
            set(self._theirs.get(theirs, ())) & set(self._ours.get(ours, ()))
        )

    def has(self, name: str) -> bool:
        """Whether a name is a placeholder of the recording, and no look-alike."""
        return 0 < _number(name) <= self._counts.get(_class(name), 0)

    def renamed(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return names as the merged cassette has them, as far as that is known."""
        return tuple(self._names.get(name, "" if self._is_open(name) else name) for name in names)

    def _is_open(self, name: str) -> bool:
        return self.has(name) and not self._is_one

    def agree(self, theirs: Sequence[str], ours: Sequence[str]) -> bool:
        """Take names for those in the same places, where that contradicts nothing known."""
        if len(theirs) != len(ours):
            return False
        new: dict[str, str] = {}
        for name, other in zip(theirs, ours, strict=True):
            if not self._is_open(name):
                if name != other:
                    return False
            elif not self._may_be(name, other, new):
                return False
            else:
                new[name] = other
        self._names |= new
        return True

    def _may_be(self, name: str, other: str, new: Mapping[str, str]) -> bool:
        known = self._names.get(name) or new.get(name)
        if known is not None:
            return known == other
        if other in self._names.values() or other in new.values():
            return False
        if _class(name) != _class(other) or not self._is_known(other):
            return False
        told = self._theirs.get(name) and self._ours.get(other)
        return not told or self._is_alike(name, other)

    def _is_known(self, other: str) -> bool:
        return 0 < _number(other) <= self._merged_counts.get(_class(other), 0)

    def add(self, name: str, taken: set[str]) -> None:
        """Give a placeholder a number of its own, unless it has one."""
        if name in self._names:
            return
        cls, number = _class(name), _number(name)
        if not self._is_one:
            number = self._merged_counts.get(cls, 0) + 1
            while name_of(cls, number) in taken:
                number += 1
            self._merged_counts[cls] = number
        self._names[name] = name_of(cls, number)

    def highest(self) -> dict[str, int]:
        """Return the highest numbers, by class."""
        return self._counts if self._is_one else self._merged_counts

    @property
    def numbers(self) -> dict[str, int]:
        """The new number of each placeholder."""
        return {name: _number(new) for name, new in self._names.items()}

    def sources(self) -> dict[str, list[str]]:
        """Return what held the secrets, by the names of the merged cassette."""
        return {
            self._names.get(name, name): [*held]
            for name, held in self._theirs.items()
            if self._is_one or name in self._names
        }


def _class(name: str) -> str:
    return name.rpartition("-")[0]


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])


def by_number(name: str) -> tuple[str, int]:
    """Return what sorts names by class, then by number."""
    return _class(name), _number(name)
