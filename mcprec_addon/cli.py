"""The commands: each parses its options, calls one function and prints one result.

Commands that run a child speak on stderr only; the agent's stdout stays the agent's.
"""

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, cast

import typer
from typer.exceptions import TyperException

from mcprec_addon import __version__
from mcprec_addon.errors import McprecError, UsageError
from mcprec_addon.exchange import Half
from mcprec_addon.jsonvalue import dumps
from mcprec_addon.options import pointers, server_urls

_RUNS, _CASSETTE, _SETUP = "Run an agent", "Look at a cassette", "Set-up"

app = typer.Typer(
    name="mcprec",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Record an agent's MCP and model traffic into one cassette; replay either half offline.",
    epilog="Start with: mcprec record --out triage.mcp -- ./run-agent.sh",
)

Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="CMD", help="The agent, behind --; without it serve until Ctrl-C."),
]
CassettePath = Annotated[Path, typer.Argument(metavar="CASSETTE", help="The cassette.")]
Via = Annotated[
    Literal["both", "base-url", "proxy"] | None,
    typer.Option(help="How the agent is led to us.", envvar="MCPREC_VIA"),
]
Print = Annotated[
    Literal["env", "json"],
    typer.Option("--print", help="Without CMD: how to print the variables to set."),
]


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
        _say(str(error))
        return error.exit_status
    except (KeyboardInterrupt, typer.Abort):
        return 130
    return result if isinstance(result, int) else 0


def _say_usage(text: str) -> int:
    if text:  # a bare `mcprec` has shown its help already
        hint = "what belongs to CMD goes behind --, " if "option" in text else ""
        _say(f"{text[:1].lower()}{text[1:]}; {hint}--help shows what there is")
    return 2


def _say(line: str) -> None:
    typer.echo(f"mcprec: {line}", err=True)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"mcprec {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


@app.command(rich_help_panel=_RUNS)
def record(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The cassette to write.", envvar="MCPREC_OUT")
    ],
    command: Command = None,
    http: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=URL",
            help="An MCP server over HTTP; may be repeated.",
            envvar="MCPREC_HTTP",
        ),
    ] = None,
    via: Via = None,
    print_: Print = "env",
    *,
    force: Annotated[bool, typer.Option(help="Overwrite the cassette.")] = False,
) -> int:
    """Run the agent, live, and write what it says to its MCP servers and its model API."""
    _need_mitmproxy()
    from mcprec_addon.run import RecordRun, run_record  # noqa: PLC0415

    run = RecordRun(
        out=out,
        command=command or [],
        servers=server_urls(http or []),
        via=via or "both",
        force=force,
        say=_say,
        announce=_announcer(print_),
    )
    recorded, child = run_record(run)
    for notice in recorded.notices():
        _say(notice)
    typer.echo(recorded.line(), err=True)
    problems = list(recorded.problems())
    if problems:
        _say(f"exit 4: {'; '.join(problems)}")
        return 4
    if child:
        _say(f"the command exited {child}")
    return child or 0


@app.command(rich_help_panel=_RUNS)
def replay(
    cassette: CassettePath,
    command: Command = None,
    half: Annotated[
        Half | None, typer.Option(help="Replay this half alone.", envvar="MCPREC_HALF")
    ] = None,
    match: Annotated[
        Literal["auto", "exact", "ordered"],
        typer.Option(help="How MCP calls are matched.", envvar="MCPREC_MATCH"),
    ] = "auto",
    model_match: Annotated[
        Literal["auto", "exact", "ordered", "sequence"],
        typer.Option(help="How model calls are matched.", envvar="MCPREC_MODEL_MATCH"),
    ] = "auto",
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POINTER",
            help="A field to leave out of matching; may be repeated.",
            envvar="MCPREC_IGNORE",
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST",
            help="A host the agent may reach; may be repeated.",
            envvar="MCPREC_ALLOW",
        ),
    ] = None,
    keep_env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A credential variable that keeps its value; may be repeated.",
            envvar="MCPREC_KEEP_ENV",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write the report here: .json or .xml (JUnit).", envvar="MCPREC_REPORT"),
    ] = None,
    via: Via = None,
    print_: Print = "env",
    *,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Repeat no tool call, guess nothing, count refused traffic as a miss.",
            envvar="MCPREC_STRICT",
        ),
    ] = False,
    all_used: Annotated[
        bool,
        typer.Option(
            "--all-used",
            help="Fail when a recorded exchange was never used.",
            envvar="MCPREC_ALL_USED",
        ),
    ] = False,
) -> int:
    """Run the agent against a cassette, with no server, no credential and no network."""
    from mcprec_addon.doors.report_file import check_report, write_report  # noqa: PLC0415
    from mcprec_addon.replay.player import PlayOptions  # noqa: PLC0415
    from mcprec_addon.replay_run import ReplayRun, conclude_replay, run_replay  # noqa: PLC0415

    if report is not None:
        check_report(report)
    options = PlayOptions(
        strategy=match,
        model_strategy=model_match,
        strict=strict,
        halves=frozenset({half} if half else {"mcp", "model"}),
        ignore=pointers(ignore or []),
    )
    run = ReplayRun(
        path=cassette,
        command=command or [],
        halves=frozenset({half} if half else ()),
        options=options,
        via=via,
        allow=allow or [],
        keep=keep_env or [],
        say=_say,
        announce=_announcer(print_),
    )
    found = conclude_replay(
        run_replay(run), path=cassette, strict=strict, all_used=all_used, command=run.command
    )
    typer.echo(found.text(), err=True)
    if report is not None:
        write_report(report, found)
    return found.exit.status


def _announcer(kind: Literal["env", "json"]) -> Callable[[Mapping[str, str]], None]:
    def announce(variables: Mapping[str, str]) -> None:
        if kind == "json":
            typer.echo(dumps(dict(variables)).decode())
        else:
            for name, value in variables.items():
                typer.echo(f"export {name}={shlex.quote(value)}")
        _say("serving until Ctrl-C")

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
def recover(
    journal: Annotated[Path, typer.Argument(help="The journal, such as .triage.mcp.journal.")],
) -> int:
    """Make a cassette of the journal that a killed recording left behind."""
    from mcprec_addon.doors.recovery import recover as recover_journal  # noqa: PLC0415

    recovered = recover_journal(journal)
    for warning in recovered.warnings:
        _say(warning)
    typer.echo(recovered.line)
    _say(f"exit 4: {recovered.caution}")
    return 4


@app.command(rich_help_panel=_SETUP)
def serve(
    cassette: CassettePath,
    server: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The server to play; needed where there are several."),
    ] = None,
) -> int:
    """Play one recorded MCP server on stdin and stdout, as an entry of an MCP config."""
    from mcprec_addon.serving import serve_stdio  # noqa: PLC0415

    report = serve_stdio(cassette, server=server, say=_say)
    typer.echo(report.text(), err=True)
    return report.exit.status


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
