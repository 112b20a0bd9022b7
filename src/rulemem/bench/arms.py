"""The systems by name, and names for groups of them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from rulemem.bench.baselines import WINDOW, DateOfTopTurn, FullContext, TurnRetriever
from rulemem.bench.rankers import BM25, Dense, Fused
from rulemem.bench.rulemem_arms import NAME, RuleMemSystem, list_arms
from rulemem.bench.shared_store import SharedStores
from rulemem.bench.systems import MemorySystem
from rulemem.errors import ConfigError
from rulemem.models.choose import Models

FLOOR, FULL = "date-of-top-turn", "full-context"
BASELINES = ("bm25", "dense", "hybrid")
DEFAULT = (*BASELINES, f"{NAME}-no-rules", NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What systems are made of."""

    models: Models
    stores: SharedStores
    seed: int
    window: int = WINDOW  # tokens that full-context shows


def list_systems() -> list[str]:
    """Names of all systems, in the order of the tables."""
    return [FLOOR, *BASELINES, FULL, *list_arms()]


def list_groups() -> dict[str, tuple[str, ...]]:
    """Names that stand for several systems."""
    arms = list_arms()
    signals = tuple(name for name in arms if "-minus-" in name)
    return {
        "baselines": BASELINES,
        "signals": signals,  # each signal of recall left out in turn
        "ablations": tuple(name for name in arms if name not in signals),
        "all": tuple(list_systems()),
    }


def resolve_systems(names: Sequence[str]) -> list[str]:
    """Names of systems, groups replaced by their members, each once.

    Raises:
        ConfigError: an unknown name.
    """
    groups, known = list_groups(), list_systems()
    found: dict[str, None] = {}
    for name in names:
        if name not in groups and name not in known:
            near = difflib.get_close_matches(name, [*known, *groups], n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise ConfigError(
                f"Unknown system {name!r}.",
                hint=f"{hint}Groups: {', '.join(groups)}. Systems: {', '.join(known)}.",
            )
        found |= dict.fromkeys(groups.get(name, (name,)))
    return list(found)


def make_system(name: str, workshop: Workshop) -> MemorySystem:
    """Make a system by a name that `resolve_systems` returned."""
    text, embedder = workshop.models.text, workshop.models.embedder
    if name == FULL:
        return FullContext(name, text, workshop.window)
    if name == FLOOR:
        return DateOfTopTurn(name, BM25(), text)
    if name == "bm25":
        return TurnRetriever(name, BM25(), text)
    if name == "dense":
        return TurnRetriever(name, Dense(embedder), text)
    if name == "hybrid":
        return TurnRetriever(name, Fused([BM25(), Dense(embedder)]), text)
    return RuleMemSystem(list_arms()[name], workshop.stores, workshop.seed)
