"""How values are laid out for a person: aligned columns, JSON over several lines, long text."""

from collections.abc import Iterator, Sequence

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import one_line, shown, visible

WIDTH = 100


def cut(line: str, width: int = WIDTH) -> str:
    """Return a line that is no wider than `width`."""
    return line if len(line) <= width else f"{line[: width - 1]}…"


def count_text(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def columns(rows: Sequence[Sequence[str]], *, indent: int = 0) -> list[str]:
    """Return rows as lines with aligned columns, two spaces between, none wider than a page."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return [cut(" " * indent + line.rstrip()) for line in lines]


def json_lines(value: Json, *, indent: int = 0) -> list[str]:
    """Return a value as indented JSON; a text that does not fit stands below, behind bars.

    The result is for reading: it is JSON only as long as every text fits on its line.
    """
    return list(_json_lines(value, " " * indent, "", ""))


def text_lines(text: str, *, indent: int = 0) -> list[str]:
    """Return text behind bars, line by line; a long line goes on without a bar."""
    return list(_barred(text, " " * indent))


def _json_lines(value: Json, margin: str, head: str, tail: str) -> Iterator[str]:
    whole = f"{margin}{head}{shown(value, limit=WIDTH)}{tail}"
    if len(whole) <= WIDTH and not _has_lines(value):
        yield whole
        return
    match value:
        case dict() if value:
            yield f"{margin}{head}{{"
            last = len(value) - 1
            for at, (key, member) in enumerate(value.items()):
                comma = "," if at < last else ""
                yield from _json_lines(member, margin + "  ", f'"{visible(key)}": ', comma)
            yield f"{margin}}}{tail}"
        case list() if value:
            yield f"{margin}{head}["
            for at, member in enumerate(value):
                comma = "," if at < len(value) - 1 else ""
                yield from _json_lines(member, margin + "  ", "", comma)
            yield f"{margin}]{tail}"
        case str():
            yield f"{margin}{head}".rstrip() or f"{margin}text:"
            yield from _barred(value, margin + "  ")
        case _:
            yield from _wrapped(f"{head}{shown(value, limit=WIDTH * WIDTH)}{tail}", margin, margin)


def _has_lines(value: Json) -> bool:
    """Whether a text of several lines stands in a value: it reads better line by line."""
    match value:
        case str():
            return "\n" in value.strip("\n")
        case dict():
            return any(map(_has_lines, value.values()))
        case list():
            return any(map(_has_lines, value))
        case _:
            return False


def _barred(text: str, margin: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield from _wrapped(one_line(line), f"{margin}| ", f"{margin}  ")


def _wrapped(line: str, first: str, later: str) -> Iterator[str]:
    room = max(20, WIDTH - len(first))
    yield f"{first}{line[:room]}".rstrip()
    for at in range(room, len(line), room):
        yield f"{later}{line[at : at + room]}"
