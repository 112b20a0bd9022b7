"""Order in time: does what the head says come after what the body says?

Likelihoods hardly see the direction of a rule; the dates of its evidence do. The fact that is
nearest to the head and the one that is nearest to the body are compared, and how clearly the two
can be told apart is the weight of the finding.

Source: method.md, stage 2 ("RPC hardly sees direction"); Assumption ADR-0001.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rulemem.clauses import bind
from rulemem.ports import Embedder
from rulemem.types import Fact, Rule


def temporal_order(rule: Rule, facts: Sequence[Fact], embedder: Embedder) -> float:
    """How clearly the head's fact follows the body's.

    Returns:
        Positive when it follows, negative when it precedes; 0 where there are fewer than two
        facts, a date is missing, or both are of one day. At most 4 in size.
    """
    if len(facts) < 2:
        return 0.0
    texts = [fact.text for fact in facts]
    vectors = embedder.embed([*texts, bind(rule.head, {}), *(bind(a, {}) for a in rule.body)])
    evidence, head, body = vectors[: len(facts)], vectors[len(facts)], vectors[len(facts) + 1 :]
    to_head = evidence @ head
    to_body = (evidence @ body.T).max(axis=1)
    last = int(np.argmax(to_head))
    others = [i for i in range(len(facts)) if i != last]
    first = max(others, key=lambda i: float(to_body[i]))
    days = _days_between(facts[first], facts[last])
    if days is None or days == 0:
        return 0.0
    margin = float(to_head[last] - to_head[first] + to_body[first] - to_body[last])
    return margin if days > 0 else -margin


def _days_between(first: Fact, last: Fact) -> int | None:
    before, after = first.began, last.began
    if before is None or after is None:
        return None
    return (after.date() - before.date()).days
