"""What redaction costs: of a recorded call, of a replayed one, and of texts made to be slow."""

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

from bench_load import ANSWER
from bench_parts import RPC_BODY

from mcprec_addon.doors.recording import Recording
from mcprec_addon.exchange import Json, McpAnswer, McpCall, Redaction
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import Rules, default_rules
from mcprec_addon.wire.http import HttpRequest

_CALLS = 300
_SIZE = 2_000  # characters of the smallest text; the others are 10 and 100 times as long
_URL = "http://127.0.0.1:9/mcp"
_JSON = [("content-type", "application/json")]
# What patterns begin to match again and again, and never do, or do all the time.
_SLOW: dict[str, str] = {
    "half an address": "a.b@",
    "addresses": "a@b.cc ",
    "half a token": "eyJ.",
    "base64": "QUJD",
    "percent escapes": "%41",
    "JSON escapes": '\\"',
    "digits": "+1 2",
    "begin of a key": "-----BEGIN PRIVATE KEY-----",
}


def _median_s(measured: Callable[[], float], rounds: int) -> float:
    return statistics.median(measured() for _ in range(rounds))


def recorded_s(folder: Path, rounds: int) -> float:
    """Return seconds that redaction takes of one recorded tool call, its close included."""

    def once(rules: Rules) -> float:
        target = folder / f"{rules.version}-{len(rules.patterns)}.mcp"
        recording = Recording(target, urls={"tracker": _URL}, rules=rules)
        began = perf_counter()
        for number in range(_CALLS):
            body, answer = (
                each.replace(b"x" * 8, b"%08d" % number, 1) for each in (RPC_BODY, ANSWER)
            )
            request = HttpRequest(method="POST", url=_URL, headers=(), body=body)
            tap = recording.request(request)
            assert tap is not None
            tap.head(200, _JSON)
            tap.data(answer, recording.now_ms())
            tap.finish("complete", recording.now_ms())
            recording.end(tap)
        recording.close()
        return (perf_counter() - began) / _CALLS

    return max(
        0.0,
        _median_s(lambda: once(default_rules()), rounds) - _median_s(lambda: once(Rules()), rounds),
    )


def replayed_s(rounds: int, *, with_secrets: bool) -> float:
    """Return seconds that redaction takes of one replayed tool call.

    Args:
        rounds: How often it is measured; the median counts.
        with_secrets: Let an address stand in the call and, bound, in its answer.
    """
    said = "email-1@mcprec.example " if with_secrets else ""
    content: Json = {"content": [{"type": "text", "text": f"{said}{0:0400d}"}]}
    answer = McpAnswer(kind="result", value=content)
    bindings = Bindings(Redaction(placeholders={"email": 1}), default_rules())
    bindings.bind({"email-1": "ana@acme.com"})

    def once() -> float:
        calls = [_call(number, "ana@acme.com " if with_secrets else "") for number in range(_CALLS)]
        began = perf_counter()
        for call in calls:
            bindings.live(call)
            bindings.restore(answer)
        return (perf_counter() - began) / _CALLS

    return _median_s(once, rounds)


def _call(number: int, said: str) -> McpCall:
    args: Json = {"id": 0, "pad": f"{said}{number:0400d}"}
    return McpCall(server="tracker", method="tools/call", name="get", args=args)


def growth(rounds: int) -> dict[str, tuple[float, float]]:
    """Return, for each slow text, how much longer ten times as much takes, twice."""
    found: dict[str, tuple[float, float]] = {}
    for name, unit in _SLOW.items():
        texts = (unit * (size // len(unit)) for size in (_SIZE, 10 * _SIZE, 100 * _SIZE))
        took = [_median_s(partial(_text_s, text), rounds) for text in texts]
        found[name] = (took[1] / took[0], took[2] / took[1])
    return found


def _text_s(text: str) -> float:
    redactor = Redactor(default_rules(), nonce="0a1b2c3d")
    redactor.text("warm")
    began = perf_counter()
    redactor.text(text)
    return perf_counter() - began
