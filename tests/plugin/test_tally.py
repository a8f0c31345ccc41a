"""What all tests of a session left of their cassettes, in a few lines."""

from mcprec_addon.plugin.tally import Tally


def outcome(
    *, unused: dict[str, str], path: str = "/t/a.mcp", misses: tuple[str, ...] = ()
) -> dict[str, object]:
    return {
        "paths": [path],
        "exchanges": 3,
        "unused": unused,
        "misses": list(misses),
        "refused": {},
        "recorded": [],
    }


def test_an_exchange_is_unused_if_no_test_used_it() -> None:
    """Tests that share a cassette use it up together."""
    tally = Tally()

    tally.add("test_a", outcome(unused={"1": "tools/call a", "2": "tools/call b"}))
    tally.add("test_b", outcome(unused={"2": "tools/call b", "3": "tools/call c"}))

    assert tally.unused() == 1
    assert list(tally.lines(lists=True)) == [
        "/t/a.mcp: 1 recorded exchange never used",
        "  #2 tools/call b",
        "1 cassette, 2 of 3 recorded exchanges used, 0 misses",
    ]
    assert next(iter(tally.lines(lists=False))).endswith("never used (-v lists them)")


def test_a_session_in_which_all_is_well_is_one_line() -> None:
    """What is fine is not worth reading twice."""
    tally = Tally()
    tally.add("test_a", outcome(unused={}))
    tally.add("test_b", outcome(unused={}, path="/t/b.mcp"))

    assert list(tally.lines(lists=False)) == [
        "2 cassettes, 6 of 6 recorded exchanges used, 0 misses"
    ]


def test_everything_else_is_named() -> None:
    """A request that was refused, and a cassette that has just been written, are news."""
    tally = Tally()
    tally.add(
        "test_a",
        outcome(unused={}, misses=("tools/call x",))
        | {"refused": {"example.com": 2}, "recorded": ["a.mcp: recorded 3 exchanges"]},
    )
    tally.add("test_b", outcome(unused={}) | {"refused": {"example.com": 1}})

    assert list(tally.lines(lists=False)) == [
        "a.mcp: recorded 3 exchanges",
        "MISS tools/call x: test_a",
        "refused: example.com, 3 times",
        "1 cassette, 3 of 3 recorded exchanges used, 1 miss",
    ]


def test_long_lists_are_cut() -> None:
    """A cassette that nobody uses must not push the failures off the screen."""
    tally = Tally()
    tally.add("test_a", outcome(unused={str(n): "tools/call a" for n in range(12)}))

    lines = list(tally.lines(lists=True))

    assert lines[-2] == "  and 2 more"
    assert len(lines) == 13
