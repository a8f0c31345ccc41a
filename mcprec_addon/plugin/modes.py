"""Whether tests record, and how: the modes of ``--mcprec-record``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

type Mode = Literal["none", "once", "new", "all"]
"""Nothing is live; what has no cassette is; what is not recorded is, and added; everything is."""

MODES: Mapping[str, Mode] = {
    "none": "none",
    "once": "once",
    "new": "new",
    "all": "all",
    "new_episodes": "new",  # as people write it who come from vcrpy
    "rewrite": "all",
}


def mode_for(path: Path, mode: Mode, *, is_own: bool) -> Mode:
    """Return how one test records one cassette.

    Args:
        path: The cassette.
        mode: What the run was asked for.
        is_own: An earlier test of this run recorded it; what follows is added to that.
    """
    match mode:
        case "none" | "new":
            return mode
        case "once":
            if is_own:
                return "new"
            return "none" if path.exists() else "all"
        case "all":
            return "new" if is_own else "all"
