"""A recording replayed against itself has no miss and nothing unused."""

from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import Cassette, Json, McpAnswer, McpCall, McpExchange
from mcprec_addon.self_check import self_check
from tests.test_jsonvalue import json_values


@given(arguments=st.lists(st.dictionaries(st.text(), json_values, max_size=3), max_size=6))
def test_every_recording_matches_itself(arguments: list[dict[str, Json]]) -> None:
    """Recorder and matcher build one key, whatever the arguments are."""
    exchanges = tuple(
        McpExchange(
            seq=seq,
            call=McpCall(server="s", method="tools/call", name="t", args=args or None),
            answer=McpAnswer(kind="result", value=seq),
        )
        for seq, args in enumerate(arguments, 1)
    )

    found = self_check(Cassette(exchanges=exchanges), name="a.mcp")

    assert found.holds, found.text()
    assert found.as_json()["played"] == len(exchanges)
