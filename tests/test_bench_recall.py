"""Recall at ranks and budgets, and the intervals around figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulemem.bench.intervals import paired_bootstrap, wilson
from rulemem.bench.recall import Item, count_tokens, hits_all, recall, within

RANKING = [
    Item(turns=("D1:1",), tokens=100),
    Item(turns=("D2:2", "D2:3"), tokens=150),
    Item(turns=(), tokens=10),
    Item(turns=("D1:9",), tokens=40),
]
ITEMS = st.lists(
    st.builds(
        lambda turns, tokens: Item(turns=tuple(turns), tokens=tokens),
        st.lists(st.sampled_from("abcdef"), max_size=3),
        st.integers(0, 50),
    ),
    max_size=12,
)


def test_an_item_counts_for_its_turns() -> None:
    """Recall is the share of evidence turns that any item was made from."""
    assert recall(["D1:1", "D2:3", "D7:7", "D1:9"], RANKING[:2]) == 0.5
    assert recall(["D1:9"], RANKING[:2]) == 0.0


def test_all_evidence() -> None:
    """A question over two turns is hit when both are there, not when one is."""
    assert hits_all(["D1:1", "D2:3"], RANKING[:2])
    assert not hits_all(["D1:1", "D1:9"], RANKING[:2])


@pytest.mark.parametrize(("budget", "n"), [(99, 0), (100, 1), (249, 1), (250, 2), (1000, 4)])
def test_a_ranking_is_cut_before_what_does_not_fit(budget: int, n: int) -> None:
    """Items count while their tokens together stay within the budget."""
    assert len(within(RANKING, budget)) == n


def test_a_small_item_behind_a_large_one_is_not_reached() -> None:
    """A budget is filled from the top, without skipping."""
    assert within(RANKING, 140) == RANKING[:1]


def test_tokens_are_counted_by_words() -> None:
    """1.3 tokens a word, rounded up."""
    assert [count_tokens(text) for text in ("", "one", "one two", "1 2 3 4 5 6 7 8 9 10")] == [
        0,
        2,
        3,
        13,
    ]


@given(ITEMS, st.integers(0, 200), st.integers(0, 200))
def test_recall_grows_with_the_budget(items: list[Item], one: int, other: int) -> None:
    """A larger budget never finds less."""
    small, large = sorted((one, other))
    evidence = ["a", "b", "c"]
    assert recall(evidence, within(items, small)) <= recall(evidence, within(items, large))


def test_wilson() -> None:
    """The interval of 8 in 10, and its limits at the ends."""
    found = wilson(8, 10)
    assert (found.value, round(found.low, 4), round(found.high, 4)) == (0.8, 0.4902, 0.9433)
    assert wilson(0, 5).low == 0.0
    assert wilson(5, 5).high == 1.0
    assert wilson(0, 5).high == pytest.approx(0.4345, abs=1e-4)


def test_paired_bootstrap_sees_pairs() -> None:
    """A small gain on every question is certain although the questions differ widely."""
    first = [float(n % 2) for n in range(40)]
    found = paired_bootstrap(first, [value + 0.1 for value in first], seed=1)
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_paired_bootstrap_is_reproducible() -> None:
    """The same seed gives the same interval, another one another; it holds the mean."""
    first, second = [0.0] * 30, [float(n % 3 == 0) for n in range(30)]
    found = paired_bootstrap(first, second, seed=7)
    assert found == paired_bootstrap(first, second, seed=7)
    uneven = [n**0.5 for n in range(30)]
    assert paired_bootstrap(first, uneven, seed=7) != paired_bootstrap(first, uneven, seed=8)
    assert found.value == pytest.approx(1 / 3)
    assert found.low < found.value < found.high
