"""Fact memory: sources, duplicates, entities, and facts that end."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.store_records import (
    a_fact,
    a_turn,
    add_turns,
    commit_facts,
    sound_store,
    vectors_of,
)

from rulemem.errors import InputError, NotFound, StoreError
from rulemem.stores.sqlite import SqliteStore
from rulemem.types import When

store = pytest.fixture(sound_store)


def test_a_fact_comes_back_as_it_was_given(store: SqliteStore) -> None:
    """All fields of a fact are kept."""
    ids = add_turns(store, "s", a_turn("one"), a_turn("two"))
    time = When(start=datetime(2023, 5, 1), precision="month", raw="in May")
    fact = a_fact("Ann", "bought", "a kayak", *ids, time=time, negated=True, speaker="Bob")
    [id] = commit_facts(store, "s", fact)
    assert store.facts("s") == [replace(fact, id=id)]
    assert store.counts("s")["turns_extracted"] == 2


def test_the_same_fact_gains_sources(store: SqliteStore) -> None:
    """A fact that differs in case, width or spaces is a duplicate, in another call or the same."""
    one, two, three = add_turns(store, "s", *(a_turn(text) for text in ("a", "b", "c")))
    [id] = commit_facts(store, "s", a_fact("Ann", "likes", "tea", one))
    again = [a_fact(" ANN ", "Likes", "ｔｅａ", two), a_fact("ann", "likes", "tea", three, two)]
    outcomes = store.commit_facts("s", again, vectors_of("ab"), [])
    assert [(o.id, o.outcome) for o in outcomes] == [(id, "duplicate"), (id, "duplicate")]
    assert [fact.turn_ids for fact in store.facts("s")] == [(one, two, three)]
    assert store.entities("s") == [("Ann", 1), ("tea", 1)]


@pytest.mark.parametrize(
    "change",
    [
        {"subject": "Bob"},
        {"relation": "dislikes"},
        {"object": "cocoa"},
        {"negated": True},
        {"time": When(start=datetime(2023, 5, 2))},
        {"time": When(start=datetime(2023, 5, 1), end=datetime(2023, 5, 3))},
    ],
)
def test_another_quadruple_is_another_fact(store: SqliteStore, change: dict[str, object]) -> None:
    """A difference in subject, relation, object, time or negation makes two facts."""
    [turn] = add_turns(store, "s", a_turn())
    fact = a_fact("Ann", "likes", "tea", turn, time=When(start=datetime(2023, 5, 1)))
    assert len(set(commit_facts(store, "s", fact, replace(fact, **change)))) == 2


def test_facts_by_turn_entity_and_id(store: SqliteStore) -> None:
    """Each filter selects; undated facts come last; unknown ids are left out."""
    one, two = add_turns(store, "s", a_turn("a"), a_turn("b"))
    late, undated, early = commit_facts(
        store,
        "s",
        a_fact("Ann", "likes", "tea", one, time=When(start=datetime(2024, 1, 1))),
        a_fact("Bob", "met", "ann", two, said_at=None),
        a_fact("Bob", "likes", "cocoa", one, two, said_at=datetime(2022, 1, 1)),
    )
    assert [fact.id for fact in store.facts("s")] == [early, late, undated]
    assert [fact.id for fact in store.facts("s", entity=" ANN")] == [late, undated]
    assert [fact.id for fact in store.facts("s", turn_ids=[two])] == [early, undated]
    assert [fact.id for fact in store.facts("s", ids=[late, 999, early])] == [late, early]
    assert [fact.id for fact in store.facts("s", ids=[late, early], entity="Ann")] == [late]
    assert store.facts("s", entity="nobody") == []
    assert store.facts("s", ids=[]) == []
    assert store.entities("s") == [("Ann", 2), ("Bob", 2), ("cocoa", 1), ("tea", 1)]


def test_a_fact_about_itself_counts_once(store: SqliteStore) -> None:
    """An entity that is subject and object of one fact has one fact."""
    [turn] = add_turns(store, "s", a_turn())
    commit_facts(
        store, "s", a_fact("Ann", "reminds", "ann", turn), a_fact("Ann", "slept", "", turn)
    )
    assert store.entities("s") == [("Ann", 2)]


def test_a_fact_without_a_living_source_is_refused(store: SqliteStore) -> None:
    """Extraction that ends after its turn was forgotten brings nothing back."""
    gone, kept = add_turns(store, "s", a_turn("a"), a_turn("b"))
    store.forget("s", turn_ids=[gone])
    facts = [a_fact("Ann", "likes", "tea", kept), a_fact("Ann", "likes", "cocoa", gone)]
    with pytest.raises(NotFound, match=str(gone)):
        store.commit_facts("s", facts, vectors_of("ab"), [kept, gone])
    with pytest.raises(InputError, match="no source"):
        commit_facts(store, "s", a_fact("Ann", "likes", "tea"))
    assert store.facts("s") == []
    assert store.counts("s")["turns_pending"] == 1


def test_closing_keeps_the_fact_with_its_end(store: SqliteStore) -> None:
    """A closed fact says until when and by which fact; it opens again when that one goes."""
    one, two = add_turns(store, "s", a_turn("a"), a_turn("b"))
    oslo, lima = commit_facts(
        store, "s", a_fact("Ann", "lives in", "Oslo", one), a_fact("Ann", "lives in", "Lima", two)
    )
    until = datetime(2023, 6, 1, tzinfo=UTC)
    store.close_facts("s", [(oslo, lima, until)])
    [closed] = store.facts("s", ids=[oslo])
    assert (closed.valid_until, closed.closed_by) == (until, lima)
    assert store.counts("s")["facts_closed"] == 1
    store.forget("s", turn_ids=[two])
    [open_again] = store.facts("s")
    assert (open_again.id, open_again.valid_until, open_again.closed_by) == (oslo, None, None)


def test_closing_what_is_not_there_is_refused(store: SqliteStore) -> None:
    """A fact that does not exist can neither close nor be closed, nor can one close itself."""
    [turn] = add_turns(store, "s", a_turn())
    [id] = commit_facts(store, "s", a_fact("Ann", "likes", "tea", turn))
    for pair in ((id, 999), (999, id)):
        with pytest.raises(NotFound, match="999"):
            store.close_facts("s", [(*pair, None)])
    with pytest.raises(StoreError):
        store.close_facts("s", [(id, id, None)])
    assert store.facts("s")[0].closed_by is None
