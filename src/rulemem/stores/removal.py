"""Forgetting: a turn goes with all that derives from it, and nothing else does.

A fact goes with its last source; a head key with any of its facts or its last turn; a rule that
loses its last key is retired, unless it came from a pack; an answer goes with any turn or fact
that it cites; an entity with its last fact; a window with either of its turns (the other one is
embedded again). Full text and vectors follow by trigger. What a forgotten fact had closed is
open again.

Source: product.md, "What we promise", 4.
"""

from __future__ import annotations

from collections.abc import Sequence

from rulemem.stores.transaction import Row, Scoped
from rulemem.types import Receipt

_COUNTED = ("turns", "facts", "entities", "head_keys", "answers", "vectors")


def forget_turns(
    tx: Scoped, ids: Sequence[int] | None, conversation: str | None, session: str | None
) -> Receipt:
    """Remove the turns that all given selectors name."""
    before = _count(tx)
    turns = tx.values("select_turns", ids=ids, conversation=conversation, session=session)
    retired = remove_derived(tx, turns)
    tx.run("delete_turns", turns=turns)
    after = _count(tx)
    if turns and not after["turns"]:
        # Nothing is left to have asked about or paid for, so that answers without citations and
        # the totals go too; the name of the scope goes unless rules still live under it.
        tx.run("delete_answers")
        tx.run("delete_costs")
        after = _count(tx)
        if not after["rules"]:
            tx.run("delete_scope")
    return _receipt(before, after, retired)


def forget_scope(tx: Scoped) -> Receipt:
    """Remove all that a scope holds, its rules and its name included."""
    before = _count(tx)
    tx.run("delete_postings")  # one sweep instead of a search per document
    tx.run("delete_scope")
    return _receipt(before, _count(tx), before["rules"])


def remove_derived(tx: Scoped, turns: Sequence[int]) -> int:
    """Remove what derives from turns, leaving the turns; return how many rules were retired."""
    touched = tx.values("facts_from", turns=turns)
    facts = tx.values("facts_only_from", turns=turns)
    keys = tx.values("keys_resting_on", facts=facts, turns=turns)
    rules = tx.values("rules_of_keys", keys=keys)
    entities = tx.values("entities_of_facts", facts=facts)
    tx.run("delete_answers_citing", facts=facts, turns=turns)
    tx.run("reopen_facts", facts=facts)
    tx.run("delete_keys", keys=keys)
    tx.run("delete_key_turns", turns=turns)
    tx.run("delete_fact_sources", turns=turns)
    tx.run("delete_facts", facts=facts)
    tx.run("delete_idle_entities", entities=entities)
    tx.run("delete_windows_with", turns=turns)
    tx.run("attribute_to_remaining_source", facts=sorted(set(touched).difference(facts)))
    return tx.run("retire_rules", rules=rules)


def _count(tx: Scoped) -> Row:
    counted = tx.row("count_forgettable")
    assert counted is not None
    return counted


def _receipt(before: Row, after: Row, retired: int) -> Receipt:
    removed = {name: before[name] - after[name] for name in _COUNTED}
    return Receipt(rules_retired=retired, **removed)
