"""Text as it is stored: cleaned without loss, cut without loss."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulemem.errors import ConfigError
from rulemem.formats.chunks import split_long
from rulemem.formats.clean import clean_name, clean_text, is_blank
from rulemem.types import Turn

ANY_TEXT = st.text(st.characters(exclude_categories=[]))


def turn_of(text: str, caption: str = "") -> Turn:
    """Return a turn with a text."""
    return Turn(conversation="c", key="k", speaker="Ann", text=text, caption=caption, session="s")


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a\x00b\x07c", "abc"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\rc\x0bd", "a\nb\nc\nd"),
        ("\ud800x", "\ufffdx"),
        ("\ud83d\ude00", "😀"),
        ("cafe\u0301", "café"),
        ("\u202eevil\u202c \u2066x\u2069", "evil x"),
        ("  a  b \n", "a  b"),
        ("שרה אוהבת תה", "שרה אוהבת תה"),
        ("👩\u200d🚀 می\u200cخواهم \u200fא", "👩\u200d🚀 می\u200cخواهم \u200fא"),
    ],
)
def test_clean_text(raw: str, clean: str) -> None:
    """Controls, lone surrogates, direction overrides and edge spaces go; all else stays."""
    assert clean == clean_text(raw)


@settings(deadline=None)
@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing_and_the_result_can_be_encoded(text: str) -> None:
    """Cleaned text is stable, valid Unicode, and free of controls."""
    clean = clean_text(text)
    assert clean == clean_text(clean)
    clean.encode("utf-8")
    assert not [c for c in clean if unicodedata.category(c) == "Cc" and c not in "\n\t"]


@settings(deadline=None)
@given(st.text(st.characters(categories=["L", "N", "P", "S", "M"])))
def test_visible_characters_are_never_lost(text: str) -> None:
    """Of letters, marks, numbers, punctuation and symbols, cleaning changes only composition."""
    assert unicodedata.normalize("NFC", text) == clean_text(text)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("  Ann \n Lee ", "Ann Lee"),
        ("", "unknown"),
        (" \u200b", "unknown"),
        ("None", "None"),
        ("x'); DROP TABLE facts;--", "x'); DROP TABLE facts;--"),
        ("🦊 Zoë", "🦊 Zoë"),
        ("שרה", "שרה"),
    ],
)
def test_clean_name(raw: str, clean: str) -> None:
    """Names are one line; an invisible one is "unknown"; odd ones stay as they are."""
    assert clean == clean_name(raw)


def test_blank_is_what_cannot_be_seen() -> None:
    """White space and zero-width characters are blank; one visible character is not."""
    assert is_blank(" \t\n\u200b\ufeff")
    assert not is_blank("\u200b.")


def test_a_turn_that_fits_is_unchanged() -> None:
    """An ordinary turn comes back alone, key included."""
    turn = turn_of("A short turn. " * 20, caption="a photo")
    assert [turn] == split_long(turn)


@settings(deadline=None)
@given(st.text(max_size=400), st.text(max_size=200), st.integers(8, 120))
def test_parts_joined_are_the_text(text: str, caption: str, max_chars: int) -> None:
    """Whatever the text, its parts hold every visible character once, in order."""
    parts = split_long(turn_of(text, caption), max_chars=max_chars)
    assert "".join(text.split()) == "".join("".join(part.text for part in parts).split())
    assert "".join(caption.split()) == "".join("".join(part.caption for part in parts).split())
    assert len(parts) == 1 or all(part.content for part in parts)


@settings(deadline=None)
@given(st.lists(st.text("abcdé你😀.,! \n", max_size=30), max_size=40), st.integers(40, 200))
def test_no_part_is_longer_than_allowed(words: list[str], max_chars: int) -> None:
    """A part never counts more than `max_chars`, a character counting at least one."""
    text = " ".join(words)
    for part in split_long(turn_of(text), max_chars=max_chars):
        assert len(part.text) <= max_chars
        dense = sum(not character.isascii() for character in part.text)
        assert len(part.text) + 3 * dense <= max_chars


def test_parts_share_all_but_key_and_text() -> None:
    """Parts have keys "<key>/1", "<key>/2", ... and the speaker, session and conversation."""
    parts = split_long(turn_of("One sentence here. " * 500))
    assert [f"k/{number}" for number in range(1, len(parts) + 1)] == [part.key for part in parts]
    assert {("c", "s", "Ann")} == {(p.conversation, p.session, p.speaker) for p in parts}


def test_cuts_prefer_paragraphs_then_sentences_then_words() -> None:
    """A cut falls between paragraphs if one is near, else after a sentence, else at a space."""
    paragraph = "word " * 29 + "word."
    two = split_long(turn_of(f"{paragraph}\n\n{paragraph}"), max_chars=200)
    assert [paragraph, paragraph] == [part.text for part in two]
    sentences = split_long(turn_of("This is one sentence. " * 20), max_chars=200)
    assert all(part.text.endswith(".") for part in sentences)
    words = split_long(turn_of("alpha beta " * 40), max_chars=100)
    assert {"alpha", "beta"} == {word for part in words for word in part.text.split()}


def test_text_without_spaces_is_cut_hard() -> None:
    """Chinese is cut after sentences where it has them and anywhere else where it has none."""
    sentences = split_long(turn_of("我养了一只猫叫豆豆。" * 60))
    assert all(part.text.endswith("。") for part in sentences)
    assert all(len(part.text) <= 250 for part in sentences)
    endless = split_long(turn_of("猫" * 60_000))
    assert {250} == {len(part.text) for part in endless}
    assert len(split_long(turn_of("a" * 60_000))) > 60


def test_a_hard_cut_keeps_an_emoji_whole() -> None:
    """A cut never falls inside an emoji of several characters or before an accent."""
    for whole in ("👩\u200d🚀", "👍🏽", "e\u0301\u0323"):
        parts = split_long(turn_of(whole * 300), max_chars=100)
        assert len(parts) > 1
        assert all(part.text == whole * (len(part.text) // len(whole)) for part in parts)


def test_a_long_caption_is_cut_too() -> None:
    """A caption goes with the last part if it fits there, else into parts of its own."""
    short = split_long(turn_of("One sentence here. " * 100, caption="a red kite"))
    assert [part.caption for part in short if part.caption] == ["a red kite"]
    assert short[-1].text
    assert short[-1].caption
    long = split_long(turn_of("hi", caption="a red kite above the hill " * 100))
    assert long[0].text == "hi"
    assert all(part.caption and not part.text for part in long[1:])


def test_a_limit_below_one_character_is_refused() -> None:
    """A limit that no character fits into is a configuration error."""
    with pytest.raises(ConfigError, match="max_chars"):
        split_long(turn_of("a"), max_chars=3)
