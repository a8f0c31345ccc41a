"""The lines of a file, taken one by one; of a long one its groups stay in the file."""

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Lock
from weakref import finalize

from mcprec_addon.cassette.lines import Group, Line, long_line

_BLOCK_BYTES = 1 << 20
_STOP = re.compile(rb"[\n\t]")


class _Source:
    """A file that is open for as long as anything of it may be read."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._lock = Lock()  # a file has one place; several threads may replay one cassette
        finalize(self, os.close, self._descriptor)

    def read(self, start: int, size: int) -> bytes:
        """Return bytes from a place; fewer where the file ends before."""
        with self._lock:
            os.lseek(self._descriptor, start, os.SEEK_SET)
            found = os.read(self._descriptor, size)
            while len(found) < size and (more := os.read(self._descriptor, size - len(found))):
                found += more
        return found


def lines_in(path: Path) -> Iterator[Line]:
    """Yield the lines of a file.

    Raises:
        OSError: It cannot be read.
    """
    reader = _Reader(_Source(path))
    at = 0
    while block := reader.source.read(at, _BLOCK_BYTES):
        yield from reader.lines(block, at)
        at += len(block)
    yield from reader.rest()


class _Reader:
    """Cuts blocks into lines, and lines at their tabs."""

    def __init__(self, source: _Source) -> None:
        self.source = source
        self._start = 0  # of the stretch between two tabs that is read
        self._text: list[bytes] = []  # of it, so far
        self._head = b""
        self._groups: list[Group] = []

    def lines(self, block: bytes, at: int) -> Iterator[Line]:
        """Yield the lines that a block completes; `at` is where it stands in the file."""
        done = 0
        for stop in _STOP.finditer(block):
            self._text.append(block[done : stop.start()])
            if stop.group() == b"\n":
                yield self._line(is_ended=True)
            else:
                self._tab(at + stop.start())
            done = stop.end()
            self._start = at + done
        self._text.append(block[done:])

    def rest(self) -> Iterator[Line]:
        """Yield the last line where it has no end."""
        if self._head or any(self._text):
            yield self._line(is_ended=False)

    def _tab(self, at: int) -> None:
        text = b"".join(self._text)
        if not self._groups and not self._head:
            self._head = text + b"\t" if text else b"\t"
        else:
            self._groups.append(partial(self.source.read, self._start, at - self._start))
        self._text = []

    def _line(self, *, is_ended: bool) -> Line:
        head, groups, tail = self._head, tuple(self._groups), b"".join(self._text)
        self._head, self._groups, self._text = b"", [], []
        found = long_line(head, groups, tail) if is_ended else None
        if found is not None:
            return found
        between = b"".join(group() + b"\t" for group in groups)
        return Line(text=head + between + tail, is_ended=is_ended)
