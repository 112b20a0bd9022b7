"""How well Rule Perplexity Consistency tells sensible rules from bad ones, form by form.

    python benchmarks/rpc.py --scorer qwen2.5-coder-1.5b --run runs/rpc

Scores the labelled rules of `data/rpc_rules.jsonl` with a likelihood model and keeps the raw
likelihoods, one line per rule, so that an interrupted run goes on and forms are compared without
the model. Thresholds and weights come from the `fit` half; what counts is the `test` half. To try
another form, add it to `forms`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rulemem.bench.intervals import wilson
from rulemem.bench.json_lines import append_line, read_lines
from rulemem.bench.provenance import describe_code
from rulemem.bench.tables import number, table
from rulemem.config import Settings, resolve_settings
from rulemem.consistency.likelihood import score_rules
from rulemem.consistency.order import temporal_order
from rulemem.consistency.score import (
    CALIBRATIONS,
    Calibration,
    ConsistencyConfig,
    Likelihoods,
    calibrated_score,
    rpc_score,
)
from rulemem.dates import find_times
from rulemem.errors import RuleMemError
from rulemem.models.choose import choose_embedder, choose_likelihood
from rulemem.ports import Continuation, Embedder, LikelihoodModel
from rulemem.types import Fact, Rule, When

RULES = Path(__file__).parent / "data" / "rpc_rules.jsonl"
FIT, TEST = "fit", "test"
SENSIBLE = "sensible"
CALIBRATED, REFITTED = "calibrated (shipped weights)", "calibrated (weights fitted here)"
_BATCH = 8  # rules scored before they are on disk
_ON_UNIT_SCALE = ("paper", "calibrated")  # forms that the default τ is meant for
_RIDGE = 0.1  # keeps fitted weights finite where the classes separate


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A rule of the set."""

    id: str
    kind: str
    split: str
    rule: Rule
    evidence: tuple[str, ...]

    @property
    def is_sensible(self) -> bool:
        """The label."""
        return self.kind == SENSIBLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What was measured of a rule; every form is made of these."""

    likelihoods: Likelihoods
    order: float


def forms(
    rules: Sequence[Labelled], numbers: Sequence[Numbers], scorer: str
) -> dict[str, list[float]]:
    """Scores of every rule under each form; the higher, the more sensible. Add forms here.

    Args:
        rules: in order.
        numbers: of each rule.
        scorer: name of the likelihood model, for its shipped weights.
    """
    alpha = ConsistencyConfig().alpha
    each = [(n.likelihoods, n.order) for n in numbers]
    found = {
        "paper (sigmoids)": [rpc_score(of, alpha) for of, _ in each],
        "plain mix": [alpha * of.delta_self + (1 - alpha) * of.delta_fact for of, _ in each],
        "delta_self alone": [of.delta_self for of, _ in each],
        "delta_fact alone": [of.delta_fact for of, _ in each],
        "order in time alone": [order for _, order in each],
    }
    if scorer in CALIBRATIONS:
        weights = CALIBRATIONS[scorer]
        found[CALIBRATED] = [calibrated_score(of, order, weights) for of, order in each]
    fitted = fit_calibration(rules, numbers)
    found[REFITTED] = [calibrated_score(of, order, fitted) for of, order in each]
    return found


def fit_calibration(rules: Sequence[Labelled], numbers: Sequence[Numbers]) -> Calibration:
    """Fit the weights of the calibrated form on the `fit` half: logistic regression by Newton.

    Both classes weigh the same, so that a score of 0.5 means "as likely sensible as bad"; all
    weights but the bias are drawn towards 0.
    """
    chosen = [(r, n) for r, n in zip(rules, numbers, strict=True) if r.split == FIT]
    x = np.array(
        [
            (n.likelihoods.delta_self, n.likelihoods.delta_fact, -n.likelihoods.body, n.order, 1.0)
            for _, n in chosen
        ]
    )
    y = np.array([float(r.is_sensible) for r, _ in chosen])
    share = y.mean()
    importance = np.where(y > 0, 0.5 / share, 0.5 / (1 - share))
    ridge = np.diag([_RIDGE] * (x.shape[1] - 1) + [0.0])
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (importance * (p - y)) + ridge @ weights
        curvature = (x.T * (importance * p * (1 - p))) @ x + ridge
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-9:
            break
    delta_self, delta_fact, nll_body, order, bias = (round(float(w), 3) for w in weights)
    return Calibration(
        delta_self=delta_self, delta_fact=delta_fact, nll_body=nll_body, order=order, bias=bias
    )


def load_rules(path: Path) -> list[Labelled]:
    """Read the labelled set."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Labelled(
            id=row["id"],
            kind=row["kind"],
            split=row["split"],
            rule=Rule(body=tuple(row["body"]), head=row["head"], inducer="pack:rpc_rules"),
            evidence=tuple(row["evidence"]),
        )
        for row in rows
    ]


