"""Measures what mcprec promises of speed: ratios side by side in one run, medians of rounds.

``python scripts/bench.py [--only a,c] [--rounds N]``. A missed target is printed, not raised:
a figure is no test. Everything listens on 127.0.0.1 and is ended by the end.
"""

import argparse
import asyncio
import statistics
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

import bench_match
import bench_memory
import bench_redact
import bench_sizes
import bench_stdio
from bench_load import Upstream, first_event_s, requests_per_s, sdk_calls_per_s
from bench_parts import (
    CALLS,
    CHAT_BODY,
    CHAT_PATH,
    RPC_BODY,
    big_cassette,
    first_answer,
    mitmdump,
    python,
    recorder,
    replayer,
    small_cassette,
    uvicorn_app,
)
from bench_stdio import Measured

from mcprec_addon.jsonvalue import dumps

if TYPE_CHECKING:
    from mcprec_addon.exchange import Json

_MANY = 10_000
_MOST_MIB = 100
_LATEST_FIRST_EVENT = 1.15
_LONGEST_MISS_S = 0.1
_LINEAR = 12  # times as long for ten times as much, with room for a cold cache
_MOST_ADDED_US = 1000
_MOST_GROWN_MIB = 150
_MOST_LATE_MS = 100
_MOST_PLUGIN_MS = 60
_MOST_GROWN = 1.3
_MOST_REDACTION = {"recorded": 0.15, "replayed": 0.20}
_REQUESTS = 600  # a round of one load: long enough to hide the start, short enough for five


@dataclass(frozen=True)
class Row:
    """One figure, its target, and whether it is reached."""

    name: str
    figure: str
    target: str = ""
    is_reached: bool | None = None

    def text(self) -> str:
        """Return the row for a terminal."""
        verdict = {None: "", True: "ok", False: "MISSED"}[self.is_reached]
        return f"{self.name:<58} {self.figure:>18}  {self.target:<10} {verdict}"


def ratio(name: str, ours: float, theirs: float, *, least: float, unit: str) -> Row:
    """Return a row for a rate that must be at least `least` of another's."""
    value = ours / theirs
    figure = f"{ours:.0f}/{theirs:.0f} {unit} {value:.2f}x"
    return Row(name, figure, f">= {least}x", value >= least)


async def medians[K](
    measured: dict[K, Callable[[], Awaitable[float]]], rounds: int
) -> dict[K, float]:
    """Return the median of each measure, taken in turn so that load hits all alike."""
    seen: dict[K, list[float]] = {key: [] for key in measured}
    for _ in range(rounds):
        for key, measure in measured.items():
            seen[key].append(await measure())
    return {key: statistics.median(values) for key, values in seen.items()}


async def recording(folder: Path, rounds: int) -> list[Row]:
    """(a) Recording beside bare forwarding by mitmdump."""
    rows: list[Row] = []
    upstream = await Upstream.started()
    streams = folder / "stream.py"
    streams.write_text("def responseheaders(flow):\n    flow.response.stream = True\n")
    addon = await python("-m", "mcprec_addon", "addon")
    with ExitStack() as stack:
        bare = stack.enter_context(mitmdump(upstream.port))
        streaming = stack.enter_context(mitmdump(upstream.port, "-s", str(streams)))
        option = f"mcprec_record={folder / 'addon.mcp'}"
        scripted = stack.enter_context(mitmdump(upstream.port, "-s", addon, "--set", option))
        embedded = stack.enter_context(recorder(folder / "embedded.mcp", upstream.port))
        bodies = {"MCP tools/call": ("/mcp", RPC_BODY), "chat": (CHAT_PATH, CHAT_BODY)}
        for title, (path, body) in bodies.items():
            for clients in (1, 16):
                load = partial(requests_per_s, body=body, clients=clients, total=_REQUESTS)
                found = await medians(
                    {
                        "bare": partial(load, bare, path=path),
                        "addon": partial(load, scripted, path=path),
                        "record": partial(
                            load, embedded.port_for(path), path=embedded.path_for(path)
                        ),
                    },
                    rounds,
                )
                for name in ("addon", "record"):
                    title_of = f"a {name}, {title}, c={clients} / mitmdump"
                    rows.append(
                        ratio(title_of, found[name], found["bare"], least=0.85, unit="req/s")
                    )
        first = await medians(
            {
                "stream": partial(first_event_s, streaming),
                "addon": partial(first_event_s, scripted),
                "record": partial(
                    first_event_s, embedded.port_for(CHAT_PATH), path=embedded.path_for(CHAT_PATH)
                ),
            },
            rounds * 5,
        )
        for name in ("addon", "record"):
            value = first[name] / first["stream"]
            figure = f"{first[name] * 1e3:.1f}/{first['stream'] * 1e3:.1f} ms {value:.2f}x"
            title = f"a {name}, first event / mitmdump stream=True"
            rows.append(Row(title, figure, "<= 1.15x", value <= _LATEST_FIRST_EVENT))
    await upstream.close()
    return rows


