"""Transcripts: who speaks, where turns and sessions begin, and what is only text."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulemem.formats import Conversation, read_conversations
from rulemem.formats.stamps import looks_like_date, looks_like_stamp

DATA = Path(__file__).parent / "data"


def read(text: str) -> Conversation:
    """Read a transcript."""
    (found,) = read_conversations(text)
    return found


def spoken(text: str) -> list[tuple[str, str]]:
    """Return speaker and text of each turn of a transcript."""
    found = read(text)
    assert found.format == "transcript"
    return [(turn.speaker, turn.text) for turn in found.turns]


def test_sessions_dates_and_continuations() -> None:
    """Headers begin dated sessions; lines without a speaker continue the turn above."""
    (found,) = read_conversations(DATA / "transcript.txt")
    assert [turn.speaker for turn in found.turns] == [
        "Tomasz",
        "Aoife",
        "Tomasz",
        "Aoife",
        "Tomasz",
    ]
    assert found.turns[1].text == (
        "Yes, at 10:30 from the bridge.\nThe route is here:\n"
        "https://routes.example/bridge: five kilometres"
    )
    assert found.turns[3].text.endswith("\n\nNote: the doctor said two weeks without running.")
    assert found.turns[2].said_at == datetime(2024, 3, 2, 19, 5)
    assert found.turns[3].said_at == datetime(2024, 3, 9, 8, 40)
    assert len({turn.session for turn in found.turns}) == 2
    assert found.skipped == ()


def test_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    """The same transcript with CR LF gives the same turns and the same keys."""
    path = tmp_path / "windows"
    path.write_bytes((DATA / "transcript.txt").read_bytes().replace(b"\n", b"\r\n"))
    assert read_conversations(path) == read_conversations(DATA / "transcript.txt")


@pytest.mark.parametrize(
    ("line", "said_at"),
    [
        ("[2023-05-08 14:03] Ann: hi", datetime(2023, 5, 8, 14, 3)),
        ("(8 May 2023, 2:03 pm) Ann: hi", datetime(2023, 5, 8, 14, 3)),
        ("2023-05-08T14:03:00Z Ann: hi", datetime(2023, 5, 8, 14, 3, tzinfo=UTC)),
        ("2023-05-08 14:03 - Ann: hi", datetime(2023, 5, 8, 14, 3)),
        ("Ann [2023-05-08 14:03]: hi", datetime(2023, 5, 8, 14, 3)),
        ("\u200e[08/05/2023, 14:03:00] Ann: hi", datetime(2023, 5, 8, 14, 3)),
    ],
)
def test_a_dated_line_is_a_turn(line: str, said_at: datetime) -> None:
    """A date before or behind the name dates the turn, and one such line is a transcript."""
    found = read(line)
    assert [(turn.speaker, turn.text) for turn in found.turns] == [("Ann", "hi")]
    assert found.turns[0].said_at == said_at


@pytest.mark.parametrize(
    ("header", "said_at"),
    [
        ("--- 8 May 2023 ---", datetime(2023, 5, 8)),
        ("=== Session 3: 2023-05-08 ===", datetime(2023, 5, 8)),
        ("## Session 2 (1:56 pm on 8 May, 2023)", datetime(2023, 5, 8, 13, 56)),
        ("Session 2 (1:56 pm on 8 May, 2023)", datetime(2023, 5, 8, 13, 56)),
        ("Session 2 - May 8, 2023", datetime(2023, 5, 8)),
        ("# At the lake, 8 May 2023", datetime(2023, 5, 8)),
        ("8 May 2023", datetime(2023, 5, 8)),
        ("Date: 2023-05-08", datetime(2023, 5, 8)),
        ("Session 2", None),
        ("# At the lake", None),
    ],
)
def test_headers_begin_sessions(header: str, said_at: datetime | None) -> None:
    """Each form of header begins a session and dates it if it has a date."""
    found = read(f"Ann: hi\nBob: hello\n\n{header}\nAnn: again\nBob: yes\n")
    assert [turn.text for turn in found.turns] == ["hi", "hello", "again", "yes"]
    first, *_, last = found.turns
    assert (first.session, first.said_at) == ("", None)
    assert (bool(last.session), last.said_at) == (True, said_at)


def test_a_time_alone_belongs_to_the_day_of_the_header() -> None:
    """A time of day is joined to the header's date; without one it stays unknown, with a note."""
    dated = read("--- 8 May 2023 ---\n[14:03] Ann: hi\n[2:05 pm] Bob: yo")
    assert [turn.said_at for turn in dated.turns] == [
        datetime(2023, 5, 8, 14, 3),
        datetime(2023, 5, 8, 14, 5),
    ]
    undated = read("[14:03] Ann: hi")
    assert undated.turns[0].said_at is None
    assert undated.skipped[0].reason == "a time without a date: '14:03'"


def test_a_header_with_a_day_that_does_not_exist() -> None:
    """A session on 30 February is a session without a date, and each turn says why."""
    found = read("Session 1 (30 February, 2023)\nAnn: hi\nBob: yo")
    assert [turn.said_at for turn in found.turns] == [None, None]
    assert {skip.reason for skip in found.skipped} == {"date not understood: '30 February, 2023'"}