def measure(
    rules: Sequence[Labelled], model: LikelihoodModel, embedder: Embedder, path: Path
) -> list[Numbers]:
    """Score what is not on disk yet, batch by batch; order in time is found anew each time.

    A row counts only while the scorer would be asked the same texts, so that a change of the
    frame, or of a rule, is not answered from older numbers.
    """
    asked = {rule.id: _fingerprint(rule) for rule in rules}
    known = {row["id"]: row for row in read_lines(path) if row.get("asked") == asked.get(row["id"])}
    missing = [rule for rule in rules if rule.id not in known]
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        began = time.perf_counter()
        scored = score_rules(model, [r.rule for r in batch], [r.evidence for r in batch])
        seconds = (time.perf_counter() - began) / len(batch)
        for one, likelihoods in zip(batch, scored, strict=True):
            row = {"id": one.id, "asked": asked[one.id], **asdict(likelihoods), "seconds": seconds}
            append_line(path, row)
            known[one.id] = row
        print(f"{len(known)}/{len(rules)}", flush=True)
    pace = 60 * len(rules) / sum(known[rule.id]["seconds"] for rule in rules)
    print(f"\n{pace:.0f} rules per minute")
    return [_numbers(rule, known[rule.id], embedder) for rule in rules]


class _Listener:
    """A scorer that only hears what it would be asked."""

    name = "listener"

    def __init__(self) -> None:
        self.heard: list[Continuation] = []

    def nll(self, items: Sequence[Continuation]) -> list[float]:
        self.heard += items
        return [0.0] * len(items)


def _fingerprint(rule: Labelled) -> str:
    """What the scorer is asked about a rule, as a hash."""
    listener = _Listener()
    score_rules(listener, [rule.rule], [rule.evidence])
    texts = json.dumps([(item.prefix, item.text) for item in listener.heard])
    return hashlib.sha256(texts.encode()).hexdigest()[:16]


def auc(sensible: Sequence[float], bad: Sequence[float]) -> float | None:
    """Chance that a sensible rule scores above a bad one; a tie counts half.

    >>> auc([2.0, 1.0], [1.0, 0.0])
    0.875
    """
    if not sensible or not bad:
        return None
    wins = sum((good > other) + 0.5 * (good == other) for good in sensible for other in bad)
    return wins / (len(sensible) * len(bad))


def best_threshold(sensible: Sequence[float], bad: Sequence[float]) -> float:
    """The threshold with the best mean of sensible rules kept and bad ones rejected."""
    values = sorted({*sensible, *bad})
    cuts = [values[0] - 1, *((a + b) / 2 for a, b in pairwise(values))]

    def balanced(tau: float) -> float:
        return float(np.mean(np.array(sensible) > tau) + np.mean(np.array(bad) <= tau))

    return max(cuts, key=balanced)


