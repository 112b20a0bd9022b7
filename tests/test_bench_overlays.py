"""Controls change one thing of what a store says, and leave the store as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bench_records import tiny_file

from rulemem.bench.locomo import load_locomo
from rulemem.bench.overlays import RandomKeys, RandomRules, WithoutValidation
from rulemem.bench.shared_store import SCOPE
from rulemem.stores.sqlite import SqliteStore
from rulemem.testing import HashEmbedder
from rulemem.types import Fact, HeadKey, Rule, Turn


@pytest.fixture
def turns(tmp_path: Path) -> tuple[Turn, ...]:
    """The turns of a small sample."""
    return load_locomo(tiny_file(tmp_path)).samples[0].turns


@pytest.fixture
def ruled(turns: tuple[Turn, ...]) -> Iterator[SqliteStore]:
    """A store with turns, three rules of two states, a head key and the candidate behind it."""
    embedder = HashEmbedder()
    store = SqliteStore(":memory:", embedder_name=embedder.name, dimension=embedder.dimension)
    store.add_turns(SCOPE, turns)
    stored = store.turns(SCOPE)
    fact = Fact(
        subject="Priya", relation="adopt", object="parrot", text="Priya adopted a parrot.",
        speaker="Priya", turn_ids=(stored[0].id,), extractor="t@1",
    )  # fmt: skip
    store.commit_facts(SCOPE, [fact], embedder.embed([fact.text]), [stored[0].id])
    (fact,) = store.facts(SCOPE)
    key = HeadKey(text="Priya may travel less", fact_ids=(fact.id,), turn_ids=fact.turn_ids)
    rules = [
        Rule(body=("[Person] adopts [Pet]",), head="[Person] may travel less", inducer="imply@1/x",
             keys=(key,)),
        Rule(body=("[Person] adopts [Pet]",), head="[Person] may buy food", inducer="i@1/x",
             status="admitted"),
        Rule(body=("[Person] sings",), head="[Person] may buy a kayak", inducer="i@1/x",
             status="rejected"),
        Rule(body=("[Person] skates",), head="[Person] may fall", inducer="i@1/x",
             status="admitted"),
    ]  # fmt: skip
    store.commit_rules(
        SCOPE, rules, embedder.embed([key.text]), embedder.embed([rule.head for rule in rules])
    )
    yield store
    store.close()


def test_random_keys_keep_the_speaker(ruled: SqliteStore) -> None:
    """A key points to turns of the same speaker, the same ones each time, by its seed."""
    (hit,) = ruled.nearest(SCOPE, "key", HashEmbedder().embed(["travel"]), 5)[0]
    speakers = {turn.id: turn.speaker for turn in ruled.turns(SCOPE)}
    drawn = set()
    for seed in range(20):
        (key,) = RandomKeys(ruled, SCOPE, seed).keys(SCOPE, [hit.item])
        assert (key,) == tuple(RandomKeys(ruled, SCOPE, seed).keys(SCOPE, [hit.item]))
        assert {speakers[id] for id in key.turn_ids} == {"Priya"}
        drawn.add(key.turn_ids)
    assert len(drawn) == 3  # Priya has three turns
    assert RandomKeys(ruled, SCOPE, 0).turns(SCOPE) == ruled.turns(SCOPE)


def test_random_rules_are_admitted_ones_at_the_same_strength(ruled: SqliteStore) -> None:
    """The control activates as many admitted rules, with the similarities of the right ones."""
    vector = HashEmbedder().embed(["buy food"])[0]
    right = ruled.nearest_heads(SCOPE, vector, 1, "admitted")
    admitted = {rule.id for rule in ruled.rules(SCOPE, status="admitted")}
    drawn = {
        RandomRules(ruled, SCOPE, seed).nearest_heads(SCOPE, vector, 1, "admitted")[0].item
        for seed in range(20)
    }
    assert drawn == admitted
    control = RandomRules(ruled, SCOPE, 0).nearest_heads(SCOPE, vector, 1, "admitted")
    assert [hit.score for hit in control] == [hit.score for hit in right]


def test_without_validation_every_induced_rule_is_admitted(ruled: SqliteStore) -> None:
    """Rejected rules are activated too and count as admitted; one-premise candidates do not."""
    overlay = WithoutValidation(ruled, SCOPE, 0)
    vector = HashEmbedder().embed(["[Person] may buy a kayak"])[0]
    hits = overlay.nearest_heads(SCOPE, vector, 10, "admitted")
    heads = {rule.id: rule.head for rule in ruled.rules(SCOPE)}
    assert heads[hits[0].item] == "[Person] may buy a kayak"
    assert len(hits) == 3 and "[Person] may travel less" not in {heads[h.item] for h in hits}
    assert {rule.status for rule in overlay.rules(SCOPE, ids=[h.item for h in hits])} == {
        "admitted"
    }
    assert len(overlay.rules(SCOPE, status="admitted")) == 3
    assert len(ruled.rules(SCOPE, status="admitted")) == 2
