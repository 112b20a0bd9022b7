"""The report of a run adds up, and says of which questions and categories."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench_records import FakeSystem, begin_run, plan_all, silent, tiny_file

from rulemem.bench.locomo import Dataset, load_locomo
from rulemem.bench.report import write_report
from rulemem.bench.run import Plan, measure_answers, measure_recall
from rulemem.bench.systems import Reply
from rulemem.bench.tables import category_table, macro, weighted
from rulemem.errors import InputError


@pytest.fixture
def tiny(tmp_path: Path) -> Dataset:
    """Two small samples."""
    return load_locomo(tiny_file(tmp_path))


def test_both_averages() -> None:
    """Macro weighs categories alike, the other questions; category 5 is in neither."""
    values = {4: [1.0, 1.0, 1.0], 1: [0.0], 5: [9.0]}
    assert (macro(values), weighted(values)) == (0.5, 0.75)
    assert (macro({5: [1.0]}), weighted({})) == (None, None)


def test_columns_say_number_name_and_n() -> None:
    """No category stands without its number, name and count; absent ones have no column."""
    records = [{"category": 4, "x": 1.0}, {"category": 4, "x": 0.0}, {"category": 1, "x": 1.0}]
    lines = category_table({"a": records}, lambda r: float(r["x"])).splitlines()
    assert lines[0] == (
        "| system | 4 single-hop (n=2) | 1 multi-hop (n=1) | macro 1–4 | per question 1–4 (n=3) |"
    )
    assert lines[2] == "| a | 0.500 | 1.000 | 0.750 | 0.667 |"


def test_report_of_recall(tiny: Dataset, tmp_path: Path) -> None:
    """Recall is taken at ranks and budgets over questions that have evidence."""
    near, far = FakeSystem(name="near", tokens=10), FakeSystem(name="far", tokens=300)
    run = begin_run(tmp_path / "run", near, far)
    measure_recall(plan_all(tiny, near, far), run, silent)
    text = write_report(run)
    assert "12 questions of pond-1, pond-2." in text
    assert "4 of them have no evidence and are left out; 4 pieces of evidence name no turn" in text
    assert "| near | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |" in text
    budget = text.split("### Recall at 500 tokens")[1].splitlines()
    # far: one turn of 390 tokens fits; D1:1 is half of the first question's evidence
    assert budget[2].startswith("| system | 4 single-hop (n=2) | 1 multi-hop (n=2) | 2 temporal")
    assert budget[5].startswith("| far | 0.500 | 0.000 | 0.000 | 0.000 |")
    assert "### Recall@10 against near" in text and "[+0.000, +0.000]" in text
    assert "| near | read |  |  |  | 400.0 |" in text
    assert "| near | extract (model) | 1000 | 0 | 0 | 0.0 |" in text


def test_report_compares_common_questions_only(tiny: Dataset, tmp_path: Path) -> None:
    """Where one system has fewer records, the others are cut to them, and the report says so."""
    one, two = FakeSystem(name="one"), FakeSystem(name="two")
    run = begin_run(tmp_path / "run", one, two)
    measure_recall(plan_all(tiny, one), run, silent)
    measure_recall(Plan(dataset=tiny, questions=tiny.questions[:3], systems=[two]), run, silent)
    text = write_report(run, "two")
    assert "3 questions of pond-1. Only questions that every system has" in text
    assert "in all: one 12, two 3." in text and "against two" in text
    with pytest.raises(InputError, match="no records of 'three'"):
        write_report(run, "three")


def test_report_of_answers(tiny: Dataset, tmp_path: Path) -> None:
    """Lexical scores, length and refusals stand there, and that accuracy was not judged."""
    says = FakeSystem(name="says")
    refuses = FakeSystem(name="refuses", reply=Reply(text="", refused=True))
    run = begin_run(tmp_path / "run", says, refuses)
    measure_answers(plan_all(tiny, says, refuses), run, silent)
    text = write_report(run)
    assert "Judged accuracy: n/a" in text
    refusals = [line for line in text.split("### Refusals")[1].splitlines() if "refuses" in line]
    assert refusals[0].startswith("| refuses | 1.000 [0.34, 1.00] | 0.000 [0.00, 0.66] | 1.000 |")
    assert "| says | 3.000 |" in text.split("### Mean answer length")[1]
    assert "| says | 1.00 | 0 | 0 | 0.00 |" in text


def test_an_unranked_context_has_no_rank(tiny: Dataset, tmp_path: Path) -> None:
    """Recall of a whole context is reported apart, with its tokens."""
    ranked, whole = FakeSystem(name="ranked"), FakeSystem(name="whole", ranked=False)
    run = begin_run(tmp_path / "run", ranked, whole)
    measure_recall(plan_all(tiny, ranked, whole), run, silent)
    text = write_report(run)
    assert "### Recall of a whole context\n\nTokens: whole 65." in text
    assert "| whole |" not in text.split("### Recall@5")[1].split("## Cost")[0]
