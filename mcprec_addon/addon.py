"""The script for `mitmdump -s "$(mcprec addon)"`: records or replays in the user's own mitmproxy.

`--set mcprec_record=FILE` records, `--set mcprec_replay=FILE` replays. mitmproxy loads this
file under another name and from anywhere, so it finds its package by its own place.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from mitmproxy import ctx

if TYPE_CHECKING:
    from mitmproxy.addonmanager import Loader

_PACKAGE_PARENT = str(Path(__file__).resolve().parent.parent)
if _PACKAGE_PARENT not in sys.path:
    sys.path.append(_PACKAGE_PARENT)

_PREFIX = "mcprec_"
# These change bodies, or hold back what must stream.
_REFUSED = ("stream_large_bodies", "body_size_limit", "server_replay", "ignore_hosts", "tcp_hosts")


def _say(line: str) -> None:
    sys.stderr.write(f"mcprec: {line}\n")


def _leave(line: str, status: int = 2) -> NoReturn:
    _say(line)
    sys.exit(status)


try:
    from mcprec_addon.addon_run import OPTIONS, AddonRun
    from mcprec_addon.doors.mitm import force_options
    from mcprec_addon.errors import McprecError
except ImportError as missing:
    _leave(f"this mitmproxy's Python lacks {missing.name}; pipx inject mitmproxy mcprec-addon")


class McprecAddon:
    """Declares the options, starts one recording or replay, and ends with its status."""

    name = "mcprec"

    def __init__(self) -> None:
        self._run: AddonRun | None = None

    def load(self, loader: "Loader") -> None:
        """Declare the options."""
        for option in OPTIONS:
            loader.add_option(_PREFIX + option.name, option.type, option.default, option.help)

    def configure(self, _: set[str]) -> None:
        """Start what the options ask for; whatever is wrong with them ends mitmproxy."""
        typos = [name for name in ctx.options.deferred if name.startswith(_PREFIX)]
        if typos:
            known = ", ".join(_PREFIX + option.name for option in OPTIONS)
            _leave(f"--set {typos[0]}: no such option; there is {known}")
        if self._run is not None:
            return
        for name in _REFUSED:
            if name in ctx.options and getattr(ctx.options, name):
                _leave(
                    f"--set {name}={getattr(ctx.options, name)}: does not go with mcprec; drop it"
                )
        given = {option.name: getattr(ctx.options, _PREFIX + option.name) for option in OPTIONS}
        try:
            self._run = AddonRun.of(given, say=_say)
        except McprecError as error:
            _leave(str(error), error.exit_status)
        ctx.master.addons.add(self._run.addon)  # pyright: ignore[reportUnknownMemberType]

    def running(self) -> None:
        """Set what recording and replaying depend on."""
        force_options()

    def done(self) -> None:
        """Write the cassette or print the report, and end with its status."""
        if self._run is None:
            return
        lines, status = self._run.conclude()
        sys.stderr.write("".join(f"{line}\n" for line in lines))
        if status:
            sys.exit(status)


addons: Sequence[McprecAddon] = [McprecAddon()]
