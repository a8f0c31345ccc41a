"""Imports past pytest's rewriting of assertions, which takes in every module of a plugin's package.

Nothing here has an assertion to rewrite, but each of a hundred modules would be compiled anew where
that was not done before, as in every job of a CI: half a second.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager

_HOOK = "AssertionRewritingHook"


@contextmanager
def unrewritten() -> Generator[None]:
    """Have what is imported in the block compiled as always."""
    hooks = [finder for finder in sys.meta_path if type(finder).__name__ == _HOOK]
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in hooks]
    try:
        yield
    finally:
        sys.meta_path[:0] = hooks
