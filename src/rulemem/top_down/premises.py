"""Does the question ask the right person? A premise check by code, before any model answers.

A question such as "When did Ann run the race?" presupposes that the race was Ann's. The same
question is asked of each other person's facts; when another person's facts fit it better than
Ann's by a margin, the premise fails and the failing fact is named. Questions about what would be
("Would Ann enjoy ...?") presuppose nothing and are let through.

Source: method.md, "The paper's own trap"; margin and weights are Assumption ADR-0007, fitted on
conv-26 and conv-30 of LoCoMo only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rulemem.lexical import canonical, content_terms
from rulemem.ports import Embedder, Store
from rulemem.top_down.ground import Question
from rulemem.types import Fact

MARGIN = 0.15  # how much better another person's facts must fit
_DEPTH = 300
_HYPOTHETICAL = re.compile(r"^\s*(would|could|might|should|is it likely|what would)\b", re.I)
_LEXICAL_WEIGHT = 0.5  # of the share of the question's words that one fact holds
_CLEAR_FIT = 0.75  # share of its words in one fact of the person asked about: the premise holds


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedPremise:
    """Why a question cannot be answered as it stands."""

    person: str  # whom the question is about
    holder: str  # whose fact it is
    fact: Fact  # the fact that fits

    @property
    def text(self) -> str:
        """The reason in one sentence."""
        return (
            f"The memory holds nothing like it about {self.person}; "
            f"it is about {self.holder}: {self.fact.text}."
        )


def find_failed_premise(
    store: Store, embedder: Embedder, scope: str, question: Question
) -> FailedPremise | None:
    """Return the premise that fails, or None where the question may be answered.

    Args:
        store: the fact memory.
        embedder: for the question, asked of each person in turn.
        scope: whose memory.
        question: see `ground.read_question`.
    """
    person = question.person
    others = [name for name in question.people if canonical(name) != canonical(person)]
    if not person or not others or not question.terms or _HYPOTHETICAL.match(question.text):
        return None
    swapped = [re.sub(re.escape(person), name, question.text, flags=re.I) for name in others]
    vectors = embedder.embed([question.text, *swapped])
    own_fit, own_cover, _ = _fit(store, scope, question, person, vectors[0])
    if own_cover >= _CLEAR_FIT:
        return None
    worst: tuple[float, FailedPremise] | None = None
    for name, vector in zip(others, vectors[1:], strict=True):
        fit, _, fact = _fit(store, scope, question, name, vector)
        if fact is not None and fit - own_fit > MARGIN and (worst is None or fit > worst[0]):
            worst = fit, FailedPremise(person=person, holder=name, fact=fact)
    return worst[1] if worst else None


def _fit(
    store: Store, scope: str, question: Question, person: str, vector: NDArray[np.float32]
) -> tuple[float, float, Fact | None]:
    """How well the person's facts fit: (score, best share of words, best fact)."""
    hits = store.nearest(scope, "fact", vector[None, :], _DEPTH)[0]
    cosines = {hit.item: hit.score for hit in hits}
    best_cosine, best_cover, best_score, best = 0.0, 0.0, 0.0, None
    for fact in store.facts(scope, ids=list(cosines)):
        if canonical(fact.owner) != canonical(person):
            continue
        cover = len(question.terms & content_terms(fact.text)) / len(question.terms)
        best_cosine = max(best_cosine, cosines[fact.id])
        best_cover = max(best_cover, cover)
        score = cosines[fact.id] + _LEXICAL_WEIGHT * cover
        if score > best_score:
            best_score, best = score, fact
    return best_cosine + _LEXICAL_WEIGHT * best_cover, best_cover, best
