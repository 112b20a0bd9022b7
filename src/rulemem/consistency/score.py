"""The arithmetic of Rule Perplexity Consistency; pure, no model.

Source: RuleMem, Rule Validation via RPC. Mean nats per token and the calibrated threshold are
Assumption ADR-0001.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Form = Literal["paper", "calibrated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsistencyConfig:
    """Weights and threshold of the score; defaults are the paper's."""

    alpha: float = 0.4  # weight of Delta_self, in [0, 1]
    tau: float = 0.5  # a rule is admitted when its score exceeds it, in [0, 1]
    form: Form = "paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Likelihoods:
    """What the scorer said of one rule, in mean nats per token."""

    empty: float  # l(head | nothing)
    body: float  # l(head | body)
    evidence: float  # l(head | body + evidence)

    @property
    def delta_self(self) -> float:
        """How much more the body makes the head expected."""
        return self.empty - self.body

    @property
    def delta_fact(self) -> float:
        """How much more the evidence makes it expected still."""
        return self.body - self.evidence


def rpc_score(likelihoods: Likelihoods, alpha: float) -> float:
    """RPC(r) = alpha * sigmoid(Delta_self) + (1 - alpha) * sigmoid(Delta_fact), in (0, 1).

    >>> rpc_score(Likelihoods(empty=2.0, body=2.0, evidence=2.0), 0.4)
    0.5
    >>> round(rpc_score(Likelihoods(empty=4.0, body=3.0, evidence=2.5), 0.4), 3)
    0.666
    """
    return alpha * sigmoid(likelihoods.delta_self) + (1 - alpha) * sigmoid(likelihoods.delta_fact)


def sigmoid(x: float) -> float:
    """The logistic function, safe for any finite argument.

    >>> sigmoid(0.0), sigmoid(-1000.0)
    (0.5, 0.0)
    """
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    growth = math.exp(x)
    return growth / (1 + growth)
