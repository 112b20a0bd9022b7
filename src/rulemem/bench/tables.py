"""Means by category, and Markdown tables of them. Pure.

Every column says number, name and n of its category, since papers give the same numbers other
names. Two averages stand beside each other: the unweighted mean of the categories (the RuleMem
paper's) and the mean over questions (Mem0's); category 5 is in neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from rulemem.bench.locomo import CATEGORIES, SCORED

Record = Mapping[str, Any]
Measure = Callable[[Record], float]
_NONE = "–"


def by_category(records: Sequence[Record], measure: Measure) -> dict[int, list[float]]:
    """Values of a measure, by category, in the order of the paper's table."""
    return {
        category: values
        for category in CATEGORIES
        if (values := [measure(r) for r in records if r["category"] == category])
    }


def macro(values: Mapping[int, Sequence[float]]) -> float | None:
    """Mean of the means of categories 1 to 4 that have any question."""
    means = [fmean(values[category]) for category in SCORED if category in values]
    return fmean(means) if means else None


def weighted(values: Mapping[int, Sequence[float]]) -> float | None:
    """Mean over the questions of categories 1 to 4."""
    scored = [value for category in SCORED for value in values.get(category, ())]
    return fmean(scored) if scored else None


def category_table(
    systems: Mapping[str, Sequence[Record]], measure: Measure, *, digits: int = 3
) -> str:
    """A row per system, a column per category, then both averages.

    Args:
        systems: records by name; all of the same questions.
        measure: what is shown of a record.
        digits: after the point.
    """
    values = {name: by_category(records, measure) for name, records in systems.items()}
    first = next(iter(values.values()), {})
    names = [
        f"{category} {CATEGORIES[category]} (n={len(found)})" for category, found in first.items()
    ]
    n = sum(len(first.get(category, ())) for category in SCORED)
    header = ["system", *names, "macro 1–4", f"per question 1–4 (n={n})"]
    rows = [
        [
            name,
            *(number(fmean(found), digits) for found in mine.values()),
            number(macro(mine), digits),
            number(weighted(mine), digits),
        ]
        for name, mine in values.items()
    ]
    return table(header, rows)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers.

    >>> print(table(["system", "F1"], [["bm25", "0.5"]]))
    | system | F1 |
    |---|---:|
    | bm25 | 0.5 |
    """
    ruler = "|---|" + "---:|" * (len(header) - 1)
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    return "\n".join([lines[0], ruler, *lines[1:]])


def number(value: float | None, digits: int = 3) -> str:
    """A number as it stands in a table; a dash where there is none.

    >>> number(0.58249), number(None)
    ('0.582', '–')
    """
    return _NONE if value is None else f"{value:.{digits}f}"
