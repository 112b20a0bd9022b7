"""A run asks each question once, goes on where it stopped, and its report adds up."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.bench_records import tiny_file
from typer.testing import CliRunner

from rulemem.bench.cli import app
from rulemem.bench.json_lines import append_line, read_lines
from rulemem.bench.locomo import Dataset, Question, load_locomo
from rulemem.bench.report import write_report
from rulemem.bench.run import (
    ANSWERS,
    RECALL,
    Plan,
    measure_answers,
    measure_recall,
    score_reply,
)
from rulemem.bench.run_folder import RunFolder
from rulemem.bench.systems import Ingested, Passage, Reply
from rulemem.bench.tables import category_table, macro, weighted
from rulemem.errors import ConfigError, InputError, ModelUnavailable, ReplyRejected, RuleMemError
from rulemem.types import Cost, Turn

CODE = {"version": "1", "commit": "c0ffee"}


@dataclass
class Fake:
    """A system that finds turns in their order and answers what it is told to."""

    name: str = "fake"
    ranked: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    reply: Reply | RuleMemError = field(
        default_factory=lambda: Reply(text="a grey parrot", refused=False, cost=Cost(calls=1))
    )
    fails_at: str = ""
    tokens: int = 10
    log: list[str] = field(default_factory=list)
    turns: Sequence[Turn] = ()

    def open(self, conversation: str, folder: Path) -> None:
        self.log.append(f"open {conversation}")

    def ingest(self, turns: Sequence[Turn]) -> Ingested:
        self.turns = turns
        return Ingested(turns=len(turns), seconds={"read": 2.0}, costs={"extract": Cost(calls=5)})

    def retrieve(self, query: str, k: int) -> list[Passage]:
        self.log.append(query)
        if self.fails_at and self.fails_at in query:
            raise ModelUnavailable("gone")
        return [
            Passage(text="word " * self.tokens, turns=(turn.key,), score=0.5, routes=("text",))
            for turn in self.turns[:k]
        ]

    def render(self, passages: Sequence[Passage]) -> str:
        return ""

    def answer(self, question: str, passages: Sequence[Passage], *, preamble: str = "") -> Reply:
        if isinstance(self.reply, RuleMemError):
            raise self.reply
        return self.reply

    def close(self) -> None:
        self.log.append("close")


@pytest.fixture
def tiny(tmp_path: Path) -> Dataset:
    """Two small samples."""
    return load_locomo(tiny_file(tmp_path))


def _begin(folder: Path, *systems: Fake) -> RunFolder:
    run = RunFolder(folder)
    config = {
        "data": {"file": "tiny.json", "sha256": "0"},
        "seed": 0,
        "models": {"llm": {"name": "none"}},
        "systems": {system.name: system.settings for system in systems},
    }
    run.begin(config, CODE)
    return run


def _silent(label: str, done: int, total: int) -> None:
    pass


def _plan(tiny: Dataset, *systems: Fake) -> Plan:
    return Plan(dataset=tiny, questions=tiny.questions, systems=systems)


def _question(category: int, *, gold: str = "", trap: str = "") -> Question:
    return Question(
        qid="x:0", category=category, text="?", gold=gold, trap=trap, evidence=("D1:1",), dropped=0
    )


# --- the loop --------------------------------------------------------------------------------
def test_every_question_is_recorded_once(tiny: Dataset, tmp_path: Path) -> None:
    """One line per question, with evidence and what was found, and none of the dataset's text."""
    system = Fake()
    run = _begin(tmp_path / "run", system)
    measure_recall(_plan(tiny, system), run, _silent)
    records = run.read(RECALL, "fake")
    assert list(records) == [q.qid for q in tiny.questions]
    first = records["pond-1:0"]
    assert first["evidence"] == ["D1:1", "D1:3"]
    assert first["retrieved"][0] == [["D1:1"], 0.5, 13, ["text"]]
    content = "".join(path.read_text() for path in run.path.rglob("*.jsonl"))
    assert "parrot" not in content and "adopt" not in content


def test_a_finished_run_is_not_computed_again(tiny: Dataset, tmp_path: Path) -> None:
    """Nothing is opened for questions that have their record."""
    run = _begin(tmp_path / "run", Fake())
    measure_recall(_plan(tiny, Fake()), run, _silent)
    again = Fake()
    measure_recall(_plan(tiny, again), run, _silent)
    assert again.log == []


def test_an_interrupted_run_goes_on(tiny: Dataset, tmp_path: Path) -> None:
    """What was recorded before an error stays; the rest is asked next time; systems are closed."""
    broken = Fake(fails_at="kayak")
    run = _begin(tmp_path / "run", broken)
    with pytest.raises(ModelUnavailable):
        measure_recall(_plan(tiny, broken), run, _silent)
    assert broken.log[-1] == "close"
    assert list(run.read(RECALL, "fake")) == ["pond-1:0", "pond-1:1"]
    whole = Fake()
    measure_recall(_plan(tiny, whole), run, _silent)
    assert whole.log.count("What did Priya adopt?") == 3  # of four, one was there
    assert set(run.read(RECALL, "fake")) == {q.qid for q in tiny.questions}


def test_a_line_that_a_crash_cut_off_is_made_again(tiny: Dataset, tmp_path: Path) -> None:
    """Half a line is no record, and the next one does not run into it."""
    run = _begin(tmp_path / "run", Fake())
    measure_recall(_plan(tiny, Fake()), run, _silent)
    path = run.path / RECALL / "fake.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert len(run.read(RECALL, "fake")) == len(tiny.questions) - 1
    measure_recall(_plan(tiny, Fake()), run, _silent)
    assert len(run.read(RECALL, "fake")) == len(tiny.questions)


