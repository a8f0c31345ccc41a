"""Our authority, and the bundles that make a child trust it."""

import asyncio
import os
import ssl
import stat
import sys
from pathlib import Path

import pytest

from mcprec_addon.doors.certificates import Authority, write_bundle, write_ca_only
from mcprec_addon.doors.http_server import HttpServer
from mcprec_addon.wire.http import Piece, Reply

pytestmark = pytest.mark.door

OURS = b"-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n"
THEIRS = b"-----BEGIN CERTIFICATE-----\ntheirs\n-----END CERTIFICATE-----"

ASK = """
import urllib.request
print(urllib.request.urlopen("https://api.openai.com/v1/models", timeout=10).read().decode())
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def roots_at(monkeypatch: pytest.MonkeyPatch, cafile: Path | None, capath: Path | None) -> None:
    paths = ssl.DefaultVerifyPaths(
        str(cafile) if cafile else None,  # type: ignore[arg-type]
        str(capath) if capath else None,  # type: ignore[arg-type]
        *("SSL_CERT_FILE", "/none", "SSL_CERT_DIR", "/none"),
    )
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)


def test_context_is_kept_per_host() -> None:
    """Minting costs milliseconds, and an agent asks one host again and again."""
    authority = Authority()

    assert authority.context_for("a.example.test") is authority.context_for("a.example.test")
    assert authority.context_for("a.example.test") is not authority.context_for("b.example.test")


def test_two_authorities_have_nothing_in_common() -> None:
    """Trusting one run's authority must not mean to trust another's."""
    assert Authority().ca_pem != Authority().ca_pem


def test_authority_alone_is_trusted() -> None:
    """The certificate a client gets is the authority's, not a key."""
    pem = Authority().ca_pem

    context = ssl.create_default_context(cadata=pem.decode("ascii"))

    assert len(context.get_ca_certs()) >= 1
    assert b"PRIVATE KEY" not in pem


def test_name_beyond_certificates_is_a_value_error() -> None:
    """The caller can name the host in the report."""
    with pytest.raises(ValueError, match="my_host"):
        Authority().context_for("my_host")


def test_bundle_holds_what_the_user_trusted(tmp_path: Path) -> None:
    """A variable replaces the whole trust set, so hosts that are let through would break."""
    user, bundle = tmp_path / "user.pem", tmp_path / "bundle.pem"
    user.write_bytes(THEIRS)

    write_bundle(bundle, ca_pem=OURS, user_bundle=user)

    assert bundle.read_bytes() == THEIRS + b"\n" + OURS
    assert user.read_bytes() == THEIRS
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600


@pytest.mark.parametrize("user", [None, Path("gone.pem")])
def test_bundle_holds_the_roots_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: Path | None
) -> None:
    """Without a bundle of the user's own, what OpenSSL would trust is what was trusted."""
    roots, bundle = tmp_path / "roots.pem", tmp_path / "bundle.pem"
    roots.write_bytes(THEIRS)
    roots_at(monkeypatch, roots, None)

    write_bundle(bundle, ca_pem=OURS, user_bundle=user and tmp_path / user)

    assert bundle.read_bytes() == THEIRS + b"\n" + OURS


def test_bundle_holds_the_roots_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some systems keep their roots as one hashed file each."""
    (tmp_path / "3513523f.0").write_bytes(THEIRS)
    (tmp_path / "README").write_text("not a certificate")
    roots_at(monkeypatch, None, tmp_path)

    write_bundle(tmp_path / "bundle.pem", ca_pem=OURS, user_bundle=None)

    assert (tmp_path / "bundle.pem").read_bytes() == THEIRS + b"\n" + OURS


def test_bundle_falls_back_to_certifi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that was built elsewhere knows no roots of this system."""
    roots_at(monkeypatch, None, None)

    write_bundle(tmp_path / "bundle.pem", ca_pem=OURS, user_bundle=None)

    assert (tmp_path / "bundle.pem").read_bytes().count(b"BEGIN CERTIFICATE") > 50


@pytest.mark.parametrize(("user", "expected"), [(THEIRS, THEIRS + b"\n" + OURS), (None, OURS)])
def test_ca_only_adds_to_what_the_user_added(
    tmp_path: Path, user: bytes | None, expected: bytes
) -> None:
    """A variable that adds needs no roots, but must keep what it held."""
    extra, target = tmp_path / "extra.pem", tmp_path / "ca.pem"
    if user is not None:
        extra.write_bytes(user)

    write_ca_only(target, ca_pem=OURS, user_extra=extra)

    assert target.read_bytes() == expected


@pytest.mark.anyio
async def test_child_trusts_the_bundle(tmp_path: Path) -> None:
    """A program that knows only its environment reaches the replay as if it were the provider."""
    authority, bundle = Authority(), tmp_path / "bundle.pem"
    write_bundle(bundle, ca_pem=authority.ca_pem, user_bundle=None)
    server = HttpServer(
        lambda request: Reply(status=200, pieces=(Piece(0, request.url.encode()),)),
        authority=authority,
    )
    port = await server.listen()

    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ASK),
        stdout=asyncio.subprocess.PIPE,
        env={
            "PATH": os.environ["PATH"],
            "HTTPS_PROXY": f"http://127.0.0.1:{port}",
            "SSL_CERT_FILE": str(bundle),
        },
    )
    out, _ = await child.communicate()
    await server.close()

    assert out.decode().strip() == "https://api.openai.com/v1/models"
