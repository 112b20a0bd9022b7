"""What a run cost: reading per stage and 1,000 turns, and retrieval and answer per question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from rulemem.bench.run import ANSWERS, RECALL
from rulemem.bench.run_folder import RunFolder
from rulemem.bench.tables import number, table


def report_costs(folder: RunFolder) -> list[str]:
    """Return the sections on costs; systems that share a memory share what building it took."""
    sections = ["## Cost", "### Per 1,000 turns read", _reading(folder.ingests())]
    recalls = {name: list(folder.read(RECALL, name).values()) for name in folder.systems(RECALL)}
    answers = {name: list(folder.read(ANSWERS, name).values()) for name in folder.systems(ANSWERS)}
    if recalls:
        rows = [
            [name, number(1000 * fmean(r["seconds"] for r in records), 1)]
            for name, records in recalls.items()
        ]
        sections += ["### Per retrieval", table(["system", "milliseconds"], rows)]
    if answers:
        sections += [
            "### Per answer",
            "A reply from the cache costs no call; its tokens count where the system reports them.",
            table(
                ["system", "calls", "prompt tokens", "completion tokens", "model s", "wall s"],
                [[name, *_answering(records)] for name, records in answers.items()],
            ),
        ]
    return sections


def _reading(ingests: Sequence[Mapping[str, Any]]) -> str:
    """Stages of language models have calls and tokens; the others have seconds only."""
    turns: dict[str, int] = defaultdict(int)
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    spent: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * 4)
    for ingest in ingests:
        name = ingest["system"]
        turns[name] += ingest["turns"]
        for stage, value in ingest["seconds"].items():
            seconds[name, stage] += value
        for stage, cost in ingest["costs"].items():
            parts = ("calls", "prompt_tokens", "completion_tokens", "seconds")
            spent[name, stage] = [
                old + cost[part] for old, part in zip(spent[name, stage], parts, strict=True)
            ]
    rows = []
    for (name, stage), value in seconds.items():
        rows.append([name, stage, "", "", "", number(value * 1000 / turns[name], 1)])
    for (name, stage), values in spent.items():
        per = [value * 1000 / turns[name] for value in values]
        rows.append([name, f"{stage} (model)", *(number(x, 0) for x in per[:3]), number(per[3], 1)])
    rows.sort(key=lambda row: list(turns).index(row[0]))
    header = ["system", "stage", "calls", "prompt tokens", "completion tokens", "seconds"]
    return table(header, rows)


def _answering(records: Sequence[Mapping[str, Any]]) -> list[str]:
    good = [record for record in records if "error" not in record]
    if not good:
        return [number(None)] * 5
    costs = [record["cost"] for record in good]
    return [
        number(fmean(cost["calls"] for cost in costs), 2),
        number(fmean(cost["prompt_tokens"] for cost in costs), 0),
        number(fmean(cost["completion_tokens"] for cost in costs), 0),
        number(fmean(cost["seconds"] for cost in costs), 2),
        number(fmean(record["seconds"] for record in good), 2),
    ]
