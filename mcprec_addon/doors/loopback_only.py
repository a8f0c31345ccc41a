"""A network in which there is nothing but loopback: a network namespace of Linux.

The whole process moves there, with its doors and all that it starts.
"""

import os
import socket
import struct
import sys
from pathlib import Path

from mcprec_addon.errors import UsageError

_SIOCGIFFLAGS = 0x8913  # linux/sockios.h
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1
_CLONE_NEWUSER = 0x10000000  # linux/sched.h
_CLONE_NEWNET = 0x40000000
_IFREQ = struct.Struct("16sh14x")  # interface name, flags


def leave_network(*, option: str = "--isolate") -> None:
    """Move this process into a network namespace that has loopback alone.

    Raises:
        UsageError: The system does not let this user do so; it may be half way there.
    """
    if sys.platform != "linux":
        message = f"{option}: only Linux has network namespaces; drop it, what is refused is named"
        raise UsageError(message)
    try:
        _move()
        _bring_up("lo")
    except OSError as error:
        message = (
            f"{option}: this system allows no network namespace, {error.strerror}; allow user "
            "namespaces (in a container: --cap-add SYS_ADMIN), or drop it"
        )
        raise UsageError(message) from error


def _move() -> None:
    try:
        os.unshare(_CLONE_NEWNET)
    except PermissionError:
        _move_as_user()


def _move_as_user() -> None:
    """Move with a user namespace around it, in which anybody may make one of the network."""
    user, group = os.getuid(), os.getgid()
    os.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    # The same user as outside, so that files stay readable and belong to whom they did.
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")


def _bring_up(interface: str) -> None:
    import fcntl  # noqa: PLC0415 (Windows has none)

    name = interface.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        reply = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, _IFREQ.pack(name, 0))
        _, flags = _IFREQ.unpack(reply)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _IFREQ.pack(name, flags | _IFF_UP))
