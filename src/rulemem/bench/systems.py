"""What the benchmark asks of a memory system: one small protocol, and what travels through it.

    open -> ingest -> (retrieve -> render -> answer)* -> close       per conversation

Nothing in it assumes that a system runs in this process or shares our models: a system is made
with whatever it needs, and is measured by what it hands back. `retrieve` takes any text, so that a
rule's body can be a query; `answer` takes passages and a preamble from outside, so that rules can
be laid over another system's own prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from rulemem.types import Cost, Turn

PassageKind = Literal["turn", "fact", "note", "summary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One retrieved item."""

    text: str  # as a model would see it
    turns: tuple[str, ...]  # keys of the turns that it was made from; empty: unknown
    score: float  # comparable within one ranking only
    kind: PassageKind = "turn"
    routes: tuple[str, ...] = ()  # what brought it: "text", "key:12", "rule:7", ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What it took to read a conversation."""

    turns: int
    seconds: Mapping[str, float]  # by stage, wall clock
    costs: Mapping[str, Cost] = field(default_factory=dict)  # of language models, by stage
    counts: Mapping[str, int] = field(default_factory=dict)  # what the memory holds now
    builder: Mapping[str, Any] = field(default_factory=dict)  # version and models that read it


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer."""

    text: str  # "": none
    refused: bool  # the system says that there is no answer
    cost: Cost = field(default_factory=Cost)  # a reply from the cache costs nothing
    rules: tuple[int, ...] = ()  # rules behind it
    cited: tuple[str, ...] = ()  # keys of the turns that it rests on, where the system says so


class MemorySystem(Protocol):
    """A memory under test. One object serves one conversation at a time."""

    name: str
    ranked: bool  # whether the order of what it retrieves means anything
    settings: Mapping[str, Any]  # all that decides its results, for the run's record

    def open(self, conversation: str, folder: Path) -> None:
        """Begin with a conversation; `folder` is the system's own and lasts between runs."""
        ...

    def ingest(self, turns: Sequence[Turn]) -> Ingested:
        """Read the turns; what an earlier run read is not read again."""
        ...

    def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return at most k passages for any text, best first."""
        ...

    def render(self, passages: Sequence[Passage]) -> str:
        """Write passages as the system's own prompt shows them."""
        ...

    def answer(self, question: str, passages: Sequence[Passage], *, preamble: str = "") -> Reply:
        """Answer with the system's own prompt, from these passages."""
        ...

    def close(self) -> None:
        """Release what `open` took."""
        ...
