"""The private folder of a run: what its doors share with the processes that stand for servers."""

import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mcprec_addon.doors.stdio_relay import ENVIRONMENT_FILE

_PREFIX = "mcprec-"
# 80: the path of a socket in it must stay below 104 bytes on macOS, 108 on Linux.
_LONGEST = 80
_SHORT_PLACE = "/tmp"  # noqa: S108 (mkdtemp makes a folder that nobody else can enter)


@contextmanager
def run_folder() -> Generator[Path]:
    """Make a folder that nobody else can enter, with a short path, and remove it at the end."""
    default = tempfile.gettempdir()
    place = default if len(os.fsencode(default)) < _LONGEST else _SHORT_PLACE
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place) as folder:
        yield Path(folder)


def write_environment(folder: Path, *, before: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Write down what a run changed in the environment, for relays to undo.

    Args:
        folder: The run's private folder.
        before: The environment as it was before the run.
        ours: The environment of the run's child.
    """
    changed = [
        (name, value, "" if name not in before else f"={before[name]}")
        for name, value in ours.items()
        if before.get(name) != value
    ]
    data = "\0".join(field for each in changed for field in each)
    path = folder / ENVIRONMENT_FILE
    path.touch(mode=0o600)
    path.write_bytes(os.fsencode(data))
