"""Placeholders of a finished cassette under other numbers, each in the spelling that it has."""

from collections.abc import Iterator, Mapping

from mcprec_addon.exchange import Half, Json
from mcprec_addon.redact import walk
from mcprec_addon.redact.forms import EMAIL, Finals, Written, final, name_of
from mcprec_addon.redact.spellings import Run, base64_cores, hex_changed, runs_around


class Renames(walk.Change):
    """Writes placeholders under their new numbers, all in one go, so that two may change places."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        """Say which there are.

        Args:
            numbers: Name of a placeholder, such as ``email-1``, to its new number.
        """
        self._numbers = {name: new for name, new in numbers.items() if name != _named(name, new)}
        self._finals = Finals({_class_of(name) for name in self._numbers})
        self._stems = [*map(_stem, self._numbers)]
        self._cores = [core for stem in self._stems for core in base64_cores(stem)]

    def __bool__(self) -> bool:
        """Whether any number changes."""
        return bool(self._numbers)

    def text(self, text: str) -> str:
        """Return a text with the new placeholders, also inside its base64 and hex."""
        if not self._numbers:
            return text
        for run in sorted(self._runs(text), key=lambda run: run.start, reverse=True):
            text = text[: run.start] + run.encoded(self._plain(run.text)) + text[run.end :]
        text = hex_changed(text, self._stems, self._plain)
        return self._plain(text)

    def json(self, value: Json, root: walk.Root, half: Half) -> Json:
        """Return a value with the new placeholders; a number of JSON stays one."""
        del root, half
        return walk.mapped(value, self.text, self._leaf) if self._numbers else value

    def state(self, state: Json) -> Json:
        """Return a request state to the character: it has no placeholders."""
        return state

    def _leaf(self, leaf: str | int) -> Json:
        return self.text(leaf) if isinstance(leaf, str) else int(self._plain(str(leaf)))

    def _plain(self, text: str) -> str:
        return self._finals.replaced(text, self._new)

    def _new(self, written: Written) -> str:
        number = self._numbers.get(written.name)
        if number is None:
            return f"{written.text}{written.domain}"
        if written.cls == EMAIL:
            return f"{name_of(EMAIL, number)}{written.domain}"
        return final(written.cls, number, written.spelling)

    def _runs(self, text: str) -> Iterator[Run]:
        """Yield the stretches of base64 that hold a placeholder, each once."""
        seen: set[int] = set()
        for core in self._cores:
            at = text.find(core)
            while at >= 0:
                found = runs_around(text, at, at + len(core))
                run = next((each for each in found if self._plain(each.text) != each.text), None)
                if run is not None and run.start not in seen:
                    seen.add(run.start)
                    yield run
                at = text.find(core, at + len(core))


def _class_of(name: str) -> str:
    return name.rpartition("-")[0]


def _named(name: str, number: int) -> str:
    return name_of(_class_of(name), number)


def _stem(name: str) -> str:
    """Return what of a placeholder is the same in every spelling of it."""
    cls, _, number = name.rpartition("-")
    return name if cls == EMAIL else final(cls, int(number))
