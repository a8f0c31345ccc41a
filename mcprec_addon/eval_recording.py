"""What an eval records: the live model, and the MCP half as the replay answered it.

The new cassette replays as any other: a run of a live model that went wrong becomes a glue test.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mcprec_addon.doors.base_urls import model_upstreams
from mcprec_addon.doors.cassette_file import check_target
from mcprec_addon.played_servers import PlayedServers
from mcprec_addon.record.summary import Recorded
from mcprec_addon.redact.own_rules import OwnRules, with_own
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.run import known_environment

if TYPE_CHECKING:
    from mcprec_addon.doors.recording import Recording


def begin_recording(
    out: Path,
    played: PlayedServers,
    own: OwnRules,
    *,
    dummies: Mapping[str, str],
    say: Callable[[str], None],
) -> "Recording":
    """Open a cassette for what a run of an eval says.

    Args:
        out: Where it goes; it must not be there.
        played: The recorded servers.
        own: Redaction rules of one's own.
        dummies: Values that stand for credentials in this run, by variable.
        say: Takes lines for the person at the terminal.

    Raises:
        McprecError: It cannot be written.
    """
    from mcprec_addon.doors.recording import Known, Recording  # noqa: PLC0415 (few evals record)

    check_target(out, force=False)
    stand_ins = [Known(secret=value, source=f"env:{name}") for name, value in dummies.items()]
    held = played.servers.secrets(os.environ)
    return Recording(
        out,
        urls={},
        models=model_upstreams(os.environ),
        known=[
            *known_environment(),
            *stand_ins,
            *(Known(secret=value, source=source) for source, value in held.items()),
        ],
        rules=with_own(default_rules(), own),
        behind=played.cassette.header,
        on_failure=lambda error: say(f"{error}; the agent goes on, recording has ended"),
    )


def end_recording(recording: "Recording", played: PlayedServers, cassette: Path) -> Recorded:
    """Write the cassette.

    Args:
        recording: The recording.
        played: The recorded servers.
        cassette: The cassette that was replayed, beside which the agent's configs are.
    """
    there, here = cassette.parent.resolve(), recording.target.parent.resolve()
    configs = [there / each for each in played.cassette.header.config]
    return recording.close(
        config=tuple(Path(os.path.relpath(each, here)).as_posix() for each in configs)
    )


def recording_problems(recorded: Recorded) -> list[str]:
    """Return what makes such a recording incomplete."""
    problems = list(recorded.problems())
    if not recorded.models and not problems:
        problems.append("no call of a model was recorded; lead the agent with --via proxy")
    return problems
