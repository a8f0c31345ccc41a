"""What `mcprec inspect` shows: a summary, one exchange, the placeholders, or the self-check."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mcprec_addon.cassette.blobs import BlobWriter
from mcprec_addon.doors.blob_folder import BlobCheck
from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette, Exchange, Half, Json
from mcprec_addon.redact import walk
from mcprec_addon.self_check import self_check as check_cassette
from mcprec_addon.upkeep.inspect import (
    Placeholders,
    exchange_json,
    exchange_text,
    summary,
)
from mcprec_addon.upkeep.inspect import placeholders as find_placeholders
from mcprec_addon.upkeep.summary import Blobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One thing to show, as text and as JSON, and whether what was checked holds."""

    text: Callable[[], str]
    json: Callable[[], Json]
    holds: bool = True


def look(path: Path, *, seq: int | None, self_check: bool, placeholders: bool) -> Look:
    """Return what was asked for of a cassette: the first of the three, else its summary.

    Raises:
        McprecError: The cassette cannot be read, or has no exchange of this number.
    """
    if self_check:
        check = check_cassette(load_cassette(path), name=str(path))
        return Look(text=check.text, json=check.as_json, holds=check.holds)
    blobs = BlobCheck(path)
    cassette = load_cassette(path, blobs=blobs.read)
    if seq is not None:
        return _one(cassette, _exchange(cassette, path, seq), warnings=blobs.problems)
    if placeholders:
        found = find_placeholders(cassette)
        return Look(text=lambda: _lines(found), json=lambda: [each.as_json() for each in found])
    beside = Blobs(
        count=len(blobs.sizes),
        size_bytes=sum(blobs.sizes.values()),
        problems=tuple(blobs.problems),
        orphans=tuple(blobs.orphans),
    )
    whole = summary(cassette, name=str(path), size_bytes=path.stat().st_size, blobs=beside)
    return Look(text=whole.text, json=whole.as_json)


def _one(cassette: Cassette, exchange: Exchange, *, warnings: list[str]) -> Look:
    return Look(
        text=lambda: "\n".join([exchange_text(_without_blobs(exchange), cassette), *warnings]),
        json=lambda: exchange_json(exchange),
    )


def _without_blobs(exchange: Exchange) -> Exchange:
    """Return an exchange with references in place of large content, which nobody reads."""
    return walk.exchange(exchange, _References())


class _References(walk.Change):
    def __init__(self) -> None:
        self._writer = BlobWriter()

    def text(self, text: str) -> str:
        return text

    def json(self, value: Json, root: walk.Root, half: Half) -> Json:
        del root, half
        return self._writer.referenced(value)


def _exchange(cassette: Cassette, path: Path, seq: int) -> Exchange:
    found = next((each for each in cassette.exchanges if each.seq == seq), None)
    if found is None:
        last = max((each.seq for each in cassette.exchanges), default=0)
        message = f"{path}: no exchange has seq {seq}; the last is {last}"
        raise UsageError(message)
    return found


def _lines(found: list[Placeholders]) -> str:
    lines = [line for each in found for line in each.lines()]
    return "\n".join(lines) or "no placeholders"
