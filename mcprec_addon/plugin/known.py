"""Which cassettes the tests of a run have, and which stand beside them that none has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mcprec_addon.plugin.paths import cassettes_in
from mcprec_addon.plugin.plan import shown_path


@dataclass(slots=True)
class Known:
    """What is known of the cassettes of a run.

    Attributes:
        users: Ids of the tests that have each.
        folders: Where cassettes of these tests stand.
    """

    users: dict[Path, set[str]] = field(default_factory=dict[Path, set[str]])
    folders: set[Path] = field(default_factory=set[Path])

    def add(self, test: str, paths: Sequence[Path], folder: Path) -> None:
        """Take the cassettes of a test, and the folder of those."""
        for path in paths:
            self.users.setdefault(path, set()).add(test)
        self.folders.add(folder)

    def told(self) -> dict[str, object]:
        """Return all of it in values that JSON has, for another process."""
        return {
            "users": {str(path): sorted(tests) for path, tests in self.users.items()},
            "folders": sorted(map(str, self.folders)),
        }

    def take(self, told: Mapping[str, object]) -> None:
        """Take what another process told."""
        for path, tests in cast("Mapping[str, list[str]]", told["users"]).items():
            self.users.setdefault(Path(path), set()).update(tests)
        self.folders |= {Path(folder) for folder in cast("list[str]", told["folders"])}

    def is_shared(self, path: Path) -> bool:
        """Whether several tests have a cassette."""
        return len(self.users.get(path, ())) > 1

    def orphan_lines(self) -> Iterator[str]:
        """Yield the cassettes beside these tests that none of them has."""
        orphans = [path for path in cassettes_in(self.folders) if path not in self.users]
        if not orphans:
            return
        noun = "cassette" if len(orphans) == 1 else "cassettes"
        yield f"{len(orphans)} {noun} that no test has (--mcprec-orphans)"
        yield from (f"  {shown_path(path)}" for path in orphans)
