"""Oracles of subsampling: the bounds with sixty digits, and exact sums over all batches."""

import itertools
import math

import mpmath as mp
import numpy as np

from nfa.privacy.divergences import renyi


def mp_moment(j, z):
    """B(j) as an alternating sum, with so many digits that cancellation has no effect."""
    with mp.workdps(100 + int(j * (1 + max(0, mp.log10(z))))):
        powers = (mp.exp(mp.mpf(i * (i - 1)) / (2 * mp.mpf(z) ** 2)) for i in range(j + 1))
        return +mp.fsum((-1) ** (j - i) * mp.binomial(j, i) * x for i, x in enumerate(powers))


def mp_second(e2, e_inf=mp.inf):
    gap = (mp.exp(e_inf) - 1) ** 2 if e_inf < mp.inf else mp.inf
    return min(4 * (mp.exp(e2) - 1), 2 * mp.exp(e2), mp.exp(e2) * gap)


def mp_thm9(alpha, q, curve, e_inf=mp.inf):
    """Lemma 3 of lee2020 with the exponent l; `curve` maps an integer Rényi order to an mpf (a number of mpmath)."""
    q = mp.mpf(q)
    total = 1 + q**2 * mp.binomial(alpha, 2) * mp_second(curve(2), e_inf)
    for l in range(3, alpha + 1):
        factor = min(mp.mpf(2), (mp.exp(e_inf) - 1) ** l) if e_inf < mp.inf else mp.mpf(2)
        total += mp.binomial(alpha, l) * q**l * mp.exp((l - 1) * curve(l)) * factor
    return mp.log(total) / (alpha - 1)


def mp_thm27(alpha, q, z, moments):
    q, z = mp.mpf(q), mp.mpf(z)
    total = 1 + q**2 * mp.binomial(alpha, 2) * mp_second(1 / z**2)
    for l in range(3, alpha + 1):
        root = 4 * mp.sqrt(moments[2 * (l // 2)] * moments[2 * ((l + 1) // 2)])
        total += mp.binomial(alpha, l) * q**l * min(root, 2 * mp.exp((l - 1) * l / (2 * z**2)))
    return mp.log(total) / (alpha - 1)


def mp_poisson(alpha, q, z):
    q, z = mp.mpf(q), mp.mpf(z)
    terms = (
        mp.binomial(alpha, k) * (1 - q) ** (alpha - k) * q**k * mp.exp(mp.mpf(k * (k - 1)) / (2 * z * z))
        for k in range(alpha + 1)
    )
    return mp.log(mp.fsum(terms)) / (alpha - 1)


def mp_poisson_general(alpha, q, curve):
    q = mp.mpf(q)
    total = (1 - q) ** (alpha - 1) * (alpha * q - q + 1)
    total += mp.binomial(alpha, 2) * q**2 * (1 - q) ** (alpha - 2) * mp.exp(curve(2))
    total += 3 * mp.fsum(
        mp.binomial(alpha, l) * (1 - q) ** (alpha - l) * q**l * mp.exp((l - 1) * curve(l)) for l in range(3, alpha + 1)
    )
    return mp.log(total) / (alpha - 1)


def mp_quad_poisson(alpha, q, z):
    """E_Q[(P/Q)^alpha] by quadrature, for P = (1 - q) N(0, 1) + q N(1/z, 1) and Q = N(0, 1)."""
    q, z, alpha = mp.mpf(q), mp.mpf(z), mp.mpf(alpha)
    top = alpha / z

    def integrand(x):
        return mp.npdf(x, 0, 1) * ((1 - q) + q * mp.exp(x / z - 1 / (2 * z * z))) ** alpha

    total = mp.quad(integrand, sorted({mp.mpf(-40), mp.mpf(-6), mp.mpf(0), mp.mpf(6), top - 6, top, top + 6, top + 40}))
    return mp.log(total) / (alpha - 1)


# --- exact laws of subsampled mechanisms on few records


def random_mechanism(rng, inputs, outcomes, sharpness):
    """A mechanism: a random law over the outcomes for every set of records in `inputs`."""
    weights = rng.normal(size=outcomes)
    return {batch: _softmax(sharpness * rng.normal(size=outcomes) + 0.5 * len(batch) * weights) for batch in inputs}


def _softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def fixed_batches(n, m):
    """Batches of m of the records 0 .. n - 1, and the batches with record n in place of n - 1, as sorted tuples."""
    own = list(itertools.combinations(range(n), m))
    other = [tuple(sorted(n if i == n - 1 else i for i in batch)) for batch in own]
    return own, other


def law_without_replacement(mechanism, batches):
    return np.mean([mechanism[b] for b in batches], axis=0)


def law_poisson(mechanism, records, q):
    total = 0.0
    for r in range(len(records) + 1):
        for batch in itertools.combinations(records, r):
            total = total + q**r * (1 - q) ** (len(records) - r) * mechanism[batch]
    return total


def worst_pairs(mechanism, neighbours, orders):
    """{alpha: largest divergence over all ordered pairs of neighbouring batches}, for the Rényi orders alpha.

    The entry at inf is the largest log ratio.
    """
    pairs = [(a, b) for a in mechanism for b in mechanism if neighbours(a, b)]
    return {
        alpha: max(renyi(mechanism[a], mechanism[b], alpha=alpha) for a, b in pairs) for alpha in (*orders, math.inf)
    }
