"""A ternary error [ohana2021:exp-ternary]

The mirrors of the device can show only a few values, so we make the error ternary. An entry above t becomes 1, an entry
below -t becomes -1, and all other entries become 0. An entry equal to t or -t becomes 0.

Hint: Two comparisons and a difference are enough. The sign of the result is the sign of the error.
"""

# %% task
import numpy as np


def ternary(e, t):
    """Return the ternary error.

    e : array
    t : number >= 0, the threshold
    returns an array of the shape of e with the numbers -1, 0 and 1
    """
    ### BEGIN SOLUTION
    return (e > t) * 1.0 - (e < -t)
    ### END SOLUTION


# %% cases
from nfa.course.judging import TaskCase


def by_entry(e, t):
    """The ternary value of each entry, from the number of true comparisons with t and -t."""
    return np.array([[sum((v > t, v >= -t)) - 1.0 for v in row] for row in e.tolist()])


def cases():
    e = np.array([[0.5, -0.5, 0.125], [-0.125, 0.0, 0.25], [-0.25, 2.0, -3.0]])
    for t in (0.125, 0.25, 0.4, 0.0):
        yield TaskCase("", f"t = {t}", lambda f, t=t: f(e, t), by_entry(e, t), "the ternary error")


# %% slips
("(e > t)", "(e >= t)", "An entry equal to t becomes 0: the comparison with t is strict.")
("(e < -t)", "(e <= -t)", "An entry equal to -t becomes 0: the comparison with -t is strict.")
(" - (e < -t)", "", "The negative entries are missing: an entry below -t becomes -1.")
("(e > t) * 1.0 - (e < -t)", "(np.abs(e) > t) * 1.0", "The sign is lost: an entry below -t becomes -1.")
("(e > t) * 1.0 - (e < -t)", "np.sign(e)", "The threshold is ignored: entries between -t and t become 0.")
(
    "(e > t) * 1.0 - (e < -t)",
    "e * (np.abs(e) > t)",
    "Large entries keep their absolute value: an entry above t becomes 1, and an entry below -t becomes -1.",
)
("(e > t) * 1.0 - (e < -t)", "(e < -t) * 1.0 - (e > t)", "The sign is wrong: an entry above t becomes 1.")
