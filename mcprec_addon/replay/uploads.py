"""How uploads and other bodies that are no JSON are shown in a miss."""

import hashlib
from collections.abc import Iterator

from mcprec_addon.exchange import ModelCall, Opaque
from mcprec_addon.jsonvalue import Difference, shown, visible
from mcprec_addon.wire.multipart import code_bytes, part_line, part_name

_DIGEST_DIGITS = 8  # enough to see that two contents are not one


def body_text(call: ModelCall) -> str:
    """Return the body of a call without a conversation in one line."""
    match call.request:
        case None:
            return f"{call.http_method} {visible(call.path)}, no body"
        case list():
            return "; ".join(map(part_line, call.request))
        case Opaque():
            return _content(call.request)
        case _:
            return shown(call.request)


def part_label(call: object, difference: Difference) -> str:
    """Return which part of an upload a difference is in, to stand behind its pointer."""
    match call, difference.pointer:
        case ModelCall(), ("request", step, *_):
            name = part_name(call.request, step)
            return "" if name is None else f' (part "{visible(name)}")'
        case _:
            return ""


def content_lines(difference: Difference) -> Iterator[str]:
    """Yield how two contents that are no text differ; nothing where they are something else."""
    old, new = difference.old, difference.new
    is_upload = difference.pointer[0] == "request" and difference.pointer[-1] == "base64"
    is_code = is_upload and isinstance(old, str) and isinstance(new, str)
    if is_code or (isinstance(old, Opaque) and isinstance(new, Opaque)):
        yield f"recorded {_content(old)}"
        yield f"asked    {_content(new)}"


def _content(value: object) -> str:
    content: str | bytes = value.content if isinstance(value, Opaque) else code_bytes(str(value))
    if isinstance(content, str):
        return shown(content)
    return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()[:_DIGEST_DIGITS]}…"
