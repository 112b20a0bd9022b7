"""The whole pipeline on the example conversation, against recorded replies of real models.

The records are made by `python benchmarks/record.py`; only the parser runs for real.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from rulemem import Memory
from rulemem.bottom_up.syntax import SyntacticExtractor
from rulemem.clauses import check_clause
from rulemem.config import resolve_settings
from rulemem.models.choose import PARSER, Models
from rulemem.models.metered import MeteredText
from rulemem.models.recorded import ReplayEmbedder, ReplayLikelihood, ReplayText
from rulemem.models.registry import locate

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "tests" / "records"

pytestmark = pytest.mark.embedded


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    """The script that made the records: the test runs its very steps."""
    spec = importlib.util.spec_from_file_location("record", ROOT / "benchmarks" / "record.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def text() -> ReplayText:
    """The recorded text model."""
    return ReplayText(RECORDS / "text.jsonl")


@pytest.fixture(scope="module")
def memory(recorder: ModuleType, text: ReplayText) -> Iterator[Memory]:
    """A memory that has gone through add, learn and the questions."""
    parser = locate(PARSER, resolve_settings().settings.cache)
    assert parser is not None
    models = Models(
        embedder=ReplayEmbedder(RECORDS / "embedder.jsonl"),
        extractor=SyntacticExtractor(parser),
        text=MeteredText(text),
        likelihood=ReplayLikelihood(RECORDS / "likelihood.jsonl"),
    )
    memory = Memory(":memory:", models=models)
    recorder.run(memory)
    yield memory
    memory.close()


def test_every_recorded_reply_is_asked_for(memory: Memory, text: ReplayText) -> None:
    """A record that nothing asks for is out of date."""
    assert text.unplayed() == []


def test_turns_facts_and_keys_come_of_the_conversation(memory: Memory) -> None:
    """All turns are extracted; most of those with facts have head keys."""
    counts = memory.status(scope="demo").counts
    assert (counts["turns"], counts["turns_extracted"], counts["turns_failed"]) == (65, 65, 0)
    assert counts["facts"] > 80
    assert counts["head_keys"] > 40


def test_learned_rules_hold_no_name_of_the_conversation(memory: Memory) -> None:
    """Rules are reusable: placeholders only, range-restricted."""
    learned = [r for r in memory.rules(scope="demo", status=None) if r.verdict is not None]
    assert learned
    for rule in learned:
        check_clause(rule.body, rule.head, ["Priya", "Tomas", "Marek", "Hana", "Miso", "Anjali"])


def test_verdicts_decide_by_their_own_numbers(memory: Memory) -> None:
    """Admitted means a score above tau, rejected one at or below it."""
    for rule in memory.rules(scope="demo", status=None):
        if rule.verdict is not None:
            assert (rule.status == "admitted") == (rule.verdict.score > rule.verdict.tau)


def test_a_rule_answers_what_similarity_does_not_see(memory: Memory) -> None:
    """Nobody ever says that Priya was absent: the trip explains it, through a rule."""
    answer = memory.answer(1, scope="demo")
    assert answer.answerable
    assert answer.activations
    assert any("Lisbon" in quote.text for quote in answer.quotes)
    assert answer.check(memory) == []


def test_a_date_comes_from_the_turns_own_time(memory: Memory) -> None:
    """ "the Sunday before last", said on 27 August 2024."""
    assert memory.answer(2, scope="demo").text == "18 August 2024"


def test_what_changed_is_answered_by_what_holds(memory: Memory) -> None:
    """Priya moved."""
    answer = memory.answer(3, scope="demo")
    assert "Bristol" in answer.text
    assert "Leeds" not in answer.text


def test_a_false_premise_names_the_failing_fact(memory: Memory) -> None:
    """Priya moved to Bristol, not Tomas."""
    answer = memory.answer(4, scope="demo")
    assert not answer.answerable
    assert "Priya" in answer.reason


def test_costs_are_kept_per_stage(memory: Memory) -> None:
    """Each stage that asked a model is in the totals."""
    costs = memory.stats(scope="demo")
    assert {"head_keys", "induce", "answer"} <= set(costs)
    assert all(cost.calls and cost.prompt_tokens for cost in costs.values())