async def replaying(folder: Path, rounds: int) -> list[Row]:
    """(b) The replay server beside a plain uvicorn app that returns the same bytes."""
    rows: list[Row] = []
    path = small_cassette(folder / "small.mcp")
    with ExitStack() as stack:
        ours = stack.enter_context(replayer(path, "--model-match", "exact"))
        plain = stack.enter_context(uvicorn_app(folder, path))
        for title, (where, body) in CALLS.items():
            for clients in (1, 16):
                load = partial(
                    requests_per_s, path=where, body=body, clients=clients, total=_REQUESTS * 3
                )
                found = await medians(
                    {"ours": partial(load, ours.port_for(where)), "uvicorn": partial(load, plain)},
                    rounds,
                )
                rows.append(
                    ratio(
                        f"b replay, {title}, c={clients} / uvicorn",
                        found["ours"], found["uvicorn"], least=0.5, unit="req/s",
                    )
                )  # fmt: skip
        calls = await medians(
            {
                "ours": partial(sdk_calls_per_s, ours.port_for(CHAT_PATH)),
                "uvicorn": partial(sdk_calls_per_s, plain),
            },
            rounds,
        )
        title = "b replay through the openai SDK / uvicorn"
        rows.append(ratio(title, calls["ours"], calls["uvicorn"], least=0.8, unit="calls/s"))
    return rows


async def loading(folder: Path, rounds: int) -> list[Row]:
    """(c) Start to first answer, and memory, with many recorded exchanges."""
    rows: list[Row] = []
    seen: dict[int, tuple[float, float]] = {}
    for count in (_MANY, 10 * _MANY):
        path = big_cassette(folder / f"{count}.mcp", count)
        runs = [await first_answer(path) for _ in range(rounds if count == _MANY else 3)]
        took = statistics.median(run.took_s for run in runs)
        peak = statistics.median(run.peak_mib for run in runs)
        seen[count] = (took, peak)
        figure = f"{took:.2f} s, {peak:.0f} MiB"
        if count == _MANY:
            is_reached = took <= 1 and peak <= _MOST_MIB
            rows.append(Row(f"c {count} exchanges of 1 kB", figure, "1 s 100 M", is_reached))
        else:
            rows.append(Row(f"c {count} exchanges of 1 kB", figure))
    grew = seen[10 * _MANY][0] / seen[_MANY][0]
    is_linear = grew <= _LINEAR
    rows.append(Row("c ten times the exchanges take", f"{grew:.1f}x", "<= 12x", is_linear))
    return rows


async def missing(folder: Path, rounds: int) -> list[Row]:
    """(d) A miss among 10,000 calls of one kind, and a replayed call with and without rules."""
    del folder
    rows: list[Row] = []
    for title, took in bench_match.misses(rounds):
        name = f"d a miss among 10,000 {title}"
        rows.append(Row(name, f"{took * 1e3:.0f} ms", "< 100 ms", took < _LONGEST_MISS_S))
    for title, took in bench_match.plays(rounds):
        rows.append(Row(f"d a call answered: {title}", f"{took * 1e6:.0f} us"))
    return rows


