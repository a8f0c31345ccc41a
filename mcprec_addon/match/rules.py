"""Rules for what does not count in a match: fields to ignore, patterns to normalize, and where.

A rule is one text, the same on the command line, in settings and in a cassette's header: a
pointer or a pattern, behind the calls that it is for: ``server=tracker,name=search:/args/since``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Call, Matching
from mcprec_addon.jsonvalue import Pointer, parse_pointer, visible
from mcprec_addon.match.normal import NAMED, Normal, Pattern
from mcprec_addon.redact.engine import PatternError

type Kind = Literal["ignore", "normalize"]

SCOPES = ("server", "method", "name", "provider")
_SCOPE = rf'({"|".join(SCOPES)})=("[^"]*"|[^",:]*)'
_SCOPED = re.compile(rf"({_SCOPE}(?:,{_SCOPE})*):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    Attributes:
        kind: What it does.
        text: The rule as it was written.
        scope: Member of a call to the value that it must have, in order; empty for all calls.
        pointer: What to ignore.
        pattern: What to normalize: a built-in name, or a regular expression.
        origin: Where it was written, for messages.
    """

    kind: Kind
    text: str
    scope: tuple[tuple[str, str], ...] = ()
    pointer: Pointer = ()
    pattern: str = ""
    origin: str = field(default="", compare=False)

    def governs(self, call: Call) -> bool:
        """Whether the rule is for a call."""
        return all(getattr(call, member, None) == value for member, value in self.scope)


def parse_rule(kind: Kind, text: str, *, origin: str = "") -> Rule:
    """Return the rule that a text says.

    Args:
        kind: What the rule does.
        text: ``[SCOPE:]RULE``; a scope is ``server=NAME``, ``method=…``, ``name=…`` or
            ``provider=…``, several parted by commas, a value with a comma or colon in quotes.
        origin: Where it was written.

    Raises:
        ValueError: The text is no rule.
    """
    scoped = _SCOPED.fullmatch(text)
    body = text if scoped is None else scoped[scoped.lastindex or 0]
    scope = () if scoped is None else _scope(scoped[1], text)
    if kind == "ignore":
        return Rule(kind=kind, text=text, scope=scope, pointer=parse_pointer(body), origin=origin)
    _check_pattern(body)
    return Rule(kind=kind, text=text, scope=scope, pattern=body, origin=origin)


def _scope(text: str, rule: str) -> tuple[tuple[str, str], ...]:
    found = [(each[1], each[2].strip('"')) for each in re.finditer(_SCOPE, text)]
    members = [member for member, _ in found]
    if len({*members}) < len(members) or not all(value for _, value in found):
        message = f"{rule!r}: name each of {', '.join(SCOPES)} at most once, with a value"
        raise ValueError(message)
    return tuple(found)


def _check_pattern(body: str) -> None:
    if body in NAMED:
        return
    if re.fullmatch(r"[A-Za-z_]*", body):
        message = (
            f"{body!r} is no pattern; there are {', '.join(NAMED)}, "
            f"and regular expressions, such as ({body or 'run-[0-9]+'})"
        )
        raise ValueError(message)
    try:
        Normal([Pattern("", (body,))])
    except PatternError as error:
        message = f"RE2 cannot run {body!r}, {visible(str(error))}; it has no lookaround"
        raise ValueError(message) from error


def rules_of(kind: Kind, texts: Sequence[str], *, origin: str) -> tuple[Rule, ...]:
    """Return the rules that texts say.

    Args:
        kind: What they do.
        texts: See `parse_rule`.
        origin: Where they were written.

    Raises:
        UsageError: One is no rule; the message names where it was written.
    """
    try:
        return tuple(parse_rule(kind, text, origin=origin) for text in texts)
    except ValueError as error:
        message = f"{origin}: {error}"
        raise UsageError(message) from error


def rule_text(body: str, scope: Sequence[tuple[str, str]]) -> str:
    """Return a rule as `parse_rule` reads it.

    Args:
        body: The pointer or the pattern.
        scope: Member of a call and the value that it must have.
    """
    if not scope:
        return body
    quoted = (f"{member}={_quoted(value)}" for member, value in scope)
    return f"{','.join(quoted)}:{body}"


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search("[,:]", value) else value


def rules_in_use(given: Sequence[Rule], match: Matching) -> tuple[Rule, ...]:
    """Return the rules of a replay: those given for it, and those that its cassette brings along.

    Raises:
        ValueError: The cassette has a text that is no rule; a cassette that was read has none.
    """
    origin = "the cassette"
    brought = [
        *(parse_rule("ignore", text, origin=origin) for text in match.ignore),
        *(parse_rule("normalize", text, origin=origin) for text in match.normalize),
    ]
    return tuple(dict.fromkeys([*given, *brought]))
