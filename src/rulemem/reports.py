"""What each write says about itself: counts, reasons and costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rulemem.types import Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a long call is; handed to a progress callback."""

    stage: str  # "embed", "extract", "head_keys", "distill", "induce", "validate"
    done: int
    total: int


OnProgress = Callable[[Progress], None]
"""Called as long work goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddReport:
    """What `add` did."""

    turns_new: int = 0
    turns_unchanged: int = 0
    turns_edited: int = 0
    turns_skipped: Mapping[str, int] = field(default_factory=dict)  # reason -> count
    turns_failed: int = 0  # stored, but facts could not be extracted; see `status`
    turns_pending: int = 0  # stored, extraction still to be done (a cap was reached)
    facts_new: int = 0
    facts_duplicate: int = 0
    facts_closed: int = 0
    facts_dropped: Mapping[str, int] = field(default_factory=dict)  # reason -> count
    cost: Cost = field(default_factory=Cost)
    note: str = ""  # why nothing came of it, where nothing did


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnReport:
    """What `learn` did."""

    facts_read: int = 0
    head_keys: int = 0
    lines_rejected: Mapping[str, int] = field(default_factory=dict)
    paths_sampled: int = 0
    paths_kept: int = 0
    paths_dropped: Mapping[str, int] = field(default_factory=dict)
    clauses_rejected: Mapping[str, int] = field(default_factory=dict)
    rules_admitted: int = 0
    rules_rejected: int = 0
    unfinished: str = ""  # why work is left, such as a cap; `learn` again continues
    cost: Cost = field(default_factory=Cost)
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """State of a scope."""

    scope: str
    counts: Mapping[str, int]
    failed: Mapping[str, int]  # reason -> turns
