"""What a miss takes among ten thousand recorded calls, and what rules add to a replayed call.

Time is that of the processor: nothing here waits.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping
from time import process_time

from mcprec_addon.exchange import (
    Call,
    Cassette,
    Exchange,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
)
from mcprec_addon.match.rules import Rule, parse_rule
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.diagnosis import find_miss
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.player import Player

_MANY = 10_000
_MESSAGES = 200
_PLAYED = 200
_RULES: Mapping[str, tuple[Rule, ...]] = {
    "no rule": (),
    "a field ignored": (parse_rule("ignore", "/args/pad"), parse_rule("ignore", "/request/seed")),
    "dates and times normalized": (
        parse_rule("normalize", "date"),
        parse_rule("normalize", "time"),
    ),
    "a rule for other calls": (parse_rule("normalize", "name=other:date"),),
}


def _tool(args: Json) -> McpCall:
    return McpCall(server="tracker", method="tools/call", name="get", args=args)


def _chat(talk: list[Json]) -> ModelCall:
    request: Json = {"model": "m", "messages": talk}
    return ModelCall(provider="openai", path="/v1/chat/completions", request=request)


def _message(text: str, role: str = "user") -> Json:
    return {"role": role, "content": text}


def _talk(of: int, length: int = _MESSAGES) -> list[Json]:
    said = [_message(f"talk {of}, turn {at}. " + "word " * 40) for at in range(1, length)]
    return [_message("You triage bugs. " * 20, "system"), *said]


def _recorded(calls: Iterator[Call]) -> list[Exchange]:
    return [
        McpExchange(seq=seq, call=call, answer=McpAnswer(kind="result", value={}))
        if isinstance(call, McpCall)
        else ModelExchange(seq=seq, call=call, answer=ModelAnswer(kind="body", value={}))
        for seq, call in enumerate(calls, 1)
    ]


def _rows(of: int, tag: str) -> Json:
    rows: list[Json] = [
        {"at": at, "text": f"row {at} of {of}", "tags": ["a", tag]} for at in range(50)
    ]
    return {"id": of, "rows": rows}


def _cases() -> Iterator[tuple[str, Call, Iterator[Call]]]:
    """Yield what is asked and what was recorded, ten thousand calls of one kind each."""
    short, middle = _talk(0), [_talk(of) for of in range(_MANY // _MESSAGES)]
    yield (
        "tool calls",
        _tool({"id": 5_000, "pad": "other"}),
        (_tool({"id": at, "pad": f"{at:0400d}"}) for at in range(_MANY)),
    )
    yield (
        "tool calls of 50 rows",
        _tool(_rows(5_000, "c")),
        (_tool(_rows(at, "b")) for at in range(_MANY)),
    )
    yield (
        "tool calls with a text of 8 kB",
        _tool({"path": "a.py", "content": "line 5000\n" * 800 + "the end"}),
        (_tool({"path": f"{at}.py", "content": f"line {at}\n" * 800}) for at in range(_MANY)),
    )
    yield (
        "prompts",
        _chat([short[0], _message("question 5000 again")]),
        (_chat([short[0], _message(f"question {at}")]) for at in range(_MANY)),
    )
    yield (
        "turns of 50 long conversations",
        _chat([*_talk(25)[:150], _message("other"), *_talk(25)[151:]]),
        (_chat(talk[: at + 1]) for talk in middle for at in range(_MESSAGES)),
    )
    yield (
        "long conversations",
        _chat([*_talk(0)[:-1], _message("the last word is 5000")]),
        (_chat([*short[:-1], _message(f"the last word is {at}")]) for at in range(_MANY)),
    )


def misses(rounds: int) -> Iterator[tuple[str, float]]:
    """Yield the seconds in which a miss is found and told, by what was recorded."""
    for title, asked, calls in _cases():
        tape = _recorded(calls)
        yield title, _median_s(lambda: find_miss(asked, tape).text(), rounds)  # noqa: B023


def plays(rounds: int) -> Iterator[tuple[str, float]]:
    """Yield the seconds in which a call gets its answer, by kind of call and rules."""
    calls: dict[str, Call] = {
        "a tool call": _tool({"id": 1, "pad": "x" * 800}),
        "200 messages": _chat(_talk(0)),
    }
    for kind, call in calls.items():
        for title, rules in _RULES.items():
            options = PlayOptions(strategy="exact", model_strategy="exact", rules=rules)
            cassette = Cassette(exchanges=tuple(_recorded(iter([call]))))
            player = Player(
                cassette,
                bindings=Bindings(cassette.header.redaction, default_rules()),
                options=options,
            )
            yield f"{kind}, {title}", _median_s(_playing(player, call), rounds) / _PLAYED


def _playing(player: Player, call: Call) -> Callable[[], object]:
    def play() -> None:
        for _ in range(_PLAYED):
            player.play(call)

    return play


def _median_s(measured: Callable[[], object], rounds: int) -> float:
    took: list[float] = []
    for _ in range(rounds):
        began = process_time()
        measured()
        took.append(process_time() - began)
    return statistics.median(took)
