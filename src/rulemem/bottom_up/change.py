"""Change: which older facts a newer one closes.

A person lives in one place and has one employer at a time: a later fact of such a relation, about
the same subject and with another object, closes the earlier one. "No longer ..." closes the fact
it denies. A fact that holds from an earlier moment than the one it meets closes nothing, so that
back-dated news does not become current. Nothing is deleted by this.

Source: method.md, stage 1 step 2 (Change); see `slots` for the single-valued relations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from rulemem.lexical import canonical, content_terms
from rulemem.slots import slot_of_relation
from rulemem.types import Fact

Closing = tuple[int, int, datetime | None]
"""(closed fact, closing fact, valid until)"""


def find_closings(fresh: Sequence[Fact], known: Iterable[Fact]) -> list[Closing]:
    """Which of the known facts the fresh ones close.

    Args:
        fresh: facts just stored, with ids.
        known: facts of the same scope, fresh ones included.
    """
    candidates = [fact for fact in known if fact.valid_until is None]
    closings: dict[int, Closing] = {}
    for fact in sorted(fresh, key=lambda fact: fact.day):
        for other in candidates:
            if other.id == fact.id or other.id in closings:
                continue
            if other.day < fact.day and _replaces(fact, other):
                closings[other.id] = (other.id, fact.id, fact.began)
    return list(closings.values())


def _replaces(fact: Fact, other: Fact) -> bool:
    if canonical(fact.subject) != canonical(other.subject):
        return False
    if fact.negated and not other.negated:
        same = canonical(fact.relation) == canonical(other.relation)
        return same and content_terms(fact.object) == content_terms(other.object)
    slot = slot_of_relation(fact.relation)
    return bool(
        slot
        and not fact.negated
        and slot == slot_of_relation(other.relation)
        and content_terms(fact.object) != content_terms(other.object)
    )
