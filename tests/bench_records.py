"""What several tests of the benchmark share: a small dataset of our own, and where LoCoMo lies."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

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