async def starting(folder: Path, rounds: int) -> list[Row]:
    """(e) Start-up to the first answer, and of pytest with the plugin, beside what does nothing."""
    path = small_cassette(folder / "e.mcp")
    test = folder / "test_e.py"
    test.write_text("def test_nothing() -> None:\n    pass\n")

    async def ours() -> float:
        return (await first_answer(path)).took_s

    async def bare() -> float:
        began = perf_counter()
        await python("-c", "pass")
        return perf_counter() - began

    quiet = ("-q", "-p", "no:cacheprovider", "-p", "no:asyncio")  # which warns of no settings

    async def tests(*options: str) -> float:
        began = perf_counter()
        await python("-m", "pytest", *quiet, *options, str(test))
        return perf_counter() - began

    without = partial(tests, "-p", "no:mcprec")
    found = await medians(
        {"ours": ours, "bare": bare, "pytest": without, "plugin": partial(tests)}, rounds
    )
    figure = f"{found['ours'] * 1e3:.0f} ms"
    added = (found["plugin"] - found["pytest"]) * 1e3
    return [
        Row("e start of mcprec replay to the first answer", figure),
        Row("e python -c pass", f"{found['bare'] * 1e3:.0f} ms"),
        Row(
            "e what the plugin adds to pytest without a cassette",
            f"{added:.0f} of {found['pytest'] * 1e3:.0f} ms",
            f"< {_MOST_PLUGIN_MS} ms",
            added < _MOST_PLUGIN_MS,
        ),
    ]


async def piping(folder: Path, rounds: int) -> list[Row]:
    """(f) Stdio: a relay beside one that only passes lines on, a recorded server beside others."""
    config, path = folder / "mcp.json", folder / "f.mcp"
    command = [*bench_stdio.BARE, bench_stdio.ANSWERING]
    entry: Json = {"command": command[0], "args": [*command[1:]]}
    config.write_text(dumps({"mcpServers": {"bench": entry}}).decode())
    agent = ["--", sys.executable, bench_stdio.__file__, str(rounds)]
    run = ["-m", "mcprec_addon", "record", "--config", str(config), "--out", str(path), *agent]
    relayed = bench_stdio.read(await python(*run))
    run = ["-m", "mcprec_addon", "replay", str(path), *agent]
    played = bench_stdio.read(await python(*run))
    return [*_relay_rows(relayed), *_played_rows(played)]


def _relay_rows(found: dict[str, Measured]) -> Iterator[Row]:
    added = {name: found[name].call_s - found["answering"].call_s for name in found}
    ours, bare = added["ours"] * 1e6, added["forwarding"] * 1e6
    name = "f what a relay adds to a call / one that only passes lines on"
    is_reached = ours <= _MOST_ADDED_US and ours <= 2 * bare
    yield Row(name, f"{ours:.0f}/{bare:.0f} us {ours / bare:.2f}x", "1 ms, 2x", is_reached)
    late = (found["ours"].start_s - found["answering"].start_s) * 1e3
    name = "f the first answer comes later by, relay and server"
    yield Row(name, f"{late:.0f} ms", "<= 100 ms", late <= _MOST_LATE_MS)


def _played_rows(found: dict[str, Measured]) -> Iterator[Row]:
    for name in ("constant", "answering"):
        least = 0.5 if name == "constant" else None
        one = found["ours"], found[name]
        rates = {1: [1 / each.call_s for each in one], 64: [each.calls_per_s for each in one]}
        for count, (ours, theirs) in rates.items():
            title = f"f recorded stdio server, {count} in flight / {name} server"
            row = ratio(title, ours, theirs, least=0.5, unit="calls/s")
            yield row if least else Row(row.name, row.figure)
    late = (found["ours"].start_s - found["answering"].start_s) * 1e3
    name = "f the first answer comes later by, recorded server"
    yield Row(name, f"{late:.0f} ms", "<= 100 ms", late <= _MOST_LATE_MS)


