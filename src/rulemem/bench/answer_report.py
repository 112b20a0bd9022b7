"""Answers of a run: lexical metrics, their length, refusals, and paired differences.

Without a judge there is no accuracy, and the report says so: a lexical score is not one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from rulemem.bench.intervals import paired_bootstrap, wilson
from rulemem.bench.locomo import SCORED
from rulemem.bench.metrics import ADVERSARIAL
from rulemem.bench.tables import Record, category_table, number, table

TRAPPED = 0.5  # F1 with the trap answer from which on it counts as given

Records = Mapping[str, Sequence[Record]]


def report_answers(systems: Records, baseline: str, seed: int) -> list[str]:
    """Return the sections on answers.

    Args:
        systems: records by name, of the same questions.
        baseline: what the others are compared with.
        seed: of the bootstrap.
    """
    scored = {
        name: [record for record in records if record["category"] in SCORED]
        for name, records in systems.items()
    }
    sections = ["Judged accuracy: n/a (no judge was run). An unreadable reply scores 0."]
    if scored[baseline]:
        for title, measure in (
            ("F1 (Mem0's)", _metric("f1")),
            ("BLEU-1 (Mem0's)", _metric("bleu1")),
            ("LoCoMo's own score", _metric("locomo")),
        ):
            sections += [f"### {title}", category_table(scored, measure, digits=4)]
        sections += ["### Mean answer length in words", category_table(scored, _metric("words"))]
        if len(scored) > 1:
            sections += [f"### F1 against {baseline}", _differences(scored, baseline, seed)]
    sections += ["### Refusals", _refusals(systems)]
    return sections


def _metric(name: str) -> Callable[[Record], float]:
    return lambda record: float(record.get(name, 0.0))


def _refusals(systems: Records) -> str:
    """Category 5 should be refused, 1 to 4 should not."""
    rows = []
    for name, records in systems.items():
        traps = [r for r in records if r["category"] == ADVERSARIAL]
        others = [r for r in records if r["category"] in SCORED]
        trapped = sum(r.get("trap_f1", 0.0) >= TRAPPED for r in traps)
        rows.append(
            [
                name,
                _share(sum(r.get("refused", False) for r in traps), len(traps)),
                _share(trapped, len(traps)),
                number(fmean(_metric("locomo")(r) for r in traps) if traps else None),
                _share(sum(r.get("refused", False) for r in others), len(others)),
                str(sum("error" in r for r in records)),
            ]
        )
    first = next(iter(systems.values()))
    n = sum(r["category"] == ADVERSARIAL for r in first)
    header = [
        "system",
        f"5 adversarial (n={n}) refused",
        f"trap answer given (F1 ≥ {TRAPPED})",
        "LoCoMo's score",
        f"1–4 refused wrongly (n={len(first) - n})",
        "unreadable replies",
    ]
    return table(header, rows)


def _share(count: int, n: int) -> str:
    if not n:
        return number(None)
    found = wilson(count, n)
    return f"{found.value:.3f} [{found.low:.2f}, {found.high:.2f}]"


def _differences(systems: Records, baseline: str, seed: int) -> str:
    first = [_metric("f1")(record) for record in systems[baseline]]
    rows = []
    for name, records in systems.items():
        if name != baseline:
            mine = [_metric("f1")(record) for record in records]
            found = paired_bootstrap(first, mine, seed=seed)
            rows.append([name, f"{found.value:+.4f} [{found.low:+.4f}, {found.high:+.4f}]"])
    return table(["system", f"1–4 (n={len(first)}), 95 % paired bootstrap"], rows)
