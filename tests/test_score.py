"""The arithmetic of RPC: its limits and its monotony."""

from hypothesis import given
from hypothesis import strategies as st

from rulemem.consistency.score import (
    CALIBRATIONS,
    Likelihoods,
    calibrated_score,
    rpc_score,
    sigmoid,
)

nats = st.floats(min_value=0.0, max_value=20.0)
share = st.floats(min_value=0.0, max_value=1.0)


@given(nats, nats, nats, nats)
def test_at_alpha_one_the_evidence_does_not_matter(
    empty: float, body: float, one: float, other: float
) -> None:
    """alpha = 1 leaves only Delta_self."""
    first = rpc_score(Likelihoods(empty=empty, body=body, evidence=one), 1.0)
    assert first == rpc_score(Likelihoods(empty=empty, body=body, evidence=other), 1.0)


@given(nats, nats, nats, share)
def test_the_score_lies_between_zero_and_one(
    empty: float, body: float, evidence: float, alpha: float
) -> None:
    """Whatever the scorer says, the score is a share."""
    assert 0 <= rpc_score(Likelihoods(empty=empty, body=body, evidence=evidence), alpha) <= 1


@given(nats, nats, nats, st.floats(min_value=0.01, max_value=5.0), share)
def test_evidence_that_makes_the_head_likelier_never_lowers_the_score(
    empty: float, body: float, evidence: float, gain: float, alpha: float
) -> None:
    """A lower l(head | body + evidence) is a higher or equal score."""
    before = rpc_score(Likelihoods(empty=empty, body=body, evidence=evidence), alpha)
    after = rpc_score(Likelihoods(empty=empty, body=body, evidence=evidence - gain), alpha)
    assert after >= before


def test_no_change_scores_one_half() -> None:
    """With equal likelihoods the paper's form says 0.5, its own threshold."""
    assert rpc_score(Likelihoods(empty=3.0, body=3.0, evidence=3.0), 0.4) == 0.5


@given(st.floats(min_value=-1e6, max_value=1e6))
def test_sigmoid_is_symmetric_and_never_overflows(x: float) -> None:
    """sigmoid(x) + sigmoid(-x) = 1."""
    assert abs(sigmoid(x) + sigmoid(-x) - 1) < 1e-12


def test_a_head_that_comes_after_its_body_scores_higher() -> None:
    """In every calibration the order in time counts for the rule when it fits it."""
    numbers = Likelihoods(empty=4.0, body=2.5, evidence=2.4)
    for weights in CALIBRATIONS.values():
        before, after = (calibrated_score(numbers, order, weights) for order in (-0.3, 0.3))
        assert after > before
