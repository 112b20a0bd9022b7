"""Rule memory M_R: clauses, the head keys that are their support, and their verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rulemem.errors import InputError, NotFound
from rulemem.stores import vectors, words
from rulemem.stores.facts import require
from rulemem.stores.records import (
    read_key,
    read_rule,
    read_verdict,
    rule_columns,
    verdict_columns,
)
from rulemem.stores.transaction import Row, Scoped
from rulemem.stores.vectors import StoredEmbedder
from rulemem.types import HeadKey, Rule, RuleStatus, Verdict


def commit(
    tx: Scoped,
    rules: Sequence[Rule],
    key_rows: NDArray[np.float32],
    head_rows: NDArray[np.float32],
    embedder: StoredEmbedder,
) -> list[int]:
    """Store new rules, and what is new of known ones; return their ids in order.

    Raises:
        NotFound: a known rule, or a fact or turn that a key or verdict names, does not exist
            (any more); nothing is stored.
    """
    new_keys = [key for rule in rules for key in rule.keys if key.id == 0]
    verdicts = [rule.verdict for rule in rules if rule.verdict is not None]
    cited = [id for key in new_keys for id in key.fact_ids]
    require(tx, "fact", cited + [id for verdict in verdicts for id in verdict.evidence_ids])
    require(tx, "turn", [id for key in new_keys for id in key.turn_ids])
    heads = vectors.unit_rows(head_rows, len(rules), embedder)
    ids = [_commit_one(tx, rule, heads[i : i + 1], embedder) for i, rule in enumerate(rules)]
    key_ids = [
        _add_key(tx, id, key)
        for id, rule in zip(ids, rules, strict=True)
        for key in rule.keys
        if key.id == 0
    ]
    vectors.add(tx, "key", key_ids, key_rows, embedder)
    return ids


def _commit_one(tx: Scoped, rule: Rule, head: NDArray[np.float32], embedder: StoredEmbedder) -> int:
    if rule.id == 0:
        id = tx.next_id("rule")
        tx.run("add_rule", id=id, **rule_columns(rule))
        vectors.add(tx, "head", [id], head, embedder)
    else:
        id = rule.id
        stored = tx.row("find_rule", id=id)
        if stored is None:
            raise NotFound(f"No rule {id} in this scope; nothing was stored.")
        tx.run("update_rule", id=id, **rule_columns(rule))
        if stored["head"] != rule.head:
            vectors.add(tx, "head", [id], head, embedder)
    if rule.verdict is not None and rule.verdict != _verdicts(tx, [id]).get(id):
        _add_verdict(tx, id, rule.verdict)
    return id


def _add_key(tx: Scoped, rule: int, key: HeadKey) -> int:
    if not (key.fact_ids or key.turn_ids):
        raise InputError(f"The head key {key.text!r} rests on no fact and no turn.")
    id = tx.next_id("key")
    tx.run("add_key", id=id, rule=rule, text=key.text)
    tx.run_many(
        "add_key_fact",
        ({"key": id, "position": i, "fact": fact} for i, fact in enumerate(key.fact_ids)),
    )
    tx.run_many(
        "add_key_turn",
        ({"key": id, "position": i, "turn": turn} for i, turn in enumerate(key.turn_ids)),
    )
    words.add(tx, "key", id, key.text)
    return id


def _add_verdict(tx: Scoped, rule: int, verdict: Verdict) -> None:
    id = tx.next_id("verdict")
    tx.run("add_verdict", id=id, rule=rule, **verdict_columns(verdict))
    tx.run_many(
        "add_verdict_fact",
        (
            {"verdict": id, "position": i, "fact": fact}
            for i, fact in enumerate(verdict.evidence_ids)
        ),
    )


def select(tx: Scoped, ids: Sequence[int] | None, status: RuleStatus | None) -> list[Rule]:
    """Return the rules that all given filters let through, in order of id."""
    rows = [row for row in _rows(tx, ids, status) if status in (None, row["status"])]
    found = [row["id"] for row in rows]
    verdicts = _verdicts(tx, found)
    keys: defaultdict[int, list[HeadKey]] = defaultdict(list)
    for row in tx.rows("keys_of_rules", rules=found):
        keys[row["rule"]].append(read_key(row))
    return [read_rule(row, tuple(keys[row["id"]]), verdicts.get(row["id"])) for row in rows]


def _rows(tx: Scoped, ids: Sequence[int] | None, status: RuleStatus | None) -> list[Row]:
    if ids is not None:
        return tx.rows("rules_by_id", ids=ids)
    if status is not None:
        return tx.rows("rules_in_status", status=status)
    return tx.rows("rules")


def _verdicts(tx: Scoped, rules: Sequence[int]) -> dict[int, Verdict]:
    return {row["rule"]: read_verdict(row) for row in tx.rows("verdicts_of_rules", rules=rules)}


def set_status(tx: Scoped, id: int, status: RuleStatus) -> None:
    """Change the status of a rule by hand.

    Raises:
        NotFound: there is no such rule.
    """
    if not tx.run("set_rule_status", id=id, status=status):
        raise NotFound(f"No rule {id} in this scope.")


def keys(tx: Scoped, ids: Sequence[int]) -> list[HeadKey]:
    """Return head keys in the order of the ids; unknown ids are left out."""
    by_id = {row["id"]: read_key(row) for row in tx.rows("keys_by_id", ids=ids)}
    return [by_id[id] for id in ids if id in by_id]
