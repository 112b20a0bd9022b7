"""Guided recall: one ranked list of turns under a fixed budget, rules deciding what rises.

Signals are added, each scaled to [0, 1] by its best item: full text over turns; full text and
cosine over turns with their predecessor and over facts (which vote for their source turns); what
the head keys of activated rules point to; and, where the question asks for a reason, what the
bodies of activated rules find, bound to the person asked about. Turns of that person weigh more.
Nothing here calls a language model.

Source: RuleMem, guided recall (eq. 5); the fusion and its weights are Assumption ADR-0008, fitted
on conv-26 and conv-30 of LoCoMo only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rulemem.lexical import canonical
from rulemem.ports import Embedder, Store
from rulemem.slots import slot_of_relation
from rulemem.top_down.activate import KeyHit, activate_keys, activate_rules, key_turns
from rulemem.top_down.ground import Question, bind_atoms
from rulemem.types import Activation, Evidence, Fact, Hit, Turn

_DEPTH = 200  # items read from each list
_SHARPNESS = 2.0  # exponent of a scaled score: the tail of a long list adds up to less
_NOTHING_COSINE = 0.25  # with no common word, a best cosine below it is no answer


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallConfig:
    """Weights of the signals; see ADR-0008 for how each was measured."""

    turn_text: float = 0.25
    window_text: float = 3.0
    window_dense: float = 2.0
    next_text: float = 2.0  # the window of the next turn, which holds this turn too
    next_dense: float = 1.5
    fact_text: float = 0.5
    fact_dense: float = 1.0
    keys: float = 0.25
    bodies: float = 0.0  # of what the bodies of activated rules find
    bodies_of_why: float = 2.0  # the same where the question asks for a reason
    slot: float = 3.0  # the fact that fills the single-valued relation asked for
    person: float = 0.8  # a turn of the person asked about counts 1 + person times
    top_n_keys: int = 8
    top_n_rules: int = 3
    top_k_facts: int = 8  # facts that a rule's body may bring


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What was found, and through which rules."""

    evidence: tuple[Evidence, ...]
    activations: tuple[Activation, ...] = ()
    keys: tuple[KeyHit, ...] = ()
    grounds: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # rule -> turns of the
    # facts that fit its premises best, one per premise


def recall(
    store: Store,
    embedder: Embedder,
    scope: str,
    question: Question,
    *,
    limit: int,
    config: RecallConfig,
    premises: Sequence[str] = (),
) -> Recalled:
    """Rank the turns of a scope for a question.

    Args:
        store: fact and rule memory.
        embedder: for the question and the rules' bodies.
        scope: whose memory.
        question: see `ground.read_question`.
        limit: number of items returned at most.
        config: weights.
        premises: further queries, such as premises that an abduction proposed.
    """
    vectors = embedder.embed([question.text, *premises])
    signals = _Signals(store, scope, question)
    for query, vector in zip((question.text, *premises), vectors, strict=True):
        signals.add_query(query, vector, config)
    if signals.is_empty():
        return Recalled(evidence=())
    signals.add_slot(config.slot)
    keys: list[KeyHit] = []
    activations: list[Activation] = []
    if config.keys:
        keys = activate_keys(store, scope, question, vectors[0], config.top_n_keys)
        signals.add_keys(keys, config.keys)
    bodies = config.bodies_of_why if question.asks_why else config.bodies
    if bodies:
        activations = activate_rules(store, scope, question, vectors[0], config.top_n_rules)
        signals.add_bodies(activations, embedder, bodies, config.top_k_facts)
    return Recalled(
        evidence=tuple(signals.ranked(limit, config.person)),
        activations=tuple(activations),
        keys=tuple(keys),
        grounds=signals.grounds,
    )


