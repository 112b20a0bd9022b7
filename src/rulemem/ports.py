"""The seams: what the stages ask of models and of the store. Batch-first and synchronous.

A list in, a list of equal length out, in the same order. Concurrency, retries and caches live
behind a port, never in front of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from rulemem.errors import ModelError
from rulemem.types import (
    Answer,
    Cost,
    Fact,
    FactOutcome,
    HeadKey,
    Hit,
    Receipt,
    Rule,
    RuleStatus,
    Turn,
    TurnOutcome,
    TurnState,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRequest:
    """One completion to be made."""

    stage: str  # who pays: "extract", "distill", "induce", "head_keys", "answer", "abduce", ...
    prompt: str  # prompt id@version, recorded with everything made from the reply
    system: str  # fixed instructions first, so that a cached prefix is reused
    user: str
    schema: Mapping[str, Any] | None = None  # JSON Schema of the reply; None: plain text
    max_tokens: int = 256
    stop: tuple[str, ...] = ()

    def with_error(self, error: ModelError) -> TextRequest:
        """The same once more, telling the model why its JSON could not be used."""
        return replace(
            self,
            user=f"{self.user}\n\nYour last reply could not be used: {error.message}\n"
            "Write the JSON again, complete and nothing else.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReply:
    """What came back. `text` is untrusted."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    truncated: bool = False  # stopped at max_tokens
    cached: bool = False  # replayed from disk, nothing was paid


class TextModel(Protocol):
    """A language model that writes text."""

    name: str

    def complete(self, requests: Sequence[TextRequest]) -> list[TextReply | ModelError]:
        """Complete each request; a request that fails yields its error in its place."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """Text whose likelihood is asked: l_M(text | prefix). The prefix is never empty."""

    prefix: str
    text: str  # begins with the space that separates it from the prefix


class LikelihoodModel(Protocol):
    """A model that scores given text."""

    name: str

    def nll(self, items: Sequence[Continuation]) -> list[float]:
        """Mean negative log-likelihood of each continuation, in nats per token.

        Items that share a prefix are scored together at the price of one prefix.
        """
        ...


class Embedder(Protocol):
    """A sentence embedding model."""

    name: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dimension)."""
        ...


IndexKind = Literal["turn", "window", "fact", "key"]
"""What an index row stands for: a turn, a turn with its predecessor, a fact, a head key."""


