"""The evaluation of Rule Perplexity Consistency ranks, fits and cuts as it says."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rulemem.consistency.score import Likelihoods
from rulemem.ports import Continuation
from rulemem.testing import HashEmbedder

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "rpc.py"


@pytest.fixture(scope="module")
def rpc() -> ModuleType:
    """The script, imported."""
    spec = importlib.util.spec_from_file_location("benchmarks_rpc", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class CountingScorer:
    """Scores by length, and counts what it is asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked = 0

    def nll(self, items: list[Continuation]) -> list[float]:
        self.asked += len(items)
        return [len(item.text) / len(item.prefix) for item in items]


def _numbers(rpc: ModuleType, rules: list[Any], gain: float) -> list[Any]:
    """Sensible rules gain by their body, bad ones lose, both with a spread that overlaps."""
    found = []
    for n, rule in enumerate(rules):
        delta = (gain if rule.is_sensible else -gain) + (n % 7 - 3) / 3
        likelihoods = Likelihoods(empty=4.0, body=4.0 - delta, evidence=4.0 - delta)
        found.append(rpc.Numbers(likelihoods=likelihoods, order=0.0))
    return found


def test_auc_by_hand(rpc: ModuleType) -> None:
    """Of four pairs three are won and one is tied."""
    assert rpc.auc([2.0, 1.0], [1.0, 0.0]) == 0.875
    assert rpc.auc([], [1.0]) is None


def test_best_threshold_separates(rpc: ModuleType) -> None:
    """The cut lies between the classes; classes of unequal size weigh the same."""
    assert rpc.best_threshold([0.9, 0.8], [0.1, 0.2, 0.3]) == pytest.approx(0.55)
    assert 0.1 < rpc.best_threshold([0.4], [0.1] * 50 + [0.5]) < 0.4


def test_fitting_reads_the_fit_half_only(rpc: ModuleType) -> None:
    """Fitted weights rank the test half, and do not change with what is in it."""
    rules = rpc.load_rules(rpc.RULES)
    numbers = _numbers(rpc, rules, 1.0)
    weights = rpc.fit_calibration(rules, numbers)
    assert weights.delta_self > 0
    odd = rpc.Numbers(likelihoods=Likelihoods(empty=0.0, body=9.0, evidence=0.0), order=4.0)
    other = [n if r.split == rpc.FIT else odd for r, n in zip(rules, numbers, strict=True)]
    assert rpc.fit_calibration(rules, other) == weights
    scores = rpc.forms(rules, numbers, "nobody")[rpc.REFITTED]
    tested = [(s, r) for s, r in zip(scores, rules, strict=True) if r.split == rpc.TEST]
    good = [s for s, r in tested if r.is_sensible]
    bad = [s for s, r in tested if not r.is_sensible]
    assert rpc.auc(good, bad) > 0.85
    assert sum(s > 0.5 for s in good) / len(good) > 0.7 > sum(s > 0.5 for s in bad) / len(bad)


def test_shipped_weights_are_a_form_of_their_scorer_only(rpc: ModuleType) -> None:
    """A scorer without weights has no calibrated form but the one that is fitted here."""
    rules = rpc.load_rules(rpc.RULES)
    numbers = _numbers(rpc, rules, 1.0)
    assert rpc.CALIBRATED in rpc.forms(rules, numbers, "qwen2.5-coder-1.5b")
    assert rpc.CALIBRATED not in rpc.forms(rules, numbers, "nobody")


def test_measuring_goes_on(
    rpc: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rules that are on disk are not scored again, and the numbers come back unchanged."""
    rules = rpc.load_rules(rpc.RULES)[:12]
    path = tmp_path / "numbers.jsonl"
    first = CountingScorer()
    rpc.measure(rules[:8], first, HashEmbedder(), path)
    second = CountingScorer()
    numbers = rpc.measure(rules, second, HashEmbedder(), path)
    assert (first.asked, second.asked) == (8 * 3, 4 * 3)
    assert rpc.measure(rules, CountingScorer(), HashEmbedder(), path) == numbers
    assert "rules per minute" in capsys.readouterr().out


def test_older_numbers_of_another_text_do_not_count(rpc: ModuleType, tmp_path: Path) -> None:
    """Where the scorer would be asked something else than before, it is asked again."""
    rules = rpc.load_rules(rpc.RULES)[:3]
    path = tmp_path / "numbers.jsonl"
    rpc.measure(rules, CountingScorer(), HashEmbedder(), path)
    rules[1] = replace(rules[1], evidence=("Something else happened on 1 May 2024.",))
    scorer = CountingScorer()
    rpc.measure(rules, scorer, HashEmbedder(), path)
    assert scorer.asked == 3


def test_the_report_shows_both_halves_and_every_kind(rpc: ModuleType) -> None:
    """Each form has its ranking; each kind its share at the threshold of the other half."""
    rules = rpc.load_rules(rpc.RULES)
    text = "\n".join(rpc.report(rules, _numbers(rpc, rules, 5.0), "nobody"))
    assert "| form | fit | test | reversed | over-general | nonsense | contradicted |" in text
    assert "| plain mix | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |" in text
    assert "| plain mix, best τ of fit | " in text and "plain mix, default τ" not in text
    assert "| paper (sigmoids), default τ | 0.500 | 1.00 [" in text
