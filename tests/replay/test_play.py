"""What a replay starts from: nothing handed out, and the strategies that fit most runs."""

from mcprec_addon.replay.play import PlayOptions, Tally


def test_a_replay_forgives_by_default_and_starts_with_nothing() -> None:
    """Two replays must not share what they count."""
    first, second = Tally(), Tally()
    first.used["mcp"] += 1

    assert (PlayOptions().strategy, PlayOptions().strict) == ("auto", False)
    assert second == Tally()