async def redacting(folder: Path, rounds: int) -> list[Row]:
    """(g) What redaction adds to a recorded and a replayed call, and texts made to be slow."""
    rows: list[Row] = []
    upstream = await Upstream.started()
    path = big_cassette(folder / "g.mcp", 1)
    params: Json = {"name": "get", "arguments": {"id": 0, "pad": f"{0:0400d}"}}
    asked = dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    with ExitStack() as stack:
        live = stack.enter_context(recorder(folder / "live.mcp", upstream.port))
        played = stack.enter_context(replayer(path, "--model-match", "exact"))
        load = partial(requests_per_s, path="/mcp", clients=1, total=_REQUESTS)
        rates = await medians(
            {
                "recorded": partial(load, live.port_for("/mcp"), body=RPC_BODY),
                "replayed": partial(load, played.port_for("/mcp"), body=asked),
            },
            rounds,
        )
    await upstream.close()
    costs = {
        "recorded": bench_redact.recorded_s(folder, rounds),
        "replayed": bench_redact.replayed_s(rounds, with_secrets=False),
    }
    for name, cost in costs.items():
        whole = 1 / rates[name]
        share = cost / (whole - cost)
        figure = f"{cost * 1e6:.0f}/{(whole - cost) * 1e6:.0f} us {share:.0%}"
        least = _MOST_REDACTION[name]
        title = f"g redaction of a {name} call / the rest of it"
        rows.append(Row(title, figure, f"< {least:.0%}", share < least))
    more = bench_redact.replayed_s(rounds, with_secrets=True)
    rows.append(Row("g redaction of a replayed call with an address in it", f"{more * 1e6:.0f} us"))
    for name, grew in bench_redact.growth(rounds).items():
        figure = ", ".join(f"{each:.1f}x" for each in grew)
        is_linear = max(grew) <= _LINEAR
        rows.append(Row(f"g ten times, ten times again: {name}", figure, "<= 12x", is_linear))
    return rows


async def streaming(folder: Path, rounds: int) -> list[Row]:
    """(h) Memory while 200 MB of events are recorded and replayed, as ten streams and as one."""
    del rounds  # memory hardly differs from run to run, and each takes its minute
    rows: list[Row] = []
    for title, path in {"MCP": "/mcp", "chat": CHAT_PATH}.items():
        for streams in (10, 1):
            found = bench_memory.weigh(folder / f"{title}{streams}.mcp", path, streams)
            for verb, each in zip(("record", "replay"), found, strict=True):
                name = f"h {verb} {bench_memory.MEGABYTES} MB, {title}, streams: {streams}"
                figure = f"{each.grew_mib:.0f} MiB, {each.rate:.0f} MB/s"
                rows.append(Row(name, figure, "< 150 MiB", each.grew_mib < _MOST_GROWN_MIB))
    return rows


async def weighing(folder: Path, rounds: int) -> list[Row]:
    """(i) The model half of long conversations / what is new in them, beside the raw bodies."""
    del folder, rounds  # nothing is written, and sizes are the same in every run
    rows: list[Row] = []
    for title, weights in bench_sizes.curves():
        for turns, each in zip(bench_sizes.TURNS, weights, strict=True):
            figure = f"{each.section // 1000} of {each.raw // 1000} kB {each.ratio:.2f}x"
            name = f"i {turns} turns, {title}"
            rows.append(Row(name, figure, f"<= {_MOST_GROWN}x", each.ratio <= _MOST_GROWN))
    return rows


PARTS = {
    "a": recording,
    "b": replaying,
    "c": loading,
    "d": missing,
    "e": starting,
    "f": piping,
    "g": redacting,
    "h": streaming,
    "i": weighing,
}


def chosen(only: str) -> Iterator[Callable[[Path, int], Awaitable[list[Row]]]]:
    """Yield the parts that the command line names, all by default."""
    for letter in only.split(",") if only else PARTS:
        yield PARTS[letter]


async def main() -> None:
    """Run the chosen parts and print their rows as they come."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="letters of parts, such as a,c")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for part in chosen(options.only):
        with TemporaryDirectory(prefix="mcprec-bench-") as folder:
            for row in await part(Path(folder), options.rounds):
                sys.stdout.write(f"{row.text()}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
