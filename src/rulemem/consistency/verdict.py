"""Admit a rule or reject it, with the numbers and the reason.

Source: RuleMem, Rule Validation via RPC: a rule is admitted when RPC(r) > tau. A scorer that has
no calibration is scored in the paper's form; Assumption ADR-0001.
"""

from __future__ import annotations

from collections.abc import Sequence

from rulemem.consistency.evidence import RuleEvidence
from rulemem.consistency.likelihood import score_rules
from rulemem.consistency.order import temporal_order
from rulemem.consistency.score import (
    CALIBRATIONS,
    ConsistencyConfig,
    Likelihoods,
    calibrated_score,
    rpc_score,
)
from rulemem.ports import Embedder, LikelihoodModel
from rulemem.types import Rule, Verdict


def judge_rules(
    rules: Sequence[Rule],
    evidence: Sequence[RuleEvidence],
    model: LikelihoodModel,
    embedder: Embedder,
    config: ConsistencyConfig,
) -> list[Verdict]:
    """Score rules against their evidence and decide.

    Args:
        rules: candidates.
        evidence: T_E of each rule.
        model: the scorer M.
        embedder: tells which fact speaks of the body and which of the head.
        config: form, alpha and tau.

    Returns:
        One verdict per rule, in order.
    """
    texts = [[fact.text for fact in item.facts] for item in evidence]
    likelihoods = score_rules(model, rules, texts)
    orders = [
        temporal_order(rule, item.facts, embedder)
        for rule, item in zip(rules, evidence, strict=True)
    ]
    return [
        _decide(numbers, order, item, config, model.name)
        for numbers, order, item in zip(likelihoods, orders, evidence, strict=True)
    ]


def _decide(
    numbers: Likelihoods,
    order: float,
    evidence: RuleEvidence,
    config: ConsistencyConfig,
    model: str,
) -> Verdict:
    calibration = CALIBRATIONS.get(model) if config.form == "calibrated" else None
    if calibration is None:
        score = rpc_score(numbers, config.alpha)
    else:
        score = calibrated_score(numbers, order, calibration)
    admitted = score > config.tau
    return Verdict(
        nll_empty=numbers.empty,
        nll_body=numbers.body,
        nll_evidence=numbers.evidence,
        score=score,
        alpha=config.alpha,
        tau=config.tau,
        form="paper" if calibration is None else "calibrated",
        admitted=admitted,
        reason=f"score {score:.3f} {'>' if admitted else '<='} tau {config.tau}, "
        f"order in time {order:+.2f}",
        evidence_ids=tuple(fact.id for fact in evidence.facts),
        self_supported=evidence.self_supported,
        model=model,
    )
