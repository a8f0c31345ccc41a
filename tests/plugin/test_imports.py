"""Our modules are imported as by any other program."""

import sys

from mcprec_addon.plugin.imports import unrewritten


def test_the_hook_is_back_behind_the_block() -> None:
    """Test modules that are imported later need their assertions rewritten."""
    before = list(sys.meta_path)

    with unrewritten():
        within = [type(finder).__name__ for finder in sys.meta_path]

    assert "AssertionRewritingHook" not in within
    assert sys.meta_path == before
