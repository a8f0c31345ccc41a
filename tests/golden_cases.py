"""What mcprec prints for the cases in tests/golden."""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path

from mcprec_addon.cassette.format import read_cassette
from mcprec_addon.evaluation import EvalRun, run_eval
from mcprec_addon.exchange import Call, Input, Json, McpCall, ModelCall
from mcprec_addon.replay.eval_report import EvalReport
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.responder import Turned
from mcprec_addon.replay.staging import present_halves, stage
from mcprec_addon.replay_end import Replayed, conclude_replay
from mcprec_addon.replay_run import ReplayRun
from mcprec_addon.upkeep.inspect import exchange_text, summary

FOLDER = Path(__file__).parent / "golden"
EVAL = FOLDER / "eval"
CASES = sorted(path.parent for path in FOLDER.glob("*/calls.jsonl"))


def call_of(record: dict[str, Json]) -> Call:
    """Return the call that a record's fields say."""
    request = record.get("request")
    if "provider" in record:
        provider, path = str(record["provider"]), str(record["path"])
        return ModelCall(provider=provider, path=path, request=request)
    name, state = record.get("name"), record.get("input")
    return McpCall(
        server=str(record["server"]),
        method=str(record["method"]),
        name=name if isinstance(name, str) else None,
        args=record.get("args"),
        params=record.get("params") or {},
        input=Input(**state) if isinstance(state, dict) else None,
    )


def printed(case: Path) -> Mapping[str, str]:
    """Return what is printed for a case, by file name."""
    data = (case / "cassette.mcp").read_bytes()
    cassette = read_cassette(data, path="cassette.mcp")
    halves = present_halves(cassette, frozenset(), path=Path("cassette.mcp"))
    player, _ = stage(cassette, PlayOptions(), halves=halves)
    for line in (case / "calls.jsonl").read_text().splitlines():
        player.play(call_of(json.loads(line)))
    replayed = Replayed(
        cassette=cassette, player=player, turned=Turned(), halves=halves, allowed=(), child=0
    )
    report = conclude_replay(replayed, path=Path("cassette.mcp"), command=["./run-agent.sh"])
    overview = summary(cassette, name="cassette.mcp", size_bytes=len(data)).text()
    each = [exchange_text(exchange, cassette) for exchange in cassette.exchanges]
    return {
        "inspect.txt": "\n\n".join([overview, *each]) + "\n",
        "report.txt": report.text() + "\n",
    }


def golden_eval(on_end: Callable[[dict[str, Json]], None] = lambda _: None) -> EvalReport:
    """Return what twenty runs of the light agent come to; a live model must be in reach."""
    agent = Path(__file__).parent / "peers" / "light_agent.py"
    command = (sys.executable, "-S", str(agent), "errs", "3 found")
    options = PlayOptions(strategy="state", on_miss="advise")
    with chdir(EVAL):  # the report names the cassette as it was named
        replay = ReplayRun(path=Path("cassette.mcp"), command=command, options=options)
        return run_eval(EvalRun(replay=replay, runs=20, jobs=2, on_end=on_end))
