"""A run asks each question once, goes on where it stopped, and its report adds up."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.bench_records import CODE, FakeSystem, begin_run, plan_all, silent, tiny_file
from typer.testing import CliRunner

from rulemem.bench.cli import app
from rulemem.bench.json_lines import append_line, read_lines
from rulemem.bench.locomo import Dataset, Question, load_locomo
from rulemem.bench.report import write_report
from rulemem.bench.run import (
    ANSWERS,
    RECALL,
    measure_answers,
    measure_recall,
    score_reply,
)
from rulemem.bench.run_folder import RunFolder
from rulemem.bench.systems import Passage, Reply
from rulemem.errors import ConfigError, InputError, ModelUnavailable, ReplyRejected, RuleMemError
from rulemem.types import Cost


@pytest.fixture
def tiny(tmp_path: Path) -> Dataset:
    """Two small samples."""
    return load_locomo(tiny_file(tmp_path))


def _question(category: int, *, gold: str = "", trap: str = "") -> Question:
    return Question(
        qid="x:0", category=category, text="?", gold=gold, trap=trap, evidence=("D1:1",), dropped=0
    )


# --- the loop --------------------------------------------------------------------------------
def test_every_question_is_recorded_once(tiny: Dataset, tmp_path: Path) -> None:
    """One line per question, with evidence and what was found, and none of the dataset's text."""
    system = FakeSystem()
    run = begin_run(tmp_path / "run", system)
    measure_recall(plan_all(tiny, system), run, silent)
    records = run.read(RECALL, "fake")
    assert list(records) == [q.qid for q in tiny.questions]
    first = records["pond-1:0"]
    assert first["evidence"] == ["D1:1", "D1:3"]
    assert first["retrieved"][0] == [["D1:1"], 0.5, 13, ["text"]]
    content = "".join(path.read_text() for path in run.path.rglob("*.jsonl"))
    assert "parrot" not in content and "adopt" not in content


def test_a_finished_run_is_not_computed_again(tiny: Dataset, tmp_path: Path) -> None:
    """Nothing is opened for questions that have their record."""
    run = begin_run(tmp_path / "run", FakeSystem())
    measure_recall(plan_all(tiny, FakeSystem()), run, silent)
    again = FakeSystem()
    measure_recall(plan_all(tiny, again), run, silent)
    assert again.log == []


def test_an_interrupted_run_goes_on(tiny: Dataset, tmp_path: Path) -> None:
    """What was recorded before an error stays; the rest is asked next time; systems are closed."""
    broken = FakeSystem(fails_at="kayak")
    run = begin_run(tmp_path / "run", broken)
    with pytest.raises(ModelUnavailable):
        measure_recall(plan_all(tiny, broken), run, silent)
    assert broken.log[-1] == "close"
    assert list(run.read(RECALL, "fake")) == ["pond-1:0", "pond-1:1"]
    whole = FakeSystem()
    measure_recall(plan_all(tiny, whole), run, silent)
    assert whole.log.count("What did Priya adopt?") == 3  # of four, one was there
    assert set(run.read(RECALL, "fake")) == {q.qid for q in tiny.questions}


def test_a_line_that_a_crash_cut_off_is_made_again(tiny: Dataset, tmp_path: Path) -> None:
    """Half a line is no record, and the next one does not run into it."""
    run = begin_run(tmp_path / "run", FakeSystem())
    measure_recall(plan_all(tiny, FakeSystem()), run, silent)
    path = run.path / RECALL / "fake.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert len(run.read(RECALL, "fake")) == len(tiny.questions) - 1
    measure_recall(plan_all(tiny, FakeSystem()), run, silent)
    assert len(run.read(RECALL, "fake")) == len(tiny.questions)


