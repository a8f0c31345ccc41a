"""mcprec: record an agent's MCP and model traffic into one cassette, and replay either half.

In a process of one's own: `use_cassette`, `Cassette`. They are imported when they are first asked
for, since the commands of `mcprec` have no use for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcprec_addon.doors.cassette_in_use import Cassette, Missed
    from mcprec_addon.doors.cassette_options import CassetteOptions
    from mcprec_addon.doors.in_process import use_cassette
    from mcprec_addon.errors import (
        CassetteMiss,
        CassetteUnused,
        LiveTrafficError,
        McprecError,
        UsageError,
    )

__version__ = "0.1.0"
__all__ = [
    "Cassette",
    "CassetteMiss",
    "CassetteOptions",
    "CassetteUnused",
    "LiveTrafficError",
    "McprecError",
    "Missed",
    "UsageError",
    "use_cassette",
]

_HOMES = {
    "Cassette": "doors.cassette_in_use",
    "CassetteMiss": "errors",
    "CassetteOptions": "doors.cassette_options",
    "CassetteUnused": "errors",
    "LiveTrafficError": "errors",
    "McprecError": "errors",
    "UsageError": "errors",
    "Missed": "doors.cassette_in_use",
    "use_cassette": "doors.in_process",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
