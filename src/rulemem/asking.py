"""`ask`: premise check -> recall -> reasoning -> proof.

Stage 3 of the paper in its order. A question that asks for a reason is first answered from the
facts that fit the premises of the nearest rule, and from all that was recalled if they do not do.
Keeps nothing: the answer is stored by whoever asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rulemem.ports import Embedder, Store, TextModel
from rulemem.top_down.abduce import propose_premises
from rulemem.top_down.ground import Question
from rulemem.top_down.guided_recall import Recalled
from rulemem.top_down.premises import find_failed_premise
from rulemem.top_down.proof import build_answer, refuse, rules_behind
from rulemem.top_down.reason import EXTRACTIVE, Conclusion, conclude, extract_answer
from rulemem.types import Activation, Answer

_RULES_SHOWN = 3  # rules in the answer's prompt

Recaller = Callable[[Question, Sequence[str]], Recalled]
"""A question and the premises that an abduction proposed -> what the memory recalls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """What answering works with."""

    store: Store
    embedder: Embedder
    text: TextModel | None  # None: the best fact answers
    recall: Recaller

    def answer(self, scope: str, question: Question, *, abduction: bool) -> Answer:
        """Answer a question with its proof, or refuse it with the reason.

        Raises:
            ModelError: the language model failed twice.
        """
        answerer = self.text.name if self.text else EXTRACTIVE
        failed = find_failed_premise(self.store, self.embedder, scope, question)
        if failed is not None:
            return refuse(scope, question, failed.text, answerer, failed.fact)
        premises = propose_premises(question.text, self.text) if abduction and self.text else ()
        recalled = self.recall(question, premises)
        if not recalled.evidence:
            reason = "Nothing in the memory has to do with the question."
            return refuse(scope, question, reason, answerer)
        activations = sorted(
            [*recalled.activations, *rules_behind(recalled.keys, question)],
            key=lambda activation: activation.rule.status != "admitted",
        )
        conclusion = self._conclude(question, recalled, activations)
        return build_answer(scope, question, conclusion, activations)

    def _conclude(
        self, question: Question, recalled: Recalled, activations: Sequence[Activation]
    ) -> Conclusion:
        if self.text is None:
            return extract_answer(question, recalled.evidence)
        admitted = [a for a in activations if a.rule.status == "admitted"]
        if question.asks_why and admitted:
            rule = max(admitted, key=lambda activation: activation.similarity)
            grounds = recalled.grounds.get(rule.rule.id, ())
            matching = [item for item in recalled.evidence if item.turn.id in grounds]
            if matching:
                found = conclude(question, matching, [rule], self.text)
                if found.answerable:
                    return found
        return conclude(question, recalled.evidence, admitted[:_RULES_SHOWN], self.text)
