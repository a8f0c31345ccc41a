"""Configs swapped for a run's copies, for agents that read a fixed path, and put back.

They are put back on a normal end, after an error and after a signal; what a killed run left is
put back by the next one, or by ``mcprec restore``.
"""

import signal
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from mcprec_addon.doors.config_backup import (
    BACKUP_SUFFIX,
    Original,
    Say,
    backup_of,
    lock,
    make_or_lock,
    marked,
    real_path,
)
from mcprec_addon.errors import UsageError


class InPlace:
    """One config, from its swap until it is put back."""

    def __init__(self, config: Path, copy: Path, *, say: Say) -> None:
        """Prepare.

        Args:
            config: The config; where it is a symbolic link, what it leads to is swapped.
            copy: What the agent is to read.
            say: Takes a line on what was found or kept.
        """
        self._config = config
        self._copy = copy
        self._say = say
        self._original: Original | None = None

    def swap(self) -> None:
        """Let the copy's content stand at the config's path.

        What a killed run left is put back first. The copy has been made by then, so call
        `put_back_left` before the config is read.

        Raises:
            UsageError: Another run has the config swapped, or it cannot be swapped.
        """
        _refuse_windows()
        try:
            with _signals_held_back():
                self._swap()
        except BlockingIOError as error:
            raise UsageError(_busy(self._config)) from error
        except OSError as error:
            step = "make its folder writable, or run without --in-place"
            message = f"{self._config}: cannot be swapped, {_reason(error)}; {step}"
            raise UsageError(message) from error

    def _swap(self) -> None:
        text = marked(self._copy.read_text(encoding="utf-8"), real_path(self._config).name)
        original = make_or_lock(self._config, self._say)
        while original.is_swapped():
            _finish(self._config, original, self._say)
            original = make_or_lock(self._config, self._say)
        try:
            original.fill()
            original.check()
            original.cover(text.encode())
        except (OSError, UsageError):
            original.put_back()
            raise
        self._original = original

    def put_back(self) -> None:
        """Bring the original back; without a swap, or a second time, this does nothing.

        What else than the copy stands there by now is kept beside it, and said.
        """
        if self._original is None:
            return
        with _signals_held_back():
            original, self._original = self._original, None
            try:
                original.put_back()
            except OSError as error:
                self._say(_stuck(self._config, error))


@contextmanager
def swapped(copies: Mapping[Path, Path], *, say: Say) -> Generator[None]:
    """Swap configs for their copies and put them back at the end.

    SIGTERM and SIGHUP, where they would have ended the process at once, raise `SystemExit` with
    their usual status meanwhile.

    Args:
        copies: The copy of each config.
        say: Takes a line on what was found or kept.

    Raises:
        UsageError: One of them cannot be swapped; those before it are put back.
    """
    _refuse_windows()
    with _ended_by_signals(), ExitStack() as stack:
        for config, copy in copies.items():
            place = InPlace(config, copy, say=say)
            stack.callback(place.put_back)
            place.swap()
        yield


def put_back_left(config: Path, *, say: Say) -> None:
    """Put a config back that a killed run left swapped; call it before the config is read.

    Raises:
        UsageError: A run that is alive has it swapped, or it cannot be put back.
    """
    _refuse_windows()
    try:
        original = lock(config, say)
        if original is not None:
            _finish(config, original, say)
    except BlockingIOError as error:
        raise UsageError(_busy(config)) from error
    except OSError as error:
        raise UsageError(_stuck(config, error)) from error


def restore(paths: Sequence[Path], *, folders: Sequence[Path]) -> list[str]:
    """Put back what killed runs left swapped.

    Args:
        paths: Configs, or their backups; without any, they are looked for.
        folders: Where: in these, in their dot-folders and in what their ``.config`` holds.

    Returns:
        Lines on what was done, for the person who asked.

    Raises:
        UsageError: Something cannot be put back; everything else was.
    """
    _refuse_windows()
    lines: list[str] = []
    problems: list[str] = []
    for path in paths or _found(folders):
        config = _config_of(path)
        try:
            _restore(config, lines.append)
        except OSError as error:
            problems.append(_stuck(config, error))
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    if not lines:
        where = ", ".join(map(str, folders))
        lines.append(f"nothing to put back: no *{BACKUP_SUFFIX} in {where} or its dot-folders")
    return lines


def _restore(config: Path, say: Say) -> None:
    try:
        original = lock(config, say)
    except BlockingIOError:
        say(f"{config}: a run has it swapped, and puts it back when it ends")
        return
    if original is None:
        say(f"{config}: nothing to put back, there is no {backup_of(config).name} beside it")
    elif not _finish(config, original, say):
        say(f"{config}: is the original already; the backup beside it was removed")


def _finish(config: Path, original: Original, say: Say) -> bool:
    """Do what a killed run did not come to; return whether its copy was still there."""
    with _signals_held_back():
        was_swapped = original.is_swapped()
        original.put_back()
    if was_swapped:
        say(f"{config}: put back, a run that was killed had left its copy there")
    return was_swapped


def _found(folders: Sequence[Path]) -> list[Path]:
    """Return the configs whose backups are in these folders, or behind a link in them."""
    found: dict[Path, Path] = {}
    for folder in folders:
        for place in (folder, *folder.glob(".*/"), *folder.glob(".config/*/")):
            with suppress(OSError):  # a folder of somebody else
                for path in sorted(place.iterdir()):
                    config = _config_of(path)
                    if config != path or (path.is_symlink() and backup_of(path).exists()):
                        found.setdefault(real_path(config), config)
    return list(found.values())


def _config_of(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(BACKUP_SUFFIX))


@contextmanager
def _signals_held_back() -> Generator[None]:
    """Let no signal come between two steps that belong together: it is delivered afterwards."""
    stops = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _ended_by_signals() -> Generator[None]:
    """Let signals that would end the process unwind it, where nobody else handles them."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return
    stops = (signal.SIGTERM, signal.SIGHUP)
    ours = [number for number in stops if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            if signal.getsignal(number) is _end:
                signal.signal(number, signal.SIG_DFL)


def _end(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _refuse_windows() -> None:
    if sys.platform == "win32":
        message = "--in-place is not supported on Windows"
        raise UsageError(message)


def _busy(config: Path) -> str:
    return f"{config}: another run has it swapped; wait for it to end"


def _stuck(config: Path, error: OSError) -> str:
    return f"{config}: cannot be put back, {_reason(error)}; mend that, then run mcprec restore"


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
