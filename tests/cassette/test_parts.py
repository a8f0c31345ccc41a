"""Parts and turns: what model requests share is written once."""

import hashlib
import json
from typing import cast

import pytest

from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.cassette.format import read_cassette
from mcprec_addon.cassette.parts import PartReader, PartWriter
from mcprec_addon.cassette.writing import write_cassette
from mcprec_addon.exchange import (
    Cassette,
    Json,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Number,
    Opaque,
)
from mcprec_addon.jsonvalue import canonical

SYSTEM: Json = {"role": "system", "content": "You triage bugs"}
USER: Json = {"role": "user", "content": "Any open bugs?"}
LONG: Json = {"role": "tool", "content": "x" * 1024}


def name_of(value: Json) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()[:16]


def exchange(seq: int, request: Json) -> ModelExchange:
    call = ModelCall(provider="openai", path="/v1/chat/completions", request=request)
    return ModelExchange(seq=seq, call=call, answer=ModelAnswer(kind="body", value={"ok": True}))


def written(*requests: Json) -> list[dict[str, Json]]:
    """Return the records of the model section for requests numbered from 1."""
    exchanges = tuple(exchange(seq, request) for seq, request in enumerate(requests, 1))
    lines = write_cassette(Cassette(exchanges=exchanges)).splitlines()
    return [json.loads(line) for line in lines[2:]]


def copy_of(value: Json) -> Json:
    """Return the value as it would come from the wire a second time."""
    return cast("Json", json.loads(json.dumps(value)))


def test_a_system_prompt_is_a_part_before_its_first_use() -> None:
    """A changed prompt is one changed line of a review."""
    part, model = written({"messages": [SYSTEM, USER]})

    assert part == {"kind": "part", "part": name_of(SYSTEM), "value": SYSTEM}
    assert model["request"] == {"messages": [{"$part": name_of(SYSTEM)}, USER]}


@pytest.mark.parametrize("member", ["instructions", "system", "tools"])
def test_prompts_and_tool_lists_are_parts_whatever_their_size(member: str) -> None:
    """Place decides: the same member looks the same in every cassette."""
    part, model = written({member: ["x"], "model": "m"})

    assert part["value"] == ["x"]
    assert model["request"] == {member: {"$part": name_of(["x"])}, "model": "m"}


@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_an_empty_place_is_no_part(empty: Json) -> None:
    """There is nothing to share."""
    (model,) = written({"tools": empty})

    assert model["request"] == {"tools": empty}


def test_only_the_first_system_message_is_a_part() -> None:
    """A short reminder further down is part of the conversation."""
    part, model = written({"messages": [USER, SYSTEM, {"role": "developer", "content": "short"}]})

    assert part["value"] == SYSTEM
    assert model["request"] == {
        "messages": [
            USER,
            {"$part": name_of(SYSTEM)},
            {"role": "developer", "content": "short"},
        ]
    }


@pytest.mark.parametrize(("length", "is_part"), [(1022, False), (1023, True)])
def test_size_decides_over_one_kibibyte(length: int, *, is_part: bool) -> None:
    """1024 bytes of canonical JSON are written in place, one more is a part."""
    records = written({"prompt": "x" * length})

    assert len(records) == (2 if is_part else 1)


def test_a_shared_value_is_written_once() -> None:
    """The file grows with what is new."""
    records = written({"input": [LONG]}, {"prompt": 1, "metadata": copy_of(LONG)})

    assert [record["kind"] for record in records] == ["part", "model", "model"]


def test_a_conversation_that_goes_on_names_its_start() -> None:
    """Turn n is written as what turn n added."""
    first: list[Json] = [SYSTEM, USER]
    reply: Json = {"role": "assistant", "content": "Three"}
    records = written({"messages": first}, {"messages": [*first, reply]})

    assert records[-1]["request"] == {"messages": [{"$turns": [1, 2]}, reply]}