def test_progress_counts_what_was_there(tiny: Dataset, tmp_path: Path) -> None:
    """Progress begins with the questions that are done already."""
    run = begin_run(tmp_path / "run", FakeSystem())
    append_line(run.path / RECALL / "fake.jsonl", {"qid": "pond-1:3"})
    seen: list[tuple[str, int, int]] = []
    plan = plan_all(tiny, FakeSystem())
    measure_recall(plan, run, lambda *told: seen.append(told))
    assert seen[:2] == [("pond-1 fake", 1, 6), ("pond-1 fake", 2, 6)]
    assert seen[-1] == ("pond-2 fake", 6, 6)


def test_long_rankings_are_cut_where_no_recall_looks(tiny: Dataset, tmp_path: Path) -> None:
    """A record holds what the largest budget or rank needs; an unranked context is kept whole."""

    class Long(FakeSystem):
        def retrieve(self, query: str, k: int) -> list[Passage]:
            return [Passage(text="word " * 50, turns=(f"D1:{n}",), score=0.0) for n in range(90)]

    for system, kept in ((Long(), 30), (Long(ranked=False), 90)):
        run = begin_run(tmp_path / f"run-{kept}", system)
        measure_recall(plan_all(tiny, system), run, silent)
        assert len(run.read(RECALL, "fake")["pond-1:0"]["retrieved"]) == kept


# --- answers ---------------------------------------------------------------------------------
def test_an_unreadable_reply_is_recorded_and_asked_again(tiny: Dataset, tmp_path: Path) -> None:
    """The model's fault does not stop the run; the question is asked again in the next one."""
    run = begin_run(tmp_path / "run", FakeSystem())
    measure_answers(plan_all(tiny, FakeSystem(reply=ReplyRejected("no JSON"))), run, silent)
    assert run.read(ANSWERS, "fake")["pond-1:0"]["error"] == "no JSON"
    measure_answers(plan_all(tiny, FakeSystem()), run, silent)
    record = run.read(ANSWERS, "fake")["pond-1:0"]
    assert (record["f1"], record["bleu1"], record["answer"]) == (1.0, 1.0, "a grey parrot")


def test_an_absent_model_stops_the_run(tiny: Dataset, tmp_path: Path) -> None:
    """A model that cannot be reached is no wrong answer."""
    run = begin_run(tmp_path / "run", FakeSystem())
    with pytest.raises(ModelUnavailable):
        measure_answers(plan_all(tiny, FakeSystem(reply=ModelUnavailable("gone"))), run, silent)
    assert run.read(ANSWERS, "fake") == {}


def test_scores_of_scored_categories() -> None:
    """Categories 1 to 4 are scored against the gold, an empty refusal with 0."""
    scores = score_reply(
        _question(3, gold="Yes; she sings"), Reply(text="Yes.", refused=False, cost=Cost())
    )
    assert scores == {
        "refused": False,
        "words": 1,
        "locomo": 1.0,
        "f1": 0.0,  # "Yes;" is another word than "Yes"
        "bleu1": pytest.approx(0.5 * math.exp(1 - 4 / 2), abs=1e-9),
    }
    refused = score_reply(_question(4, gold="tea"), Reply(text="", refused=True))
    assert (refused["f1"], refused["bleu1"], refused["locomo"], refused["words"]) == (0, 0, 0, 0)


def test_scores_of_category_5() -> None:
    """A silent refusal counts as said; the trap answer is recognised; no gold is scored."""
    question = _question(5, trap="11 May 2024")
    refused = score_reply(question, Reply(text="", refused=True))
    assert refused == {"refused": True, "words": 0, "locomo": 1.0, "trap_f1": 0.0}
    fooled = score_reply(question, Reply(text="On 11 May, 2024", refused=False))
    assert (fooled["locomo"], fooled["trap_f1"]) == (0.0, pytest.approx(6 / 7))


