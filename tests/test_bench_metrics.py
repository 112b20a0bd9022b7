"""Answer metrics are those of Mem0 and LoCoMo, to the ninth digit.

The vectors below are our own; their values were computed with NLTK 3.9.1 (its Punkt model, its
Treebank words, its BLEU, its Porter stemmer) and with the formulas of both papers, not with the
code under test. The published vectors hold answers of LoCoMo and stay in the data folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench_records import locomo_file

from rulemem.bench.metrics import (
    is_refusal,
    locomo_f1,
    locomo_list_f1,
    locomo_recall,
    locomo_score,
    mem0_bleu1,
    mem0_f1,
    word_count,
)
from rulemem.bench.porter import porter_stem
from rulemem.bench.sentences import split_sentences
from rulemem.bench.treebank import split_words

TOLERANCE = 1e-9
# prediction, gold, Mem0's F1, Mem0's BLEU-1, LoCoMo's F1
VECTORS = [
    ("12 March 2021", "12 March 2021", 1, 1, 1),
    ("March 12, 2021", "12 March 2021", 1, 0.75, 1),
    ("On 12 March.", "12 March 2021", 2 / 3, 0.5, 2 / 3),
    ("a red bike", "The red bike", 2 / 3, 2 / 3, 1),
    ("Two cats and a dog.", "two cats, a dog", 8 / 9, 2 / 3, 1),
    ("He can't swim.", "he cannot swim", 2 / 3, 0.4, 2 / 3),
    ('"Blue Harbour"', "Blue Harbour", 0, 0.5, 1),
    (
        "she moved to Turin. her brother stayed in Graz.",
        "She moved to Turin; her brother stayed in Graz",
        8 / 9,
        9 / 11,
        1,
    ),
    ("Dr. Okafor at 5 p.m. on Monday", "Dr. Okafor, Monday at 5 p.m.", 14 / 15, None, 12 / 13),
    ("in 2019. then again in 2021.", "2019 and 2021", 0.5, 1 / 7, 0.5),
    ("rain rain rain", "rain", 1, 1 / 3, 0.5),
    ("rain", "rain rain rain", 1, 0.1353352832366127, 0.5),
    ("", "Graz", 0, 0, 0),
    ("...", "...", 0, 1, 0),
    ("£4,500", "4500 pounds", 0, 0, 0),
    ("they're gonna wanna know", "they are going to want to know", 0.2, 2 / 7, 2 / 11),
    ("half-finished (twice)", "half finished, twice", 0, 0.25, 0.4),
    ("hiking, chess", "chess, hiking and tennis", 2 / 3, 0.513417119032592, 0.8),
    ("'Nocturne'", "Nocturne", 0, 0, 1),
    ("Yes! Really?", "yes, really", 1, 0.5, 1),
    ("running races happily", "ran a race", 0, 0, 0.4),
    ("e.g. tea -- or coffee", "tea or coffee", 2 / 3, 0.5, 6 / 7),
]
WORDS = [
    (
        "mr. and mrs. brandt left at 6 a.m. by train.",
        "mr. and mrs. brandt left at 6 a.m. by train .",
    ),
    ("she was born in 1990. her twin came later.", "she was born in 1990. her twin came later ."),
    ("it was no. 5. we laughed.", "it was no . 5. we laughed ."),
    ("wait... what?! yes.", "wait ... what ? ! yes ."),
    ('he said "go." then he went.', "he said `` go . '' then he went ."),
    ("he left (at noon.) she stayed.", "he left ( at noon . ) she stayed ."),
    ("grown-ups can't; kids gotta", "grown-ups ca n't ; kids got ta"),
    (
        "'tis the sister's dog, isn't it?",
        "'t is the sister 's dog , is n't it ?",
    ),
    (
        "it cost $3.50 (or 10%) -- cheap: 1,000 at 9:30",
        "it cost $ 3.50 ( or 10 % ) -- cheap : 1,000 at 9:30",
    ),
    ("mid-oct. trips were ok. and short.", "mid-oct. trips were ok. and short ."),
]
STEMS = [
    ("flies", "fli"),
    ("ties", "tie"),
    ("died", "die"),
    ("agreed", "agre"),
    ("hopping", "hop"),
    ("falling", "fall"),
    ("enjoy", "enjoy"),
    ("happy", "happi"),
    ("rationally", "ration"),
    ("geology", "geolog"),
    ("adoption", "adopt"),
    ("skies", "sky"),
    ("controlled", "control"),
    ("as", "as"),
]
LINES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=60)


@pytest.mark.parametrize(("prediction", "gold", "f1", "bleu1", "locomo"), VECTORS)
def test_own_vectors(
    prediction: str, gold: str, f1: float, bleu1: float | None, locomo: float
) -> None:
    """F1, BLEU-1 and LoCoMo's F1 of our vectors are what the original functions give."""
    assert mem0_f1(prediction, gold) == pytest.approx(f1, abs=TOLERANCE)
    if bleu1 is not None:
        assert mem0_bleu1(prediction, gold) == pytest.approx(bleu1, abs=TOLERANCE)
    assert locomo_f1(prediction, gold) == pytest.approx(locomo, abs=TOLERANCE)


def test_brevity_penalty_keeps_full_stops_of_abbreviations() -> None:
    """Five of seven words are shared, and eight are wanted: 5/7 e^(1 - 8/7)."""
    found = mem0_bleu1("Dr. Okafor at 5 p.m. on Monday", "Dr. Okafor, Monday at 5 p.m.")
    assert found == pytest.approx(0.619198499822, abs=TOLERANCE)


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_words(text: str, words: str) -> None:
    """Words are split as NLTK 3.9.1 splits them after Punkt."""
    assert split_words(text) == words.split()


