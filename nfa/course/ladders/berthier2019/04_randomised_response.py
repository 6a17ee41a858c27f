"""Randomised response [berthier2019:rr]

Every person answers yes (1) or no (0). With probability p, the answer is the truth. Otherwise, a second, fair coin
decides the answer. So the expected share of yes answers is p times the true share plus (1 - p) / 2. Return an unbiased
estimate of the true share from the answers.

Hint: Solve for the true share. The estimate may be below 0 or above 1.
"""

# %% task
import numpy as np


def true_share(answers, p):
    """Return the estimate of the share of people with the truth 1.

    answers : (n,) array of zeros and ones
    p : number in (0, 1], the probability of a truthful answer
    returns a number
    """
    ### BEGIN SOLUTION
    return (answers.mean() - (1 - p) / 2) / p
    ### END SOLUTION


# %% cases
import itertools

from nfa.course.judging import TaskCase


def mean_estimate(f, truth, p):
    """The mean of the estimate over all possible answers of these people, weighted with their probabilities."""
    total = 0.0
    for answers in itertools.product((0, 1), repeat=len(truth)):
        chances = [p * (a == t) + (1 - p) / 2 for a, t in zip(answers, truth, strict=True)]
        total += float(np.prod(chances)) * np.asarray(f(np.array(answers, dtype=float), p), dtype=float)
    return total


def cases():
    for truth, p in (((1, 0, 0, 1, 1), 0.5), ((0, 0, 0, 1), 0.75), ((1, 1, 1), 0.2), ((1, 0), 1.0)):
        name = f"the mean over all answers of people with truths {truth}, p = {p}"
        want = np.array(sum(truth) / len(truth))
        yield TaskCase("", name, lambda f, given=(truth, p): mean_estimate(f, *given), want, "the estimate")


# %% slips
(
    "(answers.mean() - (1 - p) / 2) / p",
    "answers.mean()",
    "The coins are not corrected: subtract (1 - p) / 2 and divide by p.",
)
(
    "(answers.mean() - (1 - p) / 2) / p",
    "answers.mean() - (1 - p) / 2",
    "The division by p is missing: only a share p of the people answer truthfully.",
)
("(1 - p) / 2", "(1 - p)", "The factor 1/2 is missing: half of the second coins give the answer yes.")
(
    "answers.mean() - (1 - p) / 2",
    "answers.mean()",
    "The yes answers of the second coin are not subtracted: their share is (1 - p) / 2.",
)
(
    "(answers.mean() - (1 - p) / 2) / p",
    "(answers.mean() - p / 2) / (1 - p + (p == 1))",
    "p and 1 - p are exchanged: p is the probability of a truthful answer.",
)
("answers.mean()", "answers.sum()", "This is the number of yes answers: take the share of yes answers.")
(
    "(answers.mean() - (1 - p) / 2) / p",
    "np.clip((answers.mean() - (1 - p) / 2) / p, 0, 1)",
    "The estimate is clipped to [0, 1]: do not clip it, because its mean would then not be the true share.",
)
