"""Makes a cassette of the journal that a killed recording left behind."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from mcprec_addon.doors.cassette_file import put_cassette, read_journal_file
from mcprec_addon.doors.recording import cassette_of, header_of
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Redaction
from mcprec_addon.record.recorder import Recorder
from mcprec_addon.redact.placeholders import renumber
from mcprec_addon.redact.rules import BUILTIN

_PREFIX, _SUFFIX = ".", ".journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What came out of a journal.

    Attributes:
        path: The cassette that was written.
        exchanges: How many exchanges it holds.
        warnings: What was left out, a sentence each.
    """

    path: Path
    exchanges: int
    warnings: tuple[str, ...]

    @property
    def line(self) -> str:
        """What was written, in one line."""
        return f"recovered {self.exchanges} exchanges into {self.path}"

    @property
    def caution(self) -> str:
        """What could not be made good."""
        return (
            "the recording was cut off, and secrets that only its own headers told "
            "could not be searched again; look before you commit"
        )


def recover(journal: Path) -> Recovered:
    """Write the cassette that a journal belongs to, and remove the journal.

    Args:
        journal: ``.NAME.journal``; the cassette becomes ``NAME`` beside it.

    Raises:
        McprecError: It is no journal, cannot be read, or the cassette is there already.
    """
    name = journal.name
    if not (name.startswith(_PREFIX) and name.endswith(_SUFFIX)):
        message = (
            f"{journal}: is no journal; one is called .NAME.journal, such as .triage.mcp.journal"
        )
        raise UsageError(message)
    target = journal.with_name(name.removeprefix(_PREFIX).removesuffix(_SUFFIX))
    if target.exists():
        message = f"{target}: exists already; move it away, then recover again"
        raise UsageError(message)
    found = read_journal_file(journal)
    recorder = Recorder(lambda _: None)
    recorder.seen.servers.update(found.header.servers)
    for exchange in found.exchanges:
        recorder.observe(exchange)
    closed = renumber(found.exchanges, found.messages, found.noise)
    recorded_at = found.header.recorded or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    header = replace(
        header_of(recorder.seen, recorded_at=datetime.fromisoformat(recorded_at)),
        redaction=Redaction(builtin=BUILTIN, placeholders=closed.counts),
        recovered=True,
    )
    put_cassette(target, cassette_of(closed, header))
    journal.unlink()
    return Recovered(path=target, exchanges=len(found.exchanges), warnings=found.warnings)