def test_progress_counts_what_was_there(tiny: Dataset, tmp_path: Path) -> None:
    """Progress begins with the questions that are done already."""
    run = _begin(tmp_path / "run", Fake())
    append_line(run.path / RECALL / "fake.jsonl", {"qid": "pond-1:3"})
    seen: list[tuple[str, int, int]] = []
    plan = _plan(tiny, Fake())
    measure_recall(plan, run, lambda *told: seen.append(told))
    assert seen[:2] == [("pond-1 fake", 1, 6), ("pond-1 fake", 2, 6)]
    assert seen[-1] == ("pond-2 fake", 6, 6)


def test_long_rankings_are_cut_where_no_recall_looks(tiny: Dataset, tmp_path: Path) -> None:
    """A record holds what the largest budget or rank needs; an unranked context is kept whole."""

    class Long(Fake):
        def retrieve(self, query: str, k: int) -> list[Passage]:
            return [Passage(text="word " * 50, turns=(f"D1:{n}",), score=0.0) for n in range(90)]

    for system, kept in ((Long(), 30), (Long(ranked=False), 90)):
        run = _begin(tmp_path / f"run-{kept}", system)
        measure_recall(_plan(tiny, system), run, _silent)
        assert len(run.read(RECALL, "fake")["pond-1:0"]["retrieved"]) == kept


# --- answers ---------------------------------------------------------------------------------
def test_an_unreadable_reply_is_recorded_and_asked_again(tiny: Dataset, tmp_path: Path) -> None:
    """The model's fault does not stop the run; the question is asked again in the next one."""
    run = _begin(tmp_path / "run", Fake())
    measure_answers(_plan(tiny, Fake(reply=ReplyRejected("no JSON"))), run, _silent)
    assert run.read(ANSWERS, "fake")["pond-1:0"]["error"] == "no JSON"
    measure_answers(_plan(tiny, Fake()), run, _silent)
    record = run.read(ANSWERS, "fake")["pond-1:0"]
    assert (record["f1"], record["bleu1"], record["answer"]) == (1.0, 1.0, "a grey parrot")


def test_an_absent_model_stops_the_run(tiny: Dataset, tmp_path: Path) -> None:
    """A model that cannot be reached is no wrong answer."""
    run = _begin(tmp_path / "run", Fake())
    with pytest.raises(ModelUnavailable):
        measure_answers(_plan(tiny, Fake(reply=ModelUnavailable("gone"))), run, _silent)
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
    _begin(tmp_path, Fake(settings={"k1": 1.5}))
    _begin(tmp_path, Fake(settings={"k1": 1.5}), Fake(name="other"))
    with pytest.raises(ConfigError, match=r"systems\.fake"):
        _begin(tmp_path, Fake(settings={"k1": 2.0}))
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
        write_report(_begin(tmp_path, Fake()))


def test_lines_survive_odd_bytes(tmp_path: Path) -> None:
    """A broken line is left out, and a record may hold any character."""
    path = tmp_path / "a" / "lines.jsonl"
    append_line(path, {"text": "naïve 茶"})
    with path.open("ab") as file:
        file.write(b'{"half": \xff')
    append_line(path, {"n": 2})
    assert list(read_lines(path)) == [{"text": "naïve 茶"}, {"n": 2}]
    assert list(read_lines(tmp_path / "none")) == []


# --- tables and report -----------------------------------------------------------------------
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
    near, far = Fake(name="near", tokens=10), Fake(name="far", tokens=300)
    run = _begin(tmp_path / "run", near, far)
    measure_recall(_plan(tiny, near, far), run, _silent)
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
    one, two = Fake(name="one"), Fake(name="two")
    run = _begin(tmp_path / "run", one, two)
    measure_recall(_plan(tiny, one), run, _silent)
    measure_recall(Plan(dataset=tiny, questions=tiny.questions[:3], systems=[two]), run, _silent)
    text = write_report(run, "two")
    assert "3 questions of pond-1. Only questions that every system has" in text
    assert "in all: one 12, two 3." in text and "against two" in text
    with pytest.raises(InputError, match="no records of 'three'"):
        write_report(run, "three")


def test_report_of_answers(tiny: Dataset, tmp_path: Path) -> None:
    """Lexical scores, length and refusals stand there, and that accuracy was not judged."""
    says = Fake(name="says")
    refuses = Fake(name="refuses", reply=Reply(text="", refused=True))
    run = _begin(tmp_path / "run", says, refuses)
    measure_answers(_plan(tiny, says, refuses), run, _silent)
    text = write_report(run)
    assert "Judged accuracy: n/a" in text
    refusals = [line for line in text.split("### Refusals")[1].splitlines() if "refuses" in line]
    assert refusals[0].startswith("| refuses | 1.000 [0.34, 1.00] | 0.000 [0.00, 0.66] | 1.000 |")
    assert "| says | 3.000 |" in text.split("### Mean answer length")[1]
    assert "| says | 1.00 | 0 | 0 | 0.00 |" in text


def test_an_unranked_context_has_no_rank(tiny: Dataset, tmp_path: Path) -> None:
    """Recall of a whole context is reported apart, with its tokens."""
    ranked, whole = Fake(name="ranked"), Fake(name="whole", ranked=False)
    run = _begin(tmp_path / "run", ranked, whole)
    measure_recall(_plan(tiny, ranked, whole), run, _silent)
    text = write_report(run)
    assert "### Recall of a whole context\n\nTokens: whole 65." in text
    assert "| whole |" not in text.split("### Recall@5")[1].split("## Cost")[0]


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
