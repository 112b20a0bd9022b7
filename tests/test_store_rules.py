"""Rule memory, answers and costs: kept whole or not at all."""

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
    vector_of,
    vectors_of,
)

from rulemem.errors import InputError, NotFound
from rulemem.stores.sqlite import SqliteStore
from rulemem.types import Activation, Cost, Receipt

store = pytest.fixture(sound_store)


def test_a_rule_comes_back_with_its_support_and_verdict(store: SqliteStore) -> None:
    """Clause, keys with facts in the order of the atoms, and the verdict are kept."""
    turn, other = add_turns(store, "s", a_turn("a"), a_turn("b"))
    one, two = commit_facts(store, "s", a_fact("A", "r", "b", turn), a_fact("C", "r", "d", turn))
    key = a_key("A may rest", [two, one], [other, turn])
    rule = a_rule(
        "[Person] may rest", key, body=("[Person] x", "[Event] y"), verdict=a_verdict(two)
    )
    [id] = commit_rules(store, "s", rule)
    [stored] = store.rules("s")
    expected = replace(key, id=stored.keys[0].id, rule_id=id)
    assert stored == replace(rule, id=id, keys=(expected,))
    assert store.keys("s", [999, expected.id]) == [expected]
    assert [hit.item for hit in store.match_text("s", "key", "rest", 5)] == [expected.id]
    assert store.nearest("s", "key", vectors_of([key.text]), 5)[0][0].item == expected.id


def test_a_known_rule_gains_keys_and_verdicts(store: SqliteStore) -> None:
    """New keys are added to the old ones, and the newest verdict counts."""
    [turn] = add_turns(store, "s", a_turn())
    one, two = commit_facts(store, "s", a_fact("A", "r", "b", turn), a_fact("C", "r", "d", turn))
    [id] = commit_rules(store, "s", a_rule("h", a_key("A", [one], [turn]), verdict=a_verdict(one)))
    [known] = store.rules("s")
    grown = replace(known, keys=(*known.keys, a_key("C", [two], [turn])))
    assert commit_rules(store, "s", grown, a_rule("other")) == [id, id + 1]
    later = replace(grown, keys=(), verdict=a_verdict(two, score=0.2), status="rejected", version=2)
    commit_rules(store, "s", later)
    stored = store.rules("s", ids=[id])[0]
    assert [key.text for key in stored.keys] == ["A", "C"]
    assert (stored.verdict, stored.status, stored.version) == (later.verdict, "rejected", 2)


def test_a_changed_head_is_found_by_its_new_words(store: SqliteStore) -> None:
    """When a rule is refined, its head vector follows."""
    [id] = commit_rules(store, "s", a_rule("old head"))
    commit_rules(store, "s", replace(store.rules("s")[0], head="new head"))
    [hit] = store.nearest_heads("s", vector_of("new head"), 5, "admitted")
    assert hit.item == id
    assert hit.score == pytest.approx(1, abs=1e-5)


def test_heads_are_ranked_within_a_status(store: SqliteStore) -> None:
    """Only rules of the status asked for are ranked, the nearest first."""
    a, b, c = commit_rules(store, "s", a_rule("a"), a_rule("b"), a_rule("c", status="rejected"))
    assert store.nearest_heads("s", vector_of("b"), 5, "admitted")[0].item == b
    assert {hit.item for hit in store.nearest_heads("s", vector_of("b"), 5, "admitted")} == {a, b}
    assert [hit.item for hit in store.nearest_heads("s", vector_of("b"), 5, "rejected")] == [c]
    assert [rule.id for rule in store.rules("s", status="rejected")] == [c]
    assert store.rules("s", ids=[a, c], status="admitted")[0].id == a


def test_a_rule_disabled_by_hand_stays_disabled(store: SqliteStore) -> None:
    """Learning does not undo a decision of the user; the user does."""
    [id] = commit_rules(store, "s", a_rule("h"))
    [read_before] = store.rules("s")
    store.set_rule_status("s", id, "disabled")
    commit_rules(store, "s", replace(read_before, verdict=a_verdict()))
    assert store.rules("s")[0].status == "disabled"
    store.set_rule_status("s", id, "admitted")
    assert store.rules("s")[0].status == "admitted"


