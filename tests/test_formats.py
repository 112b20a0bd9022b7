"""Reading conversations: every format, keys and dates, unknown and broken sources."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from rulemem.errors import InputError
from rulemem.formats import Conversation, read_conversations
from rulemem.types import Turn

DATA = Path(__file__).parent / "data"
LOCOMO = Path(
    os.environ.get("RULEMEM_LOCOMO")
    or Path(__file__).resolve().parents[2] / "shared" / "data" / "locomo10.json"
)


def read_one(source: Any, **options: Any) -> Conversation:
    """Read a source that holds one conversation."""
    (found,) = read_conversations(source, **options)
    return found


def texts(conversation: Conversation) -> list[str]:
    """Return the texts of a conversation."""
    return [turn.text for turn in conversation.turns]


def reasons(conversation: Conversation) -> dict[str, str]:
    """Return why things were left out or noted, by place."""
    return {skip.where: skip.reason for skip in conversation.skipped}


# --- OpenAI messages ---------------------------------------------------------------------------


def test_messages_keep_who_said_what_and_when() -> None:
    """Names, roles, ids, sessions, order and dates of a message list arrive in the turns."""
    found = read_one(DATA / "messages.json")
    assert found.format == "OpenAI messages"
    assert found.id == "default"
    assert [turn.key for turn in found.turns] == ["m1", "m2", "m4", "m5", "m7"]
    assert [turn.position for turn in found.turns] == [0, 1, 2, 3, 4]
    assert [turn.speaker for turn in found.turns] == ["Priya", "assistant"] + ["Priya"] * 3
    assert [turn.session for turn in found.turns] == ["garden", "garden", "", "", ""]
    east = timezone(timedelta(hours=2))
    assert found.turns[0].said_at == datetime(2024, 6, 3, 18, 20, tzinfo=east)
    assert found.turns[1].said_at == datetime(2024, 6, 3, 16, 30, tzinfo=UTC)
    assert found.turns[2].said_at == datetime(2024, 6, 4)
    assert found.turns[3].said_at is None


def test_messages_say_what_was_left_out() -> None:
    """Instructions, tool traffic and empty turns are skipped; a bad date is noted; with reasons."""
    found = read_one(DATA / "messages.json")
    assert reasons(found) == {
        "messages[0]": "role 'system' is not dialogue",
        "messages[3]": "no text, only tool_calls",
        "messages[4]": "role 'tool' is not dialogue",
        "messages[7]": "empty: nothing to read in it",
        "messages[8]": "date not understood: '30 February 2024'",
    }
    assert [skip.kept for skip in found.skipped] == [False, False, False, False, True]
    assert found.turns[-1].said_at is None


def test_images_become_captions_or_a_mark() -> None:
    """An image part counts by its description; without one, "[image]" marks its place."""
    found = read_one(DATA / "messages.json")
    assert found.turns[2].content == (
        "This is the bed now. [image: a raised bed with six tomato plants]"
    )
    assert (found.turns[3].text, found.turns[3].caption) == ("[image]", "")


@pytest.mark.parametrize(
    ("part", "text", "caption"),
    [
        ({"image_url": {"url": "u", "detail": "low"}}, "[image]", ""),
        ({"image_url": {"url": "u", "detail": "a red kite"}}, "", "a red kite"),
        ({"image_url": {"url": "u"}, "caption": " a kite "}, "", "a kite"),
        ({"image_url": {"url": "u"}, "alt": 3}, "[image]", ""),
    ],
)
def test_where_a_caption_stands(part: dict[str, Any], text: str, caption: str) -> None:
    """A caption is found in the part or one level deeper; a resolution is not a caption."""
    turn = read_one([{"role": "user", "content": [{"type": "image_url", **part}]}]).turns[0]
    assert (turn.text, turn.caption) == (text, caption)


def test_json_lines_equal_the_list() -> None:
    """The same messages as JSON lines give the same conversation."""
    assert read_one(DATA / "messages.jsonl") == read_one(DATA / "messages.json")


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_one_json_line_is_one_message(tmp_path: Path, ends: str) -> None:
    """A file with a single message, whatever its line ends, is a conversation of one turn."""
    path = tmp_path / "any name"
    path.write_bytes(('{"role": "user", "content": "hi"}' + ends).encode())
    assert texts(read_one(path)) == ["hi"]


def test_request_bodies_are_conversations() -> None:
    """Each {"messages": [...]} is a conversation; keys of equal turns do not clash over them."""
    body = {"messages": [{"role": "user", "content": "hi", "id": "1"}]}
    assert texts(read_one(body, conversation="mine")) == ["hi"]
    several = read_conversations([body, {**body, "id": "named"}])
    assert [found.id for found in several] == ["conversation-1", "named"]
    assert [found.turns[0].key for found in several] == ["1", "1"]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "assistant", "content": None, "refusal": "I cannot."}, "I cannot."),
        ({"role": "assistant", "content": None, "audio": {"transcript": "Hello."}}, "Hello."),
        ({"role": "user", "content": [{"type": "input_text", "text": "a"}, "b"]}, "a\nb"),
        ({"role": "user", "content": [{"type": "text", "text": {"value": "deep"}}]}, "deep"),
        ({"role": "USER ", "content": "case"}, "case"),
    ],
)
def test_shapes_of_content(message: dict[str, Any], text: str) -> None:
    """Refusals, spoken replies and the text parts of several APIs are read."""
    assert texts(read_one([message])) == [text]


def test_objects_of_client_libraries_are_messages() -> None:
    """A reply object of a client library can stand in the list as it is."""

    class Reply:
        def model_dump(self) -> dict[str, Any]:
            return {"role": "assistant", "content": "from an object", "tool_calls": None}

    found = read_one([{"role": "user", "content": "hi"}, Reply()])
    assert texts(found) == ["hi", "from an object"]


def test_unreadable_parts_are_noted_and_the_rest_kept() -> None:
    """A part in which there is nothing to read costs nothing but a note."""
    parts = [{"type": "text", "text": "see"}, {"type": "input_audio", "input_audio": {}}]
    found = read_one([{"role": "user", "content": parts}])
    assert texts(found) == ["see"]
    assert "'input_audio'" in reasons(found)["messages[0]"]


@pytest.mark.parametrize(
    ("messages", "needles"),
    [
        ([{"role": "user", "content": "a"}, 7], ["messages[1]", "7"]),
        ([{"role": "user", "content": 5}], ["messages[0]", "5"]),
        ([{"role": "user", "content": {"a": 1}}], ["messages[0]", "'a'"]),
        ([{"role": "user", "content": ["a", 3.5]}], ["messages[0].content[1]", "3.5"]),
        ([{"role": "user", "content": [{"type": "text", "text": 1}]}], ["content[0]", "1"]),
        ([{"role": "Ann", "content": "a"}], ["messages[0]", "'Ann'", '"name"']),
        ([{"role": None, "content": "a"}], ["messages[0]", "None"]),
        ([{"role": "user", "contents": "a"}], ["messages[0]", "'contents'"]),
        ([{"role": "user", "name": 3, "content": "a"}], ["messages[0]", "'name'", "3"]),
        ([{"role": "user", "id": [1], "content": "a"}], ["messages[0]", "'id'"]),
    ],
)
def test_unknown_shapes_name_the_message(messages: list[Any], needles: list[str]) -> None:
    """A message of unknown shape is an error that names its index and the offending value."""
    with pytest.raises(InputError) as error:
        read_conversations(messages)
    assert all(needle in str(error.value) for needle in needles)
    assert error.value.hint


# --- keys, dates, duplicates -------------------------------------------------------------------


def test_reading_twice_gives_the_same_keys_and_equal_turns_differ() -> None:
    """Turns without ids have keys that repeat on re-reading, and differ between equal turns."""
    messages = [{"role": "user", "content": "ok"}, {"role": "user", "content": "ok"}]
    first, second = read_one(messages), read_one(messages)
    keys = [turn.key for turn in first.turns]
    assert keys == [turn.key for turn in second.turns]
    assert keys[0].endswith("#1")
    assert keys[1] == keys[0].replace("#1", "#2")


@pytest.mark.parametrize(
    "other",
    [
        {"content": "OK"},
        {"name": "Ann"},
        {"session": "2"},
        {"timestamp": "2024-01-02"},
    ],
)
def test_content_keys_tell_turns_apart(other: dict[str, str]) -> None:
    """Another text, speaker, session or date is another turn."""
    message = {"role": "user", "content": "ok"}
    first, second = read_one([message, {**message, **other}]).turns
    assert first.key.split("#")[0] != second.key.split("#")[0]


def test_equal_ids_lose_nothing() -> None:
    """A repeated turn is stored once; another text under the same id is kept under its own key."""
    messages = [
        {"role": "user", "id": 1, "content": "a"},
        {"role": "user", "id": 1, "content": "b"},
        {"role": "user", "id": 1, "content": "b"},
        {"role": "user", "id": "1#2", "content": "c"},
    ]
    found = read_one(messages)
    assert [(turn.key, turn.text) for turn in found.turns] == [
        ("1", "a"),
        ("1#2", "b"),
        ("1#2#2", "c"),
    ]
    assert [(skip.where, skip.kept) for skip in found.skipped] == [
        ("messages[1]", True),
        ("messages[2]", False),
    ]


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        (1717432200, datetime(2024, 6, 3, 16, 30, tzinfo=UTC)),
        (1717432200000, datetime(2024, 6, 3, 16, 30, tzinfo=UTC)),
        ("1717432200", datetime(2024, 6, 3, 16, 30, tzinfo=UTC)),
        (datetime(2024, 6, 3, 16, 30), datetime(2024, 6, 3, 16, 30)),
        (date(2024, 6, 3), datetime(2024, 6, 3)),
        ("", None),
        (None, None),
    ],
)
def test_dates_are_read(stamp: object, expected: datetime | None) -> None:
    """Epochs, datetimes and dates are read without a note; nothing given is unknown, not now."""
    found = read_one([{"role": "user", "content": "x", "timestamp": stamp}])
    assert found.turns[0].said_at == expected
    assert found.skipped == ()


@pytest.mark.parametrize(
    "stamp", ["yesterday-ish", "2023-02-30", "31 June 2023", -5, 10**400, float("nan"), True, []]
)
def test_a_date_that_is_none_costs_only_the_date(stamp: object) -> None:
    """A date that cannot be or cannot be read leaves the turn undated, with a note."""
    found = read_one([{"role": "user", "content": "x", "timestamp": stamp}])
    assert found.turns[0].said_at is None
    assert reasons(found)["messages[0]"].startswith("date not understood: ")


# --- text, strings, turns ----------------------------------------------------------------------


def test_bare_text_is_one_turn_of_the_user() -> None:
    """A string that is no transcript is what the user said, once."""
    found = read_one("I like tea")
    assert [(turn.speaker, turn.text) for turn in found.turns] == [("user", "I like tea")]


def test_a_list_of_strings_is_turns_of_the_user() -> None:
    """Strings in a list are turns of the user, in order."""
    found = read_one(["I like tea", "我养了一只猫叫豆豆"])
    assert [(turn.speaker, turn.text) for turn in found.turns] == [
        ("user", "I like tea"),
        ("user", "我养了一只猫叫豆豆"),
    ]


def test_json_in_a_string_is_read_only_if_it_is_a_conversation() -> None:
    """Pasted messages are read as such; any other JSON is something that the user said."""
    assert texts(read_one((DATA / "messages.json").read_text("utf-8")))[0].startswith("My tom")
    for said in ('{"a": 1}', "[]", '["a", "b"]', '{"role": "user", '):
        assert texts(read_one(said)) == [said.strip()]


def test_text_is_never_taken_for_a_path(tmp_path: Path) -> None:
    """A string is not opened as a file; one that looks like a file name says what to do."""
    path = tmp_path / "secret.json"
    path.write_text('[{"role": "user", "content": "secret"}]', "utf-8")
    with pytest.raises(InputError, match="Path"):
        read_conversations(str(path))
    assert texts(read_one([str(path)])) == [str(path)]


def test_turn_records_keep_their_fields() -> None:
    """Turns come back with all they carry but ids and states, grouped by their conversation."""
    turn = Turn(
        id=5,
        conversation="c1",
        session="s",
        key="D1:1",
        position=9,
        speaker="Ann",
        text="hi",
        caption="a cup",
        said_at=datetime(2024, 1, 2),
        state="failed",
        reason="why",
    )
    other = replace(turn, conversation="c2")
    first, second = read_conversations([turn, other])
    assert first.turns == (replace(turn, id=0, position=0, state="pending", reason=""),)
    assert (second.id, second.turns[0].key) == ("c2", "D1:1")
    assert read_one([turn, other], conversation="c2") == second
    record = {"speaker": "Ann", "text": "hi", "caption": "a cup", "said_at": "2024-01-02"}
    as_json = read_one([{**record, "session": "s", "key": "D1:1", "conversation": "c1"}])
    assert as_json.turns == first.turns
    assert read_one(turn) == first


def test_equal_turn_ids_in_two_conversations_stay_apart() -> None:
    """Two conversations may use the same ids; neither touches the other."""
    found = read_conversations(DATA / "locomo_sample.json")
    assert [conversation.turns[0].key for conversation in found] == ["D1:1", "D1:1"]
    assert found[0].turns[0].text != found[1].turns[0].text


# --- LoCoMo, LongMemEval, ChatGPT --------------------------------------------------------------


def test_locomo_sessions_come_in_numeric_order() -> None:
    """Session 10 follows session 2, every turn has the date of its session, ids are kept."""
    found = read_one(DATA / "locomo_sample.json", conversation="talk-1")
    assert found.format == "LoCoMo"
    assert [turn.key for turn in found.turns] == ["D1:1", "D1:2", "D2:1", "D2:2", "D10:1"]
    assert [turn.session for turn in found.turns[::4]] == ["session_1", "session_10"]
    assert found.turns[0].said_at == found.turns[1].said_at == datetime(2024, 1, 8, 13, 56)
    assert found.turns[2].said_at == datetime(2024, 1, 13, 0, 9)
    assert found.skipped == ()


def test_locomo_texts_are_trimmed_and_captions_used() -> None:
    """Spaces at the edges go, inner newlines stay, a caption counts with or without an image."""
    found = read_one(DATA / "locomo_sample.json", conversation="talk-1")
    assert texts(found)[:2] == ["What do you play?", "The cello.\n\nSince 2019."]
    assert found.turns[2].content == "Look at this! [image: a photo of a cello on a chair]"
    assert found.turns[3].caption == "a photo of a cat"


def test_a_single_locomo_sample_or_only_its_sessions_are_read() -> None:
    """A sample alone, and its inner conversation alone, give the same turns."""
    sample = json.loads((DATA / "locomo_sample.json").read_text("utf-8"))[0]
    alone, inner = read_one(sample), read_one(sample["conversation"], conversation="talk-1")
    assert (alone.id, alone.turns) == (inner.id, inner.turns)
    sample["conversation"]["session_2"][0]["text"] = 3
    with pytest.raises(InputError, match=r"session_2\[0\]"):
        read_conversations(sample)


def test_longmemeval_keeps_sessions_ids_and_order() -> None:
    """The question names the conversation; sessions keep id, date and place; empty turns go."""
    found = read_one(DATA / "longmemeval_sample.json")
    assert (found.format, found.id) == ("LongMemEval", "q_boat")
    assert [turn.key for turn in found.turns] == ["share_a_0:1", "share_a_0:2", "answer_b_1:1"]
    assert [turn.session for turn in found.turns] == ["share_a_0", "share_a_0", "answer_b_1"]
    assert [turn.speaker for turn in found.turns] == ["user", "assistant", "user"]
    assert found.turns[2].said_at == datetime(2024, 5, 18, 2, 57)
    assert list(reasons(found)) == ["answer_b_1:2"]
    instance = json.loads((DATA / "longmemeval_sample.json").read_text("utf-8"))[0]
    assert read_one(instance) == found


def test_chatgpt_export_follows_what_was_on_the_screen() -> None:
    """The branch of the current node is read, in order; the abandoned answer is not."""
    found = read_one(DATA / "chatgpt_export.json", conversation="c-bread")
    assert found.format == "ChatGPT export"
    assert [(turn.key, turn.speaker) for turn in found.turns] == [
        ("n2", "user"),
        ("n4", "assistant"),
        ("n6", "user"),
    ]
    assert texts(found)[1:] == [
        "About three hours at 26 degrees.",
        "[image]\nDoes this look right?",
    ]
    assert found.turns[0].said_at == datetime(2024, 5, 5, 8, 0, 0, 500000, tzinfo=UTC)
    assert reasons(found) == {
        "message n1": "role 'system' is not dialogue",
        "message n5": "addressed to the tool 'browser'",
    }
    assert read_one(DATA / "chatgpt_export.json", conversation="Bread") == found


def test_chatgpt_export_without_a_current_node_or_with_a_loop() -> None:
    """A missing current node means the newest leaf, with a note; a loop in the tree ends."""
    export = json.loads((DATA / "chatgpt_export.json").read_text("utf-8"))[0]
    whole = read_one(export)
    export["current_node"] = "gone"
    again = read_one(export)
    assert again.turns == whole.turns
    assert "'gone' does not exist" in reasons(again)["current_node"]
    export["mapping"]["n0"]["parent"] = "n6"
    assert read_one(export).turns == whole.turns


# --- selection, unknown and broken sources -----------------------------------------------------


def test_an_unknown_conversation_names_the_nearest() -> None:
    """Asking for a conversation that is not there is an error with the nearest and all names."""
    with pytest.raises(InputError) as error:
        read_conversations(DATA / "locomo_sample.json", conversation="talk-3")
    assert "'talk-3'" in str(error.value)
    assert "meant?" in str(error.value)
    assert "talk-1, talk-2" in str(error.value)


def test_a_name_is_given_where_the_source_has_none() -> None:
    """The caller names what the source does not name; a blank name is an error."""
    assert read_one("I like tea", conversation=" diary ").turns[0].conversation == "diary"
    assert read_one([], conversation="diary").id == "diary"
    with pytest.raises(InputError, match="name"):
        read_conversations("I like tea", conversation=" ")


def test_conversations_of_one_name_are_numbered() -> None:
    """Two samples with one name stay two conversations, and the second says so."""
    sample = json.loads((DATA / "locomo_sample.json").read_text("utf-8"))[1]
    first, second = read_conversations([sample, sample])
    assert (first.id, second.id) == ("talk-2", "talk-2#2")
    assert "precedes it" in second.skipped[0].reason


@pytest.mark.parametrize("nothing", [[], (), "", " \n\t", "\u200b"])
def test_nothing_is_a_conversation_without_turns(nothing: Any) -> None:
    """An empty list or text is not an error and gives no turn."""
    found = read_one(nothing)
    assert (found.turns, len(found.skipped)) == ((), 1)


def test_a_file_of_blank_lines_has_no_turns(tmp_path: Path) -> None:
    """A file with nothing but white space ends at once, with the reason."""
    path = tmp_path / "blank.txt"
    path.write_text("\n  \n\t\n", "utf-8")
    assert read_one(path).skipped[0].reason.startswith("empty")


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ({}, "an object without keys"),
        ({"foo": 1, "bar": 2}, "'foo', 'bar'"),
        ([1, 2], "a list of 2"),
        ([[["deep"]]], "lists"),
        (None, "NoneType"),
        (3, "int"),
        (b"Ann: hi", "bytes"),
    ],
)
def test_an_unknown_shape_says_what_was_seen(source: Any, seen: str) -> None:
    """What cannot be recognised is an error that describes it and what can be done."""
    with pytest.raises(InputError) as error:
        read_conversations(source)
    assert seen in error.value.message
    assert error.value.hint


def test_unknown_shapes_list_the_formats(tmp_path: Path) -> None:
    """The error for a file of prose lists every known format."""
    path = tmp_path / "essay.txt"
    path.write_text("Rain fell.\nNobody spoke.\n", "utf-8")
    with pytest.raises(InputError) as error:
        read_conversations(path)
    for name in ("LoCoMo", "LongMemEval", "ChatGPT", "OpenAI messages", "transcript"):
        assert name in str(error.value)
    assert "essay.txt" in str(error.value)


@pytest.mark.parametrize(
    ("content", "needle"),
    [
        (b'[{"role": "user", "content": "a"}, {"ro', "broken JSON"),
        (b'{"role": "user", "content": "a"}\n{"role": \n', "line 2"),
        (b"\x89PNG\r\n\x1a\n\x00\xff\xfe\xfd", "UTF-8"),
        (b"[" * 100_000, "broken JSON"),
    ],
)
def test_broken_files_say_where(tmp_path: Path, content: bytes, needle: str) -> None:
    """Cut-off JSON, a bad JSON line, a binary file, endless nesting: errors, with the place."""
    path = tmp_path / "broken"
    path.write_bytes(content)
    with pytest.raises(InputError, match=needle):
        read_conversations(path)


def test_missing_files_and_folders_are_input_errors(tmp_path: Path) -> None:
    """A path that cannot be read is an error with the path, its cause chained."""
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(InputError) as error:
            read_conversations(path)
        assert isinstance(error.value.__cause__, OSError)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_with_and_without_a_mark(tmp_path: Path, encoding: str) -> None:
    """UTF-8 with or without a byte order mark, and UTF-16 with one, are read."""
    path = tmp_path / "chat"
    path.write_text("שרה: אני אוהבת תה\nBjörn: Jag också\n", encoding=encoding)
    assert [turn.speaker for turn in read_one(path).turns] == ["שרה", "Björn"]


def test_a_stray_bad_byte_does_not_lose_a_file(tmp_path: Path) -> None:
    """One unreadable byte in a long file is replaced and noted, the rest is read."""
    path = tmp_path / "chat"
    path.write_bytes(b"Ann: hello\nBob: hi there\n" * 200 + b"Ann: caf\xe9\n")
    found = read_one(path)
    assert (len(found.turns), found.turns[-1].text) == (401, "caf\ufffd")
    assert found.skipped[0].kept


def test_nul_bytes_and_lone_surrogates_do_not_stop_the_rest(tmp_path: Path) -> None:
    """NUL bytes vanish, lone surrogates become U+FFFD, and the turns around them stay."""
    path = tmp_path / "messages"
    path.write_text(
        '[{"role": "user", "content": "a\\u0000b"}, {"role": "user", "content": "\\ud800 x"},'
        ' {"role": "user", "content": "\\ud83d\\ude00"}]',
        "utf-8",
    )
    assert texts(read_one(path)) == ["ab", "\ufffd x", "😀"]


# --- sizes -------------------------------------------------------------------------------------


def test_a_very_long_turn_becomes_parts_in_order() -> None:
    """A turn of 60,000 characters becomes parts of one speaker, date and session, none lost."""
    words = " ".join(f"word{number}" for number in range(7000))[:60_000]
    messages = [
        {"role": "user", "content": "before"},
        {"role": "user", "name": "Ann", "id": "big", "content": words, "date": "2024-01-02"},
        {"role": "user", "content": "after"},
    ]
    turns = read_one(messages).turns
    parts = turns[1:-1]
    assert len(parts) > 50
    assert [part.key for part in parts] == [f"big/{n}" for n in range(1, len(parts) + 1)]
    assert {(part.speaker, part.said_at) for part in parts} == {("Ann", datetime(2024, 1, 2))}
    assert " ".join(part.text for part in parts) == words.strip()
    assert [turn.position for turn in turns] == list(range(len(turns)))


def test_500_turns_in_one_call_are_500_turns() -> None:
    """A long conversation arrives whole."""
    found = read_one([{"role": "user", "content": f"turn {number}"} for number in range(500)])
    assert texts(found) == [f"turn {number}" for number in range(500)]


# --- the real file -----------------------------------------------------------------------------


@pytest.fixture(name="locomo")
def _locomo(capsys: pytest.CaptureFixture[str]) -> Path:
    """Return the official LoCoMo file; skip, and say so on the terminal, where it is absent."""
    if not LOCOMO.is_file():
        with capsys.disabled():
            sys.stderr.write(f"\nSKIPPED: no LoCoMo file at {LOCOMO}; set RULEMEM_LOCOMO\n")
        pytest.skip(f"no LoCoMo file at {LOCOMO}")
    return LOCOMO


def test_the_official_locomo_file_is_read_whole(locomo: Path) -> None:
    """All 10 conversations, 272 sessions and 5,882 turns arrive, dated, none skipped, fast."""
    start = time.process_time()
    found = read_conversations(locomo)
    assert time.process_time() - start < 10
    assert sum(len(conversation.turns) for conversation in found) == 5882
    assert sum(len({turn.session for turn in c.turns}) for c in found) == 272
    assert [c.skipped for c in found] == [()] * 10
    turns = [turn for conversation in found for turn in conversation.turns]
    assert all(turn.said_at is not None for turn in turns)
    assert sum(bool(turn.caption) for turn in turns) == 1226
    first = read_one(locomo, conversation="conv-26")
    assert first == found[0]
    assert (len(first.turns), first.turns[0].said_at) == (419, datetime(2023, 5, 8, 13, 56))
    for conversation in found:
        dates = [turn.said_at for turn in conversation.turns if turn.said_at]
        assert dates == sorted(dates)
