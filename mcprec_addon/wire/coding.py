"""Content codings undone as the bytes come: gzip, deflate, br, zstd.

The libraries for br and zstd come with the extra `record`; without them such a body counts as
one that cannot be decoded.
"""

import zlib
from collections.abc import Callable
from importlib import import_module

type _Step = tuple[Callable[[bytes], bytes], type[Exception]]
"""Decodes the next bytes, and the error it raises where it cannot."""


class _Gzip:
    """Takes a body of several members too, as RFC 1952 allows."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def decompress(self, data: bytes) -> bytes:
        plain = self._member.decompress(data)
        while self._member.eof and self._member.unused_data:
            rest = self._member.unused_data
            self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            plain += self._member.decompress(rest)
        return plain


class _Deflate:
    """Takes zlib's form, and the raw form that some servers send under the same name."""

    def __init__(self) -> None:
        self._decompress: Callable[[bytes], bytes] | None = None

    def decompress(self, data: bytes) -> bytes:
        if self._decompress is None:
            is_zlib = bool(data) and data[0] & 0x0F == zlib.DEFLATED
            bits = zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS
            self._decompress = zlib.decompressobj(bits).decompress
        return self._decompress(data)


def _brotli() -> _Step:
    module = import_module("brotli")
    return module.Decompressor().process, module.error


def _zstd() -> _Step:
    module = import_module("zstandard")
    return module.ZstdDecompressor().decompressobj().decompress, module.ZstdError


_CODINGS: dict[str, Callable[[], _Step]] = {
    "gzip": lambda: (_Gzip().decompress, zlib.error),
    "x-gzip": lambda: (_Gzip().decompress, zlib.error),
    "deflate": lambda: (_Deflate().decompress, zlib.error),
    "br": _brotli,
    "zstd": _zstd,
}


class Decoder:
    """Undoes the codings that a Content-Encoding header names.

    Attributes:
        failed: The bytes could not be decoded.
        raw: The bytes as they came, where there was anything to undo; None once they are let go.
    """

    def __init__(self, content_encoding: str | None) -> None:
        names = [name.strip().lower() for name in (content_encoding or "").split(",")]
        codings = [name for name in names if name not in ("", "identity")]
        self.failed = any(name not in _CODINGS for name in codings)
        self.raw: bytearray | None = bytearray()
        self._is_coded = bool(codings)
        self._steps: list[_Step] = []
        try:
            self._steps = [_CODINGS[name]() for name in reversed(codings) if not self.failed]
        except ImportError:
            self.failed = True

    def feed(self, data: bytes) -> bytes:
        """Return what `data` decodes to; nothing once decoding has failed."""
        if not self._is_coded:
            return data
        if self.raw is not None:
            self.raw += data
        for decompress, error in self._steps:
            if self.failed:
                break
            try:
                data = decompress(data)
            except error:
                self.failed = True
        return b"" if self.failed else data

    def let_go(self) -> None:
        """Keep the bytes as they came no longer: what they decode to is of use already."""
        self.raw = None

    @property
    def undecoded(self) -> bytes | None:
        """The whole body as it came, where it could not be decoded and was kept."""
        return bytes(self.raw) if self.failed and self.raw is not None else None


def decoded(body: bytes, content_encoding: str | None) -> bytes | None:
    """Return a whole body with its codings undone, or None where that fails."""
    decoder = Decoder(content_encoding)
    plain = decoder.feed(body)
    return None if decoder.failed else plain
