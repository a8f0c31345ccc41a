"""Whether a run of pytest records, what it has recorded, and what it may not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcprec_addon.errors import UsageError
from mcprec_addon.plugin.known import Known
from mcprec_addon.plugin.modes import Mode, mode_for
from mcprec_addon.plugin.plan import shown_path


@dataclass(slots=True, kw_only=True)
class Recorder:
    """What a run of pytest records.

    Attributes:
        mode: Whether it does, and how.
        known: The cassettes of its tests.
        is_one_of_several: Other processes run tests of the same suite.
        written: The cassettes it has recorded so far.
    """

    mode: Mode
    known: Known
    is_one_of_several: bool = False
    written: set[Path] = field(default_factory=set[Path])

    def mode_for(self, paths: Sequence[Path]) -> Mode:
        """Return how a test records its cassette.

        Raises:
            UsageError: It cannot be recorded.
        """
        modes: set[Mode] = {
            mode_for(path, self.mode, is_own=path in self.written) for path in paths
        }
        if modes == {"none"}:
            return "none"
        if len(paths) > 1:
            message = (
                f"{shown_path(paths[0])}: several cassettes answer the test; record each alone"
            )
            raise UsageError(message)
        (path,) = paths
        if self.is_one_of_several and self.known.is_shared(path):
            message = (
                f"{shown_path(path)}: several tests record it, and several processes run them; "
                "record in one process: add -n0"
            )
            raise UsageError(message)
        return modes.pop()