# --- the folder ------------------------------------------------------------------------------
def test_a_run_with_another_configuration_is_refused(tmp_path: Path) -> None:
    """Records of two configurations are not mixed; systems and keys may be added."""
    begin_run(tmp_path, FakeSystem(settings={"k1": 1.5}))
    begin_run(tmp_path, FakeSystem(settings={"k1": 1.5}), FakeSystem(name="other"))
    with pytest.raises(ConfigError, match=r"systems\.fake"):
        begin_run(tmp_path, FakeSystem(settings={"k1": 2.0}))
    with pytest.raises(ConfigError, match="other seed"):
        RunFolder(tmp_path).begin({"seed": 1, "systems": {}}, CODE)
    described = RunFolder(tmp_path).describe()
    assert list(described["config"]["systems"]) == ["fake", "other"]
    assert [session["commit"] for session in described["sessions"]] == ["c0ffee", "c0ffee"]


def test_no_run_and_no_records(tmp_path: Path) -> None:
    """A folder without a run, and a run without records, are said to be so."""
    with pytest.raises(InputError, match="There is no run"):
        write_report(RunFolder(tmp_path))
    with pytest.raises(InputError, match="no records yet"):
        write_report(begin_run(tmp_path, FakeSystem()))


def test_lines_survive_odd_bytes(tmp_path: Path) -> None:
    """A broken line is left out, and a record may hold any character."""
    path = tmp_path / "a" / "lines.jsonl"
    append_line(path, {"text": "naïve 茶"})
    with path.open("ab") as file:
        file.write(b'{"half": \xff')
    append_line(path, {"n": 2})
    assert list(read_lines(path)) == [{"text": "naïve 茶"}, {"n": 2}]
    assert list(read_lines(tmp_path / "none")) == []


# --- commands --------------------------------------------------------------------------------
def test_recall_and_report_by_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bench recall` and `bench report` measure and print; the data may come from a variable."""
    monkeypatch.setattr("rulemem.bench.cli.choose_models", lambda _settings: _models())
    monkeypatch.setenv("RULEMEM_LOCOMO", str(tiny_file(tmp_path)))
    arguments = "recall --systems bm25,rulemem-no-rules --categories 4,1 --conversations pond-1"
    result = CliRunner().invoke(app, [*arguments.split(), "--run", "run", "--stores", "stores"])
    assert result.exit_code == 0, result.output
    assert Path("stores/pond-1.db").exists()
    described = json.loads(Path("run/run.json").read_text())
    assert described["config"]["systems"]["rulemem-no-rules"]["recall"]["keys"] == 0.0
    assert described["config"]["k"] == 100 and described["config"]["prompts"]
    report = CliRunner().invoke(app, ["report", "run", "--baseline", "bm25"])
    assert "3 questions of pond-1." in report.output
    assert "- memories built with llm none, scorer none, embedder" in report.output
    assert "| rulemem-no-rules |" in report.output


def test_answers_by_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bench answer` draws a sample by its seed and records answers beside the recall."""
    monkeypatch.setattr("rulemem.bench.cli.choose_models", lambda _settings: _models())
    data = str(tiny_file(tmp_path))
    for limit in ("2", "5"):
        arguments = ["answer", "--data", data, "--systems", "date-of-top-turn", "--limit", limit]
        result = CliRunner().invoke(app, [*arguments, "--run", "run"])
        assert result.exit_code == 0, result.output
        assert len(RunFolder(Path("run")).read(ANSWERS, "date-of-top-turn")) == int(limit)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--systems", "bm52", "Unknown system 'bm52'"),
        ("--systems", ",", "No system is named"),
        ("--categories", "one", "A category is a number, not 'one'"),
        ("--conversations", "pond-3", "No conversation 'pond-3'"),
    ],
)
def test_wrong_options_are_named(option: str, value: str, message: str, tmp_path: Path) -> None:
    """A wrong value is refused before anything is measured."""
    data = str(tiny_file(tmp_path))
    result = CliRunner().invoke(app, ["recall", "--data", data, option, value])
    assert isinstance(result.exception, RuleMemError)
    assert message in str(result.exception)
    assert not Path("runs").exists()


def _models() -> Any:
    from rulemem.testing import stub_models

    return stub_models()
