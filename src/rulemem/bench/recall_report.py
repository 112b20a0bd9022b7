"""Recall of a run: at ranks, at budgets of tokens, all evidence at once, and paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from rulemem.bench.intervals import paired_bootstrap, wilson
from rulemem.bench.locomo import CATEGORIES, SCORED
from rulemem.bench.recall import BUDGETS, RANKS, Item, hits_all, recall, within
from rulemem.bench.tables import Record, category_table, number, table

_COMPARED_AT = 10
_HARD = (1, 3)  # where guided recall has room: multi-hop and open-domain
_ALL_AT = (10, 30)

Records = Mapping[str, Sequence[Record]]


def report_recall(systems: Records, baseline: str, seed: int) -> list[str]:
    """Return the sections on recall.

    Args:
        systems: records by name, of the same questions.
        baseline: what the others are compared with.
        seed: of the bootstrap.
    """
    asked = systems[baseline]
    every = {
        name: [_with_items(record) for record in records if record["evidence"]]
        for name, records in systems.items()
    }
    if not every[baseline]:
        return ["No question has evidence."]
    systems = {name: records for name, records in every.items() if records[0]["ranked"]}
    unranked = {name: records for name, records in every.items() if name not in systems}
    sections = [
        f"{len(asked) - len(every[baseline])} of them have no evidence and are left out; "
        f"{sum(r.get('dropped', 0) for r in asked)} pieces of evidence name no turn."
    ]
    sections += [_whole(unranked)] if unranked else []
    if baseline not in systems:
        return sections
    sections.append(_overview(systems))
    for k in RANKS:
        sections += [f"### Recall@{k}", category_table(systems, partial(_at_rank, k))]
    for budget in BUDGETS:
        sections += [
            f"### Recall at {budget} tokens",
            category_table(systems, partial(_at_budget, budget)),
        ]
    for k in _ALL_AT:
        sections += [f"### All evidence among the first {k}", _all_evidence(systems, k)]
    if len(systems) > 1:
        sections += [
            f"### Recall@{_COMPARED_AT} against {baseline}",
            "Mean difference over the same questions, with the 95 % interval of a paired "
            "bootstrap over questions.",
            _differences(systems, baseline, seed),
        ]
    return sections


def _with_items(record: Record) -> Record:
    items = [Item(turns=tuple(row[0]), tokens=row[2]) for row in record["retrieved"]]
    return {**record, "items": items}


def _at_rank(k: int, record: Record) -> float:
    return recall(record["evidence"], record["items"][:k])


def _at_budget(budget: int, record: Record) -> float:
    return recall(record["evidence"], within(record["items"], budget))


def _overview(systems: Records) -> str:
    """Both averages would be too wide here: per question, categories 1 to 4."""
    header = [
        "system",
        *(f"@{k}" for k in RANKS),
        *(f"{budget} tokens" for budget in BUDGETS),
        f"tokens of {_COMPARED_AT}",
        "turns in 1000 tokens",
    ]
    rows = []
    for name, records in systems.items():
        scored = [r for r in records if r["category"] in SCORED] or list(records)
        rows.append(
            [
                name,
                *(number(fmean(_at_rank(k, r) for r in scored)) for k in RANKS),
                *(number(fmean(_at_budget(b, r) for r in scored)) for b in BUDGETS),
                number(fmean(sum(i.tokens for i in r["items"][:_COMPARED_AT]) for r in scored), 0),
                number(fmean(_turns(within(r["items"], 1000)) for r in scored), 1),
            ]
        )
    n = sum(r["category"] in SCORED for r in next(iter(systems.values())))
    return f"Per question, categories 1–4 (n={n}):\n\n{table(header, rows)}"


def _whole(systems: Records) -> str:
    """Systems without a ranking hand over one and the same context."""
    tables = category_table(systems, lambda r: recall(r["evidence"], r["items"]))
    tokens = ", ".join(
        f"{name} {fmean(sum(item.tokens for item in r['items']) for r in records):.0f}"
        for name, records in systems.items()
    )
    return f"### Recall of a whole context\n\nTokens: {tokens}.\n\n{tables}"


def _turns(items: Sequence[Item]) -> int:
    return len({key for item in items for key in item.turns})


def _all_evidence(systems: Records, k: int) -> str:
    """Share of questions with all their evidence, with Wilson's interval."""
    rows = []
    categories: dict[int, int] = {}
    for name, records in systems.items():
        cells = []
        for category in CATEGORIES:
            mine = [r for r in records if r["category"] == category]
            if mine:
                categories[category] = len(mine)
                share = wilson(
                    sum(hits_all(r["evidence"], r["items"][:k]) for r in mine), len(mine)
                )
                cells.append(f"{share.value:.3f} [{share.low:.2f}, {share.high:.2f}]")
        rows.append([name, *cells])
    header = [f"{c} {CATEGORIES[c]} (n={n})" for c, n in categories.items()]
    return table(["system", *header], rows)


def _differences(systems: Records, baseline: str, seed: int) -> str:
    groups: list[tuple[str, tuple[int, ...]]] = [
        ("1–4", SCORED),
        *((f"{c} {CATEGORIES[c]}", (c,)) for c in CATEGORIES),
        ("1 and 3 together", _HARD),
    ]
    present = {record["category"] for record in systems[baseline]}
    groups = [(label, numbers) for label, numbers in groups if present & set(numbers)]
    rows = [
        [name, *(_difference(systems[baseline], mine, numbers, seed) for _, numbers in groups)]
        for name, mine in systems.items()
        if name != baseline
    ]
    return table(["system", *(label for label, _ in groups)], rows)


def _difference(
    first: Sequence[Record], second: Sequence[Record], categories: Sequence[int], seed: int
) -> str:
    pairs: list[tuple[Any, Any]] = [
        (a, b) for a, b in zip(first, second, strict=True) if a["category"] in categories
    ]
    found = paired_bootstrap(
        [_at_rank(_COMPARED_AT, a) for a, _ in pairs],
        [_at_rank(_COMPARED_AT, b) for _, b in pairs],
        seed=seed,
    )
    return f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
