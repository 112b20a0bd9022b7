"""How long `search` takes, embedding of the query included: generated facts in one scope.

    python benchmarks/search_latency.py [FACTS]

Turns and facts are made of a vocabulary with the word frequencies of talk (Zipf); their vectors
are random, which exact search does not mind. The query is embedded by the real model.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from rulemem import Memory, Turn
from rulemem.types import Fact

FACTS_PER_TURN = 2
BATCH = 500
QUESTIONS = 60


def main(facts: int) -> None:
    """Fill a store and time searches."""
    generator = random.Random(0)
    vocabulary = [f"{a}{b}{c}" for a in "bdfglmnprst" for b in "aeiou" for c in "bdfglmnprst"] * 4
    words = [f"{word}{number}" for number, word in enumerate(vocabulary)]
    weights = [1 / (rank + 5) for rank in range(len(words))]

    def sentence(length: int) -> str:
        return " ".join(generator.choices(words, weights, k=length))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        memory = Memory(path, llm="none")
        store = memory._store
        vectors = np.random.default_rng(0)
        count = facts // FACTS_PER_TURN
        start = datetime(2024, 1, 1)
        for first in range(0, count, BATCH):
            turns = [
                Turn(
                    conversation="c", key=str(n), position=n, session=str(n // 20),
                    speaker=("Nora", "Idris")[n % 2], text=sentence(18),
                    said_at=start + timedelta(hours=n),
                )
                for n in range(first, min(first + BATCH, count))
            ]  # fmt: skip
            ids = [outcome.id for outcome in store.add_turns("s", turns)]
            stored = [replace(turn, id=id) for turn, id in zip(turns, ids, strict=True)]

            def unit(rows: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
                made = vectors.standard_normal((rows, 384)).astype(np.float32)
                return made / np.linalg.norm(made, axis=1, keepdims=True)

            store.index_turns("s", ids, [t.text for t in stored], unit(len(ids)), unit(len(ids)))
            made = [
                Fact(
                    subject=turn.speaker, relation="does", object=sentence(3),
                    text=f"{turn.speaker} does {sentence(8)}", said_at=turn.said_at,
                    speaker=turn.speaker, turn_ids=(turn.id,), extractor="generated@1",
                )
                for turn in stored
                for _ in range(FACTS_PER_TURN)
            ]  # fmt: skip
            store.commit_facts("s", made, unit(len(made)), ids)
        memory.search("warm up", scope="s")
        seconds = []
        for _ in range(QUESTIONS):
            query = f"When did Nora {sentence(7)}?"
            began = time.perf_counter()
            memory.search(query, scope="s")
            seconds.append(time.perf_counter() - began)
        size = path.stat().st_size
        counts = memory.status(scope="s").counts
        print(
            f"{counts['facts']:,} facts, {counts['turns']:,} turns, {size / 2**20:.0f} MiB: "
            f"search median {1000 * statistics.median(seconds):.0f} ms, "
            f"95th percentile {1000 * sorted(seconds)[int(0.95 * len(seconds))]:.0f} ms"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
