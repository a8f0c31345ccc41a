"""The commands: each parses its options, calls one function and prints one result.

Commands that run a child speak on stderr only; the agent's stdout stays the agent's.
"""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer
from typer.exceptions import TyperException

from mcprec_addon import __version__
from mcprec_addon.cli_eval import evaluate, report_files
from mcprec_addon.cli_merge import merge_files
from mcprec_addon.cli_options import (
    INPUT_IGNORED,
    Allow,
    AllUsed,
    CassettePath,
    CheckAnswers,
    Command,
    Config,
    Fault,
    Force,
    HalfOption,
    Http,
    Ignore,
    InPlace,
    InputMatch,
    Isolate,
    KeepEnv,
    Listen,
    Match,
    ModelMatch,
    Normalize,
    Out,
    Pace,
    Print,
    RedactFile,
    Report,
    Save,
    Secret,
    ShowRedactions,
    Stdio,
    Strict,
    Via,
)
from mcprec_addon.cli_settings import joined, match_rules, places, redaction_rules, settings
from mcprec_addon.cli_terminal import announcer, run_servers, say
from mcprec_addon.errors import McprecError, UsageError
from mcprec_addon.jsonvalue import dumps
from mcprec_addon.options import (
    listen_address,
    pace_of,
    secret_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcprec_addon.serving import Served

_WITH_SETTINGS = ("record", "replay", "eval")
_RUNS, _CASSETTE, _SETUP = "Run an agent", "Look at a cassette", "Set-up"

app = typer.Typer(
    name="mcprec",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Record an agent's MCP and model traffic into one cassette; replay either half offline.",
    epilog="Start with: mcprec record --out triage.mcp -- ./run-agent.sh",
)


def main() -> None:
    """Run the command line and end the process with its status."""
    sys.exit(status_of(sys.argv[1:]))


def status_of(arguments: list[str]) -> int:
    """Run one command line and return its exit status; an error is one line on stderr."""
    try:
        result = cast("object", app(arguments, prog_name="mcprec", standalone_mode=False))
    except TyperException as error:
        return _say_usage(error.format_message().rstrip("."))
    except McprecError as error:
        for line in str(error).splitlines():
            say(line)
        return error.exit_status
    except (KeyboardInterrupt, typer.Abort):
        return 130
    return result if isinstance(result, int) else 0


def _say_usage(text: str) -> int:
    if text:  # a bare `mcprec` has shown its help already
        hint = "what belongs to CMD goes behind --, " if "option" in text else ""
        say(f"{text[:1].lower()}{text[1:]}; {hint}--help shows what there is")
    return 2


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"mcprec {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand in _WITH_SETTINGS:
        # Below the command line and the environment, above what an option is by itself.
        own = {
            name.replace("-", "_"): value
            for name, value in settings().options.items()
            if name not in ("ignore", "normalize")  # joined with what is given, each by its file
        }
        context.default_map = dict.fromkeys(_WITH_SETTINGS, own)


@app.command(rich_help_panel=_RUNS)
def record(
    out: Out,
    command: Command = None,
    config: Config = None,
    http: Http = None,
    stdio: Stdio = None,
    via: Via = None,
    redact: RedactFile = None,
    print_: Print = "env",
    *,
    in_place: InPlace = False,
    force: Force = False,
    show_redactions: ShowRedactions = False,
) -> int:
    """Run the agent, live, and write what it says to its MCP servers and its model API."""
    _need_mitmproxy()
    from mcprec_addon.run import RecordRun, run_record  # noqa: PLC0415

    run = RecordRun(
        out=out,
        command=command or [],
        servers=run_servers(config, http, stdio, in_place=in_place),
        in_place=in_place,
        via=via or "both",
        force=force,
        own_rules=redaction_rules(redact),
        say=say,
        announce=announcer(print_),
    )
    recorded, child = run_record(run)
    for notice in recorded.notices():
        say(notice)
    for line in recorded.redaction_lines() if show_redactions else ():
        say(line)
    typer.echo(recorded.line(), err=True)
    problems = list(recorded.problems())
    if problems:
        say(f"exit 4: {'; '.join(problems)}")
        return 4
    if child:
        say(f"the command exited {child}")
    return child or 0


@app.command(rich_help_panel=_RUNS)
def replay(
    cassette: CassettePath,
    command: Command = None,
    config: Config = None,
    http: Http = None,
    stdio: Stdio = None,
    half: HalfOption = None,
    match: Match = "auto",
    model_match: ModelMatch = "auto",
    input_match: InputMatch = "all",
    ignore: Ignore = None,
    normalize: Normalize = None,
    allow: Allow = None,
    keep_env: KeepEnv = None,
    pace: Pace = None,
    fault: Fault = None,
    secret: Secret = None,
    redact: RedactFile = None,
    report: Report = None,
    via: Via = None,
    print_: Print = "env",
    *,
    in_place: InPlace = False,
    strict: Strict = False,
    all_used: AllUsed = False,
    isolate: Isolate = False,
    check_answers: CheckAnswers = False,
    save: Save = False,
) -> int:
    """Run the agent against a cassette, with no server, no credential and no network."""
    from mcprec_addon.doors.header_file import save_rules  # noqa: PLC0415
    from mcprec_addon.doors.report_file import check_report, write_report  # noqa: PLC0415
    from mcprec_addon.replay.faults import faults_of  # noqa: PLC0415
    from mcprec_addon.replay.play import PlayOptions  # noqa: PLC0415
    from mcprec_addon.replay_end import conclude_replay  # noqa: PLC0415
    from mcprec_addon.replay_run import ReplayRun, run_replay  # noqa: PLC0415

    if report is not None:
        check_report(report)
    options = PlayOptions(
        strategy=match,
        model_strategy=model_match,
        strict=strict,
        halves=frozenset({half} if half else {"mcp", "model"}),
        ignore=INPUT_IGNORED[input_match],
        rules=match_rules(ignore, normalize),
        places=places(),
        check_answers=check_answers,
        faults=faults_of(joined("fault", fault)),
        secrets=secret_values(secret or [], os.environ),
        own_rules=redaction_rules(redact),
    )
    run = ReplayRun(
        path=cassette,
        command=command or [],
        servers=run_servers(config, http, stdio, in_place=in_place),
        in_place=in_place,
        halves=frozenset({half} if half else ()),
        options=options,
        via=via,
        allow=joined("allow", allow),
        keep=joined("keep-env", keep_env),
        pace=None if pace is None else pace_of(pace),
        say=say,
        announce=announcer(print_),
    )
    replayed = run_replay(run, isolate=isolate)
    idle = replayed.player.idle_rules()
    used = [rule for rule in options.rules if rule not in idle] if save else []
    for rule in save_rules(cassette, replayed.cassette.header, used):
        say(f"{cassette}: saved --{rule.kind} {shlex.quote(rule.text)}")
    found = conclude_replay(
        replayed, path=cassette, strict=strict, all_used=all_used, command=run.command
    )
    typer.echo(found.text(), err=True)
    if report is not None:
        write_report(report, found)
    return found.exit.status


app.command("eval", rich_help_panel=_RUNS)(evaluate)


def _served_announcer(kind: Literal["env", "json"]) -> "Callable[[Served], None]":
    def announce(served: "Served") -> None:
        config = served.config()
        if kind == "json":
            typer.echo(dumps({**config, "env": dict(served.variables)}).decode())
        else:
            for name, value in served.variables.items():
                typer.echo(f"export {name}={shlex.quote(value)}")
            typer.echo(f"# config: {dumps(config).decode()}")
        sys.stdout.flush()
        say("serving until Ctrl-C")

    return announce


def _need_mitmproxy() -> None:
    from importlib.util import find_spec  # noqa: PLC0415

    if find_spec("mitmproxy") is None:
        message = "recording needs mitmproxy; pip install 'mcprec-addon[record]'"
        raise UsageError(message)


@app.command(rich_help_panel=_CASSETTE)
def inspect(
    cassette: CassettePath,
    seq: Annotated[int | None, typer.Option(help="Show this one exchange.")] = None,
    format_: Annotated[
        Literal["text", "json"], typer.Option("--format", help="How to print.")
    ] = "text",
    *,
    self_check: Annotated[
        bool,
        typer.Option("--self-check", help="Prove that the cassette answers its own calls."),
    ] = False,
    placeholders: Annotated[
        bool, typer.Option("--placeholders", help="Show what stands for secrets, and where.")
    ] = False,
) -> int:
    """Show what a cassette holds: servers, models, calls, ends, placeholders."""
    from mcprec_addon.look import look  # noqa: PLC0415

    found = look(cassette, seq=seq, self_check=self_check, placeholders=placeholders)
    typer.echo(dumps(found.json()).decode() if format_ == "json" else found.text())
    return 0 if found.holds else 1


@app.command(rich_help_panel=_CASSETTE)
def redact(
    cassette: Annotated[
        Path | None, typer.Argument(metavar="CASSETTE", help="The cassette.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where the clean one goes."),
    ] = None,
    format_: Annotated[
        Literal["text", "json", "sarif"], typer.Option("--format", help="How to print a scan.")
    ] = "text",
    rules: RedactFile = None,
    *,
    scan: Annotated[
        bool, typer.Option("--scan", help="Write nothing; list what is found, status 1.")
    ] = False,
    suspicious: Annotated[
        bool, typer.Option("--suspicious", help="With --scan: what looks drawn by chance, too.")
    ] = False,
    check_config: Annotated[
        bool, typer.Option("--check-config", help="Check redaction rules of one's own, no more.")
    ] = False,
) -> int:
    """Take secrets out of a cassette that was recorded without, or list them."""
    from mcprec_addon.cleaning import (  # noqa: PLC0415
        check_redact,
        clean_cassette,
        rules_line,
        scan_cassette,
    )

    check_redact(
        cassette, out, format_, scan=scan, suspicious=suspicious, check_config=check_config
    )
    own = redaction_rules(rules)
    if cassette is None:
        typer.echo(rules_line(own))
        return 0
    if not scan:
        typer.echo(clean_cassette(cassette, out, own).line)
        return 0
    found = scan_cassette(cassette, own, suspicious=suspicious)
    shown = {"json": found.as_json, "sarif": found.sarif}.get(format_)
    typer.echo(found.text() if shown is None else dumps(shown()).decode())
    return 1 if found.secrets else 0


app.command("report", rich_help_panel=_CASSETTE)(report_files)
app.command("merge", rich_help_panel=_CASSETTE)(merge_files)


@app.command(rich_help_panel=_CASSETTE)
def recover(
    journal: Annotated[Path, typer.Argument(help="The journal, such as .triage.mcp.journal.")],
) -> int:
    """Make a cassette of the journal that a killed recording left behind."""
    from mcprec_addon.doors.recovery import recover as recover_journal  # noqa: PLC0415

    recovered = recover_journal(journal)
    for warning in recovered.warnings:
        say(warning)
    typer.echo(recovered.line)
    say(f"exit 4: {recovered.caution}")
    return 4


@app.command(rich_help_panel=_SETUP)
def serve(
    cassette: CassettePath,
    server: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The server to play; all over HTTP, else the only one."),
    ] = None,
    listen: Listen = None,
    redact: RedactFile = None,
    print_: Annotated[
        Literal["env", "json"],
        typer.Option("--print", help="With --listen: how to print addresses and a config."),
    ] = "env",
) -> int:
    """Play a recorded server on stdin and stdout, or with --listen everything over HTTP."""
    from mcprec_addon.serving import serve_http, serve_stdio  # noqa: PLC0415

    own = redaction_rules(redact)
    if listen is None:
        report = serve_stdio(cassette, server=server, own=own, say=say)
    else:
        show = _served_announcer(print_)
        address = listen_address(listen)
        report = serve_http(cassette, address, server=server, own=own, announce=show, say=say)
    typer.echo(report.text(), err=True)
    return report.exit.status


@app.command(rich_help_panel=_SETUP)
def restore(
    config: Annotated[
        list[Path] | None,
        typer.Argument(metavar="CONFIG", help="What to put back; all that is found near without."),
    ] = None,
) -> int:
    """Put back configs that a killed run in place left swapped."""
    from mcprec_addon.doors.in_place import restore as put_back  # noqa: PLC0415

    for line in put_back(config or [], folders=[Path.cwd(), Path.home()]):
        typer.echo(line)
    return 0


@app.command(rich_help_panel=_SETUP)
def addon() -> int:
    """Print the path of the addon, for mitmdump -s "$(mcprec addon)"."""
    typer.echo(str(Path(__file__).with_name("addon.py")))
    return 0


@app.command(rich_help_panel=_SETUP)
def demo(
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Leave the files of the demo here.")
    ] = None,
) -> int:
    """Record a real agent, replay it offline, and see what a miss looks like."""
    from mcprec_addon.demo.steps import run_demo  # noqa: PLC0415

    return run_demo(keep=keep, color=sys.stdout.isatty(), out=sys.stdout)
