"""Our certificate authority, and the bundles that make a child trust it.

The authority lives in memory and ends with the process; no key of it is ever in a cassette.
Variables such as ``SSL_CERT_FILE`` replace what a program trusts, so their bundle also holds the
roots that were trusted before; ``NODE_EXTRA_CA_CERTS`` adds, so its file holds what is added.
"""

import os
import ssl
from datetime import UTC, datetime, timedelta
from importlib import import_module, util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import trustme

# Apple's trust evaluation refuses leaves that are valid for more than 825 days.
_LEAF_DAYS = 365


class Authority:
    """A certificate authority of our own, made when it is first asked for something.

    The private key of a leaf touches the disk for the moment in which the TLS library reads it,
    in a temporary file that its owner alone may read.
    """

    def __init__(self) -> None:
        """Prepare an authority; nothing is made yet."""
        self._ca: trustme.CA | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def ca_pem(self) -> bytes:
        """The authority's certificate, PEM."""
        return self._authority().cert_pem.bytes()

    def context_for(self, host: str) -> ssl.SSLContext:
        """Return the TLS context of a server that is `host`; one per host, kept.

        Args:
            host: Host name or IP address, without brackets and port.

        Raises:
            ValueError: `host` is no name that a certificate can carry.
        """
        context = self._contexts.get(host)
        if context is None:
            context = self._contexts[host] = self._mint(host)
        return context

    def _mint(self, host: str) -> ssl.SSLContext:
        now = datetime.now(UTC)
        leaf = self._authority().issue_cert(
            host,
            organization_name="mcprec",
            # A day back: the client may run on a clock that is a little slow.
            not_before=now - timedelta(days=1),
            not_after=now + timedelta(days=_LEAF_DAYS),
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        leaf.configure_cert(context)
        return context

    def _authority(self) -> "trustme.CA":
        if self._ca is None:
            import trustme  # noqa: PLC0415 - a start without TLS does not pay for it

            self._ca = trustme.CA(organization_name="mcprec", organization_unit_name="mcprec")
        return self._ca


def write_bundle(path: Path, *, ca_pem: bytes, user_bundle: Path | None) -> None:
    """Write what a child is to trust: the roots trusted so far, and our own authority.

    Args:
        path: The file to write; only its owner can read it.
        ca_pem: Our authority's certificate.
        user_bundle: The bundle the user's environment names, which stands for the system's
            roots. One that is not there counts as not named.
    """
    roots = _existing(user_bundle) or _system_roots()
    _write_private(path, _joined([roots, ca_pem]))


def write_ca_only(path: Path, *, ca_pem: bytes, user_extra: Path | None) -> None:
    """Write what a child is to trust besides its own roots: our authority and the user's extras.

    Args:
        path: The file to write; only its owner can read it.
        ca_pem: Our authority's certificate.
        user_extra: The file of additional certificates the user's environment names.
    """
    _write_private(path, _joined([_existing(user_extra), ca_pem]))


def _existing(path: Path | None) -> bytes:
    return path.read_bytes() if path is not None and path.is_file() else b""


def _system_roots() -> bytes:
    """Return the roots OpenSSL was built to use, as a file or a folder, else certifi's."""
    paths = ssl.get_default_verify_paths()
    # Either is None where it is not on this system.
    if paths.cafile and (roots := _existing(Path(paths.cafile))):
        return roots
    # Names in such a folder are a hash and a counter: 3513523f.0
    folder = sorted(Path(paths.capath).glob("*.[0-9]")) if paths.capath else []
    if folder:
        return _joined([certificate.read_bytes() for certificate in folder])
    if util.find_spec("certifi") is not None:
        return _existing(Path(import_module("certifi").where()))
    return b""


def _joined(parts: list[bytes]) -> bytes:
    """Join PEM files, each of which may lack its last line break."""
    return b"".join(part.rstrip(b"\n") + b"\n" for part in parts if part)


def _write_private(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
