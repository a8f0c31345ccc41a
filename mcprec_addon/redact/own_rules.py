"""Redaction rules of one's own, beside the built-in ones: patterns, names, exceptions, switches."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import canonical, one_line
from mcprec_addon.redact.engine import Matcher, PatternError
from mcprec_addon.redact.patterns import Pattern
from mcprec_addon.redact.rules import Rules, plain_name

_CLASS = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_MEMBERS = ("patterns", "keys", "allow", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRules:
    """What a project adds to the built-in rules.

    Attributes:
        patterns: Class of a secret to a pattern of RE2 that it matches.
        keys: Names of members whose values are secrets.
        allow: Values that are none, whatever matches them.
        off: Classes that are not looked for.
    """

    patterns: Mapping[str, str] = field(default_factory=dict[str, str])
    keys: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    off: tuple[str, ...] = ()

    @property
    def digest(self) -> str | None:
        """A name for exactly these rules, or None where there are none."""
        members: dict[str, Json] = {
            "patterns": dict[str, Json](self.patterns),
            "keys": list[Json](sorted({plain_name(name) for name in self.keys})),
            "allow": list[Json](sorted(set(self.allow))),
            "off": list[Json](sorted(set(self.off))),
        }
        if not any(members.values()):
            return None
        return f"sha256:{hashlib.sha256(canonical(members)).hexdigest()}"

    def joined(self, more: "OwnRules") -> "OwnRules":
        """Return these rules and others; of two patterns of one class these count."""
        return OwnRules(
            patterns={**more.patterns, **self.patterns},
            keys=_union(self.keys, more.keys),
            allow=_union(self.allow, more.allow),
            off=_union(self.off, more.off),
        )


def _union(first: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *more]))


def read_own_rules(table: Mapping[str, object], *, where: str) -> OwnRules:
    """Return the rules that a table sets.

    Args:
        table: ``patterns``, a table of class to pattern; ``keys``, ``allow`` and ``off``, lists.
        where: The file and table, as messages name it.

    Raises:
        UsageError: A member is not known or does not fit, or RE2 cannot run a pattern; a line
            for each.
    """
    problems = [
        f"{where}: {name} is no redaction rule; there are {', '.join(_MEMBERS)}"
        for name in table
        if name not in _MEMBERS
    ]
    patterns = _patterns(table.get("patterns", {}), where, problems)
    keys, allow, off = (
        _texts(table.get(name, []), f"{where}: {name}", problems) for name in _MEMBERS[1:]
    )
    if problems:
        raise UsageError("\n".join(map(one_line, problems)))
    return OwnRules(patterns=patterns, keys=keys, allow=allow, off=off)


def _patterns(value: object, where: str, problems: list[str]) -> dict[str, str]:
    if not isinstance(value, Mapping):
        problems.append(f'{where}: patterns must be a table, such as employee = "EMP-[0-9]{{6}}"')
        return {}
    found: dict[str, str] = {}
    for cls, regex in cast("Mapping[object, object]", value).items():
        name = f"{where}: patterns.{cls}"
        if not isinstance(cls, str) or not _CLASS.fullmatch(cls):
            problems.append(f"{name}: name a class in lower case with dashes, such as employee-id")
        elif not isinstance(regex, str):
            problems.append(f"{name} must be a pattern as a string")
        elif (problem := _refusal(regex)) is not None:
            problems.append(f"{name}: {problem}")
        else:
            found[cls] = regex
    return found


def _refusal(regex: str) -> str | None:
    """Return why a pattern cannot be run, or None."""
    try:
        matcher = Matcher(regex)
    except PatternError as error:
        return f"RE2 cannot run it: {error}; it has no lookaround and no backreferences"
    is_empty = matcher.finds_nothing()
    return "it matches the empty text, which is everywhere" if is_empty else None


def _texts(value: object, where: str, problems: list[str]) -> tuple[str, ...]:
    given = cast("list[object]", value) if isinstance(value, list) else [None]
    texts = [each for each in given if isinstance(each, str) and each]
    if len(texts) < len(given):
        problems.append(f"{where} must be a list of strings")
    return tuple(texts)


def with_own(rules: Rules, own: OwnRules) -> Rules:
    """Return rules with those of one's own among them."""
    if own.digest is None:
        return rules
    added = [Pattern(cls, regex, regex) for cls, regex in own.patterns.items()]
    kept = [
        (pattern, matcher)
        for pattern, matcher in zip(rules.patterns, rules.matchers, strict=True)
        if pattern.cls not in own.off
    ]
    return replace(
        rules,
        patterns=(*added, *(pattern for pattern, _ in kept)),
        matchers=(*(Matcher(each.regex) for each in added), *(matcher for _, matcher in kept)),
        keys=frozenset(map(plain_name, own.keys)),
        allow=frozenset(own.allow),
        off=frozenset(own.off),
        custom=own.digest,
    )
