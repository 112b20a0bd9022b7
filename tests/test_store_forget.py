"""Forgetting takes along all that derives from a turn, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.store_records import (
    a_fact,
    a_key,
    a_rule,
    a_turn,
    a_verdict,
    add_turns,
    an_answer,
    commit_facts,
    commit_rules,
    fill,
    sound_store,
    vectors_of,
)

from rulemem.errors import NotFound
from rulemem.stores.sqlite import SqliteStore
from rulemem.types import Receipt

store = pytest.fixture(sound_store)


def test_forgetting_a_conversation_takes_all_along(store: SqliteStore) -> None:
    """The receipt counts what went; the rest of the scope stands."""
    fill(store, "s", "zeta", conversation="c1")
    kept = fill(store, "s", "kappa", conversation="c2")
    receipt = store.forget("s", conversation="c1")
    assert receipt == Receipt(
        turns=2, facts=2, entities=2, head_keys=1, rules_retired=1, answers=1, vectors=7
    )
    assert [turn.id for turn in store.turns("s")] == kept["turns"]
    assert {fact.id for fact in store.facts("s")} == set(kept["facts"])
    assert [rule.status for rule in store.rules("s")] == ["retired", "admitted"]
    assert store.answer("s", kept["answer"]).text == "the kettle"
    assert store.turns_without_vectors("s") == []
    for kind in ("turn", "window", "fact", "key"):
        assert store.match_text("s", kind, "zetakettle zetaann", 5) == []
        assert store.match_text("s", kind, "kappakettle", 5) != []


def test_selectors_narrow_each_other(store: SqliteStore) -> None:
    """A session within a conversation, or that session of all conversations; no ids, no turns."""
    ids = add_turns(
        store,
        "s",
        *(a_turn("x", conversation=c, session=s, key=s) for c in "ab" for s in ("s1", "s2")),
    )
    assert store.forget("s", turn_ids=[]) == Receipt()
    assert store.forget("s", turn_ids=[ids[0]], conversation="b") == Receipt()
    assert store.forget("s", conversation="a", session="s1").turns == 1
    assert [turn.id for turn in store.turns("s")] == ids[1:]
    assert store.forget("s", session="s2").turns == 2
    assert [turn.id for turn in store.turns("s")] == [ids[2]]


def test_a_shared_fact_outlives_one_of_its_turns(store: SqliteStore) -> None:
    """It stays, with its keys, and is told as the turn that is left has it."""
    one, two = add_turns(store, "s", a_turn("a"), a_turn("b", speaker="Bob", said_at=None))
    [id] = commit_facts(store, "s", a_fact("Ann", "likes", "tea", one, two))
    commit_rules(store, "s", a_rule("h", a_key("Ann may drink", [id], [one, two])))
    receipt = store.forget("s", turn_ids=[one])
    assert receipt == Receipt(turns=1)
    [fact] = store.facts("s")
    assert (fact.turn_ids, fact.speaker, fact.said_at) == ((two,), "Bob", None)
    [rule] = store.rules("s")
    assert (rule.status, rule.keys[0].turn_ids) == ("admitted", (two,))


def test_rules_retire_with_their_last_key_only(store: SqliteStore) -> None:
    """A rule with another key, of a pack, disabled by hand or never supported keeps its status."""
    one, two = add_turns(store, "s", a_turn("a"), a_turn("b"))
    gone, kept = commit_facts(store, "s", a_fact("A", "r", "b", one), a_fact("C", "r", "d", two))
    keys = (a_key("k", [gone], [one]), a_key("l", [kept], [two]))
    commit_rules(
        store,
        "s",
        a_rule("alone", keys[0]),
        a_rule("both", *keys),
        a_rule("pack", keys[0], inducer="pack:basics"),
        a_rule("disabled", keys[0], status="disabled"),
        a_rule("rejected", keys[0], status="rejected"),
        a_rule("bare", status="candidate"),
    )
    assert store.forget("s", turn_ids=[one]).rules_retired == 2
    assert [rule.status for rule in store.rules("s")] == [
        "retired",
        "admitted",
        "admitted",
        "disabled",
        "retired",
        "candidate",
    ]


def test_evidence_goes_and_the_verdict_stays(store: SqliteStore) -> None:
    """A verdict no longer names a fact that was forgotten."""
    one, two = add_turns(store, "s", a_turn("a"), a_turn("b"))
    gone, kept = commit_facts(store, "s", a_fact("A", "r", "b", one), a_fact("C", "r", "d", two))
    commit_rules(store, "s", a_rule("h", verdict=a_verdict(gone, kept)))
    store.forget("s", turn_ids=[one])
    verdict = store.rules("s")[0].verdict
    assert verdict is not None
    assert verdict.evidence_ids == (kept,)


def test_the_last_turn_takes_answers_and_costs_along(store: SqliteStore) -> None:
    """A scope without turns keeps nothing that was asked or paid; its retired rules stay listed."""
    ids = fill(store, "s", "x")
    refusal = replace(an_answer(a_turn()), premises=(), quotes=())
    store.save_answer("s", refusal)
    assert store.forget("s", turn_ids=ids["turns"]).answers == 2
    assert store.costs("s") == {}
    assert [rule.status for rule in store.rules("s")] == ["retired"]
    add_turns(store, "t", a_turn())
    store.forget("t", conversation="c1")
    assert store.scopes() == ["s"]


def test_forgetting_a_scope_leaves_the_others(store: SqliteStore) -> None:
    """Without a selector the scope goes with its rules, and no other scope loses anything."""
    fill(store, "a", "zeta")
    fill(store, "b", "kappa")
    before = store.counts("b")
    assert store.forget("a") == Receipt(
        turns=2, facts=2, entities=2, head_keys=1, rules_retired=1, answers=1, vectors=8
    )
    assert store.scopes() == ["b"]
    assert store.counts("b") == before
    assert store.rules("a") == []
    assert store.nearest("a", "turn", vectors_of(["x"]), 5) == [[]]


def test_ids_are_never_used_again(store: SqliteStore) -> None:
    """Work that began before a forget cannot land on turns that were added after it."""
    before = fill(store, "s", "x")
    store.forget("s")
    after = fill(store, "s", "x")
    assert not set(before["turns"]) & set(after["turns"])
    assert not set(before["facts"]) & set(after["facts"])
    assert before["rule"] != after["rule"]
    with pytest.raises(NotFound):
        commit_facts(store, "s", a_fact("A", "r", "b", before["turns"][0]))