def test_numbers_and_initials_end_no_sentence_before_a_word() -> None:
    """A stop after a number or an initial ends a sentence only where no word follows."""
    assert split_sentences("it was no. 5. we laughed.") == ["it was no.", "5. we laughed."]
    assert split_sentences("plan b. 7 days. plan z. go") == ["plan b.", "7 days.", "plan z. go"]


@pytest.mark.parametrize(("word", "stem"), STEMS)
def test_stems(word: str, stem: str) -> None:
    """Stems are those of NLTK's Porter stemmer in its default mode."""
    assert porter_stem(word) == stem


@given(LINES)
def test_sentences_lose_no_character_but_white_space(text: str) -> None:
    """Sentences put together are the text without white space."""
    joined = "".join("".join(split_sentences(text.lower())).split())
    assert joined == "".join(text.lower().split())


@given(LINES, LINES)
def test_scores_are_shares(prediction: str, gold: str) -> None:
    """Every metric lies in [0, 1], and both F1 do not care which text is the gold."""
    for metric in (mem0_f1, mem0_bleu1, locomo_f1, locomo_list_f1):
        assert 0.0 <= metric(prediction, gold) <= 1.0
    for metric in (mem0_f1, locomo_f1):
        assert metric(prediction, gold) == pytest.approx(metric(gold, prediction))


def test_list_score_takes_the_best_part() -> None:
    """Each part of the gold is held against every part of the answer."""
    assert locomo_list_f1("a kayak, chess", "chess, tennis") == 0.5
    assert locomo_list_f1("chess tennis", "chess, tennis") == pytest.approx(2 / 3)


def test_score_by_category() -> None:
    """Multi-hop is scored as a list, open-domain up to a semicolon, adversarial by refusal."""
    assert locomo_score(1, "chess", "chess, tennis") == 0.5
    assert locomo_score(3, "Likely yes", "Likely yes; she plays") == 1.0
    assert locomo_score(4, "Likely yes", "Likely yes; she plays") == pytest.approx(2 / 3)
    assert locomo_score(5, "It is NOT mentioned.", "") == 1.0
    assert locomo_score(5, "11 May", "") == 0.0


def test_locomo_recall_compares_ids_as_written() -> None:
    """Malformed ids never match; S-ids stand for sessions; no evidence counts as found."""
    assert locomo_recall(["D1:1", "D2:1"], ["D1:1"]) == 0.5
    assert locomo_recall(["D1:1; D2:1"], ["D1:1", "D2:1"]) == 0.0
    assert locomo_recall(["D3:4", "D13:1"], ["S3"]) == 0.5
    assert locomo_recall([], []) == 1.0


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ("", True),
        ("  ", True),
        ("Not mentioned in the conversation", True),
        ("There is no information about that.", True),
        ("I don't know.", True),
        ("No", False),
        ("He mentioned a kayak", False),
        ("an unknowable thing", False),
    ],
)
def test_refusals(answer: str, refused: bool) -> None:
    """An answer that says that there is none is a refusal, a plain no is not."""
    assert is_refusal(answer) is refused


def test_length_is_in_words() -> None:
    """Length counts what stands between white space."""
    assert word_count("11 May,  2024\n") == 3


@pytest.fixture
def mem0_vectors(request: pytest.FixtureRequest) -> Any:
    """The vectors made with Mem0's functions."""
    return _load(locomo_file("mem0_metric_vectors.json", request))["vectors"]


@pytest.fixture
def locomo_vectors(request: pytest.FixtureRequest) -> Any:
    """The vectors made with LoCoMo's functions."""
    return _load(locomo_file("locomo_metric_vectors.json", request))


def test_mem0_vectors(mem0_vectors: list[dict[str, Any]]) -> None:
    """All 193 pairs have Mem0's F1 and BLEU-1, and its words."""
    assert len(mem0_vectors) == 193
    for vector in mem0_vectors:
        pair = vector["prediction"], vector["reference"]
        assert mem0_f1(*pair) == pytest.approx(vector["f1"], abs=TOLERANCE), vector["id"]
        assert mem0_bleu1(*pair) == pytest.approx(vector["bleu1"], abs=TOLERANCE), vector["id"]
        if all(pair):
            words = [split_words(text.lower()) for text in pair]
            assert words == [vector["bleu_tokens"][side] for side in ("prediction", "reference")]


def test_locomo_vectors(locomo_vectors: dict[str, Any]) -> None:
    """All 193 pairs have LoCoMo's scores, and its 12 questions their score and recall."""
    assert (len(locomo_vectors["pairs"]), len(locomo_vectors["question_level"])) == (193, 12)
    for vector in locomo_vectors["pairs"]:
        pair = vector["prediction"], vector["reference"]
        single, multi = vector["f1_single"], vector["f1_multi"]
        assert locomo_f1(*pair) == pytest.approx(single, abs=TOLERANCE), vector["id"]
        assert locomo_list_f1(*pair) == pytest.approx(multi, abs=TOLERANCE), vector["id"]
    for item in locomo_vectors["question_level"]:
        score = locomo_score(item["category"], item["prediction"], str(item["answer"]))
        assert score == pytest.approx(item["score"], abs=TOLERANCE), item
        found = locomo_recall(item["evidence"], item["retrieved_ids"])
        assert found == pytest.approx(item["recall"], abs=TOLERANCE), item


def _load(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
