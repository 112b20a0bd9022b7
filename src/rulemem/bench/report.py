"""A run as Markdown: what it depends on, recall, answers, costs. Reads records, computes the rest.

Systems are compared on the questions that all of them have records of, and the report says how
many those are. Knows no system; the first one in a run is what the others are compared with,
unless another is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rulemem.bench.answer_report import report_answers
from rulemem.bench.cost_report import report_costs
from rulemem.bench.locomo import TUNED_ON
from rulemem.bench.recall_report import report_recall
from rulemem.bench.run import ANSWERS, RECALL
from rulemem.bench.run_folder import RunFolder
from rulemem.bench.tables import Record
from rulemem.errors import InputError

Records = dict[str, Sequence[Record]]
_REPORTS = {RECALL: report_recall, ANSWERS: report_answers}


def write_report(folder: RunFolder, baseline: str = "") -> str:
    """Return the report of a run.

    Args:
        folder: of the run.
        baseline: the system that differences are taken from; "": the first.

    Raises:
        InputError: no run, no records, or no such baseline.
    """
    description = folder.describe()
    seed = int(description["config"]["seed"])
    parts = {part: _common(folder, part) for part in _REPORTS}
    measured = list(dict.fromkeys(name for records, _ in parts.values() for name in records))
    if not measured:
        raise InputError(f"The run in {str(folder.path)!r} has no records yet.")
    if baseline and baseline not in measured:
        raise InputError(
            f"There are no records of {baseline!r}.",
            hint=f"There are some of {', '.join(measured)}.",
        )
    sections = [_head(description, folder.ingests())]
    for part, (records, note) in parts.items():
        if records:
            chosen = baseline if baseline in records else next(iter(records))
            sections += [f"## {part.capitalize()}", note, *_REPORTS[part](records, chosen, seed)]
    sections += report_costs(folder)
    return "\n\n".join(section for section in sections if section) + "\n"


def _common(folder: RunFolder, part: str) -> tuple[Records, str]:
    """Records of the questions that every system has, and a sentence about them."""
    read = {name: folder.read(part, name) for name in folder.systems(part)}
    if not read:
        return {}, ""
    shared = set.intersection(*(set(records) for records in read.values()))
    every = set.union(*(set(records) for records in read.values()))
    order = sorted(shared, key=_place)
    conversations = list(dict.fromkeys(qid.rsplit(":", 1)[0] for qid in order))
    note = f"{len(order)} questions of {_say(conversations)}."
    if shared != every:
        counts = ", ".join(f"{name} {len(records)}" for name, records in read.items())
        note += f" Only questions that every system has records of; in all: {counts}."
    return {name: [records[qid] for qid in order] for name, records in read.items()}, note


def _place(qid: str) -> tuple[str, int]:
    conversation, number = qid.rsplit(":", 1)
    return conversation, int(number)


def _say(conversations: Sequence[str]) -> str:
    """Name the conversations, those marked that the product's weights were fitted on."""
    return ", ".join(f"{name} (tuned on)" if name in TUNED_ON else name for name in conversations)


def _head(description: dict[str, Any], ingests: Sequence[Record]) -> str:
    config = description["config"]
    sessions = description["sessions"]
    commits = list(dict.fromkeys(session["commit"] for session in sessions))
    builders = [ingest["builder"] for ingest in ingests if ingest["builder"]]
    built = dict.fromkeys(f"{_models(b['models'])}, commit {b['commit']}" for b in builders)
    return "\n".join(
        [
            "# LoCoMo",
            "",
            f"- data: {config['data']['file']}, sha256 {config['data']['sha256']}",
            f"- rulemem {sessions[-1]['version']}, commit {', '.join(commits)}",
            f"- models of this run: {_models(config['models'])}",
            *(f"- memories built with {line}" for line in built),
            f"- seed {config['seed']}; begun {sessions[0]['started']}",
            "- categories by LoCoMo's numbers and names; macro: mean of the categories 1 to 4 "
            "that have questions; per question: mean over their questions",
            "- hashes of models and prompts, and the weights of every system: run.json",
        ]
    )


def _models(models: dict[str, Any]) -> str:
    return ", ".join(f"{role} {model['name']}" for role, model in models.items())
