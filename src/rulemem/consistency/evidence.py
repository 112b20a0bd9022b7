"""T_E: the facts that a rule is tested against.

Evidence is held out: facts of the paths that the rule came from are left out, since a rule would
otherwise prove itself. Where nothing else matches, those facts are used after all and the rule is
marked as supported by itself. Knows nothing of scores.

Source: RuleMem, Rule Validation via RPC (T_E). Holding out is Assumption ADR-0003.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rulemem.types import Fact, Rule

FactSearch = Callable[[Sequence[str], int], list[list[tuple[Fact, float]]]]
"""Texts and a limit -> for each text the nearest facts with their cosine, best first."""

EVIDENCE_FACTS = 3
_NEAREST = 12
_LEAST_COSINE = 0.3  # below it a fact says nothing about an atom


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEvidence:
    """The evidence for one rule."""

    facts: tuple[Fact, ...]
    self_supported: bool  # taken from the rule's own paths


def gather_evidence(
    rules: Sequence[Rule], search: FactSearch, own_facts: Callable[[Rule], Sequence[Fact]]
) -> list[RuleEvidence]:
    """Find the evidence of each rule.

    Args:
        rules: clauses with their keys.
        search: nearest facts of the rule's scope.
        own_facts: facts of the paths that a rule came from.
    """
    return [_gather(rule, search, own_facts) for rule in rules]


def _gather(
    rule: Rule, search: FactSearch, own_facts: Callable[[Rule], Sequence[Fact]]
) -> RuleEvidence:
    own = {id for key in rule.keys for id in key.fact_ids}
    best: dict[int, tuple[float, Fact]] = {}
    for hits in search([*rule.body, rule.head], _NEAREST):
        for fact, cosine in hits:
            if fact.id not in own and cosine >= _LEAST_COSINE:
                best[fact.id] = max(best.get(fact.id, (0.0, fact)), (cosine, fact), key=_cosine)
    held_out = sorted(best.values(), key=_cosine, reverse=True)[:EVIDENCE_FACTS]
    if held_out:
        return RuleEvidence(facts=tuple(fact for _, fact in held_out), self_supported=False)
    return RuleEvidence(facts=tuple(own_facts(rule))[:EVIDENCE_FACTS], self_supported=True)


def _cosine(pair: tuple[float, Fact]) -> float:
    return pair[0]