@pytest.mark.parametrize("key", ["messages", "input", "contents"])
def test_every_conversation_list_is_known(key: str) -> None:
    """The three API families name the same thing differently."""
    records = written({key: [USER]}, {key: [copy_of(USER), {"role": "x"}]})

    assert records[-1]["request"] == {key: [{"$turns": [1, 1]}, {"role": "x"}]}


def test_the_longest_start_of_the_latest_exchange_is_named() -> None:
    """Two interleaved conversations each refer to their own last turn."""
    one: list[Json] = [{"role": "user", "content": "conversation one"}]
    two: list[Json] = [{"role": "user", "content": "conversation two"}]
    more: Json = {"role": "user", "content": "and then what"}
    records = written(
        {"messages": one},
        {"messages": two},
        {"messages": [*one, more]},
        {"messages": [*one, more]},
        {"messages": [*two, more]},
        {"messages": [*one, more, more]},
    )

    heads = [record["request"]["messages"][0] for record in records[2:]]  # type: ignore[index, call-overload]
    assert heads == [{"$turns": [seq, k]} for seq, k in [(1, 1), (3, 2), (2, 1), (4, 2)]]


def test_turns_are_named_only_where_they_save() -> None:
    """A reference longer than what it stands for helps nobody."""
    records = written({"messages": ["hi"]}, {"messages": ["hi"]})

    assert records[-1]["request"] == {"messages": ["hi"]}


def test_equal_values_share_whatever_their_spelling() -> None:
    """`1.0` and `1`, or other key order, are one value to a match key too."""
    records = written(
        {"input": [{"role": "user", "content": "a question", "n": 1}]},
        {"input": [{"n": 1.0, "content": "a question", "role": "user"}]},
    )

    assert records[-1]["request"] == {"input": [{"$turns": [1, 1]}]}


def test_a_doubled_number_is_never_named_for_the_earlier_exchange() -> None:
    """A reader takes the last exchange of that number."""
    exchanges = (
        exchange(1, {"messages": [USER]}),
        exchange(1, {"messages": [SYSTEM]}),
        exchange(2, {"messages": [USER, SYSTEM]}),
    )
    data = write_cassette(Cassette(exchanges=exchanges))

    assert b'{"$turns":[1,1]}' not in data
    assert read_cassette(data, path="t.mcp").exchanges == exchanges


def test_a_real_marker_key_in_a_request_is_escaped() -> None:
    """A prompt may talk of this format."""
    request: Json = {
        "$part": "x",
        "messages": [{"$turns": [1, 2]}, {"$part": "x", "n": {"$blob": 1}}],
        "tools": [{"$$part": {"$turns": "y" * 2000}}],
    }
    data = write_cassette(Cassette(exchanges=(exchange(1, request),)))

    assert b'{"$$turns":[1,2]}' in data
    assert read_cassette(data, path="t.mcp").exchanges[0] == exchange(1, request)


def test_an_exact_leaf_costs_its_own_turn_only() -> None:
    """A conversation with one odd number in it still grows by what is new."""
    odd: Json = {"role": "tool", "content": Number("1e400"), "pad": "y" * 40}
    turns: list[Json] = [USER, odd]
    exchanges = tuple(
        exchange(seq, {"messages": turns + [USER] * (seq - 1)}) for seq in range(1, 20)
    )
    data = write_cassette(Cassette(exchanges=exchanges))

    assert data.count(b"1e400") == 1
    assert read_cassette(data, path="t.mcp").exchanges == exchanges


@pytest.mark.parametrize(
    "request_value", [None, "text", 5, Opaque("no json"), Opaque(b"\xff"), [1, LONG], {}]
)
def test_requests_without_a_conversation_are_kept(request_value: Json) -> None:
    """Embeddings, uploads and file listings are recorded like any other call."""
    exchanges = (exchange(1, request_value), exchange(2, request_value))

    read = read_cassette(write_cassette(Cassette(exchanges=exchanges)), path="t.mcp")

    assert read.exchanges == exchanges


