"""l_M(head | context) for rules: how the conditions are written down for the scorer.

Every condition is framed by cues ("Premise: ... Evidence: ... Conclusion:"), the empty one by the
last cue alone: without the frame, most of Delta_self is the reward for copying "[Person]".
Conditions of one rule stand side by side, so that a scorer pays for their common text once.

Source: RuleMem, both equations of Rule Validation via RPC. The frame is Assumption ADR-0001.
"""

from __future__ import annotations

from collections.abc import Sequence

from rulemem.consistency.score import Likelihoods
from rulemem.ports import Continuation, LikelihoodModel
from rulemem.types import Rule

_CUE = "Conclusion:"


def score_rules(
    model: LikelihoodModel, rules: Sequence[Rule], evidence: Sequence[Sequence[str]]
) -> list[Likelihoods]:
    """Score each rule under the three conditions.

    Args:
        model: the scorer M.
        rules: clauses; status and keys are not read.
        evidence: the fact texts T_E of each rule.

    Returns:
        One record per rule, in order.
    """
    items: list[Continuation] = []
    for rule, texts in zip(rules, evidence, strict=True):
        items.extend(_conditions(rule.body, rule.head, texts))
    values = model.nll(items)
    return [
        Likelihoods(empty=values[i], body=values[i + 1], evidence=values[i + 2])
        for i in range(0, len(values), 3)
    ]


def _conditions(
    body: Sequence[str], head: str, evidence: Sequence[str]
) -> tuple[Continuation, Continuation, Continuation]:
    text = f" {head.rstrip('.')}."
    premise = f"Premise: {' and '.join(body)}.\n"
    facts = " ".join(f"{fact.rstrip('.')}." for fact in evidence) or "none."
    return (
        Continuation(prefix=_CUE, text=text),
        Continuation(prefix=f"{premise}{_CUE}", text=text),
        Continuation(prefix=f"{premise}Evidence: {facts}\n{_CUE}", text=text),
    )
