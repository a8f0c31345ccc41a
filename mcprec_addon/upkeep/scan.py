"""Secrets that are still in a cassette: where they stand, and the cassette without them.

A sample never shows a secret: of a long one its first and last two characters. What only looks
like one is a suspicion: it is listed for a person, and fails nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mcprec_addon import __version__
from mcprec_addon.exchange import Cassette, Exchange, Json, McpAnswer, Message, Noise
from mcprec_addon.jsonvalue import Pointer, leaves, one_line, pointer_text
from mcprec_addon.redact.fields import DATA, MCP, MODEL, Scope, open_texts
from mcprec_addon.redact.forms import PRIVATE
from mcprec_addon.redact.placeholders import masked, privates, renumber
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import Rules
from mcprec_addon.upkeep.layout import count_text
from mcprec_addon.upkeep.suspicious import suspicious_runs

SUSPICIOUS = "suspicious"
"""Stands for the rule of what no rule knows."""

_NONCE = "5ca77ed0"  # of placeholders that stand while a cassette is cleaned, and in no file


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One secret in one place.

    Attributes:
        seq: The exchange it is in; 0 for what stands beside the exchanges.
        pointer: Where in the record, keys redacted.
        rule: Class of the secret; `SUSPICIOUS` for what only looks like one.
        sample: The secret, masked.
    """

    seq: int
    pointer: str
    rule: str
    sample: str

    def line(self) -> str:
        """Return the finding as a line."""
        where = f"#{self.seq} " if self.seq else ""
        return one_line(f"{where}{self.pointer}: {self.rule}, {self.sample}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What is still in a cassette.

    Attributes:
        name: The cassette, as the caller named it.
        findings: In the order of the file.
        lines: Line numbers by seq.
    """

    name: str
    findings: tuple[Finding, ...]
    lines: dict[int, int]

    def text(self) -> str:
        """Return the findings for a person, and a last line that counts them."""
        shown = [f"{self.name}:{self._line(each)}: {each.line()}" for each in self.findings]
        number = len(self.secrets)
        said = f"{count_text(number, 'secret')} found" if number else "no secrets found"
        looks = len(self.findings) - number
        also = f", {count_text(looks, 'text')} that may be one" if looks else ""
        return "\n".join([*shown, f"{self.name}: {said}{also}"])

    @property
    def secrets(self) -> tuple[Finding, ...]:
        """The findings that a rule knows."""
        return tuple(each for each in self.findings if each.rule != SUSPICIOUS)

    def _line(self, finding: Finding) -> int:
        return self.lines.get(finding.seq, 1)

    def as_json(self) -> dict[str, Json]:
        """Return the findings for a program."""
        return {
            "cassette": self.name,
            "findings": [
                {
                    "seq": each.seq,
                    "line": self._line(each),
                    "pointer": each.pointer,
                    "rule": each.rule,
                    "sample": each.sample,
                }
                for each in self.findings
            ],
        }

    def sarif(self) -> dict[str, Json]:
        """Return the findings as SARIF 2.1.0, for code scanning."""
        rules: list[Json] = [{"id": rule} for rule in sorted({each.rule for each in self.findings})]
        driver: Json = {"name": "mcprec", "version": __version__, "rules": rules}
        return {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, "results": [*map(self._result, self.findings)]}],
        }

    def _result(self, finding: Finding) -> Json:
        place: Json = {
            "artifactLocation": {"uri": self.name},
            "region": {"startLine": self._line(finding)},
        }
        return {
            "ruleId": finding.rule,
            "level": "note" if finding.rule == SUSPICIOUS else "error",
            "message": {"text": finding.line()},
            "locations": [{"physicalLocation": place}],
        }


def scan(cassette: Cassette, rules: Rules, *, with_suspicious: bool = False) -> tuple[Finding, ...]:
    """Return the secrets that rules find in a cassette; its placeholders are none.

    Args:
        cassette: The cassette.
        rules: What counts as a secret.
        with_suspicious: Also list texts that no rule knows and that look drawn by chance.
    """
    redactor = _redactor(cassette, rules)
    found: list[Finding] = []
    for exchange in cassette.exchanges:
        clean = redactor.exchange(exchange)
        found += _findings(exchange.seq, _values(clean), redactor)
        found += _suspicions(clean) if with_suspicious else ()
    for message in cassette.messages:
        found += _findings(0, [("params", redactor.message(message).params)], redactor)
    for noise in cassette.noise:
        found += _findings(0, [("text", redactor.noise(noise).text)], redactor)
    return tuple(found)


def cleaned(cassette: Cassette, rules: Rules) -> tuple[Cassette, dict[str, int]]:
    """Return a cassette without the secrets that rules find in it.

    What it has of placeholders stays; new ones are numbered behind them.

    Returns:
        The cassette, and how many new placeholders it has, by class.
    """
    redactor = _redactor(cassette, rules)
    exchanges: Sequence[Exchange] = [redactor.exchange(each) for each in cassette.exchanges]
    messages: Sequence[Message] = [redactor.message(each) for each in cassette.messages]
    noise: Sequence[Noise] = [redactor.noise(each) for each in cassette.noise]
    redaction = cassette.header.redaction
    done = renumber(exchanges, messages, noise, behind=redaction.placeholders)
    new = {
        cls: count - redaction.placeholders.get(cls, 0)
        for cls, count in done.counts.items()
        if count > redaction.placeholders.get(cls, 0)
    }
    header = replace(
        cassette.header,
        redaction=replace(
            redaction, placeholders=done.counts, builtin=rules.version, custom=rules.custom
        ),
    )
    clean = replace(
        cassette,
        header=header,
        exchanges=done.exchanges,
        messages=done.messages,
        noise=done.noise,
    )
    is_same = not new and redaction.custom == rules.custom
    return (cassette if is_same else clean), new


def _redactor(cassette: Cassette, rules: Rules) -> Redactor:
    return Redactor(rules, nonce=_NONCE, recorded=cassette.header.redaction.placeholders)


def _values(exchange: Exchange) -> Iterator[tuple[str, Json]]:
    """Yield the members of an exchange that may hold a secret, by the names of the record."""
    yield from exchange.call.record().items()
    answer = exchange.answer
    headers = {name: [value] if isinstance(value, str) else value for name, value in
               answer.headers.items()}  # fmt: skip
    yield "headers", {name: list[Json](each) for name, each in headers.items()}
    if isinstance(answer, McpAnswer):
        for index, event in enumerate(answer.events):
            yield f"events/{index}/message", event.message
            yield f"events/{index}/answer", event.answer
    else:
        for index, said in enumerate(answer.events):
            yield f"events/{index}/{said.kind}", said.value
    yield answer.kind, answer.value


def _findings(
    seq: int, values: Iterable[tuple[str, Json]], redactor: Redactor
) -> Iterator[Finding]:
    for name, value in values:
        for at, text in _texts(value):
            for placeholder, cls in privates(text):
                secret = redactor.table.minted.get(placeholder, "")
                pointer = f"/{name}{_shown(pointer_text(at))}"
                yield Finding(seq=seq, pointer=pointer, rule=cls, sample=masked(secret))


def _suspicions(exchange: Exchange) -> Iterator[Finding]:
    """Yield what no rule knows, each text once; members that are never touched aside."""
    seen: set[str] = set()
    for name, value in _values(exchange):
        for at, text in open_texts(value, _scope(exchange, name), ()):
            bare = PRIVATE.sub(" ", text)
            for _, run in suspicious_runs(bare):
                if run not in seen:
                    seen.add(run)
                    pointer = f"/{name}{_shown(pointer_text(at))}"
                    yield Finding(
                        seq=exchange.seq, pointer=pointer, rule=SUSPICIOUS, sample=masked(run)
                    )


def _scope(exchange: Exchange, name: str) -> Scope:
    if exchange.call.half == "model":
        return MODEL
    return DATA if name == "args" else MCP


def _texts(value: Json) -> Iterator[tuple[Pointer, str]]:
    """Yield every string, and every key that may hold a secret, with where it stands."""
    seen: set[Pointer] = set()
    for at, leaf in leaves(value):
        for depth in range(1, len(at) + 1):
            if at[:depth] not in seen:
                seen.add(at[:depth])
                yield at[:depth], at[depth - 1]
        if isinstance(leaf, str):
            yield at, leaf


def _shown(pointer: str) -> str:
    for placeholder, cls in privates(pointer):
        pointer = pointer.replace(placeholder, f"…{cls}…")
    return pointer