def test_n_turns_cost_n_lines_of_what_is_new() -> None:
    """A long session is neither a large file nor a large process."""
    messages: list[Json] = [SYSTEM]
    exchanges: list[ModelExchange] = []
    for seq in range(1, 101):
        messages = [*messages, {"role": "user", "content": f"question {seq} " + "x" * 200}]
        request: Json = {"tools": [{"name": "t" * 3000}], "messages": copy_of(messages)}
        exchanges.append(exchange(seq, request))
    data = write_cassette(Cassette(exchanges=tuple(exchanges)))
    read = read_cassette(data, path="t.mcp")

    assert len(data) < 100 * 600 + 4000
    assert list(read.exchanges) == exchanges
    first, last = (cast("ModelExchange", read.exchanges[at]).call.request for at in (0, -1))
    assert isinstance(first, dict)
    assert isinstance(last, dict)
    assert first["tools"] is last["tools"]
    assert first["messages"][0] is last["messages"][0]  # type: ignore[index]


def test_writing_what_was_read_changes_nothing() -> None:
    """A tool that loads and saves a cassette leaves no diff behind."""
    exchanges = tuple(
        exchange(seq, {"tools": ["t"], "messages": [SYSTEM, LONG, *[USER] * seq]})
        for seq in range(1, 5)
    )
    data = write_cassette(Cassette(exchanges=exchanges))

    assert write_cassette(read_cassette(data, path="t.mcp")) == data


def reader() -> PartReader:
    parts = PartReader()
    parts.add_part("p", {"a": 1})
    parts.add_request(1, {"messages": [USER, SYSTEM]})
    parts.add_request(2, "no conversation")
    return parts


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"$part": "q"}, 'part "q" is not above this line; put its part line back'),
        ({"$part": 1}, "part without a name is not above this line"),
        ([{"$turns": [9, 1]}], "$turns names #9, no model exchange with a conversation above"),
        ([{"$turns": [2, 1]}], "$turns names #2, no model exchange with a conversation above"),
        ([{"$turns": [1, 3]}], "$turns takes 3 elements of #1, which has 2"),
        ([{"$turns": [1, 0]}], "$turns must be [SEQ,k]"),
        ([{"$turns": [True, True]}], "$turns must be [SEQ,k]"),
        ([{"$turns": "1"}], "$turns must be [SEQ,k]"),
        ([1, {"$turns": [1, 1]}], "$turns stands at the head of a list only"),
        ({"a": {"$turns": [1, 1]}}, "$turns stands at the head of a list only"),
    ],
)
def test_a_reference_to_nothing_is_refused(value: Json, problem: str) -> None:
    """A deleted line is named, not replayed as an empty prompt."""
    with pytest.raises(RecordProblemError) as caught:
        reader().whole(value)

    assert problem in str(caught.value)


def test_references_are_put_back() -> None:
    """Keys, pointers and reports speak of the whole request."""
    whole = reader().whole({"a": {"$part": "p"}, "m": [{"$turns": [1, 1]}, {"$part": "p"}]})

    assert whole == {"a": {"a": 1}, "m": [USER, {"a": 1}]}


def test_an_object_with_more_than_a_marker_is_a_payload() -> None:
    """A reference has nothing beside it."""
    value: Json = {"$part": "q", "other": 1}

    assert reader().whole(value) == value


def test_the_writer_measures_a_known_object_once() -> None:
    """A loaded cassette of n turns is written in time that grows with the file."""
    writer = PartWriter()
    shared: Json = {"role": "user", "content": "z" * 2000}

    first = writer.shared(1, {"input": [shared]})
    second = writer.shared(2, {"input": [shared, USER]})

    assert len(first.parts) == 1
    assert second.parts == []
    assert second.request == {"input": [{"$turns": [1, 1]}, USER]}