class Store(Protocol):
    """Fact memory M_F and rule memory M_R. Every call names its scope; none sees another one.

    Each method is one transaction. Turns are the source; everything else is derived from them
    and goes with them.
    """

    # --- turns -----------------------------------------------------------------------------
    def add_turns(self, scope: str, turns: Sequence[Turn]) -> list[TurnOutcome]:
        """Store turns and their full text, one outcome per turn, in order.

        Identity is (scope, conversation, key). Equal content: unchanged. Other content: edited,
        the turn is pending again and what was derived from its old text is removed.
        """
        ...

    def turns(
        self,
        scope: str,
        *,
        ids: Sequence[int] | None = None,
        conversation: str | None = None,
        state: TurnState | None = None,
    ) -> list[Turn]:
        """Turns ordered by (conversation, position); with `ids`, in the order of the ids."""
        ...

    def mark_turns(
        self, scope: str, ids: Sequence[int], state: TurnState, reason: str = ""
    ) -> None:
        """Set the extraction state of turns."""
        ...

    def predecessors(self, scope: str, ids: Sequence[int]) -> dict[int, int]:
        """The turn before each of these within its session, where it is indexed."""
        ...

    def speakers(self, scope: str) -> list[str]:
        """Names of all speakers, in order of their first turn."""
        ...

    # --- index -----------------------------------------------------------------------------
    def turns_without_vectors(self, scope: str) -> list[Turn]:
        """Turns that were stored but not yet embedded."""
        ...

    def index_turns(
        self,
        scope: str,
        ids: Sequence[int],
        windows: Sequence[str],
        turn_vectors: NDArray[np.float32],
        window_vectors: NDArray[np.float32],
    ) -> None:
        """Add the vectors of turns, and full text and vectors of their windows."""
        ...

    def match_text(self, scope: str, kind: IndexKind, query: str, limit: int) -> list[Hit]:
        """Rank items by BM25 over stemmed words and CJK n-grams. No common word: empty."""
        ...

    def nearest(
        self, scope: str, kind: IndexKind, vectors: NDArray[np.float32], limit: int
    ) -> list[list[Hit]]:
        """Rank items by exact cosine, one list per row of `vectors`."""
        ...

    # --- facts -----------------------------------------------------------------------------
    def commit_facts(
        self,
        scope: str,
        facts: Sequence[Fact],
        vectors: NDArray[np.float32],
        extracted_turns: Sequence[int],
    ) -> list[FactOutcome]:
        """Store facts with text and vector, and mark their turns extracted, all at once.

        A fact with the subject, relation, object and time of a stored one (after normalisation)
        is a duplicate: its turns become further sources.
        """
        ...

    def facts(
        self,
        scope: str,
        *,
        ids: Sequence[int] | None = None,
        turn_ids: Sequence[int] | None = None,
        entity: str | None = None,
    ) -> list[Fact]:
        """Facts by id (in that order), by source turn, or by entity as subject or object."""
        ...

    def close_facts(self, scope: str, closings: Sequence[tuple[int, int, datetime | None]]) -> None:
        """Close facts: (closed id, closing id, valid until)."""
        ...

    def entities(self, scope: str) -> list[tuple[str, int]]:
        """Names of entities with the number of facts that hold them, most frequent first."""
        ...

    # --- rules -----------------------------------------------------------------------------
    def facts_to_learn(self, scope: str, task: str) -> list[Fact]:
        """Facts that the learning task ("rules", "head_keys") has not seen yet."""
        ...

    def commit_rules(
        self,
        scope: str,
        rules: Sequence[Rule],
        key_vectors: NDArray[np.float32],
        head_vectors: NDArray[np.float32],
        *,
        task: str = "",
        learned_facts: Sequence[int] = (),
    ) -> list[int]:
        """Store new rules (id 0) or new keys and verdicts of known ones, with their vectors.

        `key_vectors` has one row per new key (id 0) over all rules, in order; `head_vectors` one
        row per rule. `learned_facts` are marked as seen by `task` in the same transaction.
        """
        ...

    def rules(
        self,
        scope: str,
        *,
        ids: Sequence[int] | None = None,
        status: RuleStatus | None = None,
    ) -> list[Rule]:
        """Rules with their keys and newest verdict, in order of id."""
        ...

    def nearest_heads(
        self, scope: str, vector: NDArray[np.float32], limit: int, status: RuleStatus
    ) -> list[Hit]:
        """Rank rules by cos(vector, e(head))."""
        ...

    def set_rule_status(self, scope: str, id: int, status: RuleStatus) -> None:
        """Change the status of a rule by hand."""
        ...

    def keys(self, scope: str, ids: Sequence[int]) -> list[HeadKey]:
        """Head keys by id, in that order."""
        ...

    # --- answers, costs, housekeeping --------------------------------------------------------
    def save_answer(self, scope: str, answer: Answer) -> int:
        """Keep an answer with its proof; it goes when a turn that it quotes goes."""
        ...

    def answer(self, scope: str, id: int) -> Answer:
        """Return a kept answer."""
        ...

    def add_cost(self, scope: str, stage: str, cost: Cost) -> None:
        """Add to the running totals of a stage."""
        ...

    def costs(self, scope: str) -> dict[str, Cost]:
        """Running totals per stage."""
        ...

    def counts(self, scope: str) -> dict[str, int]:
        """Turns by state, conversations, facts, closed facts, entities, rules by status, keys."""
        ...

    def scopes(self) -> list[str]:
        """Names of all scopes that hold anything."""
        ...

    def forget(
        self,
        scope: str,
        *,
        turn_ids: Sequence[int] | None = None,
        conversation: str | None = None,
        session: str | None = None,
    ) -> Receipt:
        """Remove turns and all that derives from them; with no selector, the whole scope."""
        ...

    def reembed(self, embedder: Embedder) -> int:
        """Recompute every vector with another embedder; return how many."""
        ...

    def close(self) -> None:
        """Release the file."""
        ...