def test_facts_are_learned_once_per_task(store: SqliteStore) -> None:
    """What a task has seen is not given to it again, but to the other task."""
    [turn] = add_turns(store, "s", a_turn())
    one, two = commit_facts(store, "s", a_fact("A", "r", "b", turn), a_fact("C", "r", "d", turn))
    commit_rules(store, "s", task="rules", learned_facts=[one, 999])
    assert [fact.id for fact in store.facts_to_learn("s", "rules")] == [two]
    assert [fact.id for fact in store.facts_to_learn("s", "head_keys")] == [one, two]


def test_no_half_rule(store: SqliteStore) -> None:
    """When one key cannot be stored, no rule, key or mark of the call is."""
    [turn] = add_turns(store, "s", a_turn())
    [fact] = commit_facts(store, "s", a_fact("A", "r", "b", turn))
    good = a_rule("good", a_key("x", [fact], [turn]))
    bad: list[tuple[object, type[Exception]]] = [
        (a_rule("bad", a_key("y", [999], [turn])), NotFound),
        (a_rule("bad", a_key("y", [fact], [999])), NotFound),
        (a_rule("bad", a_key("y", [], [])), InputError),
        (a_rule("bad", verdict=a_verdict(999)), NotFound),
        (a_rule("bad", id=999), NotFound),
    ]
    for rule, error in bad:
        with pytest.raises(error):
            commit_rules(store, "s", good, rule, task="rules", learned_facts=[fact])
    assert store.rules("s") == []
    assert len(store.facts_to_learn("s", "rules")) == 1


def test_an_unknown_rule_has_no_status_to_set(store: SqliteStore) -> None:
    """A rule of another scope does not exist here."""
    [id] = commit_rules(store, "s", a_rule("h"))
    with pytest.raises(NotFound, match=str(id)):
        store.set_rule_status("other", id, "disabled")


def test_an_answer_comes_back_whole(store: SqliteStore) -> None:
    """Activations, bindings, premises, facts, quotes and cost are kept."""
    ids = fill(store, "s", "x")
    turn = store.turns("s", ids=ids["turns"])[0]
    [rule] = store.rules("s")
    activation = Activation(rule=rule, similarity=0.25, bindings=(("[Person]", "Ann"),))
    answer = an_answer(turn, *store.facts("s"), activations=[activation], scope="s")
    id = store.save_answer("s", answer)
    assert store.answer("s", id) == replace(answer, id=id)


def test_an_answer_that_cites_nothing_is_kept(store: SqliteStore) -> None:
    """A refusal without evidence has an id too, in a scope that held nothing before."""
    answer = replace(an_answer(a_turn()), premises=(), quotes=(), answerable=False)
    assert store.answer("new", store.save_answer("new", answer)).answerable is False
    assert store.scopes() == ["new"]


def test_an_answer_to_what_was_forgotten_is_not_kept(store: SqliteStore) -> None:
    """An answer under way cannot bring back the words of a turn that was forgotten meanwhile."""
    ids = fill(store, "s", "x")
    [turn] = store.turns("s", ids=ids["turns"][:1])
    store.forget("s", turn_ids=[turn.id])
    with pytest.raises(NotFound):
        store.save_answer("s", an_answer(turn))
    with pytest.raises(NotFound):
        store.answer("s", ids["answer"])


def test_costs_add_up_per_stage(store: SqliteStore) -> None:
    """Each stage has its running total."""
    cost = Cost(calls=1, prompt_tokens=10, completion_tokens=2, seconds=0.5)
    for stage in ("extract", "extract", "answer"):
        store.add_cost("s", stage, cost)
    assert store.costs("s") == {"extract": cost + cost, "answer": cost}
    assert store.costs("other") == {}


def test_counts_name_everything(store: SqliteStore) -> None:
    """Every count is there, in an empty scope too."""
    fill(store, "s", "x")
    found = {name: count for name, count in store.counts("s").items() if count}
    assert found == {
        "turns": 2,
        "turns_extracted": 2,
        "conversations": 1,
        "facts": 2,
        "facts_closed": 1,
        "entities": 2,
        "rules": 1,
        "rules_admitted": 1,
        "head_keys": 1,
        "answers": 1,
    }
    assert store.counts("nobody") == dict.fromkeys(store.counts("s"), 0)


def test_a_scope_that_holds_nothing_is_not_listed(store: SqliteStore) -> None:
    """Reading, and writing nothing, does not make a scope."""
    store.add_turns("empty", [])
    store.turns("read")
    store.mark_turns("marked", [1], "failed")
    assert store.scopes() == []
    assert store.forget("nobody") == Receipt()
