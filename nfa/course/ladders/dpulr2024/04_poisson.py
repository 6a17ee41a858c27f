"""Poisson batches with rejection [dpulr2024:alg1.L195] [dpulr2024:def4]

A Poisson batch takes each of the N records with probability q, independently. Line 195 draws the whole batch again if
it has fewer than N_B records. Return the indices of the batch, in increasing order.

Hint: rng.random(N) < q takes each record with probability q. Draw a small batch again, and do not fill it up.
"""

# %% task
import numpy as np


def batch(N, q, N_B, rng):
    """Return the indices of one batch.

    N : integer >= 1, the number of records
    q : number in (0, 1), the probability of each record
    N_B : integer >= 0, the least size of a batch
    rng : numpy.random.Generator, the only source of randomness
    returns an array of integers from 0 to N - 1, in increasing order
    """
    ### BEGIN SOLUTION
    while True:
        chosen = np.flatnonzero(rng.random(N) < q)
        if len(chosen) >= N_B:
            return chosen
    ### END SOLUTION


# %% cases
import math

from nfa.course.judging import TaskCase, at_once

DRAWS = 2_500  # each share differs from its probability by more than 0.06 with probability 1e-9


def measured(f, N, q, N_B):
    """The shares of batches of each size, then the shares of batches with each record."""
    rng, sizes, records = np.random.default_rng(7), np.zeros(N + 1), np.zeros(N)
    for _ in range(DRAWS):
        chosen = np.asarray(f(N, q, N_B, rng), dtype=int)
        sizes[min(len(chosen), N)] += 1 / DRAWS
        for record in chosen:
            records[record] += 1 / DRAWS
    return np.concatenate([sizes, records])


def exact(N, q, N_B):
    """The binomial law of the size, given at least N_B records. All records have the same probability."""
    law = [math.comb(N, k) * q**k * (1 - q) ** (N - k) if k >= N_B else 0.0 for k in range(N + 1)]
    law = [p / math.fsum(law) for p in law]
    return np.array([*law, *[math.fsum(k * p for k, p in enumerate(law)) / N] * N])


def cases():
    what = "the shares of batches of size 0 to N, then with record 0 to N - 1"
    for N, q, N_B in ((4, 0.4, 0), (4, 0.4, 2)):
        want = exact(N, q, N_B)
        name = f"N = {N}, q = {q}, N_B = {N_B}, {DRAWS:,} batches"
        yield TaskCase(
            "",
            name,
            lambda f, given=(N, q, N_B): at_once(f, lambda one: measured(one, *given)),
            want,
            what,
            rtol=0.06 / want.max(),
        )


# %% slips
("len(chosen) >= N_B", "len(chosen) > N_B", "A batch of N_B records is rejected: it is large enough.")
(
    "        if len(chosen) >= N_B:\n            return chosen",
    "        return chosen",
    "Small batches are not rejected: draw again if there are fewer than N_B records.",
)
(
    "np.flatnonzero(rng.random(N) < q)",
    "np.sort(rng.choice(N, max(N_B, round(q * N)), replace=False))",
    "The batch has a fixed size: take each record with probability q.",
)
(
    "np.flatnonzero(rng.random(N) < q)",
    "np.flatnonzero(rng.random(N) > q)",
    "The probability is 1 - q: take a record if the number is below q.",
)
(
    "np.flatnonzero(rng.random(N) < q)",
    "np.arange(N) if rng.random() < q else np.arange(0)",
    "All records share one random number: draw a number for each record.",
)
(
    "        if len(chosen) >= N_B:\n            return chosen",
    "        others = np.setdiff1d(np.arange(N), chosen)\n        lacking = max(0, N_B - len(chosen))\n        return np.sort(np.concatenate([chosen, rng.choice(others, lacking, replace=False)]))",
    "A small batch is filled up, which changes the law: draw the whole batch again.",
)
