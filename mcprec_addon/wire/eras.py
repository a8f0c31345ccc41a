"""Recorded answers of one protocol era for a caller of the other, where a plain mapping exists.

The handshakes say the same in other members; results of the stateless era carry what the classic
one does not know. What asks something of the client in the middle of a call has no counterpart:
an interim result on one side, a request of the server on the other.

Source: MCP 2026-07-28 and 2025-11-25, lifecycle and schema.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from mcprec_addon.exchange import Era, Json, McpAnswer, McpCall
from mcprec_addon.wire.mcp import SESSION_HEADER

STATELESS_VERSION = "2026-07-28"
CLASSIC_VERSION = "2025-11-25"

_OTHER_HANDSHAKE: dict[str, Literal["initialize", "server/discover"]] = {
    "initialize": "server/discover",
    "server/discover": "initialize",
}
_CAPABILITIES = {
    "tools": "tools",
    "prompts": "prompts",
    "resources": "resources",
    "completion": "completions",
    "logging": "logging",
}
_IDENTITY = "io.modelcontextprotocol/serverInfo"
_CACHED = ("list", "templates/list", "read")
_OF_STATELESS = ("resultType", "ttlMs", "cacheScope")
# What a classic client may ask of any server, and what says nothing but that it was heard.
_HEARD = frozenset({"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"})


def other_handshake(call: McpCall) -> McpCall | None:
    """Return the handshake of the other era that says what this one asks, or None."""
    other = _OTHER_HANDSHAKE.get(call.method)
    return None if other is None else McpCall(server=call.server, method=other)


def made_handshake(call: McpCall, methods: Iterable[str], identity: Json) -> McpAnswer | None:
    """Return the answer to a handshake with a server of which none was recorded, or None.

    Args:
        call: The handshake.
        methods: What the server was asked in the recording.
        identity: Its name and version, as far as they are known.
    """
    if call.method not in _OTHER_HANDSHAKE:
        return None
    asked = {method.partition("/")[0] for method in methods}
    capabilities: dict[str, Json] = {
        name: {} for method, name in _CAPABILITIES.items() if method in asked
    }
    said: dict[str, Json] = {"capabilities": capabilities, "_meta": {_IDENTITY: identity}}
    found = _as_initialize(said, call)
    if call.method == "server/discover":
        found = _as_discover({"capabilities": capabilities, "serverInfo": identity})
    return McpAnswer(kind="result", value=found)


def plain_answer(call: McpCall, era: Era | None) -> McpAnswer | None:
    """Return the answer to a call that needs no recording: the server heard it."""
    if era != "classic" or call.method not in _HEARD:
        return None
    return McpAnswer(kind="result", value={})


def can_map(answer: McpAnswer) -> bool:
    """Whether an answer says something to a caller of the other era."""
    asks = any("id" in event.message and "method" in event.message for event in answer.events)
    kind = answer.value.get("resultType") if isinstance(answer.value, dict) else None
    return not asks and kind in (None, "complete")


def mapped(answer: McpAnswer, call: McpCall, era: Era) -> McpAnswer:
    """Return an answer as a caller of another era than the recording's understands it.

    Args:
        answer: As recorded; one that `can_map`.
        call: What is asked.
        era: The caller's.
    """
    headers = {name: value for name, value in answer.headers.items() if name != SESSION_HEADER}
    plain = replace(answer, headers=headers)
    if answer.kind == "error":
        # Clients of the classic era read errors out of a 200 alone.
        return replace(plain, status=200) if era == "classic" else plain
    if answer.kind != "result" or not isinstance(answer.value, dict):
        return plain
    return replace(plain, value=_result(answer.value, call, era))


def _result(value: dict[str, Json], call: McpCall, era: Era) -> dict[str, Json]:
    if call.method == "initialize":
        return _as_initialize(value, call)
    if call.method == "server/discover":
        return _as_discover(value)
    if era == "classic":
        return {key: member for key, member in value.items() if key not in _OF_STATELESS}
    caching: dict[str, Json] = {"ttlMs": 0, "cacheScope": "private"}
    is_cached = call.method.partition("/")[2] in _CACHED
    return {"resultType": "complete", **(caching if is_cached else {}), **value}


def _as_initialize(discovered: dict[str, Json], call: McpCall) -> dict[str, Json]:
    offered = call.meta.get("protocolVersion")
    is_classic = isinstance(offered, str) and offered <= CLASSIC_VERSION
    meta = discovered.get("_meta")
    identity = meta.get(_IDENTITY) if isinstance(meta, dict) else None
    result: dict[str, Json] = {
        "protocolVersion": offered if is_classic else CLASSIC_VERSION,
        "capabilities": discovered.get("capabilities", {}),
        "serverInfo": identity or {"name": call.server, "version": ""},
    }
    kept = {key: discovered[key] for key in ("instructions",) if key in discovered}
    return result | kept


def _as_discover(initialized: dict[str, Json]) -> dict[str, Json]:
    result: dict[str, Json] = {
        "resultType": "complete",
        "supportedVersions": [STATELESS_VERSION],
        "capabilities": initialized.get("capabilities", {}),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {_IDENTITY: initialized.get("serverInfo", {})},
    }
    kept = {key: initialized[key] for key in ("instructions",) if key in initialized}
    return result | kept
