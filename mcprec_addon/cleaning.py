"""What `mcprec redact` does: finds the secrets that are still in a cassette, or takes them out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcprec_addon.doors.cassette_file import check_target, load_cassette, put_cassette
from mcprec_addon.doors.cassette_lines import lines_in
from mcprec_addon.errors import UsageError
from mcprec_addon.redact.own_rules import OwnRules, with_own
from mcprec_addon.redact.rules import BUILTIN, default_rules
from mcprec_addon.upkeep.layout import count_text
from mcprec_addon.upkeep.scan import Scan, cleaned, scan

_SEQ = re.compile(rb'\{(?:"kind":"model",)?"seq":(\d{1,9})[,}]')

_PLURALS = {"class": "classes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What became of a cassette.

    Attributes:
        path: Where the clean one is.
        new: How many secrets were taken out, by class.
    """

    path: Path
    new: Mapping[str, int]

    @property
    def line(self) -> str:
        """What was done, in one line."""
        if not self.new:
            return f"{self.path}: no secrets found"
        classes = ", ".join(f"{count} {cls}" for cls, count in self.new.items())
        total = count_text(sum(self.new.values()), "secret")
        return f"{self.path}: {total} redacted ({classes})"


def check_redact(
    cassette: Path | None,
    out: Path | None,
    form: str,
    *,
    scan: bool,
    suspicious: bool,
    check_config: bool,
) -> None:
    """Check that the options of `redact` go together.

    Raises:
        UsageError: Two of them do not, or there is nothing to do.
    """
    if cassette is None and not check_config:
        message = "redact needs a CASSETTE, or --check-config; name one"
        raise UsageError(message)
    if check_config and (cassette is not None or scan or out is not None):
        message = "--check-config looks at rules alone; drop it, or the rest"
        raise UsageError(message)
    if (scan and out is not None) or (not scan and (form != "text" or suspicious)):
        message = "--out is for cleaning, --format and --suspicious for --scan; drop one of them"
        raise UsageError(message)


def rules_line(own: OwnRules) -> str:
    """Return what is in force, in one line."""
    if own.digest is None:
        return f"built-in rules {BUILTIN}, and none of your own"
    counts = {
        "pattern": len(own.patterns),
        "name": len(own.keys),
        "allowed value": len(own.allow),
        "class": len(own.off),
    }
    parts = [count_text(number, noun, _PLURALS.get(noun)) for noun, number in counts.items()]
    return f"built-in rules {BUILTIN}, and {', '.join(parts)} off ({own.digest})"


def scan_cassette(path: Path, own: OwnRules, *, suspicious: bool = False) -> Scan:
    """Return what is still in a cassette, with the lines it stands on.

    Args:
        path: The cassette.
        own: Rules of one's own.
        suspicious: Also list what no rule knows and what looks drawn by chance.

    Raises:
        McprecError: The cassette cannot be read.
    """
    rules = with_own(default_rules(), own)
    findings = scan(load_cassette(path), rules, with_suspicious=suspicious)
    lines: dict[int, int] = {}
    for number, line in enumerate(lines_in(path) if findings else (), 1):
        match = _SEQ.match(line.text)
        if match is not None:
            lines.setdefault(int(match[1]), number)
    return Scan(name=str(path), findings=findings, lines=lines)


def clean_cassette(path: Path, out: Path | None, own: OwnRules) -> Cleaned:
    """Take the secrets out of a cassette.

    Args:
        path: The cassette.
        out: Where the clean one goes; None: in its place, in one step.
        own: Rules of one's own, which its header then names.

    Raises:
        McprecError: It cannot be read, or the clean one cannot be written.
    """
    cassette = load_cassette(path)
    if out is not None:
        check_target(out, force=False)
    clean, new = cleaned(cassette, with_own(default_rules(), own))
    if clean is not cassette or out is not None:
        put_cassette(out or path, clean)
    return Cleaned(path=out or path, new=new)
