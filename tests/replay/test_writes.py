"""A live model's reads follow its own writes, in whatever order it reads and writes."""

import pytest

from mcprec_addon.exchange import Exchange, Json, McpAnswer, McpCall, McpExchange
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.writes import Writes
from tests.replay.test_player import listing, said, tool
from tests.replay.test_player import player as any_player


def player(*exchanges: Exchange, strict: bool = False) -> Player:
    return any_player(*exchanges, strategy="state", strict=strict)


def asks(made: Player, name: str, args: Json = None) -> Json:
    return said(made.play(McpCall(server="s", method="tools/call", name=name, args=args)))


# Case 20: the second read shows what was made in between.
READ_CHANGE_READ = (
    tool(1, "list_issues", {"state": "open"}, "2 open"),
    tool(2, "create_issue", {"title": "Login loops"}, "#3 made"),
    tool(3, "list_issues", {"state": "open"}, "3 open"),
)


def reads(made: Player) -> Json:
    return asks(made, "list_issues", {"state": "open"})


def creates(made: Player) -> Json:
    return asks(made, "create_issue", {"title": "Login loops"})


def test_a_read_after_a_change_shows_the_change() -> None:
    """A model that does not see what it did does it again."""
    made = player(*READ_CHANGE_READ)

    assert [reads(made), creates(made), reads(made)] == ["2 open", "#3 made", "3 open"]
    assert made.unused() == []


def test_a_second_read_shows_no_change_that_was_not_made() -> None:
    """Order by the count of calls alone would tell the model of an issue nobody made."""
    made = player(*READ_CHANGE_READ)

    assert [reads(made), reads(made), reads(made)] == ["2 open"] * 3
    assert [creates(made), reads(made), reads(made)] == ["#3 made", "3 open", "3 open"]
    assert made.tally.repeated == {}


def test_a_change_comes_first_where_the_model_starts_with_it() -> None:
    """The recorded order of calls is not the model's."""
    made = player(*READ_CHANGE_READ)

    assert [creates(made), reads(made)] == ["#3 made", "3 open"]


def test_answers_between_two_changes_come_in_their_order() -> None:
    """A model that polls sees the state it waits for, once, and then goes on seeing it."""
    made = player(
        tool(1, "start_job", {}, "started"),
        *(tool(seq, "get_job", {}, text) for seq, text in ((2, "10 %"), (3, "90 %"), (4, "done"))),
        tool(5, "start_job", {"again": True}, "started"),
        tool(6, "get_job", {}, "0 %"),
    )

    assert asks(made, "start_job") == "started"
    assert [asks(made, "get_job") for _ in range(4)] == ["10 %", "90 %", "done", "done"]
    assert asks(made, "start_job", {"again": True}) == "started"
    assert asks(made, "get_job") == "0 %"


def test_a_read_that_was_not_recorded_again_is_told() -> None:
    """The answer is from before the change, and a reader of the report must know."""
    made = player(tool(1, "get_user", {"id": 1}, "Ana"), tool(2, "rename_user", {"id": 1}, "done"))

    assert [asks(made, "rename_user", {"id": 1}), asks(made, "get_user", {"id": 1})] == [
        "done",
        "Ana",
    ]
    assert made.tally.older == {1: 1}


def test_a_change_is_of_one_server() -> None:
    """What was written to one server is not seen on another."""
    made = player(
        tool(1, "get_a", {}, "old"),
        tool(2, "set_b", {}, "done", server="other"),
        tool(3, "get_a", {}, "new"),
    )

    other = McpCall(server="other", method="tools/call", name="set_b")
    assert said(made.play(other)) == "done"
    assert [asks(made, "get_a"), asks(made, "get_a")] == ["old", "new"]


def test_a_repeated_change_is_counted() -> None:
    """A second payment for one order was never recorded."""
    made = player(*READ_CHANGE_READ)

    assert [creates(made), creates(made)] == ["#3 made", "#3 made"]
    assert made.tally.repeated == {2: 1}
    strict = player(*READ_CHANGE_READ, strict=True)
    assert [creates(strict), creates(strict)] == ["#3 made", "used up"]


READS: Json = {"readOnlyHint": True}


@pytest.mark.parametrize(
    ("tools", "name", "writes"),
    [
        ([{"name": "ticket", "annotations": READS}], "ticket", False),
        (
            [{"name": "list_and_close", "annotations": {"readOnlyHint": False}}],
            "list_and_close",
            True,
        ),
        ([{"name": "get_lock", "annotations": {"idempotentHint": True}}], "get_lock", True),
        ([{"name": "get_lock", "annotations": {"title": "Lock"}}], "get_lock", False),
        ([], "list_issues", False),
        ([], "searchIssues", False),
        ([], "s_get_issue", False),
        ([], "create_list", True),
        ([], "ticket", True),
    ],
)
def test_which_tools_change_something(tools: list[Json], name: str, *, writes: bool) -> None:
    """Annotations decide; without them a name that begins with a word for reading does."""
    known = Writes([listing(1, *tools)])

    assert known.is_writer(("s", name)) is writes


def test_a_tool_asked_twice_in_the_same_words_reads() -> None:
    """Agents look again; they seldom do the very same thing again."""
    made = player(
        tool(1, "ticket", {"id": 1}, "open"),
        tool(2, "close", {"id": 1}, "done"),
        tool(3, "ticket", {"id": 1}, "closed"),
    )

    assert [asks(made, "ticket", {"id": 1}) for _ in range(2)] == ["open", "open"]


def test_a_change_that_failed_is_none() -> None:
    """What was refused left everything as it was."""
    call = McpCall(server="s", method="tools/call", name="create_issue", args={"title": ""})
    refused = McpAnswer(kind="result", value={"isError": True, "content": []})
    made = player(
        tool(1, "list_issues", {}, "2 open"),
        McpExchange(seq=2, call=call, answer=refused),
        tool(3, "create_issue", {"title": "x"}, "made"),
        tool(4, "list_issues", {}, "3 open"),
    )

    made.play(call)

    assert asks(made, "list_issues") == "2 open"
