"""The options of the commands, as types: name, help, and the variable that sets it."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from mcprec_addon.exchange import Half
from mcprec_addon.jsonvalue import Pointer

INPUT_IGNORED: dict[str, tuple[Pointer, ...]] = {
    "all": (),
    "state": (("input", "responses"),),
}
"""What `--input-match` leaves out: a live model writes what the user is asked for in its words."""

Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="CMD", help="The agent, behind --; without it serve until Ctrl-C."),
]
CassettePath = Annotated[Path, typer.Argument(metavar="CASSETTE", help="The cassette.")]
Config = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="The agent's MCP config; may be repeated."),
]
Http = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=URL", help="An MCP server over HTTP; may be repeated.", envvar="MCPREC_HTTP"
    ),
]
Stdio = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME='CMD'",
        help="A stdio server that the agent's code starts, by name; may be repeated.",
    ),
]
InPlace = Annotated[
    bool,
    typer.Option(
        "--in-place",
        help="Swap each --config for the run's copy while it runs, and put it back.",
        envvar="MCPREC_IN_PLACE",
    ),
]
Via = Annotated[
    Literal["both", "base-url", "proxy"] | None,
    typer.Option(help="How the agent is led to us.", envvar="MCPREC_VIA"),
]
EvalVia = Annotated[
    Literal["base-url", "proxy"] | None,
    typer.Option("--via", help="How the agent is led to us.", envvar="MCPREC_VIA"),
]
Print = Annotated[
    Literal["env", "json"],
    typer.Option("--print", help="Without CMD: how to print the variables to set."),
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="The cassette to write.", envvar="MCPREC_OUT")
]
Force = Annotated[bool, typer.Option(help="Overwrite the cassette.")]
ShowRedactions = Annotated[
    bool,
    typer.Option(
        "--show-redactions",
        help="Say what was redacted, masked, once at the end.",
        envvar="MCPREC_SHOW_REDACTIONS",
    ),
]
HalfOption = Annotated[
    Half | None, typer.Option("--half", help="Replay this half alone.", envvar="MCPREC_HALF")
]
Match = Annotated[
    Literal["auto", "exact", "ordered", "state"],
    typer.Option("--match", help="How MCP calls are matched.", envvar="MCPREC_MATCH"),
]
ModelMatch = Annotated[
    Literal["auto", "exact", "ordered", "sequence"],
    typer.Option("--model-match", help="How model calls are matched.", envvar="MCPREC_MODEL_MATCH"),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        metavar="POINTER",
        help="A field to leave out of matching; may be repeated.",
        envvar="MCPREC_IGNORE",
    ),
]
Normalize = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE",
        help="What in texts does not count: date, time, uuid, cwd, home, tmp or a regular"
        " expression; may be repeated.",
    ),
]
Save = Annotated[
    bool,
    typer.Option("--save", help="Write the rules for matching into the cassette, for next time."),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST",
        help="A host the agent may reach; may be repeated.",
        envvar="MCPREC_ALLOW",
    ),
]
Isolate = Annotated[
    bool,
    typer.Option(
        "--isolate",
        help="Run the agent where there is no network but loopback; Linux only.",
        envvar="MCPREC_ISOLATE",
    ),
]
KeepEnv = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A credential variable that keeps its value; may be repeated.",
        envvar="MCPREC_KEEP_ENV",
    ),
]
Pace = Annotated[
    str | None,
    typer.Option(
        metavar="Nx",
        help="Answer at the pace of the recording, 1x, or N times as fast; else at once.",
        envvar="MCPREC_PACE",
    ),
]
Fault = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC",
        help="Break an answer: SEQ:cut@N, reset@N, rst@N, status=CODE, error=CODE or hang.",
        envvar="MCPREC_FAULT",
    ),
]
Secret = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="What stands for a placeholder in this run; also NAME=env:VARIABLE.",
        envvar="MCPREC_SECRET",
    ),
]
RedactFile = Annotated[
    Path | None,
    typer.Option(
        "--redact",
        metavar="FILE",
        help="A file of redaction rules of one's own.",
        envvar="MCPREC_REDACT",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(help="Write the report here: .json or .xml (JUnit).", envvar="MCPREC_REPORT"),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Repeat no tool call, guess nothing, count refused traffic as a miss.",
        envvar="MCPREC_STRICT",
    ),
]
AllUsed = Annotated[
    bool,
    typer.Option(
        "--all-used",
        help="Fail when a recorded exchange was never used.",
        envvar="MCPREC_ALL_USED",
    ),
]
OnMissOption = Annotated[
    Literal["advise", "plain", "fail"],
    typer.Option(
        "--on-miss",
        help="What a missed tool call gets: the nearest recorded call, or a refusal, or an error.",
        envvar="MCPREC_ON_MISS",
    ),
]
Runs = Annotated[
    int, typer.Option(metavar="N", min=1, help="Run CMD N times.", envvar="MCPREC_RUNS")
]
Jobs = Annotated[
    int, typer.Option(metavar="J", min=1, help="Of these, J at once.", envvar="MCPREC_JOBS")
]
Require = Annotated[
    int | None,
    typer.Option(metavar="K", min=1, help="End by whether K runs passed.", envvar="MCPREC_REQUIRE"),
]
RunTimeout = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        min=0.001,
        help="End a run, and all it started, after S seconds.",
        envvar="MCPREC_RUN_TIMEOUT",
    ),
]
RecordModel = Annotated[
    Path | None,
    typer.Option(
        metavar="NEW",
        help="Record the model, and the MCP half as it was answered, into this cassette.",
        envvar="MCPREC_RECORD_MODEL",
    ),
]
EvalReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write the report here: .jsonl (a line for each run), .json or .xml (JUnit).",
        envvar="MCPREC_REPORT",
    ),
]
InputMatch = Annotated[
    Literal["all", "state"],
    typer.Option(
        "--input-match",
        help="Of the retry of a call: compare all of its input, or the request state alone.",
        envvar="MCPREC_INPUT_MATCH",
    ),
]
CheckAnswers = Annotated[
    bool,
    typer.Option(
        "--check-answers",
        help="Miss where the agent answers a server's request otherwise than recorded.",
        envvar="MCPREC_CHECK_ANSWERS",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Serve over HTTP, the model half too, until Ctrl-C; port 0 is any free one.",
        envvar="MCPREC_LISTEN",
    ),
]
