"""Words are the same on both sides of the index, in every script, whatever is in the text."""

from __future__ import annotations

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulemem import lexical
from rulemem.lexical import canonical, content_terms, terms


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("豆豆", "我养了一只猫叫豆豆，它很可爱"),
        ("東京", "来週東京に行きます"),
        ("猫", "我养了一只猫叫豆豆"),
        ("서울", "지난주에 서울에서 만났어요"),
        ("กาแฟ", "ฉันชอบดื่มกาแฟทุกเช้า"),
        ("чай", "Сара любит чай с мёдом"),
        ("медом", "Сара любит чай с мёдом"),
        ("שרה", "שרה אוהבת תה"),
        ("שרה", "שָׂרָה אוהבת תה"),
        ("الشاي", "أحمد يحب الشاي"),
        ("हिन्दी", "वह हिन्दी में लिखती है"),
        ("Jose", "José runs a café"),
        ("cafe", "José runs a café"),
        ("running", "She runs every day"),
        ("Brien's", "Mr. Brien said hello"),
        ("O’Brien", "I met O'Brien"),
        ("ＴＥＡ", "green tea"),
        ("2023", "on 2023-05-08"),
    ],
)
def test_a_word_is_found_in_its_sentence(query: str, text: str) -> None:
    """Every term of a word occurs among the terms of a sentence that holds it."""
    assert set(terms(query)) <= set(terms(text))
    assert content_terms(query)


def test_words_of_other_scripts_stay_whole() -> None:
    """Cyrillic, Hebrew and Arabic words are one term each."""
    assert terms("Где Анна שרה أحمد") == ["где", "анна", "שרה", "احمد"]


def test_two_characters_of_chinese_give_characters_and_pairs() -> None:
    """A run without spaces gives its characters, then its pairs."""
    assert terms("豆豆来") == ["豆", "豆", "来", "豆豆", "豆来"]


def test_mixed_scripts_are_split_where_they_meet() -> None:
    """A Latin word next to kana is a word of its own."""
    assert "iphon" in terms("iPhoneを買った")


def test_stop_words_go_unless_nothing_else_is_left() -> None:
    """Stop words are terms only of a text that holds nothing else."""
    assert terms("Where is the cat?") == ["cat"]
    assert terms("Who is it?") == ["who", "is", "it"]
    assert content_terms("Who is it?") == frozenset()


@pytest.mark.parametrize("name", ["May", "Will", "US"])
def test_names_that_look_like_stop_words_are_kept(name: str) -> None:
    """A month, a person and a country are not taken for auxiliaries."""
    assert content_terms(name) == {name.casefold()}


@pytest.mark.parametrize("text", ["", " \n\t", "?!…", "🎉🎉", "\x00", "\ud800", "'''", "___", "—"])
def test_a_text_without_words_has_no_terms(text: str) -> None:
    """Nothing but punctuation, emoji, NUL or a lone surrogate: no terms, no error."""
    assert terms(text) == []


def test_a_huge_word_is_cut_alike_on_both_sides() -> None:
    """A word of 60,000 characters is one short term, the same when it is asked for."""
    [term] = terms("x1" * 30_000)
    assert len(term) == 64
    assert terms("x1" * 30_000 + "!") == [term]


def test_threads_do_not_mix_up_their_stems() -> None:
    """Eight threads that stem at once get what one thread gets."""
    words = [f"running{chr(97 + i)}{chr(97 + j)}ings" for i in range(26) for j in range(26)]
    expected = [terms(word) for word in words]
    lexical._stem.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: [terms(word) for word in words], range(8)):
            assert found == expected


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_gives_plain_terms(text: str) -> None:
    """Terms are short, never empty, hold no blank, and can be stored, lone surrogates or not."""
    for term in terms(text):
        assert 0 < len(term) <= 64
        assert term.split() == [term]
        term.encode()


@settings(deadline=None)
@given(st.text())
def test_the_way_a_text_is_composed_does_not_matter(text: str) -> None:
    """Composed and decomposed forms, and upper and folded case, have the same terms."""
    composed = unicodedata.normalize("NFC", text)
    assert terms(composed) == terms(unicodedata.normalize("NFD", text))
    assert terms(unicodedata.normalize("NFC", text.casefold())) == terms(composed)


@settings(deadline=None)
@given(st.text())
def test_content_terms_are_terms(text: str) -> None:
    """No content term is missing from the terms."""
    assert content_terms(text) <= set(terms(text))


@settings(deadline=None)
@given(st.text())
def test_canonical_is_stable(text: str) -> None:
    """A canonical name has no blanks at its ends, and blanks and case do not change it."""
    once = canonical(text)
    assert once == once.strip()
    assert canonical(f"  {text}\n") == once
    assert "  " not in once


def test_canonical_keeps_people_apart() -> None:
    """Case, width and spaces make no difference; an accent does."""
    assert canonical(" ＡＮＮ  Lee") == canonical("ann lee") == "ann lee"
    assert canonical("José") != canonical("Jose")
