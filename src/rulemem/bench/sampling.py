"""Which questions are asked where not all can be."""

from __future__ import annotations

import random
from collections.abc import Sequence

from rulemem.bench.locomo import Question


def sample_questions(questions: Sequence[Question], limit: int | None, seed: int) -> list[Question]:
    """Draw questions without regard to category, and return them in their own order.

    A larger limit with the same seed holds the smaller draw, so that a run can be extended and
    nothing that was answered is lost.

    Args:
        questions: to draw from.
        limit: how many at most; None: all.
        seed: of the draw.
    """
    if limit is None or limit >= len(questions):
        return list(questions)
    places = list(range(len(questions)))
    random.Random(seed).shuffle(places)
    return [questions[place] for place in sorted(places[:limit])]
