"""Runs MCP's conformance suite three ways: directly, through a recording, and from its cassette.

``python scripts/conformance.py`` writes the table in docs/conformance.md anew. The suite and the
Node.js it needs are installed with npm into a folder that is removed at the end, about 240 MB.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.peers.process import started  # noqa: E402 - from here, wherever it is run

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
NODE = "node@22.23.3"
_LONGEST_S = 300
_LINE = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)
_TABLE = re.compile(r"(?<=<!-- table -->\n).*(?=<!-- end -->)", re.DOTALL)

type Counts = dict[str, tuple[int, int]]
"""Scenario to checks passed and failed."""


def installed(folder: Path) -> list[str]:
    """Install the suite and return the command that runs its server scenarios."""
    (folder / "package.json").write_text('{"private":true}\n')
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", SUITE, NODE]
    subprocess.run(command, cwd=folder, check=True, timeout=_LONGEST_S, stderr=subprocess.DEVNULL)
    modules = folder / "node_modules"
    suite = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    return [str(modules / "node" / "bin" / "node"), str(suite), "server", "--suite", "all"]


def counts(command: list[str], folder: Path) -> Counts:
    """Run a command and return what the suite in it counted."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_LONGEST_S, check=False
    )
    found = {name: (int(ok), int(bad)) for name, ok, bad in _LINE.findall(done.stdout)}
    if not found:
        message = f"{command[0]} counted nothing: {done.stderr[-2000:]}"
        raise RuntimeError(message)
    last = done.stderr.strip().splitlines()
    sys.stderr.write(f"{len(found)} scenarios{': ' + last[-1] if last else ''}\n")
    return found


def three_ways(folder: Path) -> tuple[Counts, Counts, Counts]:
    """Return what the suite counts directly, through a recording, and from the cassette."""
    suite = installed(folder)
    mcprec = [str(Path(sys.executable).parent / "mcprec")]
    with started("tests.peers.conformance_server") as peer:
        direct = counts([*suite, "--url", peer.mcp_url], folder)
    with started("tests.peers.conformance_server") as peer:
        options = ["--http", f"peer={peer.mcp_url}", "--out", "suite.mcp", "--force"]
        through = [*suite, "--url", "{url:peer}"]
        recorded = counts([*mcprec, "record", *options, "--", *through], folder)
    replayed = counts([*mcprec, "replay", "suite.mcp", "--", *through], folder)
    return direct, recorded, replayed


def rows(direct: Counts, recorded: Counts, replayed: Counts) -> Iterator[str]:
    """Yield the table, a row for each scenario."""
    yield "| scenario | direct | recorded | replayed |"
    yield "|---|---|---|---|"
    for name in direct:
        cells = [_cell(each.get(name, (0, 0))) for each in (direct, recorded, replayed)]
        yield f"| {name} | {' | '.join(cells)} |"
    totals = [[sum(column) for column in zip(*each.values(), strict=True)] for each in
              (direct, recorded, replayed)]  # fmt: skip
    cells = [_cell((passed, failed)) for passed, failed in totals]
    yield f"| **all {len(direct)}** | {' | '.join(cells)} |"


def _cell(count: tuple[int, int]) -> str:
    passed, failed = count
    return f"{passed} passed" + (f", {failed} failed" if failed else "")


def main() -> None:
    """Run the suite and write the table."""
    os.environ.pop("NODE_OPTIONS", None)
    with TemporaryDirectory(prefix="mcprec-conformance-") as folder:
        table = "\n".join(rows(*three_ways(Path(folder))))
    page = ROOT / "docs" / "conformance.md"
    page.write_text(_TABLE.sub(lambda _: f"{table}\n", page.read_text()))


if __name__ == "__main__":
    main()
