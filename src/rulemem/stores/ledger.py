"""Answers that were given, what they cost, and how much a scope holds."""

from __future__ import annotations

from dataclasses import replace

from rulemem.errors import NotFound
from rulemem.stores.codec import dump_answer, load_answer
from rulemem.stores.facts import require
from rulemem.stores.records import cost_columns, read_cost
from rulemem.stores.transaction import Scoped
from rulemem.types import Answer, Cost, HeadKey, Premise

_COUNTED = (
    "turns",
    "turns_pending",
    "turns_extracted",
    "turns_failed",
    "conversations",
    "facts",
    "facts_closed",
    "entities",
    "rules",
    "rules_candidate",
    "rules_admitted",
    "rules_rejected",
    "rules_retired",
    "rules_disabled",
    "head_keys",
    "answers",
)


def save_answer(tx: Scoped, answer: Answer) -> int:
    """Keep an answer, tied to every turn and fact that it cites.

    Raises:
        NotFound: it cites a turn or fact that does not exist (any more).
    """
    turns, facts = _cited(answer)
    require(tx, "turn", turns)
    require(tx, "fact", facts)
    id = tx.next_id("answer")
    tx.run("add_answer", id=id, body=dump_answer(answer))
    tx.run_many("add_answer_turn", ({"answer": id, "turn": turn} for turn in turns))
    tx.run_many("add_answer_fact", ({"answer": id, "fact": fact} for fact in facts))
    return id


def _cited(answer: Answer) -> tuple[list[int], list[int]]:
    """Return the ids of all turns and of all facts whose words or support are in an answer."""
    rules = [activation.rule for activation in answer.activations]
    keys = [key for rule in rules for key in rule.keys]
    turns = {quote.turn_id for quote in answer.quotes}
    facts = {fact.id for fact in answer.facts}
    for fact in answer.facts:
        turns.update(fact.turn_ids)
    grounds: list[Premise | HeadKey] = [*answer.premises, *keys]
    for ground in grounds:
        turns.update(ground.turn_ids)
        facts.update(ground.fact_ids)
    for rule in rules:
        if rule.verdict is not None:
            facts.update(rule.verdict.evidence_ids)
    return sorted(turns), sorted(facts)


def read_answer(tx: Scoped, id: int) -> Answer:
    """Return a kept answer, under its id.

    Raises:
        NotFound: there is no such answer.
    """
    row = tx.row("find_answer", id=id)
    if row is None:
        raise NotFound(f"No answer {id} in this scope.")
    return replace(load_answer(row["body"]), id=id)


def add_cost(tx: Scoped, stage: str, cost: Cost) -> None:
    """Add to the running totals of a stage."""
    tx.run("add_cost", stage=stage, **cost_columns(cost))


def costs(tx: Scoped) -> dict[str, Cost]:
    """Return the running totals per stage."""
    return {row["stage"]: read_cost(row) for row in tx.rows("costs")}


def counts(tx: Scoped) -> dict[str, int]:
    """Return how much the scope holds, every name present, 0 where there is nothing."""
    return dict.fromkeys(_COUNTED, 0) | {row["name"]: row["count"] for row in tx.rows("counts")}
