"""How sure a figure is: Wilson intervals of shares, bootstrap intervals of paired differences.

Pure; randomness comes from a seed. Two systems answer the same questions, so their difference is
resampled over questions, pair by pair.

Source: Wilson (1927), score interval; Efron (1979), percentile bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_Z = 1.959963984540054  # of 95 %
RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(successes: int, n: int) -> Interval:
    """The share of successes; n is at least 1.

    >>> found = wilson(8, 10)
    >>> (found.value, round(found.low, 4), round(found.high, 4))
    (0.8, 0.4902, 0.9433)
    """
    share = successes / n
    scale = 1 + _Z**2 / n
    centre = (share + _Z**2 / (2 * n)) / scale
    half = _Z / scale * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return Interval(value=share, low=max(0.0, centre - half), high=min(1.0, centre + half))


def paired_bootstrap(
    first: Sequence[float], second: Sequence[float], *, seed: int, resamples: int = RESAMPLES
) -> Interval:
    """Mean of second - first over the same questions, resampled over questions.

    Args:
        first: one value per question; at least one.
        second: the other system's values, in the same order.
        seed: of the resampling.
        resamples: how often.
    """
    differences = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    generator = np.random.default_rng(seed)
    picks = generator.integers(0, len(differences), size=(resamples, len(differences)))
    means = differences[picks].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Interval(value=float(differences.mean()), low=float(low), high=float(high))
