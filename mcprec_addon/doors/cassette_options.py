"""How a cassette is used in this process: by a caller's options, else by the project's settings."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict, get_args

from mcprec_addon.doors.rules_file import own_rules
from mcprec_addon.doors.settings_file import Settings
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Half
from mcprec_addon.match.normal import Places
from mcprec_addon.match.rules import Kind, Rule, rules_of
from mcprec_addon.replay.faults import faults_of
from mcprec_addon.replay.play import ModelStrategy, OnMiss, PlayOptions, Strategy


class CassetteOptions(TypedDict, total=False):
    """How a cassette is used; what is absent is as a project's settings say, else as here.

    Attributes:
        half: The half that is replayed; by default all that is there.
        match: Strategy for the MCP half: ``auto``, ``exact``, ``ordered`` or ``state``.
        model_match: For the model half: ``auto``, ``exact``, ``ordered`` or ``sequence``.
        ignore: Pointers left out of every key, such as ``/args/since``.
        normalize: What does not count in texts: ``date``, ``uuid``, …, or a regex.
        strict: No tool call is repeated, an ambiguous binding misses, refused requests count.
        faults: Answers that are broken on purpose, such as ``14:cut@2``.
        secrets: Live values that stand for placeholders, by their names.
        servers: Address or command line of MCP servers by label, where they are others than the
            recorded ones.
        check_answers: A client that answers a server's request otherwise than recorded misses.
        on_miss: What a tool call without an answer gets: ``fail``, ``advise`` or ``plain``.
        allow: Hosts, or ``host:port``, that may be reached live.
        all_used: Every recorded exchange has to be used.
        redact: A file with the redaction rules of the recording.
    """

    half: Half
    match: Strategy
    model_match: ModelStrategy
    ignore: Sequence[str]
    normalize: Sequence[str]
    strict: bool
    faults: Sequence[str]
    secrets: Mapping[str, str]
    servers: Mapping[str, str]
    check_answers: bool
    on_miss: OnMiss
    allow: Sequence[str]
    all_used: bool
    redact: str | Path


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "half": get_args(Half),
    "match": get_args(Strategy),
    "model_match": get_args(ModelStrategy),
    "on_miss": get_args(OnMiss),
}


def check_options(options: Mapping[str, object]) -> None:
    """Check that options are known, and that each that is a choice is one of its values.

    Raises:
        TypeError: One is not known.
        UsageError: One has a value that is none of its choices.
    """
    unknown = [name for name in options if name not in CassetteOptions.__annotations__]
    if unknown:
        known = ", ".join(CassetteOptions.__annotations__)
        message = f"a cassette has no option {unknown[0]!r}; it has {known}"
        raise TypeError(message)
    for name, choices in _CHOICES.items():
        value = options.get(name, choices[0])
        if value not in choices:
            message = f"{name}={value!r}: no such value; choose one of {', '.join(choices)}"
            raise UsageError(message)


def play_options(settings: Settings, options: CassetteOptions) -> PlayOptions:
    """Return how a cassette is replayed, from a project's settings and a caller's options.

    Raises:
        TypeError: An option is not known.
        UsageError: One is wrong; the line names it.
    """
    check_options(options)
    file = options.get("redact")
    return PlayOptions(
        strategy=options.get("match") or _choice(settings, "match", get_args(Strategy)),
        model_strategy=options.get("model_match")
        or _choice(settings, "model-match", get_args(ModelStrategy)),
        strict=options.get("strict", settings.options.get("strict") is True),
        rules=(*_rules("ignore", settings, options), *_rules("normalize", settings, options)),
        places=Places(cwd=str(Path.cwd()), home=os.environ.get("HOME", "")),
        check_answers=options.get("check_answers", settings.options.get("check-answers") is True),
        on_miss=options.get("on_miss", "fail"),
        faults=faults_of(options.get("faults", ()), option="faults"),
        own_rules=own_rules(settings, None if file is None else Path(file)),
        secrets=dict(options.get("secrets", {})),
    )


def setting_list(settings: Settings, name: str) -> list[str]:
    """Return what a project's settings list under a name."""
    value = settings.options.get(name)
    return value if isinstance(value, list) else []


def _choice[T: str](settings: Settings, name: str, choices: tuple[T, ...]) -> T:
    value = settings.options.get(name, choices[0])
    found = next((each for each in choices if each == value), None)
    if found is None:
        file = settings.origin.get(name)
        message = f"{file}: {name} = {value!r}: no such value; choose one of {', '.join(choices)}"
        raise UsageError(message)
    return found


def _rules(kind: Kind, settings: Settings, options: CassetteOptions) -> tuple[Rule, ...]:
    given = rules_of(kind, options.get(kind, ()), origin=f"{kind}=")
    origin = f"{settings.origin.get(kind)}: {kind}"
    added = rules_of(kind, setting_list(settings, kind), origin=origin)
    return tuple(dict.fromkeys((*given, *added)))
