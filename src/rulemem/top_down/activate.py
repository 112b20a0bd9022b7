"""Rule activation: the rules whose conclusion is what the question asks about.

A rule is entered through its head, and through its head keys: the heads of its instances, with
names in the place of placeholders. A key leads straight to the facts that bound it, so its own
support comes first. Where the question names one person, keys about others do not count.

Source: RuleMem, Retrieval Rules (eq. 4); head keys are Assumption ADR-0004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rulemem.lexical import canonical
from rulemem.ports import Store
from rulemem.top_down.ground import Question, ground_rule
from rulemem.types import Activation, HeadKey, Rule

_USABLE = ("admitted", "candidate")  # a rejected rule's conclusions lead nowhere
_POOL = 60  # keys looked at before those about other people are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHit:
    """A head key that answers to the question."""

    key: HeadKey
    rule: Rule  # whose instance it is
    similarity: float


def activate_rules(
    store: Store, scope: str, question: Question, vector: NDArray[np.float32], top_n: int
) -> list[Activation]:
    """TopN admitted rules by cos(e(question), e(head)), grounded."""
    hits = store.nearest_heads(scope, vector, top_n, "admitted")
    rules = store.rules(scope, ids=[hit.item for hit in hits])
    return [
        Activation(rule=rule, similarity=hit.score, bindings=ground_rule(rule, question))
        for rule, hit in zip(rules, hits, strict=True)
    ]


def activate_keys(
    store: Store, scope: str, question: Question, vector: NDArray[np.float32], top_n: int
) -> list[KeyHit]:
    """TopN head keys by cos(e(question), e(bound head)), about the person asked about."""
    hits = store.nearest(scope, "key", vector[None, :], _POOL)[0]
    keys = store.keys(scope, [hit.item for hit in hits])
    rules = {r.id: r for r in store.rules(scope, ids=list({k.rule_id for k in keys}))}
    found = [
        KeyHit(key=key, rule=rules[key.rule_id], similarity=hit.score)
        for key, hit in zip(keys, hits, strict=True)
        if rules[key.rule_id].status in _USABLE
    ]
    if question.person:
        person = canonical(question.person)
        found = [hit for hit in found if person in canonical(hit.key.text)]
    return found[:top_n]


def key_turns(hits: Sequence[KeyHit]) -> dict[int, float]:
    """Turns that support the activated keys, each with its best key's similarity."""
    best: dict[int, float] = {}
    for hit in hits:
        for turn_id in hit.key.turn_ids:
            best[turn_id] = max(best.get(turn_id, 0.0), hit.similarity)
    return best
