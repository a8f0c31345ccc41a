"""The closed network of `replay --isolate`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcprec_addon.doors.loopback_only import leave_network
from mcprec_addon.errors import UsageError

pytestmark = pytest.mark.door

# Loopback must answer, the rest of the world be out of reach, and files be whose they were.
PROBE = """
import errno, os, socket, sys

def unshare(flags, real=os.unshare):
    if flags == 0x40000000:  # the network alone, which only root may leave
        raise PermissionError(1, "Operation not permitted")
    real(flags)

if sys.argv[2] == "as-user":
    os.unshare = unshare
from mcprec_addon.doors.loopback_only import leave_network
before = os.getuid(), os.stat(sys.argv[1]).st_uid
leave_network()
with socket.create_server(("127.0.0.1", 0)) as door:
    socket.create_connection(door.getsockname()).close()
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as error:
    print(errno.errorcode[error.errno], (os.getuid(), os.stat(sys.argv[1]).st_uid) == before)
"""


@pytest.mark.parametrize("way", ["as-it-may", "as-user"])
def test_only_loopback_is_left(way: str, tmp_path: Path) -> None:
    """A replay that passes there had nobody to ask, whether root ran it or anybody else."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(tmp_path), way],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    if "allows no network namespace" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])

    assert done.stdout == "ENETUNREACH True\n", done.stderr


def test_refusal_of_the_system_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container or a hardened system says no, and whoever reads it knows what to change."""

    def refuse(_: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "unshare", refuse, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")

    with pytest.raises(UsageError) as raised:
        leave_network()

    assert str(raised.value) == (
        "--isolate: this system allows no network namespace, Operation not permitted; allow user "
        "namespaces (in a container: --cap-add SYS_ADMIN), or drop it"
    )


def test_elsewhere_it_is_a_thing_of_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS the option must not pass for a promise that is kept."""
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(UsageError, match="only Linux has network namespaces"):
        leave_network()
