"""What counts as a secret: by shape, by the place it stands in, by being no plain word.

One registry of header names serves all: what is never stored, what is learned from a request,
and what is hidden where a header is written.
"""

import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import unquote

from mcprec_addon.redact import personal
from mcprec_addon.redact.engine import Matcher
from mcprec_addon.redact.patterns import PATTERNS, Pattern

BUILTIN = 1
"""Version of the built-in rules."""

MIN_LENGTH = 8
"""A shorter value is no secret: it would turn up in too many innocent places."""

OWN_KEY_CLASS = "secret"
"""Class of what stands under a name of one's own."""

KNOWN_CLASS = "api-key"
"""Class of a known value without a shape of its own."""

# Header names that hold credentials, with the class of what they hold.
CREDENTIAL_HEADERS: Mapping[str, str] = {
    "authorization": "api-key",
    "proxy-authorization": "api-key",
    "x-api-key": "api-key",
    "api-key": "api-key",
    "x-goog-api-key": "api-key",
    "xi-api-key": "api-key",
    "x-auth-token": "token",
    "x-amz-security-token": "aws-session",
    "cookie": "cookie",
    "set-cookie": "cookie",
    "openai-organization": "account-id",
    "openai-project": "account-id",
}
# Named like credentials, but handed out by a protocol and replayed by it.
_PROTOCOL_HEADERS = frozenset({"mcp-session-id", "anthropic-ratelimit-tokens-reset"})

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Last words of a name that holds a credential, with the class of what it holds.
_KEY_NAMES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"(?:^|[_.\s-])(?:{words})$"), cls)
    for words, cls in (
        (r"api[_-]?key|(?:access|secret|private|signing|encryption|auth)[_-]?key", "api-key"),
        (r"token|authorization|jwt|bearer", "token"),
        (r"passw(?:or)?d|passphrase|pwd", "password"),
        (r"secret|credentials?", "secret"),
        (r"cookie", "cookie"),
        (r"session[_-]?id", "session-id"),
    )
)
# Tokens that are places in a list, pieces of a text or counters, not credentials.
_INNOCENT = re.compile(
    r"(?:^|[_.\s-])(?:progress|page|next|previous|prev|continuation|continue|sync|cursor|resume"
    r"|max|min|stop|start|end|eos|bos|pad|unk|mask|sep|special|next_page|idempotency)[_-]?token$"
)
_QUERY_NAMES = re.compile(
    r"(?i)^(?:x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)"
    r"|sig|signature|key|code)$"
)
_PLAIN = re.compile(
    r"[A-Za-z]?[a-z]{0,20}|[A-Z]{1,20}|[A-Z]+(?:_[A-Z0-9]+)+|[-+.,0-9]{1,15}"
    r"|\$?\{\{?[^{}]*\}?\}|\$[A-Za-z_][A-Za-z0-9_]*|<[^<>]*>|%[A-Za-z_]+%|[*x.•…-]+"
)
_WORDY = re.compile(r"[A-Za-z][a-z]*(?:[-_./][A-Za-z]?[a-z]+)*[.=]?|[A-Z]+(?:[-_][A-Z]+)*")
_URL_PASSWORD = re.compile(r"://[^\s/@:\"']*:([^\s/@\"']+)@")
_SCHEME = re.compile(r"(?i)^(?:bearer|basic|token|digest|apikey|api-key|key)[ \t]+")
_SPACED = frozenset({"password", "cookie"})  # classes whose values may hold spaces
_END_LINE = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of one version.

    Attributes:
        version: Version of the built-in rules.
        patterns: Shapes of secrets.
        matchers: One for each pattern.
        keys: Names of one's own, as `plain_name` has them, that hold a secret.
        allow: Values that are no secrets.
        off: Classes that are not looked for.
        custom: Hash over the rules of one's own, or None.
    """

    version: int = BUILTIN
    patterns: tuple[Pattern, ...] = ()
    matchers: tuple[Matcher, ...] = field(default=(), repr=False)
    keys: frozenset[str] = frozenset()
    allow: frozenset[str] = frozenset()
    off: frozenset[str] = frozenset()
    custom: str | None = None

    def key_class(self, name: str) -> str | None:
        """Return the class of what a member or parameter of this name holds, or None."""
        if self.keys and plain_name(name) in self.keys:
            return OWN_KEY_CLASS
        return self._unless_off(key_class(name))

    def placed_class(self, name: str) -> str | None:
        """Return the class of a text under this name: a credential or a personal number."""
        return self.key_class(name) or self._unless_off(personal.personal_class(name))

    def number_class(self, name: str, digits: str) -> str | None:
        """Return the class of a whole number under this name, or None where it is no secret."""
        cls = self._unless_off(personal.personal_class(name))
        if cls is not None and personal.is_personal(cls, digits):
            return cls
        is_secret = personal.is_number(digits) and self.key_class(name) is not None
        return self._unless_off(personal.NUMBER) if is_secret else None

    def header_class(self, name: str) -> str | None:
        """Return the class of what a header holds, or None where it holds no credential."""
        return self._unless_off(header_class(name))

    def _unless_off(self, cls: str | None) -> str | None:
        return None if cls in self.off else cls

    @property
    def classes(self) -> frozenset[str]:
        """Every class a placeholder may have under these rules."""
        shapes = {pattern.cls for pattern in self.patterns}
        places = {cls for _, cls in _KEY_NAMES} | set(CREDENTIAL_HEADERS.values())
        return frozenset(shapes | places | {KNOWN_CLASS, personal.NUMBER})

    def shape(self, text: str) -> str | None:
        """Return the class of a secret by its shape alone, or None."""
        cls = personal.shape(text)
        if cls is not None and any(pattern.cls == cls for pattern in self.patterns):
            return cls
        for pattern, matcher in zip(self.patterns, self.matchers, strict=True):
            if pattern.check == "none" and matcher.is_whole(text):
                return pattern.cls
        return None

    def class_of(self, secret: str, cls: str) -> str:
        """Return the class of a secret: by its shape, by being a number, or else as given."""
        return self.shape(secret) or (personal.NUMBER if personal.is_number(secret) else cls)


@cache
def default_rules(version: int = BUILTIN) -> Rules:
    """Return the built-in rules as they were in a version.

    Args:
        version: What a cassette's header names; the newest by default.
    """
    patterns = tuple(pattern for pattern in PATTERNS if pattern.since <= version)
    matchers = tuple(Matcher(pattern.regex) for pattern in patterns)
    return Rules(version=version, patterns=patterns, matchers=matchers)


@cache
def header_class(name: str) -> str | None:
    """Return the class of what a header holds, or None where it holds no credential."""
    name = name.lower()
    if name in _PROTOCOL_HEADERS:
        return None
    return CREDENTIAL_HEADERS.get(name) or key_class(name)


# Names come from traffic; a bound keeps a hostile server from filling memory.
_KEPT_NAMES: dict[str, str | None] = {}
_MOST_NAMES = 4096


def key_class(name: str) -> str | None:
    """Return the class of what a member or parameter of this name holds, or None.

    The last words decide: ``accessToken`` holds a token, ``token_count`` does not, and neither
    does ``nextPageToken``.
    """
    if name in _KEPT_NAMES:
        return _KEPT_NAMES[name]
    if len(_KEPT_NAMES) >= _MOST_NAMES:
        _KEPT_NAMES.clear()
    _KEPT_NAMES[name] = _key_class(name)
    return _KEPT_NAMES[name]


def plain_name(name: str) -> str:
    """Return a name as names are compared: ``employeeId``, ``Employee-ID``, ``employee_id``."""
    return re.sub(r"[\s.-]", "_", _CAMEL.sub("_", name)).lower()


def _key_class(name: str) -> str | None:
    words = _CAMEL.sub("_", name).lower()
    if _INNOCENT.search(words):
        return None
    return next((cls for pattern, cls in _KEY_NAMES if pattern.search(words)), None)


def is_plain(text: str) -> bool:
    """Whether a value is too short or too ordinary to be a secret: a word, a number, a blank."""
    return len(text) < MIN_LENGTH or _PLAIN.fullmatch(text) is not None


def without_scheme(text: str) -> str:
    """Return a credential without the name of its scheme, such as ``Bearer``."""
    return _SCHEME.sub("", text.strip())


def placed_secret(cls: str, text: str) -> str | None:
    """Return the secret in a value that stands where credentials do, or None.

    Args:
        cls: Class that the name of the place gives.
        text: The value.
    """
    secret = without_scheme(text)
    if is_plain(secret) or (cls not in _SPACED and any(char.isspace() for char in secret)):
        return None
    return secret


def cookie_values(text: str) -> list[str]:
    """Return the values in a Cookie header, or the value in a Set-Cookie header."""
    pairs = [pair.partition("=")[2].strip() for pair in text.split(";")]
    return [value.strip('"') for value in pairs if not is_plain(value.strip('"'))]


def url_passwords(text: str) -> list[str]:
    """Return the passwords of the URLs in a text, decoded."""
    return [unquote(found) for found in _URL_PASSWORD.findall(text)]


def basic_parts(text: str) -> list[str]:
    """Return user and password of Basic credentials, or nothing where it is none."""
    try:
        user, colon, password = b64decode(text, validate=True).decode().partition(":")
    except ValueError:
        return []
    return [user, password] if colon else []


def holds(pattern: Pattern, match: str, secret: str) -> bool:
    """Whether what must hold beyond the pattern does."""
    match pattern.check:
        case "wordy" | "flag":
            return _WORDY.fullmatch(secret) is None and not is_plain(secret)
        case "basic":
            return bool(basic_parts(secret))
        case "query":
            name = match[1:].partition("=")[0]
            named = key_class(name) is not None or _QUERY_NAMES.match(name) is not None
            return named and _PLAIN.fullmatch(secret) is None
        case "none" | "pem" | "number":
            return True


def block_end(text: str, begin: int) -> int:
    """Return where a private key ends whose BEGIN line ends at `begin`; cut ones end the text."""
    found = _END_LINE.search(text, begin)
    return found.end() if found else len(text)
