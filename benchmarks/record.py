"""Record what real models say about the example conversation, for tests/test_recorded.py.

    python benchmarks/record.py

Run it after a prompt, the walk or the example has changed. It takes a few minutes with the
embedded models; the records hold only the words of examples/two_friends.json.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from rulemem import Memory
from rulemem.config import resolve_settings
from rulemem.models.choose import Models, choose_models
from rulemem.models.metered import MeteredText
from rulemem.models.recorded import RecordingEmbedder, RecordingLikelihood, RecordingText

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "tests" / "records"
QUESTIONS = (
    "Why was Priya absent from the book club in June?",
    "When did Priya adopt Miso?",
    "Where does Priya live now?",
    "When did Tomas move to Bristol?",
)


def record_models(models: Models) -> Models:
    """The same models, each with its recorder around it."""
    if models.text is None or models.likelihood is None:
        sys.exit("Recording needs a language model and a scorer.")
    return replace(
        models,
        text=MeteredText(RecordingText(models.text, RECORDS / "text.jsonl")),
        likelihood=RecordingLikelihood(models.likelihood, RECORDS / "likelihood.jsonl"),
        embedder=RecordingEmbedder(models.embedder, RECORDS / "embedder.jsonl"),
    )


def run(memory: Memory) -> None:
    """Add, learn, ask: exactly what the test replays."""
    memory.add(ROOT / "examples" / "two_friends.json", scope="demo")
    pack = json.loads((ROOT / "examples" / "rules.pack.json").read_text(encoding="utf-8"))
    memory.import_rules(pack, scope="demo")
    memory.learn(scope="demo")
    for question in QUESTIONS:
        memory.ask(question, scope="demo")


def main() -> None:
    """Write the records anew."""
    RECORDS.mkdir(exist_ok=True)
    for path in RECORDS.glob("*.jsonl"):
        path.unlink()
    run(Memory(":memory:", models=record_models(choose_models(resolve_settings().settings))))
    for path in sorted(RECORDS.glob("*.jsonl")):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