@pytest.mark.parametrize(
    "name",
    [
        "None",
        "x'); DROP TABLE facts;--",
        "🦊 Zoë",
        "שרה",
        "Maria de la Cruz",
        "Dr. Lee",
        "小明",
        "user",
        "O'Neil-Smith",
    ],
)
def test_odd_names_are_speakers(name: str) -> None:
    """Emoji, right-to-left and hostile names speak like any other."""
    text = f"{name}: one\nmore of it\nAnn: two\n{name}: three\nAnn: four"
    assert spoken(text) == [
        (name, "one\nmore of it"),
        ("Ann", "two"),
        (name, "three"),
        ("Ann", "four"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "we meet at 10:30",
        "at 10:30: the usual place",
        "https://example.org/a: the map",
        "Note: bring water",
        "Reminder: bring water",
        "Eggs: two dozen",
        "C:\\music is the folder",
        "What I wanted to say was: come early",
        "## Plans",
        "---",
        "Day 2 was better: sun",
        '"quoted": text',
        "12: twelve",
    ],
)
def test_lines_with_colons_that_are_not_speakers(line: str) -> None:
    """Times, URLs, labels, clauses, headings and rules inside a turn stay in it."""
    text = f"Ann: so\n{line}\nand so on\nBob: yes\nAnn: good\nBob: bye"
    assert spoken(text)[0] == ("Ann", f"so\n{line}\nand so on")
    assert [name for name, _ in spoken(text)] == ["Ann", "Bob", "Ann", "Bob"]


def test_a_label_that_may_be_a_name_is_reported() -> None:
    """A label that occurs once stays in its turn, and a note says where it is."""
    found = read("Ann: so\nEggs: two dozen\nand so on\nBob: yes\nAnn: good\nBob: bye")
    assert [(skip.where, skip.kept) for skip in found.skipped] == [("line 2", True)]


def test_someone_who_speaks_once() -> None:
    """A single turn has a speaker if it is mentioned, or is the second one, or all lines are."""
    mentioned = "Ann: hi Zoe\nso\nZoe: hey\nBob: yo\nAnn: bye\nBob: bye"
    assert ("Zoe", "hey") in spoken(mentioned)
    assert spoken("Ann: a\nmore\nBob: b\nAnn: c")[1] == ("Bob", "b")
    assert spoken("Ann: hi\nBob: hello") == [("Ann", "hi"), ("Bob", "hello")]


def test_answers_of_a_model_are_full_of_labels() -> None:
    """Where roles speak, nothing else does, however often a label recurs."""
    text = "User: how?\nAssistant: so:\n## Steps\nMix: flour\nMix: eggs\nUser: thanks"
    assert spoken(text) == [
        ("User", "how?"),
        ("Assistant", "so:\n## Steps\nMix: flour\nMix: eggs"),
        ("User", "thanks"),
    ]


def test_markdown_bullets_and_wide_colons() -> None:
    """Bold names, bullets and the Chinese colon are read."""
    assert spoken("**Ann:** hi\n- **Bob**: yo\n> Ann: so") == [
        ("Ann", "hi"),
        ("Bob", "yo"),
        ("Ann", "so"),
    ]
    assert spoken("小明：你好\n小红:你好吗") == [("小明", "你好"), ("小红", "你好吗")]


def test_a_name_alone_on_its_line_opens_a_turn() -> None:
    """The words may follow on the next line, even if they are a date."""
    assert spoken("Ann: when?\nBob:\n8 May 2023\nAnn: ok")[1] == ("Bob", "8 May 2023")


def test_what_stands_before_the_first_speaker_is_reported() -> None:
    """A title is nobody's turn; it is skipped with its line."""
    found = read("Our talk\n\nAnn: hi\nBob: yo\nAnn: so\nBob: bye")
    assert [(skip.where, skip.kept) for skip in found.skipped] == [("line 1", False)]
    assert found.turns[0].text == "hi"


@pytest.mark.parametrize("text", ["Remember: milk", "Dear diary,\nthis is new: I sing.", "a:b"])
def test_prose_is_not_a_transcript(text: str) -> None:
    """A text without recurring names is one turn of the user, as it stands."""
    found = read(text)
    assert [(turn.speaker, turn.text) for turn in found.turns] == [("user", text)]


@pytest.mark.parametrize(
    ("text", "date", "stamp"),
    [
        ("2023-05-08", True, True),
        ("30 February 2023", True, True),
        ("8 mai 2023", True, True),
        ("Mon, 8 May 2023 at 2 pm", True, True),
        ("14:03", False, True),
        ("2:03 pm", False, True),
        ("25:61", False, False),
        ("v1.2", False, False),
        ("1.2", False, False),
        ("2023", False, False),
        ("two apples", False, False),
        ("Room 12 of 2023 people", False, False),
    ],
)
def test_what_looks_like_a_date(text: str, date: bool, stamp: bool) -> None:
    """Dates and times are told from versions, years and words by their look."""
    assert (looks_like_date(text), looks_like_stamp(text)) == (date, stamp)


_NAMES = st.sampled_from(["Ann", "Bob Lee", "שרה", "小明", "🦊 Zoë", "None"])
_WORDS = st.lists(
    st.sampled_from(["yes", "no", "at", "10:30", "https://x.org/a", "(so)", "tea", "茶"]),
    min_size=1,
)


@settings(deadline=None)
@given(st.lists(st.tuples(_NAMES, _WORDS.map(" ".join)), min_size=2))
def test_what_is_written_as_a_transcript_comes_back(turns: list[tuple[str, str]]) -> None:
    """Names and texts written one turn a line are read as they were written."""
    assert turns == spoken("\n".join(f"{name}: {text}" for name, text in turns))
