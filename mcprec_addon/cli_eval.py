"""The commands of evals: an agent with a live model against a frozen world, and what it came to."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from mcprec_addon.cli_options import (
    INPUT_IGNORED,
    CassettePath,
    CheckAnswers,
    Command,
    Config,
    EvalReportFile,
    EvalVia,
    Fault,
    Http,
    Ignore,
    InPlace,
    InputMatch,
    Jobs,
    KeepEnv,
    Match,
    Normalize,
    OnMissOption,
    Pace,
    Print,
    RecordModel,
    RedactFile,
    Require,
    Runs,
    RunTimeout,
    Secret,
    Stdio,
)
from mcprec_addon.cli_settings import joined, match_rules, places, redaction_rules
from mcprec_addon.cli_terminal import announcer, run_servers, say
from mcprec_addon.jsonvalue import dumps
from mcprec_addon.options import pace_of, secret_values


def evaluate(
    cassette: CassettePath,
    command: Command = None,
    config: Config = None,
    http: Http = None,
    stdio: Stdio = None,
    on_miss: OnMissOption = "advise",
    match: Match = "state",
    input_match: InputMatch = "all",
    ignore: Ignore = None,
    normalize: Normalize = None,
    runs: Runs = 1,
    jobs: Jobs = 1,
    require: Require = None,
    run_timeout: RunTimeout = None,
    keep_env: KeepEnv = None,
    pace: Pace = None,
    fault: Fault = None,
    secret: Secret = None,
    redact: RedactFile = None,
    report: EvalReportFile = None,
    via: EvalVia = None,
    record_model: RecordModel = None,
    print_: Print = "env",
    *,
    in_place: InPlace = False,
    check_answers: CheckAnswers = False,
) -> int:
    """Run the agent with its live model against the recorded MCP servers."""
    from mcprec_addon.doors.report_file import begin_report, write_report  # noqa: PLC0415
    from mcprec_addon.evaluation import EvalRun, run_eval  # noqa: PLC0415
    from mcprec_addon.replay.faults import faults_of  # noqa: PLC0415
    from mcprec_addon.replay.play import PlayOptions  # noqa: PLC0415
    from mcprec_addon.replay_run import ReplayRun  # noqa: PLC0415

    options = PlayOptions(
        strategy=match,
        ignore=INPUT_IGNORED[input_match],
        rules=match_rules(ignore, normalize),
        places=places(),
        check_answers=check_answers,
        faults=faults_of(joined("fault", fault)),
        secrets=secret_values(secret or [], os.environ),
        own_rules=redaction_rules(redact),
        on_miss=on_miss,
    )
    replay = ReplayRun(
        path=cassette,
        command=command or [],
        servers=run_servers(config, http, stdio, in_place=in_place),
        in_place=in_place,
        options=options,
        via=via,
        keep=joined("keep-env", keep_env),
        pace=None if pace is None else pace_of(pace),
        say=say,
        announce=announcer(print_),
    )
    run = EvalRun(
        replay=replay,
        runs=runs,
        jobs=jobs,
        required=require,
        timeout_s=run_timeout,
        record_model=record_model,
        on_end=begin_report(report),
    )
    found = run_eval(run)
    typer.echo(found.text(), err=True)
    if report is not None:
        write_report(report, found)
    return found.exit.status


def report_files(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="What eval --report FILE.jsonl wrote.")
    ],
    require: Require = None,
    format_: Annotated[
        Literal["text", "json"], typer.Option("--format", help="How to print.")
    ] = "text",
) -> int:
    """Join the reports of an eval that ran in several places."""
    from mcprec_addon.evaluation import join_reports  # noqa: PLC0415

    found = join_reports(files, required=require)
    typer.echo(dumps(found.as_json()).decode() if format_ == "json" else found.text())
    return found.exit.status
