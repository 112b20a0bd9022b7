"""Another embedder: every vector is recomputed, and nothing but vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.store_records import (
    HashEmbedder,
    a_turn,
    add_turns,
    fill,
    index_all,
    sound_store,
    vectors_of,
)

from rulemem.errors import SchemaMismatch
from rulemem.stores.sqlite import SqliteStore

store = pytest.fixture(sound_store)


def test_reembedding_replaces_every_vector(store: SqliteStore) -> None:
    """Turns, windows, facts, keys and heads get vectors of the new embedder; rankings follow it."""
    ids = fill(store, "a", "zeta")
    fill(store, "b", "kappa")
    new = HashEmbedder("other@1", 8)
    assert store.reembed(new) == 16
    assert store.embedder == ("other@1", 8)
    texts = {
        "turn": ("zetaann: I repaired the zetakettle", ids["turns"][0]),
        "fact": ("zetaann repaired zetakettle", ids["facts"][0]),
        "key": ("zetaann may repair more than the zetakettle", ids["key"]),
    }
    for kind, (text, item) in texts.items():
        hit = store.nearest("a", kind, new.embed([text]), 1)[0][0]
        assert (hit.item, hit.score) == (item, pytest.approx(1, abs=1e-5))
    hit = store.nearest_heads("a", new.embed(["[Person] may repair things zeta"]), 1, "admitted")[0]
    assert (hit.item, hit.score) == (ids["rule"], pytest.approx(1, abs=1e-5))
    with pytest.raises(SchemaMismatch, match=r"other@1.*8 dimensions"):
        store.nearest("a", "turn", vectors_of(["x"]), 5)


def test_reembedding_continues_where_it_stopped(store: SqliteStore) -> None:
    """After a failure the store works as before, and the second run does only the rest."""
    fill(store, "a", "zeta")
    with pytest.raises(ConnectionError):
        store.reembed(HashEmbedder("other@1", 8, break_after=5))
    assert store.nearest("a", "turn", vectors_of(["x"]), 5)[0] != []
    add_turns(store, "a", a_turn("added meanwhile", position=9))
    index_all(store, "a")
    again = HashEmbedder("other@1", 8)
    assert store.reembed(again) == 6
    assert "Ann: added meanwhile" in again.texts
    assert len(store.nearest("a", "turn", again.embed(["x"]), 9)[0]) == 3


def test_reembedding_catches_up_with_edits(store: SqliteStore) -> None:
    """The vector of a text that is edited while it is embedded is thrown away."""
    turn = a_turn("old words", key="k")
    add_turns(store, "s", turn)
    index_all(store, "s")

    class Editing(HashEmbedder):
        def embed(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
            if not self.texts:
                store.add_turns("s", [replace(turn, text="new words")])
                index_all(store, "s")
            return super().embed(texts)

    new = Editing("other@1", 8)
    store.reembed(new)
    [[hit]] = store.nearest("s", "turn", HashEmbedder("other@1", 8).embed(["Ann: new words"]), 5)
    assert hit.score == pytest.approx(1, abs=1e-5)


def test_reembedding_with_the_same_embedder_is_no_work(store: SqliteStore) -> None:
    """Nothing is computed when the embedder is the one that the store has."""
    fill(store, "a", "zeta")
    name, dimension = store.embedder
    assert store.reembed(HashEmbedder(name, dimension)) == 0
