"""What a replay came to, and the report of it."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcprec_addon.exchange import Cassette, Half
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.report import Demands, Exit, RunReport
from mcprec_addon.replay.responder import Turned
from mcprec_addon.wire.titles import call_title

_LEFT_OUT = "leftoutx"  # a nonce: what of a command is redacted is told by it


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What a replay came to.

    Attributes:
        cassette: What was replayed.
        player: Which answers it handed out.
        turned: What was turned away.
        halves: The halves that were replayed.
        allowed: Hosts that were let through.
        child: The command's exit status, or None.
        failures: Errors inside mcprec; each such request was answered 500.
        distrusted: Hosts whose clients did not trust our certificate.
        declared: Options that tell of the agent's servers; None: what the header tells.
    """

    cassette: Cassette
    player: Player
    turned: Turned
    halves: frozenset[Half]
    allowed: Sequence[str]
    child: int | None
    failures: Sequence[BaseException] = ()
    distrusted: Sequence[str] = ()
    declared: Sequence[str] | None = None


def conclude_replay(
    replayed: Replayed,
    *,
    path: Path,
    strict: bool = False,
    all_used: bool = False,
    command: Sequence[str] = (),
) -> RunReport:
    """Return the report of a replay.

    Args:
        replayed: What it came to.
        path: The cassette.
        strict: Refused traffic counts as a miss.
        all_used: Every recorded exchange must have been used.
        command: The agent's command, for the line that says how to record anew.
    """
    tally, turned = replayed.player.tally, replayed.turned
    titles = _titles(replayed)
    agent = _shown(command) or "CMD"
    return RunReport(
        misses=tally.misses,
        unused=replayed.player.unused(),
        used=tally.used,
        halves=replayed.halves,
        repeated=tally.repeated,
        guessed=tally.guessed,
        titles=titles,
        refused=turned.refused,
        absorbed=turned.absorbed,
        allowed=dict.fromkeys(replayed.allowed, 0),
        faults=list(replayed.player.faults.lines()),
        idle_rules=[f"{rule.origin}: {rule.text}" for rule in replayed.player.idle_rules()],
        warnings=list(_warnings(replayed)),
        child=replayed.child,
        demands=Demands(all_used=all_used, strict=strict),
        given=_failure(replayed),
        record_command=_record_command(replayed, path, agent),
    )


def _shown(command: Sequence[str]) -> str:
    """Return a command for a line to copy, what looks like a secret left out."""
    rules = default_rules()
    redactor = Redactor(rules, nonce=_LEFT_OUT)
    return shlex.join("…" if _LEFT_OUT in redactor.text(each) else each for each in command)


def _failure(replayed: Replayed) -> Exit | None:
    """Return the exit of a replay in which mcprec itself failed: its answers prove nothing."""
    return Exit(status=3, cause=_failed(replayed)) if replayed.failures else None


def _failed(replayed: Replayed) -> str:
    times, first = len(replayed.failures), replayed.failures[0]
    return (
        f"mcprec failed {times} time{'' if times == 1 else 's'}, first: {first!r}; please report it"
    )


def _record_command(replayed: Replayed, path: Path, agent: str) -> str:
    """Return the command that records a cassette anew, with the options it was recorded with."""
    servers = replayed.cassette.header.servers
    ways = {server.via for server in servers.values()} | {replayed.cassette.model_via}
    declared = replayed.declared
    if declared is None:
        configs = replayed.cassette.header.config
        declared = [word for each in configs for word in ("--config", str(path.parent / each))]
    if not declared:
        declared = [
            word
            for label, server in servers.items()
            if server.url and server.via == "base-url"
            for word in ("--http", f"{label}={server.url}")
        ]
    if ways - {None} == {"proxy"}:
        declared = [*declared, "--via", "proxy"]
    options = "".join(f"{_shown([word])} " for word in declared)
    return f"mcprec record {options}--out {shlex.quote(str(path))} --force -- {agent}"


def _titles(replayed: Replayed) -> dict[int, str]:
    return {each.seq: call_title(each.call) for each in replayed.cassette.exchanges}


def _warnings(replayed: Replayed) -> Iterator[str]:
    turned = replayed.turned
    titles = _titles(replayed)
    if replayed.failures:
        yield _failed(replayed)
    for label in replayed.player.tally.made:
        yield f"{label}: no handshake was recorded, the agent got one made from the cassette"
    for seq, times in sorted(replayed.player.tally.older.items()):
        yield (
            f"#{seq} {titles[seq]} was read after a change and is from before it, "
            f"{times} time{'' if times == 1 else 's'}: nothing was recorded behind that change"
        )
    for half, way in turned.ways.items():
        yield f"the {half} half came in by {way}, it was recorded the other way"
    for host in dict.fromkeys(replayed.distrusted):
        yield (
            f"a client of {host} does not trust our certificate; set the variable of its own "
            "that names a CA file to $SSL_CERT_FILE"
        )
    if turned.live_model:
        yield (
            "a model call was refused: the model half is not replayed, and nothing goes live; "
            "mcprec eval lets a live model play"
        )
    if turned.sockets:
        yield f"WebSocket upgrades of model APIs answered 426: {turned.sockets}"
