"""The official file is read as it is, and each of its irregularities is handled in one way."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.bench_records import locomo_file, tiny_file

from rulemem.bench.locomo import (
    SCORED,
    TUNED_ON,
    Dataset,
    load_locomo,
    repair_evidence,
    select_questions,
)
from rulemem.bench.sampling import sample_questions
from rulemem.errors import InputError


@pytest.fixture
def tiny(tmp_path: Path) -> Dataset:
    """A small file of our own."""
    return load_locomo(tiny_file(tmp_path))


def test_questions_are_known_by_their_place(tiny: Dataset) -> None:
    """Two questions with one text are two, and each knows its conversation."""
    texts = Counter((q.conversation, q.text) for q in tiny.questions)
    assert texts["pond-1", "What did Priya adopt?"] == 2
    assert [q.qid for q in tiny.questions][:2] == ["pond-1:0", "pond-1:1"]
    assert len({q.qid for q in tiny.questions}) == 12


def test_golds_are_text(tiny: Dataset) -> None:
    """A number becomes text; category 5 has a trap in the place of a gold."""
    by_qid = {q.qid: q for q in tiny.questions}
    assert by_qid["pond-1:1"].gold == "2024"
    assert (by_qid["pond-1:4"].gold, by_qid["pond-1:4"].trap) == ("", "11 May 2024")


def test_evidence_is_repaired_and_dangling_evidence_counted(tiny: Dataset) -> None:
    """Ids are read by pattern, each once; what names no turn is dropped and counted."""
    found = {q.qid: (q.evidence, q.dropped) for q in tiny.samples[0].questions}
    assert found == {
        "pond-1:0": (("D1:1", "D1:3"), 0),
        "pond-1:1": (("D2:1",), 0),
        "pond-1:2": (("D1:2", "D2:1"), 0),
        "pond-1:3": ((), 0),
        "pond-1:4": (("D2:2",), 1),
        "pond-1:5": ((), 1),
    }
    assert tiny.samples[0].repaired == 5


def test_turns_are_those_of_the_product(tiny: Dataset) -> None:
    """Turns have key, speaker, caption and the date of their session; no session, no turn."""
    turns = tiny.samples[0].turns
    assert [turn.key for turn in turns] == ["D1:1", "D1:2", "D1:3", "D2:1", "D2:2"]
    assert turns[2].content == "Basil already whistles. [image: a grey parrot]"
    assert {turn.session for turn in turns} == {"session_1", "session_2"}
    assert turns[3].said_at is not None and turns[3].said_at.isoformat() == "2024-05-11T19:30:00"


def test_evidence_with_leading_zeros_and_several_ids() -> None:
    """Zeros are stripped, one string may hold several ids, one that dangles leaves the others."""
    keys = {"D30:5", "D9:1", "D4:6"}
    assert repair_evidence(["D30:05"], keys) == (("D30:5",), 0)
    assert repair_evidence(["D9:1 D4:4 D4:6"], keys) == (("D9:1", "D4:6"), 1)


def test_selection(tiny: Dataset, tmp_path: Path) -> None:
    """Conversations and categories are selected by name and number; unknown ones are refused."""
    assert [s.id for s in load_locomo(tiny.path, ["pond-2"]).samples] == ["pond-2"]
    assert {q.category for q in select_questions(tiny.questions, [1, 3])} == {1, 3}
    with pytest.raises(InputError, match="No conversation 'lake'"):
        load_locomo(tiny.path, ["lake"])
    with pytest.raises(InputError, match="No category 7"):
        select_questions(tiny.questions, [7])


@pytest.mark.parametrize("content", ["{", '{"a": 1}', '[{"qa": 1}]'])
def test_other_files_are_refused(content: str, tmp_path: Path) -> None:
    """What is not LoCoMo is named, with its path."""
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"other\.json"):
        load_locomo(path)
    with pytest.raises(InputError, match="cannot be read"):
        load_locomo(tmp_path / "absent.json")


def test_a_category_that_does_not_exist_is_refused(tiny: Dataset) -> None:
    """A question outside the five categories is an error, not a sixth one."""
    samples = json.loads(tiny.path.read_text())
    samples[1]["qa"][2]["category"] = 6
    tiny.path.write_text(json.dumps(samples))
    with pytest.raises(InputError, match=r"'pond-2:2' has the category 6"):
        load_locomo(tiny.path)


def test_samples_grow_without_losing_questions(tiny: Dataset) -> None:
    """A larger draw of the same seed holds the smaller one; order is that of the file."""
    few, many = (sample_questions(tiny.questions, n, 3) for n in (4, 9))
    assert {q.qid for q in few} < {q.qid for q in many}
    assert many == [q for q in tiny.questions if q in many]
    assert sample_questions(tiny.questions, None, 3) == tiny.questions
    assert few != sample_questions(tiny.questions, 4, 4)


def test_the_official_file(request: pytest.FixtureRequest) -> None:
    """Counts of the official file: turns, questions, categories, repaired evidence."""
    dataset = load_locomo(locomo_file("locomo10.json", request))
    assert dataset.sha256 == "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"
    assert sum(len(sample.turns) for sample in dataset.samples) == 5882
    counts = Counter(q.category for q in dataset.questions)
    assert counts == {1: 282, 2: 321, 3: 96, 4: 841, 5: 446}
    scored = [q for q in dataset.questions if q.category in SCORED]
    assert sum(bool(q.evidence) for q in scored) == 1536
    assert [q.qid for q in dataset.questions if not q.evidence] == [
        "conv-26:30",
        "conv-26:46",
        "conv-50:39",
        "conv-50:42",
    ]
    assert {q.qid: q.dropped for q in dataset.questions if q.dropped} == {
        "conv-42:58": 1,
        "conv-42:88": 1,
        "conv-47:38": 1,
    }
    assert all(q.gold for q in scored)
    assert [sample.id for sample in dataset.samples][:2] == list(TUNED_ON)
