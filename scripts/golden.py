"""Rewrites the printed reports in tests/golden; the change is reviewed as a diff.

A case is a folder with ``cassette.mcp`` and ``calls.jsonl`` (a call's record per line, asked in
order); ``inspect.txt`` and ``report.txt`` are what mcprec prints.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.golden_cases import CASES, printed  # noqa: E402 (the tests are no package on the path)


def main() -> None:
    """Rewrite every case and name what changed."""
    for case in CASES:
        for name, text in printed(case).items():
            path = case / name
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
                sys.stdout.write(f"rewritten: {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
