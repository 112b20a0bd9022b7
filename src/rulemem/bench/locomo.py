"""LoCoMo with its questions: the official file, every irregularity of it handled in one place.

Turns come from `rulemem.formats`, as they do for any user; this module adds what only a benchmark
has. A question is known by its place, `conv-26:83`, since twelve texts occur twice. Golds may be
numbers and become text. Evidence is read with a pattern ("D8:6; D9:17", "D:11:26", "D30:05"), and
what names no turn is dropped and counted. Nothing here ships any of the dataset.

Source: Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents" (2024).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rulemem.errors import InputError
from rulemem.formats import read_conversations
from rulemem.types import Turn

FILE_NAME = "locomo10.json"
CATEGORIES: Mapping[int, str] = {
    4: "single-hop",
    1: "multi-hop",
    3: "open-domain",
    2: "temporal",
    5: "adversarial",
}
"""LoCoMo's number and name of each category, in the order of the paper's table."""
SCORED = (4, 1, 3, 2)  # what Mem0's protocol scores
TUNED_ON = ("conv-26", "conv-30")  # prompts, weights and defaults may be fitted on these only

_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the benchmark."""

    qid: str  # "conv-26:83": sample and place in its list, from 0
    category: int
    text: str
    gold: str  # "": none; category 5 mostly has none
    trap: str  # what a system that is fooled answers; category 5 only
    evidence: tuple[str, ...]  # keys of turns, each once
    dropped: int  # pieces of evidence that name no turn

    @property
    def conversation(self) -> str:
        """The sample that it is asked about."""
        return self.qid.rsplit(":", 1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A conversation and the questions about it."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    repaired: int  # questions whose evidence had to be read by pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """The samples of a file."""

    path: Path
    sha256: str
    samples: tuple[Sample, ...]

    @property
    def questions(self) -> list[Question]:
        """All questions, in the order of the file."""
        return [question for sample in self.samples for question in sample.questions]


def load_locomo(path: Path, conversations: Collection[str] = ()) -> Dataset:
    """Read the official file.

    Args:
        path: the file, or the folder that holds it under its own name.
        conversations: samples wanted; none: all.

    Raises:
        InputError: no such file, not LoCoMo, or no such sample.
    """
    path = path / FILE_NAME if path.is_dir() else path
    try:
        content = path.read_bytes()
        samples = json.loads(content)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{str(path)!r} cannot be read: {error}.",
            hint=f"Name the official {FILE_NAME}, or the folder that it lies in.",
        ) from error
    by_id = _by_id(samples, path)
    unknown = sorted(set(conversations) - set(by_id))
    if unknown:
        raise InputError(f"No conversation {unknown[0]!r}.", hint=f"There are {', '.join(by_id)}.")
    wanted = [id for id in by_id if not conversations or id in conversations]
    return Dataset(
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        samples=tuple(_read_sample(id, by_id[id]) for id in wanted),
    )


def base_key(key: str) -> str:
    """The key of the turn that a part of a long turn was cut from.

    >>> base_key("D3:7/2")
    'D3:7'
    """
    return key.split("/", 1)[0]


def _by_id(samples: object, path: Path) -> dict[str, Mapping[str, Any]]:
    if not isinstance(samples, list) or not all(
        isinstance(sample, dict) and isinstance(sample.get("qa"), list) for sample in samples
    ):
        raise InputError(f"{str(path)!r} is not LoCoMo: it needs samples with a list 'qa'.")
    return {str(sample.get("sample_id", n)): sample for n, sample in enumerate(samples)}


def _read_sample(id: str, sample: Mapping[str, Any]) -> Sample:
    (conversation,) = read_conversations([sample], conversation=id)
    keys = {base_key(turn.key) for turn in conversation.turns}
    questions = [_read_question(f"{id}:{n}", item, keys) for n, item in enumerate(sample["qa"])]
    repaired = [q for q, item in zip(questions, sample["qa"], strict=True) if _is_repaired(q, item)]
    return Sample(
        id=id, turns=conversation.turns, questions=tuple(questions), repaired=len(repaired)
    )


def _read_question(qid: str, item: Mapping[str, Any], keys: Collection[str]) -> Question:
    category = item.get("category")
    if not isinstance(category, int) or category not in CATEGORIES:
        raise InputError(f"Question {qid!r} has the category {category!r}.")
    found, dropped = repair_evidence(item.get("evidence") or (), keys)
    return Question(
        qid=qid,
        category=category,
        text=str(item.get("question", "")).strip(),
        gold=str(item.get("answer", "")).strip(),
        trap=str(item.get("adversarial_answer") or "").strip(),
        evidence=found,
        dropped=dropped,
    )


def repair_evidence(given: Iterable[str], keys: Collection[str]) -> tuple[tuple[str, ...], int]:
    """Return the keys that evidence strings name, each once, and how many pieces name none.

    >>> repair_evidence(["D8:6; D9:17", "D:11:26", "D30:05", "D"], {"D8:6", "D11:26", "D30:5"})
    (('D8:6', 'D11:26', 'D30:5'), 2)
    """
    found: dict[str, None] = {}
    dropped = 0
    for text in given:
        named = [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(str(text))]
        found |= dict.fromkeys(key for key in named if key in keys)
        dropped += sum(key not in keys for key in named) or int(not named)
    return tuple(found), dropped


def _is_repaired(question: Question, item: Mapping[str, Any]) -> bool:
    return list(question.evidence) != list(item.get("evidence") or ())


def select_questions(
    questions: Iterable[Question], categories: Sequence[int] = ()
) -> list[Question]:
    """Return the questions of some categories; none named: of all.

    Raises:
        InputError: a number that is no category.
    """
    unknown = [number for number in categories if number not in CATEGORIES]
    if unknown:
        names = ", ".join(f"{number} {name}" for number, name in CATEGORIES.items())
        raise InputError(f"No category {unknown[0]!r}.", hint=f"There are {names}.")
    return [q for q in questions if not categories or q.category in categories]