class _Signals:
    """Adds up what each list says of each turn."""

    def __init__(self, store: Store, scope: str, question: Question) -> None:
        self._store = store
        self._scope = scope
        self._question = question
        self._scores: dict[int, float] = defaultdict(float)
        self._routes: dict[int, dict[str, None]] = defaultdict(dict)
        self._matched = False
        self.grounds: dict[int, tuple[int, ...]] = {}

    def is_empty(self) -> bool:
        """Whether no list found anything that has to do with the question."""
        return not self._matched

    def add_query(self, query: str, vector: NDArray[np.float32], config: RecallConfig) -> None:
        """Add the four direct lists and the facts' votes for one query."""
        find, scope = self._store, self._scope
        turn_text = find.match_text(scope, "turn", query, _DEPTH)
        window_text = find.match_text(scope, "window", query, _DEPTH)
        fact_text = find.match_text(scope, "fact", query, _DEPTH)
        window_dense = find.nearest(scope, "window", vector[None, :], _DEPTH)[0]
        fact_dense = find.nearest(scope, "fact", vector[None, :], _DEPTH)[0]
        nearest = max((hits[0].score for hits in (window_dense, fact_dense) if hits), default=0.0)
        if not turn_text and not fact_text and nearest < _NOTHING_COSINE:
            return
        self._matched = True
        self._add(_scaled(turn_text), config.turn_text, "text")
        for hits, own, following, route in (
            (window_text, config.window_text, config.next_text, "text"),
            (window_dense, config.window_dense, config.next_dense, "dense"),
        ):
            scaled = _scaled(hits)
            self._add(scaled, own, route)
            before = self._store.predecessors(scope, list(scaled))
            self._add({before[i]: s for i, s in scaled.items() if i in before}, following, route)
        self._add(self._votes(fact_text), config.fact_text, "fact")
        self._add(self._votes(fact_dense), config.fact_dense, "fact")

    def add_slot(self, weight: float) -> None:
        """Add the fact that holds where the question asks for a single-valued relation."""
        question = self._question
        if not question.slot or not question.person:
            return
        facts = [
            fact
            for fact in self._store.facts(self._scope, entity=question.person)
            if slot_of_relation(fact.relation) == question.slot
            and canonical(fact.subject) == canonical(question.person)
            and _holds(fact, question)
        ]
        for fact in facts:
            self._add(dict.fromkeys(fact.turn_ids, 1.0), weight, "slot")

    def add_keys(self, keys: Sequence[KeyHit], weight: float) -> None:
        """Add the support of activated head keys."""
        for turn_id, similarity in key_turns(keys).items():
            self._scores[turn_id] += weight * similarity
            self._routes[turn_id]["key"] = None

    def add_bodies(
        self, activations: Sequence[Activation], embedder: Embedder, weight: float, top_k: int
    ) -> None:
        """Add what each premise of each activated rule finds, one query per premise."""
        queries = [
            (activation, atom)
            for activation in activations
            for atom in bind_atoms(activation.rule, activation.bindings)
        ]
        if not queries:
            return
        vectors = embedder.embed([atom for _, atom in queries])
        found = self._store.nearest(self._scope, "fact", vectors, top_k)
        found = [self._of_person(hits) for hits in found]
        for (activation, _), hits in zip(queries, found, strict=True):
            votes = self._votes(hits)
            if votes:
                best = max(votes, key=lambda id: votes[id])
                self.grounds[activation.rule.id] = (*self.grounds.get(activation.rule.id, ()), best)
            route = f"rule:{activation.rule.id}"
            self._add(votes, weight * activation.similarity, route)

    def _of_person(self, hits: Sequence[Hit]) -> list[Hit]:
        """Facts that can bind the body's person: those of the person asked about."""
        person = canonical(self._question.person)
        if not person:
            return list(hits)
        facts = {
            fact.id: fact for fact in self._store.facts(self._scope, ids=[h.item for h in hits])
        }
        return [h for h in hits if canonical(facts[h.item].owner) == person]

    def ranked(self, limit: int, person_weight: float) -> list[Evidence]:
        """The best turns with the facts that were read from them."""
        person = canonical(self._question.person)
        turns = {t.id: t for t in self._store.turns(self._scope, ids=list(self._scores))}
        allowed = {
            id: self._scores[id] * (1 + person_weight * (canonical(turn.speaker) == person))
            for id, turn in turns.items()
            if self._is_in_time(turn)
        }
        best = sorted(allowed, key=lambda id: (-allowed[id], id))[:limit]
        facts = self._facts_of(best)
        return [
            Evidence(
                turn=turns[id],
                score=allowed[id],
                facts=tuple(facts[id]),
                routes=tuple(self._routes[id]),
            )
            for id in best
        ]

    def _add(self, scores: Mapping[int, float], weight: float, route: str) -> None:
        if not weight:
            return
        for id, score in scores.items():
            self._scores[id] += weight * score
            self._routes[id][route] = None

    def _votes(self, hits: Sequence[Hit]) -> dict[int, float]:
        """Scaled fact scores, given to the facts' source turns; closed facts vote for the past."""
        scaled = _scaled(hits)
        votes: dict[int, float] = {}
        for fact in self._store.facts(self._scope, ids=list(scaled)):
            if fact.valid_until is not None and not self._question.about_past:
                continue
            for turn_id in fact.turn_ids:
                votes[turn_id] = max(votes.get(turn_id, 0.0), scaled[fact.id])
        return votes

    def _is_in_time(self, turn: Turn) -> bool:
        as_of = self._question.as_of
        if as_of is None or turn.said_at is None:
            return True
        return turn.said_at.replace(tzinfo=None) <= as_of.replace(tzinfo=None)

    def _facts_of(self, turn_ids: Sequence[int]) -> dict[int, list[Fact]]:
        found: dict[int, list[Fact]] = {id: [] for id in turn_ids}
        for fact in self._store.facts(self._scope, turn_ids=turn_ids):
            if fact.valid_until is not None and not self._question.about_past:
                continue
            for id in fact.turn_ids:
                if id in found:
                    found[id].append(fact)
        return found


def _holds(fact: Fact, question: Question) -> bool:
    """Whether a fact holds now, or at the moment that the question is asked for."""
    if question.as_of is None:
        return fact.valid_until is None or question.about_past
    moment = question.as_of.replace(tzinfo=None)
    began = fact.began is None or fact.began.replace(tzinfo=None) <= moment
    return began and (fact.valid_until is None or fact.valid_until.replace(tzinfo=None) > moment)


def _scaled(hits: Sequence[Hit]) -> dict[int, float]:
    """Scores divided by the best one and sharpened; nothing below zero."""
    top = max((hit.score for hit in hits), default=0.0)
    if top <= 0:
        return {}
    return {hit.item: (max(hit.score, 0.0) / top) ** _SHARPNESS for hit in hits}
