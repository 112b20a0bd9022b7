"""Ask every system every question once, and keep what came of it; interrupted runs go on.

    <run>/run.json              what all figures depend on, and who wrote them when
    <run>/ingest.jsonl          one line per system and conversation: what reading it took
    <run>/recall/<system>.jsonl one line per question: what was retrieved
    <run>/answers/<system>.jsonl one line per question: what was answered, and its scores
    <run>/<folder "work">       folders of the systems

Records name turns and questions by their keys and hold no text of the dataset. A record that
exists is never made again; one that ends in an error is. Knows no system in particular.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rulemem.bench.locomo import Dataset, Question, Sample
from rulemem.bench.metrics import (
    ADVERSARIAL,
    locomo_score,
    mem0_bleu1,
    mem0_f1,
    word_count,
)
from rulemem.bench.plain_answer import NOT_MENTIONED
from rulemem.bench.recall import BUDGETS, RANKS, Item, count_tokens, within
from rulemem.bench.run_folder import RunFolder
from rulemem.bench.systems import MemorySystem, Passage, Reply
from rulemem.errors import ReplyRejected
from rulemem.memory import ASK_EVIDENCE

RECALL, ANSWERS = "recall", "answers"
DEPTH = 100  # passages asked of a system, enough to fill the largest budget

Advance = Callable[[str, int, int], None]
"""Told what is going on, how many questions of it are done and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be asked of whom."""

    dataset: Dataset
    questions: Sequence[Question]
    systems: Sequence[MemorySystem]
    depth: int = DEPTH


def measure_recall(plan: Plan, folder: RunFolder, advance: Advance) -> None:
    """Retrieve for each question; no language model is asked, but to build a memory."""

    def record(system: MemorySystem, question: Question) -> dict[str, Any]:
        began = time.perf_counter()
        passages = system.retrieve(question.text, plan.depth)
        seconds = time.perf_counter() - began
        return {
            **_head(question),
            "ranked": system.ranked,
            "retrieved": _retrieved(_needed(passages) if system.ranked else passages),
            "seconds": round(seconds, 4),
        }

    _measure(plan, folder, RECALL, record, advance)


def measure_answers(plan: Plan, folder: RunFolder, advance: Advance) -> None:
    """Answer each question from the first passages, as many for every system."""

    def record(system: MemorySystem, question: Question) -> dict[str, Any]:
        began = time.perf_counter()
        passages = system.retrieve(question.text, ASK_EVIDENCE)
        try:
            reply = system.answer(question.text, passages)
        except ReplyRejected as error:  # the model's fault: counts as a wrong answer, asked again
            return {**_head(question), "error": str(error)}
        seconds = time.perf_counter() - began
        return {
            **_head(question),
            "retrieved": _retrieved(passages),
            "answer": reply.text,
            **score_reply(question, reply),
            "rules": list(reply.rules),
            "cited": list(reply.cited),
            "cost": asdict(reply.cost),
            "seconds": round(seconds, 3),
        }

    _measure(plan, folder, ANSWERS, record, advance)


def score_reply(question: Question, reply: Reply) -> dict[str, Any]:
    """Score an answer by every lexical metric; the text is scored as it was given.

    Category 5 has no gold: there the share of the trap answer is what can be measured. A system
    that refuses without words is read by LoCoMo's own metric as saying so.
    """
    text = reply.text or (NOT_MENTIONED if reply.refused else "")
    scores: dict[str, Any] = {"refused": reply.refused, "words": word_count(reply.text)}
    if question.category == ADVERSARIAL:
        scores["locomo"] = locomo_score(question.category, text, question.gold)
        scores["trap_f1"] = round(mem0_f1(reply.text, question.trap), 9)
        return scores
    return {
        **scores,
        "locomo": round(locomo_score(question.category, reply.text, question.gold), 9),
        "f1": round(mem0_f1(reply.text, question.gold), 9),
        "bleu1": round(mem0_bleu1(reply.text, question.gold), 9),
    }


def _measure(
    plan: Plan,
    folder: RunFolder,
    part: str,
    record: Callable[[MemorySystem, Question], dict[str, Any]],
    advance: Advance,
) -> None:
    """Fill in the records that are missing, conversation by conversation."""
    for sample in plan.dataset.samples:
        asked = [q for q in plan.questions if q.conversation == sample.id]
        for system in plan.systems:
            done = folder.done(part, system.name)
            pending = [question for question in asked if question.qid not in done]
            if not pending:
                continue
            label = f"{sample.id} {system.name}"
            advance(label, len(asked) - len(pending), len(asked))
            try:
                _ingest(system, sample, folder)
                for number, question in enumerate(pending, start=1):
                    folder.append(part, system.name, record(system, question))
                    advance(label, len(asked) - len(pending) + number, len(asked))
            finally:
                system.close()


def _ingest(system: MemorySystem, sample: Sample, folder: RunFolder) -> None:
    system.open(sample.id, folder.work(system.name, sample.id))
    ingested = system.ingest(sample.turns)
    folder.note_ingest(system.name, sample.id, asdict(ingested))


def _head(question: Question) -> dict[str, Any]:
    return {
        "qid": question.qid,
        "category": question.category,
        "evidence": list(question.evidence),
        **({"dropped": question.dropped} if question.dropped else {}),
    }


def _needed(passages: Sequence[Passage]) -> Sequence[Passage]:
    """As many passages as any recall is taken over."""
    items = [Item(turns=p.turns, tokens=count_tokens(p.text)) for p in passages]
    return passages[: max(*RANKS, len(within(items, max(BUDGETS))))]


def _retrieved(passages: Iterable[Passage]) -> list[list[Any]]:
    """Rows of (keys of turns, score, tokens, routes)."""
    return [
        [list(p.turns), round(p.score, 4), count_tokens(p.text), list(p.routes)] for p in passages
    ]
