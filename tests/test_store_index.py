"""Full text and vectors: what is stored is found, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from tests.store_records import (
    DIMENSION,
    a_fact,
    a_turn,
    add_turns,
    commit_facts,
    fill,
    index_all,
    sound_store,
    vectors_of,
)

from rulemem.errors import InputError, SchemaMismatch
from rulemem.stores.sqlite import SqliteStore

store = pytest.fixture(sound_store)


def test_a_turn_is_found_by_its_words_at_once(store: SqliteStore) -> None:
    """Text, caption and speaker are searchable as soon as the turn is stored."""
    [id, _] = add_turns(
        store, "s", a_turn("I sold it", caption="a zither", speaker="Zoë"), a_turn()
    )
    for query in ("zithers", "zoe", "ZITHER?"):
        assert [hit.item for hit in store.match_text("s", "turn", query, 5)] == [id]


@pytest.mark.parametrize(
    ("text", "query"),
    [("我养了一只猫叫豆豆", "豆豆"), ("Сара любит чай", "чай"), ("שרה אוהבת תה", "שרה")],
)
def test_other_scripts_are_found(store: SqliteStore, text: str, query: str) -> None:
    """Chinese, Cyrillic and Hebrew words are found in sentences."""
    [id, _] = add_turns(store, "s", a_turn(text), a_turn("nothing of the kind"))
    assert [hit.item for hit in store.match_text("s", "turn", query, 5)] == [id]


@pytest.mark.parametrize(
    "query", ["zxqv blorp", "", "?!", '"', "a AND (", "NEAR(x y)", "*", "'; DROP TABLE turns;--"]
)
def test_a_query_is_words_and_nothing_else(store: SqliteStore, query: str) -> None:
    """Without a common word nothing is found; no query syntax exists to be injected."""
    add_turns(store, "s", a_turn("I repaired the kettle"))
    assert store.match_text("s", "turn", query, 5) == []


def test_kinds_do_not_mix(store: SqliteStore) -> None:
    """A word of a fact is not found among the turns, nor the other way round."""
    [turn] = add_turns(store, "s", a_turn("a zither"))
    [fact] = commit_facts(store, "s", a_fact("Ann", "plays", "lute", turn))
    assert store.match_text("s", "turn", "lute", 5) == []
    assert store.match_text("s", "fact", "zither", 5) == []
    assert [hit.item for hit in store.match_text("s", "fact", "lute", 5)] == [fact]


def test_the_rarer_word_ranks_higher(store: SqliteStore) -> None:
    """A higher score is better, and a rare word weighs more than a common one."""
    ids = add_turns(store, "s", *(a_turn(f"tea number {i}") for i in range(5)), a_turn("cocoa"))
    hits = store.match_text("s", "turn", "tea or cocoa", 3)
    assert hits[0].item == ids[-1]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].score > hits[1].score > 0


def test_what_another_scope_holds_does_not_move_a_ranking(store: SqliteStore) -> None:
    """The scores in a scope are the same whatever else the file holds."""
    turns = [a_turn(text) for text in ("tea with Bob", "cocoa", "tea")]
    add_turns(store, "s", *turns)
    before = store.match_text("s", "turn", "tea cocoa bob", 5)
    add_turns(store, "other", *(a_turn(f"cocoa {i}") for i in range(20)))
    assert store.match_text("s", "turn", "tea cocoa bob", 5) == before


def test_turns_are_to_be_embedded_once(store: SqliteStore) -> None:
    """A turn without vectors is listed until it is indexed, and its window is searchable then."""
    ids = add_turns(store, "s", a_turn("one"), a_turn("zither", position=1))
    assert [turn.id for turn in store.turns_without_vectors("s")] == ids
    index_all(store, "s")
    assert store.turns_without_vectors("s") == []
    assert [hit.item for hit in store.match_text("s", "window", "zither", 5)] == [ids[1]]
    text = "Ann: zither"
    [hit, _] = store.nearest("s", "turn", vectors_of([text]), 5)[0]
    assert hit.item == ids[1]
    assert hit.score == pytest.approx(1, abs=1e-5)


def test_indexing_a_forgotten_turn_brings_nothing_back(store: SqliteStore) -> None:
    """Vectors that arrive after the turn was forgotten are passed over; the others are kept."""
    gone, kept = add_turns(store, "s", a_turn("zither"), a_turn("cello"))
    store.forget("s", turn_ids=[gone])
    store.index_turns("s", [gone, kept], ["zither", "cello"], vectors_of("ab"), vectors_of("ab"))
    assert store.match_text("s", "window", "zither cello", 5)[0].item == kept
    assert [hit.item for hit in store.nearest("s", "turn", vectors_of(["a"]), 5)[0]] == [kept]


def test_indexing_again_replaces(store: SqliteStore) -> None:
    """A second window and vector of a turn take the place of the first."""
    [id] = add_turns(store, "s", a_turn())
    for word in ("zither", "cello"):
        store.index_turns("s", [id], [word], vectors_of([word]), vectors_of([word]))
        [[hit]] = store.nearest("s", "window", vectors_of([word]), 5)
        assert hit.score == pytest.approx(1, abs=1e-5)
    assert store.match_text("s", "window", "zither", 5) == []


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (np.ones((1, DIMENSION), np.float32), InputError),
        (np.ones(DIMENSION, np.float32), InputError),
        (np.full((2, DIMENSION), np.nan, np.float32), InputError),
        (np.ones((2, DIMENSION + 1), np.float32), SchemaMismatch),
    ],
)
def test_wrong_vectors_are_refused_whole(
    store: SqliteStore, rows: np.ndarray, error: type[Exception]
) -> None:
    """Too few vectors, another dimension or NaN: nothing of the call is stored."""
    ids = add_turns(store, "s", a_turn("one"), a_turn("two"))
    facts = [a_fact("Ann", "likes", word, ids[0]) for word in ("tea", "cocoa")]
    with pytest.raises(error):
        store.commit_facts("s", facts, rows, ids)
    with pytest.raises(error):
        store.index_turns("s", ids, ["a", "b"], rows, rows)
    counts = store.counts("s")
    assert (counts["facts"], counts["entities"], counts["turns_pending"]) == (0, 0, 2)


def test_no_limit_no_hits(store: SqliteStore) -> None:
    """A limit of 0, an empty scope and no query vector find nothing."""
    fill(store, "s", "x")
    assert store.nearest("s", "turn", vectors_of(["a"]), 0) == [[]]
    assert store.nearest("nobody", "turn", vectors_of(["a", "b"]), 5) == [[], []]
    assert store.nearest("s", "turn", vectors_of([]), 5) == []
    assert store.match_text("s", "turn", "xkettle", 0) == []
