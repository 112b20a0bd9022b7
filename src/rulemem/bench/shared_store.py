"""One memory per conversation, built once by `add` and `learn` and shared by every arm.

    <stores>/conv-26.db      the memory
    <stores>/conv-26.json    what built it, what that took, whether it is finished

Building goes on where it was interrupted. A finished memory is used as it is, also by a run that
has no language model; one that another language model built is refused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rulemem.bench.systems import Ingested
from rulemem.errors import BudgetExceeded, ConfigError
from rulemem.memory import Memory
from rulemem.models.choose import Models
from rulemem.reports import OnProgress
from rulemem.types import Cost, Turn

SCOPE = "bench"
_MODELS = ("llm", "scorer", "embedder", "extractor")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStores:
    """A folder of memories.

    Attributes:
        folder: where they lie.
        models: what they are built with.
        builder: version, commit and models, see `provenance.py`.
        report: told how far a build is.
    """

    folder: Path
    models: Models
    builder: Mapping[str, Any]
    report: OnProgress

    def path(self, conversation: str) -> Path:
        """The file of a conversation's memory."""
        return self.folder / f"{conversation}.db"

    def build(self, conversation: str, turns: Sequence[Turn]) -> Ingested:
        """Build what is not built yet.

        Returns:
            What it took, earlier runs included.

        Raises:
            ConfigError: the memory was built with other models.
            BudgetExceeded: a cap was reached; building again goes on.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        note = self.folder / f"{conversation}.json"
        known = json.loads(note.read_text("utf-8")) if note.exists() else {}
        if known:
            self._require_same(known)
        if known.get("finished"):
            return _read(known)
        began = _read(known) if known else Ingested(turns=len(turns), seconds={})
        done, left = self._add_and_learn(conversation, turns, began.seconds)
        content = {**asdict(done), "finished": not left, "builder": dict(self.builder)}
        note.write_text(json.dumps(content, indent=1), "utf-8")
        if left:
            raise BudgetExceeded(
                f"The memory of {conversation!r} is not finished: {left}.",
                hint="Run again with a new budget to go on.",
            )
        return _read(content)

    def _add_and_learn(
        self, conversation: str, turns: Sequence[Turn], before: Mapping[str, float]
    ) -> tuple[Ingested, str]:
        """Run both steps; say what is left, "" for nothing."""
        memory = Memory(self.path(conversation), models=self.models)
        seconds = dict(before)
        try:
            began = time.perf_counter()
            added = memory.add(turns, scope=SCOPE, conversation=conversation, progress=self.report)
            seconds["add"] = seconds.get("add", 0.0) + time.perf_counter() - began
            began = time.perf_counter()
            learned = memory.learn(scope=SCOPE, progress=self.report)
            seconds["learn"] = seconds.get("learn", 0.0) + time.perf_counter() - began
            ingested = Ingested(
                turns=len(turns),
                seconds=seconds,
                costs=memory.stats(scope=SCOPE),
                counts=memory.status(scope=SCOPE).counts,
            )
        finally:
            memory.close()
        left = f"{added.turns_pending} turns to extract" if added.turns_pending else ""
        return ingested, left or learned.unfinished

    def _require_same(self, known: Mapping[str, Any]) -> None:
        """Refuse to mix models: every one while building, the language model for ever."""
        built = known["builder"]
        for role in _MODELS:
            ours, theirs = _name(self.builder, role), _name(built, role)
            # a finished memory may be read without the models that only building needs
            if known["finished"] and (ours == "none" or role in ("scorer", "extractor")):
                continue
            if ours != theirs:
                raise ConfigError(
                    f"The memories in {str(self.folder)!r} were built with {role} {theirs!r}, "
                    f"this run has {ours!r}.",
                    hint="Choose another folder with --stores, or the same models.",
                )


def _name(builder: Mapping[str, Any], role: str) -> str:
    return str(builder["models"][role]["name"])


def _read(known: Mapping[str, Any]) -> Ingested:
    fields = {name: known[name] for name in ("turns", "seconds", "counts", "builder")}
    costs = {stage: Cost(**cost) for stage, cost in known["costs"].items()}
    return replace(Ingested(**fields), costs=costs)
