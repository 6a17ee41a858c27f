"""Section 4.5 of Berthier's report: two steps of SGD on two records have less privacy with shuffling than without."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

OUTPUTS = (-2, 0, 2)

# A step with learning rate one moves theta to STEPS[loss][theta]. We have not seen the drawing of the two losses. There
# are 81 ways in which two steps can end in the three outputs. Only 6 ways give the report's two epsilons, and these 6
# differ only in the names of the outputs. Equal losses end in one output. The two orders of different losses end in the
# other two outputs.
STEPS = {1: {0: 1, 1: 0, -1: -2}, 2: {0: -1, -1: 0, 1: 2}}


def toy(losses: tuple[int, int], *, p: Fraction | float, replacement: bool) -> dict[int, Fraction]:
    r"""The law of the output of the toy example of section 4.5, in exact fractions.

    The algorithm makes two steps from theta = 0, each with the loss of one record. Then it releases theta with
    probability p, and otherwise one of -2, 0 and 2 at random.

    Source: [berthier2019:sec4.5]

    Parameters
    ----------
    losses : the data set: the loss of each of the two records, 1 or 2
    p : in [0, 1); a float is converted to the fraction that it represents exactly
    replacement : if True, draw a record afresh in each step; otherwise use each record once, in random order

    Returns
    -------
    law : dict of the outputs -2, 0 and 2 to their probabilities

    Raises
    ------
    ValueError : if a loss is not 1 or 2, or if p is out of range

    Examples
    --------
    >>> {k: str(v) for k, v in toy((1, 2), p=Fraction(1, 2), replacement=False).items()}
    {-2: '5/12', 0: '1/6', 2: '5/12'}
    """
    p = _check_p(p)
    draws = _draws(losses, replacement)
    law = dict.fromkeys(OUTPUTS, (1 - p) / 3)
    for first, second in draws:
        law[STEPS[second][STEPS[first][0]]] += p / len(draws)
    return law


def toy_ratio(*, p: Fraction | float, replacement: bool) -> Fraction:
    r"""e^epsilon of the toy example: the exact largest ratio of two probabilities on neighbours, one record replaced.

    .. math:: e^\epsilon = \max\Big( 1 + \frac{3 p}{4 (1 - p)}, \frac{1 + 2 p}{1 + p / 2} \Big)
              \text{ with replacement}, \qquad \frac{1 + 2 p}{1 - p} \text{ without}

    Source: [berthier2019:sec4.5]

    Parameters
    ----------
    p : in [0, 1), the probability that theta itself is released; a float is converted to its exact fraction
    replacement : as in `toy`

    Returns
    -------
    ratio : Fraction >= 1; its log is the epsilon of pure differential privacy

    Raises
    ------
    ValueError : if p is out of range

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> [str(toy_ratio(p=half, replacement=replacement)) for replacement in (True, False)]
    ['7/4', '4']
    """
    worlds = [toy(losses, p=p, replacement=replacement) for losses in ((1, 1), (1, 2), (2, 2))]
    pairs = [(worlds[i], worlds[j]) for i, j in ((0, 1), (1, 0), (1, 2), (2, 1))]
    return max(law[output] / other[output] for law, other in pairs for output in OUTPUTS)


def noisy_toy(losses: tuple[int, int], *, replacement: bool) -> tuple[list[float], list[float]]:
    r"""The toy example with quadratic losses and noise: the last iterate after two noisy steps with learning rate one.

    With l_1(u) = u^2 - u and l_2(u) = u^2 + u, a step is theta -> -theta + 1 or -theta - 1, plus N(0, sigma^2). From
    theta = 0, the last iterate is a mixture of Gaussians with variance 2 sigma^2.

    Source: [berthier2019:sec4.5]

    Parameters
    ----------
    losses, replacement : as in `toy`

    Returns
    -------
    weights, centres : of the mixture, for `nfa.papers.berthier2019.shuffling.exact.mixture_renyi` at the std sigma
        2^(1/2)

    Examples
    --------
    >>> noisy_toy((1, 2), replacement=False)
    ([0.5, 0.5], [-2.0, 2.0])
    """
    draws = _draws(losses, replacement)
    ends = Counter(-STEPS[first][0] + STEPS[second][0] for first, second in draws)  # STEPS[loss][0] is 1 or -1
    return [ends[end] / len(draws) for end in sorted(ends)], [float(end) for end in sorted(ends)]


def _draws(losses: tuple[int, int], replacement: bool) -> list[tuple[int, ...]]:
    """The losses of the first and the second step. All pairs are equally likely."""
    if len(losses) != 2 or not set(losses) <= set(STEPS):
        raise ValueError(f"losses must be two numbers, each 1 or 2, got {losses}")
    return list(product(losses, repeat=2) if replacement else permutations(losses))


def _check_p(p: Fraction | float) -> Fraction:
    if not 0 <= p < 1:
        raise ValueError(f"p must be in [0, 1), because at p = 1 some outputs are impossible on a neighbour, got {p}")
    return Fraction(p)
