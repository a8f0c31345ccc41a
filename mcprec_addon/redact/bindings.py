"""Live values and the placeholders they stand for, during one replay.

The incoming call is redacted by the recorded rules. A live value that has no placeholder yet
gets a temporary one, of the same form with a number no recording reaches; a recorded call fits
where the two are equal up to these names and one live value can stand for each, one to one.
Bound, a live value is written as the recorded placeholder from then on, and put back into
answers.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from mcprec_addon.exchange import Answer, Call, Half, Json, Redaction
from mcprec_addon.jsonvalue import JsonError, canonical, dumps, loads
from mcprec_addon.redact import walk
from mcprec_addon.redact.forms import EMAIL, Finals, Written, final, spelled
from mcprec_addon.redact.personal import plain
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import Rules
from mcprec_addon.redact.spellings import base64_cores, hex_changed, runs_around

_TEMPORARY = 1_000_000  # above any number a recording reaches

# Members whose text is JSON or a piece of it: what is put back there is escaped.
_JSON_MEMBERS = frozenset({"arguments", "partial_json"})


class Bindings:
    """The bindings of one replay run."""

    def __init__(self, redaction: Redaction, rules: Rules) -> None:
        """Set what the header says.

        Args:
            redaction: Placeholders of the cassette.
            rules: The rules it was recorded under.
        """
        self._counts = dict(redaction.placeholders)
        self._finals = Finals(self._counts)
        self._bound: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._redactor = Redactor(rules, nonce="", mint=self._mint, recorded=self._counts)

    def _mint(self, cls: str, number: int) -> str:
        return final(cls, _TEMPORARY + number)

    def known(self, values: Mapping[str, str]) -> None:
        """Say which live value stands for a placeholder from the start.

        Args:
            values: Name of the placeholder, such as ``api-key-1``, to the value; names that this
                cassette does not have are skipped.
        """
        for name, value in values.items():
            if self._is_recorded(name):
                self._redactor.learn(value, cls=_class_of(name))
                self.bind({name: value})

    def alias(self, values: Mapping[str, str]) -> None:
        """Say which other live value is written as a placeholder; it is never put back.

        Args:
            values: As for `known`.
        """
        for name, value in values.items():
            if self._is_recorded(name):
                self._redactor.learn(value, cls=_class_of(name))
                self._redactor.table.settle(_plain(name, value), _placeholder(name))

    def shape(self, call: bytes) -> tuple[bytes, tuple[str, ...]]:
        """Return the canonical JSON of a call with every placeholder replaced by its class.

        Args:
            call: Canonical JSON of a recorded call, or of one that `live` returned.

        Returns:
            The bytes, and the names of the placeholders in order.
        """
        if not self._finals:
            return call, ()
        names: list[str] = []

        def classed(written: Written) -> str:
            names.append(written.name)
            return written.shape

        return self._finals.replaced(call.decode(), classed).encode(), tuple(names)

    def live(self, call: Call) -> Call:
        """Return an incoming call as a recording under the same rules would have it.

        Bound values are written as their recorded placeholders, others as temporary ones.
        """
        return self._redactor.call(call)

    def unify(self, recorded: Sequence[str], live: Sequence[str]) -> dict[str, str] | None:
        """Return the bindings under which a recorded call is the live one, or None.

        Args:
            recorded: Names in the recorded call, from `shape`.
            live: Names in the live call, from `shape`; a recorded name stands for itself.

        Returns:
            New bindings, name to live value; empty where none is needed.
        """
        if recorded == live:
            return {}
        if len(recorded) != len(live):
            return None
        new: dict[str, str] = {}
        names: dict[str, str] = {}
        for name, other in zip(recorded, live, strict=True):
            if name == other:
                continue
            value = self._redactor.table.minted.get(_placeholder(other))
            if value is None or not self._is_recorded(name):
                return None
            if self._bound.get(name, value) != value or new.setdefault(name, value) != value:
                return None
            if (self._names.get(value) or names.setdefault(value, name)) != name:
                return None
        return {name: value for name, value in new.items() if name not in self._bound}

    def bind(self, new: Mapping[str, str]) -> None:
        """Let live values stand for placeholders, for the rest of the run."""
        for name, value in new.items():
            secret = _plain(name, value)
            self._bound[name] = secret
            self._names[secret] = name
            self._redactor.table.settle(secret, _placeholder(name))

    def restore(self, answer: Answer) -> Answer:
        """Return an answer with the live values put back; unbound placeholders stay."""
        if not self._bound:
            return answer
        return walk.answer(answer, _Restoring(self._bound, self._finals))

    def as_asked(self, recorded: Json, asked: Json) -> Json:
        """Return a recorded value as this run would write it, to be shown and not to be bound.

        Bound values are put back. Where a live value without a placeholder stands in `asked`
        for each that is unbound in `recorded`, class by class and in order, it is put back too.

        Args:
            recorded: A value of a recorded call.
            asked: The same member of a call that `live` returned.
        """
        _, ours = self.shape(canonical(recorded))
        _, theirs = self.shape(canonical(asked))
        minted = self._redactor.table.minted
        free = [name for name in dict.fromkeys(ours) if name not in self._bound]
        live = {name: minted.get(_placeholder(name)) for name in theirs}
        known = {name: value for name, value in live.items() if value is not None}
        shown = dict(self._bound)
        for cls in {_class_of(name) for name in free}:
            names = [name for name in free if _class_of(name) == cls]
            values = [value for name, value in known.items() if _class_of(name) == cls]
            if len(names) == len(values):
                shown |= dict(zip(names, values, strict=True))
        return _Restoring(shown, self._finals).json(recorded, "args", "mcp")

    def _is_recorded(self, name: str) -> bool:
        cls, _, number = name.rpartition("-")
        return number.isdigit() and 0 < int(number) <= self._counts.get(cls, 0)


def _class_of(name: str) -> str:
    return name.rpartition("-")[0]


def _plain(name: str, value: str) -> str:
    return plain(_class_of(name), value)


def _inside_code(name: str) -> str:
    """Return what of a placeholder is the same in every spelling of it."""
    return name if _class_of(name) == EMAIL else _placeholder(name)


def _placeholder(name: str) -> str:
    return final(_class_of(name), int(name.rpartition("-")[2]))


class _Restoring(walk.Change):
    """Puts live values back, each in the spelling of the placeholder it replaces."""

    def __init__(self, bound: Mapping[str, str], finals: Finals) -> None:
        self._bound = bound
        self._finals = finals
        # Several names may share one: base64 cuts their last characters in two.
        self._cores: dict[str, list[str]] = {}
        self._marks = [*map(_inside_code, bound)]
        for placeholder in self._marks:
            for core in base64_cores(placeholder):
                self._cores.setdefault(core, []).append(placeholder)

    def text(self, text: str) -> str:
        return self._restored(text, is_json=_is_json(text))

    def json(self, value: Json, root: walk.Root, half: Half) -> Json:
        del root, half
        return self._value(value, is_json=False)

    def _value(self, value: Json, *, is_json: bool) -> Json:
        match value:
            case str():
                return self._restored(value, is_json=is_json or _is_json(value))
            case dict():
                kind = value.get("type")
                deltas = isinstance(kind, str) and kind.endswith("arguments.delta")
                return {
                    self.text(key): self._value(
                        member, is_json=key in _JSON_MEMBERS or (deltas and key == "delta")
                    )
                    for key, member in value.items()
                }
            case list():
                return [self._value(member, is_json=False) for member in value]
            case int() if not isinstance(value, bool):
                restored = self._plain(str(value), is_json=False)
                return int(restored) if restored.isdecimal() else value
            case _:
                return walk.mapped(value, self.text)

    def _restored(self, text: str, *, is_json: bool) -> str:
        text = self._plain(text, is_json=is_json)
        text = hex_changed(text, self._marks, lambda plain: self._plain(plain, is_json=False))
        for core, names in self._cores.items():
            at = text.find(core)
            while at >= 0:
                end = at + len(core)
                runs = runs_around(text, at, end)
                run = next((run for run in runs if any(name in run.text for name in names)), None)
                if run is not None:
                    code = run.encoded(self._plain(run.text, is_json=False))
                    text = text[: run.start] + code + text[run.end :]
                    end = run.start + len(code)
                at = text.find(core, end)
        return text

    def _plain(self, text: str, *, is_json: bool) -> str:
        def live(written: Written) -> str:
            value = self._bound.get(written.name)
            if value is None:
                return f"{written.text}{written.domain}"
            value = spelled(written.cls, value, written.spelling)
            if written.at == "%40":
                return quote(value, safe="")
            return dumps(value).decode()[1:-1] if is_json else value

        return self._finals.replaced(text, live)


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        return isinstance(loads(text), dict | list)
    except JsonError:
        return False
