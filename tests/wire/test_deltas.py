"""Pieces of a stream are found where a row says, and told apart."""

from typing import TYPE_CHECKING

from mcprec_addon.wire.deltas import channel, deltas, each_at, text_at, tool_call

if TYPE_CHECKING:
    from mcprec_addon.exchange import Json


def test_pieces_of_several_lists_are_channels_of_their_own() -> None:
    """Elements are told apart by their index, or where they have none by their place."""
    found = deltas(
        {"choices": [{"index": 3, "calls": [{"text": "a"}, {"text": "b"}, {"text": 1}]}]},
        [channel("/choices/*/calls/*/text")],
        event=7,
    )

    assert [(each.channel[-2:], each.event, each.text) for each in found] == [
        (("3", "0"), 7, "a"),
        (("3", "1"), 7, "b"),
    ]
    assert found[1].at == ("choices", "0", "calls", "1", "text")


def test_an_event_of_another_type_has_no_pieces() -> None:
    """One member is the text of one event and the sound of another."""
    text = channel("/delta", by=["/type", "/index"], suffix="text.delta")
    said: Json = {"type": "output_text.delta", "index": 1, "delta": "a"}
    sound: Json = {"type": "output_audio.delta", "index": 1, "delta": "a"}

    assert [each.channel[-2:] for each in deltas(said, [text])] == [("output_text.delta", "1")]
    assert deltas(sound, [text]) == []
    assert deltas([said], [text]) == []


def test_a_member_beside_tells_two_channels_apart() -> None:
    """What a model thinks is not what it says, though both stand in one place."""
    says, thinks = (channel("/parts/*/text", beside=("thought", is_it)) for is_it in (False, True))
    value: Json = {"parts": [{"text": "a"}, {"text": "b", "thought": True}]}

    assert [each.text for each in deltas(value, [says])] == ["a"]
    assert [each.text for each in deltas(value, [thinks])] == ["b"]


def test_a_piece_belongs_to_the_first_channel_that_has_it() -> None:
    """Two rows may name one place."""
    both = [channel("/text"), channel("/text", "thinking")]

    assert len(deltas({"text": "a"}, both)) == 1


def test_what_is_around_a_name_is_found_with_it() -> None:
    """A tool's arguments may stand beside its name."""
    tool = tool_call("/calls/*/function/name", arguments="args")
    function: Json = {"name": "find", "args": {}}

    found = list(each_at({"calls": [{"function": function}]}, tool.name))

    assert [(name, around) for _, _, name, around in found] == [("find", function)]
    assert text_at({"a": {"b": 2}}, ("a", "b")) == "2"
    assert text_at({"a": []}, ("a", "b")) == ""
