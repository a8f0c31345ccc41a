"""The demo's tracker: what its tools say, and that they say it the same way each time."""

import pytest
from mcp import Client

from mcprec_addon.demo.server import first_issues, main, search, tracker

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("label:bug state:open", [412, 409]),
        ("label:bug state:open sort:updated", [409, 412]),
        ("Crash", [412]),
        ("shortcuts label:bug", []),
    ],
)
def test_every_term_of_a_query_counts(query: str, numbers: list[int]) -> None:
    """The demo's miss rests on a query whose answer changes with one more term."""
    found = search(first_issues(), query)

    assert [issue["number"] for issue in found["issues"]] == numbers
    assert found["total"] == len(numbers)


async def test_tools_say_what_they_may_change() -> None:
    """A replay repeats the answers of tools that only read."""
    async with Client(tracker()) as client:
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        info = client.server_info

    assert info is not None
    assert (info.name, info.version) == ("acme-tracker", "3.2.0")
    read_only = {name: hints.read_only_hint for name, hints in tools.items() if hints}
    assert read_only == {"search_issues": True, "get_issue": True, "add_label": None}


async def test_label_stays() -> None:
    """A write is seen by the next read, as in a real tracker."""
    async with Client(tracker()) as client:
        await client.call_tool("add_label", {"number": 409, "label": "export"})
        issue = (await client.call_tool("get_issue", {"number": 409})).structured_content

    assert isinstance(issue, dict)
    assert issue["labels"] == ["bug", "export"]
    assert first_issues()[409]["labels"] == ["bug"]


async def test_unknown_issue_is_a_tool_error() -> None:
    """A model can read why its call failed."""
    async with Client(tracker()) as client:
        result = await client.call_tool("get_issue", {"number": 1})

    assert result.is_error
    assert "there is no issue #1" in str(result.content)


def test_port_must_be_a_number() -> None:
    """A slip on the command line is told by the parser."""
    with pytest.raises(SystemExit):
        main(["--port", "many"])
