"""Rewrites the printed reports in tests/golden; the change is reviewed as a diff.

A case is a folder with ``cassette.mcp`` and ``calls.jsonl`` (a call's record per line, asked in
order); ``inspect.txt`` and ``report.txt`` are what mcprec prints. In ``eval`` a light agent asks,
and ``report.txt`` is what its runs came to.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.golden_cases import (  # noqa: E402 (the tests are no package on the path)
    CASES,
    EVAL,
    golden_eval,
    printed,
)
from tests.peers.live_model import KEY, live_model  # noqa: E402


def main() -> None:
    """Rewrite every case and name what changed."""
    for case in CASES:
        for name, text in printed(case).items():
            rewrite(case / name, text)
    with live_model() as url:
        os.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY}
        rewrite(EVAL / "report.txt", f"{golden_eval().text()}\n")


def rewrite(path: Path, text: str) -> None:
    """Write a file where it does not say so already."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        sys.stdout.write(f"rewritten: {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
