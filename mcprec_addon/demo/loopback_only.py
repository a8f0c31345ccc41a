"""Runs a command where the only network is loopback: a Linux network namespace of its own.

Run it with ``python -m mcprec_addon.demo.loopback_only CMD...``. Without a command it only
tries, and says on stderr why it cannot.
"""

import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

CANNOT = 125
"""Exit status where there can be no namespace; what `env` and `timeout` use for the like."""

_SIOCGIFFLAGS = 0x8913  # linux/sockios.h
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1
_CLONE_NEWUSER = 0x10000000  # linux/sched.h
_CLONE_NEWNET = 0x40000000
_IFREQ = struct.Struct("16sh14x")  # interface name, flags


def leave_network() -> None:
    """Move this process into a network namespace that has loopback alone, and bring it up.

    Raises:
        OSError: The system does not let this user do so.
    """
    if sys.platform != "linux":
        problem = "network namespaces are a thing of Linux"
        raise OSError(problem)
    user, group = os.getuid(), os.getgid()
    os.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    # The same user as outside, so that files stay readable and belong to whom they did.
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    _bring_up("lo")


def _bring_up(interface: str) -> None:
    name = interface.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        reply = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, _IFREQ.pack(name, 0))
        _, flags = _IFREQ.unpack(reply)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _IFREQ.pack(name, flags | _IFF_UP))


def main(command: list[str]) -> int:
    """Become `command` behind a closed network; 125 and the reason where that cannot be."""
    try:
        leave_network()
    except OSError as problem:
        sys.stderr.write(f"{problem.strerror or problem}\n")
        return CANNOT
    if command:
        os.execvp(command[0], command)  # noqa: S606 (no shell is what is wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
