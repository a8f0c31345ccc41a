"""How a client starts a stdio server: from a command line, or as its config says."""

import json
import shlex
from pathlib import Path
from typing import Any


def parameters(url: str) -> dict[str, Any] | None:
    """Return command, args and env of ``stdio:CMD`` or ``config:FILE``; None for an address.

    Of a config the only server is taken, which may be an address, too: see `address`.
    """
    if url.startswith("stdio:"):
        program, *arguments = shlex.split(url.removeprefix("stdio:"))
        return {"command": program, "args": arguments}
    entry = _entry(url)
    if "command" not in entry:
        return None
    return {name: entry[name] for name in ("command", "args", "env") if name in entry}


def address(url: str) -> str:
    """Return the address of an HTTP server: itself, or what the config says."""
    return str(_entry(url).get("url", url))


def _entry(url: str) -> dict[str, Any]:
    if not url.startswith("config:"):
        return {}
    servers = json.loads(Path(url.removeprefix("config:")).read_text())["mcpServers"]
    (entry,) = servers.values()
    return dict(entry)
