"""The arithmetic of Rule Perplexity Consistency; pure, no model.

Source: RuleMem, Rule Validation via RPC. Mean nats per token and the calibrated form are
Assumption ADR-0001; `benchmarks/rpc.py` fits the calibration and compares the forms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Form = Literal["paper", "calibrated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsistencyConfig:
    """How a rule is scored and when it is admitted."""

    alpha: float = 0.4  # weight of Delta_self in the paper's form, in [0, 1]
    tau: float = 0.5  # a rule is admitted when its score exceeds it, in [0, 1]
    form: Form = "calibrated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Weights of the calibrated form, fitted for one scorer on labelled rules."""

    delta_self: float
    delta_fact: float
    nll_body: float  # of -l(head | body)
    order: float
    bias: float


CALIBRATIONS = {
    "qwen2.5-coder-1.5b": Calibration(
        delta_self=1.479, delta_fact=1.152, nll_body=0.716, order=4.205, bias=-1.108
    ),
}
"""By scorer's name; any other scorer is scored in the paper's form."""


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


def calibrated_score(likelihoods: Likelihoods, order: float, weights: Calibration) -> float:
    """A logistic mix of both deltas, of how expected the head is at all, and of order in time.

    Args:
        likelihoods: what the scorer said.
        order: see `order.temporal_order`; positive when the head's fact comes after the body's.
        weights: fitted for the scorer.

    Returns:
        The estimated probability that the rule is sensible, in (0, 1).
    """
    return sigmoid(
        weights.delta_self * likelihoods.delta_self
        + weights.delta_fact * likelihoods.delta_fact
        - weights.nll_body * likelihoods.body
        + weights.order * order
        + weights.bias
    )


def sigmoid(x: float) -> float:
    """The logistic function, safe for any finite argument.

    >>> sigmoid(0.0), sigmoid(-1000.0)
    (0.5, 0.0)
    """
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    growth = math.exp(x)
    return growth / (1 + growth)