def report(rules: Sequence[Labelled], numbers: Sequence[Numbers], scorer: str) -> list[str]:
    """Tables: how well each form ranks, and what its best threshold of `fit` does on `test`."""
    kinds = list(dict.fromkeys(rule.kind for rule in rules))
    bad = [kind for kind in kinds if kind != SENSIBLE]
    ranking, admitted = [], []
    for name, scores in forms(rules, numbers, scorer).items():
        fit, test = (_by_kind(rules, scores, split) for split in (FIT, TEST))
        values = [
            *(auc(half[SENSIBLE], _join(half, bad)) for half in (fit, test)),
            *(auc(test[SENSIBLE], test[kind]) for kind in bad),
        ]
        ranking.append([name, *(number(value) for value in values)])
        taus = {"best τ of fit": best_threshold(fit[SENSIBLE], _join(fit, bad))}
        if name.startswith(_ON_UNIT_SCALE):
            taus["default τ"] = ConsistencyConfig().tau
        for label, tau in taus.items():
            cells = [_passed(test[kind], tau) for kind in kinds]
            admitted.append([f"{name}, {label}", number(tau), *cells])
    counts = {kind: sum(r.kind == kind and r.split == TEST for r in rules) for kind in kinds}
    return [
        "## AUC, sensible against bad (by kind: on test)",
        table(["form", FIT, TEST, *bad], ranking),
        "## Admitted on test, share with 95 % interval",
        table(["form", "τ", *(f"{kind} (n={n})" for kind, n in counts.items())], admitted),
        f"Weights fitted here: {fit_calibration(rules, numbers)}",
    ]


def _by_kind(
    rules: Sequence[Labelled], scores: Sequence[float], split: str
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {rule.kind: [] for rule in rules}
    for rule, score in zip(rules, scores, strict=True):
        if rule.split == split:
            found[rule.kind].append(score)
    return found


def _join(scores: Mapping[str, Sequence[float]], kinds: Sequence[str]) -> list[float]:
    return [score for kind in kinds for score in scores[kind]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scorer", required=True, help="a model's name, a GGUF file, server:MODEL")
    parser.add_argument("--run", type=Path, default=Path("runs/rpc"), help="where the numbers go")
    arguments = parser.parse_args()
    try:
        settings = resolve_settings({"scorer": arguments.scorer}).settings
        _run(settings, arguments.run)
    except RuleMemError as error:
        raise SystemExit(f"error: {error}") from error


def _run(settings: Settings, folder: Path) -> None:
    model = choose_likelihood(settings)
    if model is None:
        raise SystemExit("error: the scorer is none; name one with --scorer")
    folder.mkdir(parents=True, exist_ok=True)
    rules = load_rules(RULES)
    numbers = measure(rules, model, choose_embedder(settings), folder / f"{model.name}.jsonl")
    text = "\n\n".join([f"# RPC of {model.name}", *report(rules, numbers, model.name)])
    (folder / f"{model.name}.md").write_text(f"{text}\n\n{describe_code()}\n", "utf-8")
    print(text)


def _facts(texts: Sequence[str]) -> list[Fact]:
    """The evidence as facts, dated by what it says."""
    facts = []
    for text in texts:
        times = [mention.when for mention in find_times(text, None)]
        facts.append(
            Fact(
                subject="",
                relation="",
                object="",
                text=text,
                speaker="",
                turn_ids=(),
                extractor="rpc_rules",
                time=times[0] if times else When(),
            )
        )
    return facts


def _numbers(rule: Labelled, row: dict[str, Any], embedder: Embedder) -> Numbers:
    likelihoods = Likelihoods(empty=row["empty"], body=row["body"], evidence=row["evidence"])
    order = temporal_order(rule.rule, _facts(rule.evidence), embedder)
    return Numbers(likelihoods=likelihoods, order=order)


def _passed(scores: Sequence[float], tau: float) -> str:
    share = wilson(sum(score > tau for score in scores), len(scores))
    return f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}]"


if __name__ == "__main__":
    main()
