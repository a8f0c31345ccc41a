"""A server that was changed in one recording is another one than in the other."""

from mcprec_addon.exchange import Cassette, Json, McpAnswer, McpCall, McpExchange
from mcprec_addon.upkeep.worlds import Worlds


def exchange(method: str, name: str | None = None, result: Json = None) -> McpExchange:
    call = McpCall(server="s", method=method, name=name)
    return McpExchange(seq=1, call=call, answer=McpAnswer(kind="result", value=result))


TOOLS: Json = {"tools": [{"name": "find", "annotations": {"readOnlyHint": True}}, {"name": "add"}]}
LIST = exchange("tools/list", result=TOOLS)
FIND, ADD = exchange("tools/call", "find"), exchange("tools/call", "add")


def test_a_tool_that_may_write_ends_what_is_in_common() -> None:
    """From there on a read says what the world looks like after it."""
    worlds = Worlds(Cassette(exchanges=(LIST,)))

    worlds.take(FIND)
    before = worlds.is_as_before(FIND)
    worlds.take(ADD)

    assert before
    assert not worlds.is_as_before(FIND)
    assert worlds.is_as_before(LIST)
