"""The closed network in which the demo replays once more."""

import subprocess
import sys

import pytest

from mcprec_addon.demo.loopback_only import CANNOT, main

pytestmark = pytest.mark.door

# Loopback must answer, and the rest of the world must be out of reach.
PROBE = """
import errno, socket
with socket.create_server(("127.0.0.1", 0)) as door:
    socket.create_connection(door.getsockname()).close()
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as error:
    print(errno.errorcode[error.errno])
"""


def closed(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcprec_addon.demo.loopback_only", *command],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_only_loopback_is_left() -> None:
    """A replay that passes there had nobody to ask."""
    attempt = closed()
    if attempt.returncode == CANNOT:
        pytest.skip(f"no network namespaces here: {attempt.stderr.strip()}")

    done = closed(sys.executable, "-c", PROBE)

    assert (done.returncode, done.stdout) == (0, "ENETUNREACH\n")


def test_status_of_the_command_is_kept() -> None:
    """The replay's exit status is what the demo looks at."""
    if closed().returncode == CANNOT:
        pytest.skip("no network namespaces here")

    assert closed(sys.executable, "-c", "raise SystemExit(3)").returncode == 3


def test_refusal_of_the_system_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where users may not have namespaces the demo says so and goes on."""

    def refuse() -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("mcprec_addon.demo.loopback_only.leave_network", refuse)

    assert main(["true"]) == CANNOT
    assert capsys.readouterr().err == "Operation not permitted\n"
