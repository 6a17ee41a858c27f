"""Tests of a step counted with a public number N of records, for any true number n.

If m or q depends on n, the count is wrong. The laws are for one coordinate: the additional record has the term -1, and
every other record has the term 1. With random batches, the laws are mixtures. We integrate their divergences over a
grid.
"""

import numpy as np
import pytest
from scipy import stats

from nfa.mechanism import Mechanism
from nfa.privacy.theorems import choose, one_step

Z, M, N = 10.0, 10, 1000
GRID = np.linspace(-150.0, 200.0, 20_001)  # covers all sums and 11 standard deviations on either side
COINS = np.arange(100)  # numbers of records in a batch; larger numbers have a probability below 1e-20


def common(n, q, shift=0.0):
    """The density of the noisy sum over a Poisson batch of n records with term 1, shifted by ``shift``.

    The noise has std Z.
    """
    return stats.binom.pmf(COINS, n, q) @ stats.norm.pdf(GRID - COINS[:, None] - shift, scale=Z)


def with_one_more(n, q):
    """The same density with one more record, which has the term -1."""
    return (1 - q) * common(n, q) + q * common(n, q, -1.0)


def divergence(p, r, alpha):
    """The larger of the two Rényi divergences of order alpha."""
    both = [np.sum(a * (a / b) ** (alpha - 1)) * (GRID[1] - GRID[0]) for a, b in ((p, r), (r, p))]
    return np.log(max(both)) / (alpha - 1)


def counted(alpha):
    how = {"adjacency": "add-remove", "sampling": "poisson", "sampling_rate": M / N}
    step = Mechanism(law="gaussian", sensitivity=1.0, noise_std=Z, **how)
    return one_step(step, np.array([alpha]), choose(step))[0]


@pytest.mark.verifies("ours:public-number")
@pytest.mark.parametrize("alpha", [2.0, 4.0, 32.0])
def test_a_step_at_a_public_number_costs_at_most_what_is_counted_for_any_number_of_records(alpha):
    q = M / N
    shares = [divergence(common(n, q), with_one_more(n, q), alpha) / counted(alpha) for n in (0, 500, 1000, 3000)]
    assert max(shares) <= 1 + 1e-6
    if alpha == 2:
        assert shares == pytest.approx([1.00, 0.95, 0.91, 0.77], abs=0.005)


@pytest.mark.verifies("ours:public-number")
def test_a_rate_that_follows_from_n_costs_more_than_is_counted():
    """If the rate depends on n, the divergence exceeds the count: one more record changes the rate to M / (n + 1)."""
    cost = divergence(common(N, M / N), with_one_more(N, M / (N + 1)), 2.0)
    assert cost / counted(2.0) == pytest.approx(3.61, abs=0.005)
    assert (cost / counted(2.0)) ** 0.5 == pytest.approx(1.90, abs=0.005)


@pytest.mark.verifies("ours:public-number")
def test_a_mean_over_n_moves_almost_twice_as_far_as_a_mean_over_a_public_number():
    n, C = 49, 1.0
    terms = np.full(n, C)
    assert abs(terms.mean() - np.append(terms, -C).mean()) / (C / n) == pytest.approx(1.96, abs=1e-12)
    assert abs(terms.sum() / n - np.append(terms, -C).sum() / n) <= C / n * (1 + 1e-12)
