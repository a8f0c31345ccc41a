"""What a long conversation weighs in a cassette: what is new in it, and little more."""

import pytest

from tests.peers.long_agent import weigh

MOST = 1.3


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_two_hundred_turns_weigh_what_is_new_in_them(*, is_streamed: bool) -> None:
    """Bodies grow by the square of the turns: a cassette of them would be in no repository.

    Short tool results are the hardest case, since every turn has members of its own.
    """
    long = weigh(200, result_bytes=300, is_streamed=is_streamed)
    short = weigh(25, result_bytes=300, is_streamed=is_streamed)

    assert long.ratio <= MOST
    assert long.ratio <= short.ratio * 1.05  # it does not creep up with the turns
    assert long.raw > 20 * long.section
