"""Admit a rule or reject it, with the numbers and the reason.

Source: RuleMem, Rule Validation via RPC: a rule is admitted when RPC(r) > tau. Also asking that
the rule reads better forwards than backwards is Assumption ADR-0001.
"""

from __future__ import annotations

from collections.abc import Sequence

from rulemem.consistency.evidence import RuleEvidence
from rulemem.consistency.likelihood import score_rules, score_swapped
from rulemem.consistency.score import ConsistencyConfig, Likelihoods, rpc_score
from rulemem.ports import LikelihoodModel
from rulemem.types import Rule, Verdict


def judge_rules(
    rules: Sequence[Rule],
    evidence: Sequence[RuleEvidence],
    model: LikelihoodModel,
    config: ConsistencyConfig,
) -> list[Verdict]:
    """Score rules against their evidence and decide.

    Returns:
        One verdict per rule, in order.
    """
    texts = [[fact.text for fact in item.facts] for item in evidence]
    likelihoods = score_rules(model, rules, texts)
    backwards = score_swapped(model, rules)
    return [
        _decide(numbers, back, item, config, model.name)
        for numbers, back, item in zip(likelihoods, backwards, evidence, strict=True)
    ]


def _decide(
    numbers: Likelihoods,
    backwards: float,
    evidence: RuleEvidence,
    config: ConsistencyConfig,
    model: str,
) -> Verdict:
    score = rpc_score(numbers, config.alpha)
    margin = numbers.delta_self - backwards
    admitted = score > config.tau
    return Verdict(
        nll_empty=numbers.empty,
        nll_body=numbers.body,
        nll_evidence=numbers.evidence,
        score=score,
        alpha=config.alpha,
        tau=config.tau,
        form=config.form,
        admitted=admitted,
        reason=f"score {score:.3f} {'>' if admitted else '<='} tau {config.tau}; "
        f"forwards minus backwards {margin:+.2f} nats",
        evidence_ids=tuple(fact.id for fact in evidence.facts),
        self_supported=evidence.self_supported,
        model=model,
    )
