"""Path sampling: the constraints of a walk hold for every seed."""

from datetime import datetime, timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from rulemem.bottom_up.paths import (
    FactGraph,
    SamplingConfig,
    entities_of,
    is_informative,
    neutral_text,
    sample_paths,
)
from rulemem.testing import HashEmbedder
from rulemem.types import Fact

OBJECTS = ("red bicycle", "bicycle race", "race prize", "prize money", "money worries")


def make_facts(days: list[int]) -> list[Fact]:
    """One fact per day offset, about bicycles, races and prizes."""
    return [
        Fact(
            id=number + 1, subject=("Nora", "Idris")[number % 2], relation=f"does {number}",
            object=OBJECTS[number % 5], text=f"somebody has to do with a {OBJECTS[number % 5]}",
            said_at=datetime(2024, 1, 1) + timedelta(days=day), speaker="Nora",
            turn_ids=(number + 1,), extractor="test@1",
        )
        for number, day in enumerate(days)
    ]  # fmt: skip


def graph_of(facts: list[Fact]) -> FactGraph:
    """A graph with hashed vectors."""
    return FactGraph(facts, HashEmbedder().embed([neutral_text(f) for f in facts]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=2, max_size=12), st.integers(0, 5))
def test_every_path_keeps_the_constraints(days: list[int], seed: int) -> None:
    """Temporal order, a shared entity per step, no fact twice, 2 to `longest` facts."""
    facts = make_facts(days)
    config = SamplingConfig(longest=4, seed=seed)
    for path in sample_paths(graph_of(facts), config, [f.id for f in facts]):
        ids = [fact.id for fact in path.facts]
        assert 2 <= len(ids) <= 4
        assert len(set(ids)) == len(ids)
        assert len(path.links) == len(ids) - 1
        for (before, after), link in zip(pairwise(path.facts), path.links, strict=True):
            assert before.said_at <= after.said_at  # type: ignore[operator]
            assert link in entities_of(before)
            assert link in entities_of(after)


def test_the_same_seed_gives_the_same_paths() -> None:
    """Sampling is reproducible; seed 0 is a seed."""
    facts = make_facts(list(range(10)))
    one, two = (
        sample_paths(graph_of(facts), SamplingConfig(seed=0), [f.id for f in facts])
        for _ in range(2)
    )
    assert one
    assert one == two


def test_only_paths_from_the_given_facts() -> None:
    """Learning starts at what is new: a path begins at one of the starts."""
    facts = make_facts(list(range(10)))
    paths = sample_paths(graph_of(facts), SamplingConfig(), [3])
    assert {3} == {path.facts[0].id for path in paths}


def test_facts_that_say_little_are_not_walked() -> None:
    """ "Nora has news" starts no argument; a sprained wrist does."""
    little, much = (
        Fact(subject="Nora", relation=r, object=o, text=t, speaker="Nora", turn_ids=(1,),
             extractor="test@1")
        for r, o, t in (("have", "news", "Nora has news"),
                        ("sprain", "wrist", "Nora sprained a wrist at the climbing gym"))
    )  # fmt: skip
    assert not is_informative(little)
    assert is_informative(much)
