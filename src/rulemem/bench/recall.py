"""Evidence recall: how much of what a question rests on stands in what was retrieved. Pure.

Recall counts turns: an item counts for the turns that it was made from. It is taken at k items and
at a budget of tokens, since a long item finds more; a ranking is cut before the first item that
does not fit. Questions without evidence have no recall and are left out of every mean.

Source: LoCoMo's recall over evidence ids, with the ids repaired (`locomo.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

RANKS = (5, 10, 20, 30)
BUDGETS = (250, 500, 1000, 2000)  # tokens of retrieved text

_TOKENS_PER_WORD = 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What recall needs to know of one retrieved item."""

    turns: tuple[str, ...]  # keys of the turns that it was made from
    tokens: int  # of its text as it is shown to a model


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text: 1.3 for each word between white space, rounded up.

    One counter for every system, so that budgets are equal whatever model answers.

    >>> count_tokens("a red bike"), count_tokens("")
    (4, 0)
    """
    return math.ceil(len(text.split()) * _TOKENS_PER_WORD)


def within(items: Sequence[Item], budget: int) -> Sequence[Item]:
    """Return the first items of a ranking that fit into a budget of tokens."""
    spent = 0
    for number, item in enumerate(items):
        spent += item.tokens
        if spent > budget:
            return items[:number]
    return items


def recall(evidence: Sequence[str], items: Sequence[Item]) -> float:
    """Share of the evidence among the turns of the items, in [0, 1]. Evidence is not empty."""
    found = {key for item in items for key in item.turns}
    return sum(key in found for key in evidence) / len(evidence)


def hits_all(evidence: Sequence[str], items: Sequence[Item]) -> bool:
    """Whether every piece of evidence is there, as a question over several turns needs it."""
    return recall(evidence, items) == 1.0
