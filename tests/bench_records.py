"""What tests of the benchmark share: a small dataset, a system without a memory, LoCoMo's place."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rulemem.bench.locomo import Dataset
from rulemem.bench.run import Plan
from rulemem.bench.run_folder import RunFolder
from rulemem.bench.systems import Ingested, Passage, Reply
from rulemem.errors import ModelUnavailable, RuleMemError
from rulemem.types import Cost, Turn

CODE = {"version": "1", "commit": "c0ffee"}

SIBLING = Path(__file__).parents[2] / "shared" / "data"
LOCOMO = Path(os.environ.get("RULEMEM_LOCOMO") or SIBLING)
ABSENT = f"LoCoMo is not in {LOCOMO}: set RULEMEM_LOCOMO to the folder of locomo10.json"


def locomo_file(name: str, request: pytest.FixtureRequest) -> Path:
    """A file of the data folder; without it the test is skipped, and the terminal says so."""
    folder = LOCOMO.parent if LOCOMO.suffix == ".json" else LOCOMO
    path = folder / name
    if not path.is_file():
        capture = request.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            print(f"\n!!! NOT TESTED: {request.node.name}: {ABSENT}")
        pytest.skip(ABSENT)
    return path


def _turn(key: str, speaker: str, text: str, **more: str) -> dict[str, str]:
    return {"speaker": speaker, "dia_id": key, "text": text, **more}


def tiny_sample(id: str = "pond-1") -> dict[str, Any]:
    """A sample in LoCoMo's form, with the irregularities of the official file."""
    return {
        "sample_id": id,
        "conversation": {
            "speaker_a": "Priya",
            "speaker_b": "Tomas",
            "session_1_date_time": "9:05 am on 4 March, 2024",
            "session_1": [
                _turn("D1:1", "Priya", "I adopted a grey parrot called Basil yesterday."),
                _turn("D1:2", "Tomas", "Lovely! I sold my old kayak and joined a choir."),
                _turn("D1:3", "Priya", "Basil already whistles.", blip_caption="a grey parrot"),
            ],
            "session_2_date_time": "7:30 pm on 11 May, 2024",
            "session_2": [
                _turn("D2:1", "Tomas", "Our choir sang in Lisbon last week."),
                _turn("D2:2", "Priya", "Wonderful. I broke my wrist while skating, no piano now."),
            ],
            "session_3_date_time": "8:00 am on 1 June, 2024",
        },
        "qa": [
            {
                "question": "What did Priya adopt?",
                "answer": "a grey parrot",
                "evidence": ["D1:1", "D1:3", "D1:1"],
                "category": 4,
            },
            {
                "question": "In which year did the choir sing in Lisbon?",
                "answer": 2024,
                "evidence": ["D:2:01"],
                "category": 2,
            },
            {
                "question": "What did Tomas do with the kayak and the choir?",
                "answer": "sold it, joined it",
                "evidence": ["D1:2; D2:1"],
                "category": 1,
            },
            {
                "question": "Would Priya enjoy a piano concert?",
                "answer": "Likely yes; she plays",
                "evidence": [],
                "category": 3,
            },
            {
                "question": "When did Tomas break his wrist?",
                "adversarial_answer": "11 May 2024",
                "evidence": ["D2:2", "D9:9"],
                "category": 5,
            },
            {
                "question": "What did Priya adopt?",
                "answer": "a parrot",
                "evidence": ["D"],
                "category": 4,
            },
        ],
    }


def tiny_file(folder: Path) -> Path:
    """A dataset of two samples on disk."""
    path = folder / "tiny.json"
    path.write_text(json.dumps([tiny_sample(), tiny_sample("pond-2")]), "utf-8")
    return path


@dataclass
class FakeSystem:
    """A system that finds turns in their order and answers what it is told to."""

    name: str = "fake"
    ranked: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    reply: Reply | RuleMemError = field(
        default_factory=lambda: Reply(text="a grey parrot", refused=False, cost=Cost(calls=1))
    )
    fails_at: str = ""
    tokens: int = 10
    log: list[str] = field(default_factory=list)
    turns: Sequence[Turn] = ()

    def open(self, conversation: str, folder: Path) -> None:
        self.log.append(f"open {conversation}")

    def ingest(self, turns: Sequence[Turn]) -> Ingested:
        self.turns = turns
        return Ingested(turns=len(turns), seconds={"read": 2.0}, costs={"extract": Cost(calls=5)})

    def retrieve(self, query: str, k: int) -> list[Passage]:
        self.log.append(query)
        if self.fails_at and self.fails_at in query:
            raise ModelUnavailable("gone")
        return [
            Passage(text="word " * self.tokens, turns=(turn.key,), score=0.5, routes=("text",))
            for turn in self.turns[:k]
        ]

    def render(self, passages: Sequence[Passage]) -> str:
        return ""

    def answer(self, question: str, passages: Sequence[Passage], *, preamble: str = "") -> Reply:
        if isinstance(self.reply, RuleMemError):
            raise self.reply
        return self.reply

    def close(self) -> None:
        self.log.append("close")


def begin_run(folder: Path, *systems: FakeSystem) -> RunFolder:
    """Begin a run of some systems."""
    run = RunFolder(folder)
    config = {
        "data": {"file": "tiny.json", "sha256": "0"},
        "seed": 0,
        "models": {"llm": {"name": "none"}},
        "systems": {system.name: system.settings for system in systems},
    }
    run.begin(config, CODE)
    return run


def silent(label: str, done: int, total: int) -> None:
    """Hear of progress, and say nothing."""


def plan_all(tiny: Dataset, *systems: FakeSystem) -> Plan:
    """All questions, asked of some systems."""
    return Plan(dataset=tiny, questions=tiny.questions, systems=systems)
