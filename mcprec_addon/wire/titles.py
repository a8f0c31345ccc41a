"""A call in a few words, the same in every report."""

from mcprec_addon.exchange import Call, McpCall
from mcprec_addon.jsonvalue import one_line


def call_title(call: Call) -> str:
    """Return a call in a few words, such as ``tools/call search (server tracker)``."""
    if isinstance(call, McpCall):
        return one_line(f"{asked_of(call)} (server {call.server})")
    way = f"{call.http_method} " if call.http_method != "POST" else ""
    return one_line(f"model call {way}{call.path} (provider {call.provider})")


def asked_of(call: McpCall) -> str:
    """Return what is asked of a server: method and name, such as ``tools/call search``."""
    what = call.method or f"{call.http_method} stream"
    return f"{what} {call.name}" if call.name is not None else what
