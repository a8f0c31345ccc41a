"""How a test's cassette is opened: replayed, or recorded where that is asked for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mcprec_addon.doors.cassette_options import CassetteOptions, check_options
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette
from mcprec_addon.plugin.plan import missing_error, record_command, shown_path
from mcprec_addon.plugin.recorder import Recorder
from mcprec_addon.plugin.use import Use, Wanted

if TYPE_CHECKING:
    import pytest


def begun(
    item: "pytest.Item", paths: Sequence[Path], options: Mapping[str, object], recorder: Recorder
) -> Use:
    """Return the use of a test's cassette, which answers from here on.

    Args:
        item: The test.
        paths: The cassette; several are played as one.
        options: How it is used.
        recorder: Whether it is recorded, and how.

    Raises:
        McprecError: It is not there, cannot be read, or not be replayed so.
    """
    try:
        check_options(options)
    except TypeError as error:
        raise UsageError(str(error)) from error
    mode = recorder.mode_for(paths)
    for path in paths:
        if mode == "none" and not path.exists():
            raise missing_error(path, item)
    function = getattr(item, "function", None)
    users = {test for path in paths for test in recorder.known.users.get(path, ())}
    wanted = Wanted(
        paths=paths,
        options=cast("CassetteOptions", options),
        command=record_command(item, "all", users=users),
        code=getattr(function, "__code__", None),
        mode=mode,
    )
    if mode == "none":
        return Use.begun(wanted)
    if "mcprec_run" not in getattr(item, "fixturenames", ()):
        message = (
            f"{shown_path(paths[0])}: what this process asks is not recorded; record it with "
            f"mcprec record --out {shown_path(paths[0])} -- CMD"
        )
        raise UsageError(message)
    recorder.written.add(paths[0])
    return Use.begun(wanted, Cassette())  # the program is live, and nothing else is
