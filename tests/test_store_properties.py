"""What holds for every store, whatever is done to it in whatever order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.store_records import (
    DIMENSION,
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
    index_all,
    open_store,
    vector_of,
    vectors_of,
)

from rulemem.errors import NotFound
from rulemem.lexical import terms
from rulemem.stores.records import instant, read_time, time_text
from rulemem.stores.sqlite import SqliteStore

KINDS = ("turn", "window", "fact", "key")
NAMES = st.text(max_size=12) | st.sampled_from(
    ["x'); DROP TABLE facts;--", "%", "_", "a", "A", "a "]
)


# --- isolation -------------------------------------------------------------------------------


def _all_that_can_be_read(store: SqliteStore, scope: str, asked: dict[str, Any]) -> list[Any]:
    """Call every read method of a scope with the ids and words of another one."""
    word = asked["word"]
    turns, facts = asked["turns"], asked["facts"]
    query = vectors_of([f"{word}ann: I repaired the {word}kettle"])
    return [
        store.turns(scope),
        store.turns(scope, ids=turns),
        store.turns(scope, conversation=f"{word}talk"),
        store.turns(scope, state="extracted"),
        store.turns_without_vectors(scope),
        *(store.match_text(scope, kind, f"{word}kettle {word}ann", 50) for kind in KINDS),
        *(store.nearest(scope, kind, query, 50) for kind in KINDS),
        store.facts(scope),
        store.facts(scope, ids=facts),
        store.facts(scope, turn_ids=turns),
        store.facts(scope, entity=f"{word}ann"),
        store.entities(scope),
        store.facts_to_learn(scope, "rules"),
        store.facts_to_learn(scope, "head_keys"),
        store.rules(scope),
        store.rules(scope, ids=[asked["rule"]]),
        store.rules(scope, status="admitted"),
        store.nearest_heads(scope, vector_of(f"[Person] may repair things {word}"), 9, "admitted"),
        store.keys(scope, [asked["key"]]),
        store.costs(scope),
        store.counts(scope),
    ]


def _items(found: Sequence[Any]) -> set[int]:
    """Return the items of all hits in a nest of lists."""
    items: set[int] = set()
    for value in found:
        if isinstance(value, list):
            items |= _items(value)
        elif type(value).__name__ == "Hit":
            items.add(value.item)
    return items


@settings(deadline=None, max_examples=40)
@given(NAMES, NAMES)
def test_no_read_sees_another_scope(mine: str, theirs: str) -> None:
    """No word and no item of a scope comes out of another one, by whatever method and id."""
    if mine == theirs:
        return
    store = open_store()
    own = fill(store, mine, "zeta", conversation="zetatalk")
    other = fill(store, theirs, "kappa", conversation="kappatalk")
    before = _all_that_can_be_read(store, theirs, {**other, "word": "kappa"})
    seen = _all_that_can_be_read(store, mine, {**other, "word": "kappa"})
    assert "kappa" not in repr(seen)
    assert "zeta" in repr(seen)
    ids = {*other["turns"], *other["facts"], other["key"], other["rule"]}
    mine_too = {*own["turns"], *own["facts"], own["key"], own["rule"]}
    assert not _items(seen) & (ids - mine_too)
    with pytest.raises(NotFound):
        store.answer(mine, other["answer"])
    with pytest.raises(NotFound):
        store.set_rule_status(mine, other["rule"], "disabled")
    # Nor does a write reach across, whether it names the other's ids or takes everything.
    store.mark_turns(mine, other["turns"], "failed", "no")
    assert store.forget(mine, turn_ids=other["turns"]).turns == 0
    store.forget(mine)
    assert _all_that_can_be_read(store, theirs, {**other, "word": "kappa"}) == before
    store.close()


# --- no orphans ------------------------------------------------------------------------------

WORDS = ("lute", "zither", "cello", "drum", "harp", "flute")


class Life(RuleBasedStateMachine):
    """A scope that is written to, edited and forgotten from in any order, and its plain model."""

    @initialize()
    def open(self) -> None:
        self.store = open_store()
        self.texts: dict[int, str] = {}  # turn -> text
        self.keys_of: dict[int, tuple[str, str]] = {}  # turn -> (conversation, key)
        self.sources: dict[int, set[int]] = {}  # fact -> turns
        self.support: dict[int, tuple[set[int], set[int]]] = {}  # key -> (facts, turns)
        self.cited: dict[int, set[int]] = {}  # answer -> turns
        self.serial = 0

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()

    @rule(word=st.sampled_from(WORDS), conversation=st.sampled_from("ab"))
    def add(self, word: str, conversation: str) -> None:
        self.serial += 1
        text, key = f"{word} w{self.serial}x", f"k{self.serial}"
        turn = a_turn(text, key=key, conversation=conversation, position=self.serial // 2)
        [id] = add_turns(self.store, "s", turn)
        self.texts[id], self.keys_of[id] = text, (conversation, key)

    @rule()
    def index(self) -> None:
        index_all(self.store, "s")

    @precondition(lambda self: self.texts)
    @rule(data=st.data(), word=st.sampled_from(WORDS))
    def extract(self, data: st.DataObject, word: str) -> None:
        turns = data.draw(st.sets(st.sampled_from(sorted(self.texts)), min_size=1, max_size=3))
        [id] = commit_facts(self.store, "s", a_fact("Ann", "plays", word, *turns))
        self.sources.setdefault(id, set()).update(turns)

    @precondition(lambda self: len(self.sources) > 1)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        one, two = data.draw(st.permutations(sorted(self.sources)))[:2]
        self.store.close_facts("s", [(one, two, datetime(2024, 1, 1))])

    @precondition(lambda self: self.sources)
    @rule(data=st.data(), twice=st.booleans())
    def learn(self, data: st.DataObject, twice: bool) -> None:
        facts = data.draw(st.permutations(sorted(self.sources)))[: 1 + twice]
        turns = sorted(self.sources[facts[0]])
        self.serial += 1
        head = f"[Person] may play h{self.serial}x"
        induced = a_rule(head, a_key(f"Ann {self.serial}", facts, turns), verdict=a_verdict(*facts))
        [id] = commit_rules(self.store, "s", induced, task="rules", learned_facts=facts)
        [stored] = self.store.rules("s", ids=[id])
        self.support[stored.keys[0].id] = (set(facts), set(turns))

    @precondition(lambda self: self.sources)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        [fact] = self.store.facts("s", ids=[data.draw(st.sampled_from(sorted(self.sources)))])
        [turn] = self.store.turns("s", ids=fact.turn_ids[:1])
        id = self.store.save_answer("s", an_answer(turn, fact))
        self.cited[id] = set(fact.turn_ids)

    @precondition(lambda self: self.texts)
    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.texts)))
        self.serial += 1
        text = f"edited w{self.serial}x"
        conversation, key = self.keys_of[id]
        [turn] = self.store.turns("s", ids=[id])
        [outcome] = self.store.add_turns("s", [replace(turn, text=text)])
        assert (outcome.id, outcome.outcome) == (id, "edited")
        assert (turn.conversation, turn.key) == (conversation, key)
        self.texts[id] = text
        self._lose({id})

    @precondition(lambda self: self.texts)
    @rule(data=st.data())
    def forget_some(self, data: st.DataObject) -> None:
        gone = data.draw(st.sets(st.sampled_from(sorted(self.texts)), min_size=1, max_size=3))
        assert self.store.forget("s", turn_ids=sorted(gone)).turns == len(gone)
        self._lose(gone)
        self._drop(gone)

    @rule(conversation=st.sampled_from("ab"))
    def forget_conversation(self, conversation: str) -> None:
        gone = {id for id, (name, _) in self.keys_of.items() if name == conversation}
        assert self.store.forget("s", conversation=conversation).turns == len(gone)
        self._lose(gone)
        self._drop(gone)

    @rule()
    def forget_all(self) -> None:
        assert self.store.forget("s").turns == len(self.texts)
        self._lose(set(self.texts))
        self._drop(set(self.texts))
        assert self.store.scopes() == []

    def _lose(self, turns: set[int]) -> None:
        """Take what derives from turns out of the model."""
        lost = {id for id, sources in self.sources.items() if sources <= turns}
        # Turns that a fact loses are lost to its answers too: those that cite them are gone.
        self.cited = {id: cited for id, cited in self.cited.items() if not cited & turns}
        self.sources = {id: s - turns for id, s in self.sources.items() if id not in lost}
        self.support = {
            id: (facts, sources - turns)
            for id, (facts, sources) in self.support.items()
            if not facts & lost and sources - turns
        }

    def _drop(self, turns: set[int]) -> None:
        for id in turns:
            del self.texts[id], self.keys_of[id]

    @invariant()
    def is_sound(self) -> None:
        if not hasattr(self, "store"):
            return
        assert self.store.check() == []
        turns = {turn.id: turn for turn in self.store.turns("s")}
        assert {id: turn.text for id, turn in turns.items()} == self.texts
        facts = self.store.facts("s")
        assert {fact.id: set(fact.turn_ids) for fact in facts} == self.sources
        assert all(f.closed_by is None or f.closed_by in self.sources for f in facts)
        rules = self.store.rules("s")
        keys = {key.id: key for rule in rules for key in rule.keys}
        assert set(keys) == set(self.support)
        assert all(rule.keys or rule.status == "retired" for rule in rules)
        assert self.store.counts("s")["answers"] == len(self.cited)

    @invariant()
    def finds_what_is_there_only(self) -> None:
        if not hasattr(self, "store"):
            return
        for number in range(1, self.serial + 1):
            hits = self.store.match_text("s", "turn", f"w{number}x", 9)
            assert {hit.item for hit in hits} == {
                id for id, text in self.texts.items() if text.split()[-1] == f"w{number}x"
            }
            for hit in self.store.match_text("s", "window", f"w{number}x", 9):
                assert any(text.split()[-1] == f"w{number}x" for text in self.texts.values()), hit
        ranked = self.store.nearest("s", "fact", vectors_of(["x"]), 999)[0]
        assert {hit.item for hit in ranked} == set(self.sources)


TestLife = Life.TestCase
TestLife.settings = settings(deadline=None, max_examples=40, stateful_step_count=25)


# --- rankings --------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=False), st.integers(1, 40), st.integers(1, 6))
def test_text_is_ranked_as_bm25_ranks_it(random: Random, size: int, limit: int) -> None:
    """Leaving out documents that cannot get into the result changes no score and no rank."""
    # Common words and rare ones, short texts and long ones: only then is anything left out.
    words, weights = [*WORDS, "oboe"], [1, 2, 3, 8, 20, 40, 0]
    texts = [random.choices(words, weights, k=random.choice([1, 2, 9])) for _ in range(size)]
    query = random.sample(words, random.randint(1, len(words)))
    store = open_store()
    turns = [a_turn(" ".join(text), key=str(i), speaker="-") for i, text in enumerate(texts)]
    ids = add_turns(store, "s", *turns)
    documents = {id: terms(" ".join(text)) for id, text in zip(ids, texts, strict=True)}
    average = sum(map(len, documents.values())) / len(documents)
    expected: dict[int, float] = {}
    for term in set(terms(" ".join(query))):
        holding = [id for id, found in documents.items() if term in found]
        weight = math.log(1 + (len(documents) - len(holding) + 0.5) / (len(holding) + 0.5))
        for id in holding:
            n, length = Counter(documents[id])[term], len(documents[id])
            score = n * 2.2 / (n + 1.2 * (0.25 + 0.75 * length / average))
            expected[id] = expected.get(id, 0) + weight * score
    hits = store.match_text("s", "turn", " ".join(query), limit)
    assert [hit.score for hit in hits] == pytest.approx(sorted(expected.values())[::-1][:limit])
    assert [hit.score for hit in hits] == pytest.approx([expected[hit.item] for hit in hits])
    store.close()


@pytest.mark.parametrize("limit", [1, 10, 400])
def test_vectors_are_ranked_exactly(limit: int) -> None:
    """After adding, forgetting and adding again, the ranking is that of all cosines sorted."""
    store = open_store()
    generator = np.random.default_rng(3)
    held: dict[int, np.ndarray] = {}
    for step in range(4):
        turns = [a_turn(f"{step} {i}") for i in range(100)]
        ids = add_turns(store, "s", *turns)
        rows = generator.standard_normal((100, DIMENSION)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        store.index_turns("s", ids, [turn.text for turn in turns], rows, rows)
        held.update(zip(ids, rows, strict=True))
        queries = generator.standard_normal((3, DIMENSION)).astype(np.float32)
        found = store.nearest("s", "turn", queries, limit)
        for query, hits in zip(queries, found, strict=True):
            unit = query / np.linalg.norm(query)
            cosines = {id: float(row @ unit) for id, row in held.items()}
            best = sorted(cosines, key=lambda id: -cosines[id])[:limit]
            assert [hit.score for hit in hits] == pytest.approx(
                [cosines[id] for id in best], abs=1e-5
            )
            assert [hit.score for hit in hits] == pytest.approx(
                [cosines[hit.item] for hit in hits], abs=1e-5
            )
        gone = ids[::3]
        store.forget("s", turn_ids=gone)
        for id in gone:
            del held[id]
    store.close()


def test_equal_scores_are_ranked_by_id() -> None:
    """Which of several equal items gets into a short result does not depend on chance."""
    store = open_store()
    ids = add_turns(store, "s", *(a_turn("lute", key=str(i)) for i in range(20)))
    same = vectors_of(["same"] * 20)
    store.index_turns("s", ids[::-1], ["w"] * 20, same, same)
    for hits in (
        store.match_text("s", "turn", "lute", 7),
        store.nearest("s", "turn", vectors_of(["same"]), 7)[0],
    ):
        assert [hit.item for hit in hits] == ids[:7]
    store.close()


# --- times -----------------------------------------------------------------------------------

OFFSETS = st.none() | st.builds(
    lambda seconds: timezone(timedelta(seconds=seconds)), st.integers(-86399, 86399)
)


@settings(deadline=None)
@given(st.datetimes(timezones=OFFSETS))
def test_times_are_written_without_loss(when: datetime) -> None:
    """Reading gives the same time, naive or with the same offset, to the microsecond."""
    back = read_time(time_text(when))
    assert back is not None
    assert (back, back.utcoffset()) == (when, when.utcoffset())


@settings(deadline=None)
@given(st.datetimes(timezones=OFFSETS), st.datetimes(timezones=OFFSETS))
def test_times_sort_by_their_instant(one: datetime, two: datetime) -> None:
    """The sort key orders aware times as they follow each other."""
    if one.tzinfo is None or two.tzinfo is None:
        return
    first, second = instant(one), instant(two)
    assert first is not None
    assert second is not None
    assert (first < second) == (one < two)


@settings(deadline=None, max_examples=50)
@given(st.text(min_size=1), st.text())
def test_any_names_make_a_fact(subject: str, object: str) -> None:
    """Subject and object may be any text; the fact is found by both of them."""
    store = open_store()
    [turn] = add_turns(store, "s", a_turn())
    fact = a_fact(subject, "r", object, turn)
    [id] = commit_facts(store, "s", fact)
    assert store.facts("s") == [replace(fact, id=id)]
    for name in (subject, object):
        if name.split():
            assert [f.id for f in store.facts("s", entity=name)] == [id]
    store.close()
