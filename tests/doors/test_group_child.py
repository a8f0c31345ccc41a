"""A child of one of several runs ends when it has to, with all that it started."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from mcprec_addon.doors.group_child import TIMED_OUT, GroupChild
from mcprec_addon.errors import UsageError

pytestmark = pytest.mark.door

# Starts a process that outlives it and tells its number, then does as it is told.
PARENT = """
import subprocess, sys, time
left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(sys.argv[1], "w").write(str(left.pid))
time.sleep(float(sys.argv[2]))
"""


def is_alive(pid: int) -> bool:
    """Whether a process goes on; one that has ended and was not waited for does not."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.joinpath("self").exists():
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: int) -> bool:
    """Whether a process ends within a second."""
    end = time.monotonic() + 1
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_alive(pid)


def child(script: str, *arguments: str, **how: object) -> GroupChild:
    command = [sys.executable, "-c", script, *arguments]
    return GroupChild(command, os.environ, **how)  # type: ignore[arg-type]


def test_a_run_whose_time_is_over_ends_with_all_it_started(tmp_path: Path) -> None:
    """A hanging agent's servers would go on for ever in a CI."""
    made = child(PARENT, str(tmp_path / "pid"), "60", timeout_s=0.5)

    status = asyncio.run(made.run())

    assert (status, made.timed_out, made.was_stopped) == (TIMED_OUT, True, False)
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_child_that_heeds_no_sigterm_is_killed(tmp_path: Path) -> None:
    """It is asked first, and has a while."""
    script = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        " open(sys.argv[1], 'w').close(); time.sleep(60)"
    )
    made = child(script, str(tmp_path / "ready"), timeout_s=0.5)

    assert asyncio.run(made.run()) == TIMED_OUT


def test_what_a_child_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    """The next run must not find a server of the one before."""
    status = asyncio.run(child(PARENT, str(tmp_path / "pid"), "0").run())

    assert status == 0
    assert gone(int((tmp_path / "pid").read_text()))


def test_output_is_told_apart_by_run(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Lines of runs that go on at once stay whole."""
    script = "import sys; print('a\\nb'); sys.stdout.write('no end'); sys.stderr.write('e\\n')"

    asyncio.run(child(script, name="run 3").run())

    said = capfdbinary.readouterr()
    assert said.out.splitlines() == [b"run 3 | a", b"run 3 | b", b"run 3 | no end"]
    assert said.err == b"run 3 | e\n"


def test_a_long_line_is_passed_on_in_pieces(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Output without an end must not fill the memory."""
    asyncio.run(child("import sys; sys.stdout.write('x' * 300_000)", name="run 1").run())

    assert capfdbinary.readouterr().out.count(b"x") == 300_000


def test_a_stop_is_passed_on() -> None:
    """An agent cleans up on Ctrl-C; a second one ends it at once."""
    made = child("import time; time.sleep(60)")

    async def stopped() -> int:
        asyncio.get_running_loop().call_later(0.3, made.stop, signal.SIGINT)
        return await made.run()

    assert asyncio.run(stopped()) == 128 + signal.SIGINT
    assert made.was_stopped


def test_a_stop_before_the_start_is_heeded(tmp_path: Path) -> None:
    """It may come while the doors are being opened, and the run must not cost its time."""
    made = child("import sys; open(sys.argv[1], 'w')", str(tmp_path / "began"))
    made.stop(signal.SIGTERM)

    assert asyncio.run(made.run()) == 128 + signal.SIGTERM
    assert not (tmp_path / "began").exists()


def test_what_cannot_be_started_is_named() -> None:
    """As in every run."""
    with pytest.raises(UsageError, match="/no/such: cannot be started"):
        asyncio.run(GroupChild(["/no/such"], {}).run())
