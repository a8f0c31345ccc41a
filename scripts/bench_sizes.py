"""What long conversations weigh in a cassette, beside the bodies that passed."""

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.peers.long_agent import Weight, weigh

TURNS = (25, 50, 100, 200)
RESULT_BYTES = (300, 1500, 6000)


def curves() -> Iterator[tuple[str, list[Weight]]]:
    """Yield the weights of conversations of 25 to 200 turns, by what they are made of."""
    for is_streamed in (False, True):
        for size in RESULT_BYTES:
            kind = "streamed" if is_streamed else "whole"
            title = f"{kind} answers, tool results of {size / 1000:g} kB"
            yield title, [weigh(n, result_bytes=size, is_streamed=is_streamed) for n in TURNS]
