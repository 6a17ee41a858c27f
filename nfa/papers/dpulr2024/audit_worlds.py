"""Neighbours that Algorithm 1 of "Forward Learning with Differential Privacy" fails to protect.

There are three pairs of D and D' = D + one example, the target. Theorem 2 covers each pair: one step, a sampling rate
of 1/5, sigma_0 = 4, N_B at most q N, and Equation 8 with equality. In the second pair, the equation has no solution,
and the paper's remedy takes its place. `rule` runs `nfa.rules.dp_ulr` itself on batches of
`nfa.sampling.PoissonRejection`. In the first and third pair, `law` draws from the same law without the rule's loops.
Both functions return scores. A high score favours D'. We compute the scores from the sum over the batch, which is N_B
times the released direction. [h; 1] is the input of a layer with an additional 1 for the bias.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import expit

from nfa.clip import clip_l2
from nfa.network import Net
from nfa.network.dense import Dense
from nfa.network.ops import Loss
from nfa.papers.dpulr2024.theorems import inclusion_probability
from nfa.papers.dpulr2024.variances import clipped_variance
from nfa.rules.dp_ulr import dp_ulr
from nfa.sampling import PoissonRejection

SIGMA_0, C, Q = 4.0, 1.0, 0.2
ROWS = 1 << 20  # approximate number of random numbers in memory at the same time


def _logistic(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y[:, 0] * np.logaddexp(0, -y[:, 1] * z[:, 0])


def _logistic_error(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (-y[:, 0] * y[:, 1] * expit(-y[:, 1] * z[:, 0]))[:, None]


# w log(1 + exp(-s z)) with y = (w, s) is the logistic loss with a weight. At s = 0 the loss is w log 2 for every z.
weighted_logistic = Loss("weighted-logistic", expit, _logistic, _logistic_error)


@dataclass(frozen=True, kw_only=True)
class Clipping:
    """Audit 1: the controller bounds the noise of the estimates, but then Algorithm 1 clips them.

    The noise is on the parameters of one logistic unit, so the Jacobian is the identity. N examples have inputs 0 and
    the loss log 2. The target has the input R e_1 and the loss log(1 + exp(-z)). All parameters are 0.

    Parameters
    ----------
    d : int >= 2, number of weights and bias
    K : int >= 1, number of losses for each example
    R : float > 0, norm of the target's input; its gradient has norm sqrt(R^2 + 1) / 2
    N, N_B : ints, as in `nfa.papers.dpulr2024.theorems.impairment`
    """

    d: int = 1024
    K: int = 16_384
    R: float = 1000.0
    N: int = 50
    N_B: int = 10

    def law(self, world: int, rng: np.random.Generator, n: int) -> np.ndarray:
        """Minus the sum's component along the target's [h; 1], in n runs.

        The function uses exact shortcuts. An example with constant loss has an isotropic normal estimate. Its variance
        is (C sigma_0)^2 over the batch size. We draw only one coordinate of this estimate and the norm of the rest. The
        target's loss depends only on the noise along [h; 1]. We compute the component along [h; 1] from K losses, and
        the norm of the rest from the squares of these losses.
        """
        others, there = accepted(world, rng, n, N=self.N, N_B=self.N_B)
        size = others + there
        runs = np.repeat(np.arange(n), others)
        std = SIGMA_0 * C / np.sqrt(size)[runs]
        along, rest2 = rng.standard_normal(len(runs)), rng.chisquare(self.d - 1, len(runs))
        clipped = std * along * np.minimum(1, C / (std * np.sqrt(along**2 + rest2)))
        total = np.bincount(runs, clipped, minlength=n)
        hits = np.flatnonzero(there)
        for start in range(0, len(hits), at_once := max(1, ROWS // self.K)):
            part = hits[start : start + at_once]
            total[part] += self._target(rng, size[part])
        return -total

    def _target(self, rng: np.random.Generator, size: np.ndarray) -> np.ndarray:
        """Component along [h; 1] of the target's clipped estimate, in batches of these sizes."""
        sigma = math.log(2) * np.sqrt(size / self.K) / (C * SIGMA_0)  # Equation 8 with J = I
        u = rng.standard_normal((len(size), self.K))
        z = (sigma * math.hypot(self.R, 1))[:, None] * u
        loss = np.log1p(np.exp(-np.abs(z))) + np.maximum(-z, 0)  # log(1 + exp(-z))   (runs, K)
        along = (u * loss).mean(axis=1) / sigma
        rest2 = (loss**2).sum(axis=1) / (self.K * sigma) ** 2 * rng.chisquare(self.d - 1, len(size))
        return along * np.minimum(1, C / np.sqrt(along**2 + rest2))

    def rule(self, world: int, rng: np.random.Generator, n: int) -> np.ndarray:
        """The scores of `law`, from n runs of the rule itself."""
        x, y = np.zeros((self.N + world, self.d - 1)), np.tile([1.0, 0.0], (self.N + world, 1))
        if world:
            x[-1, 0], y[-1] = self.R, (1.0, 1.0)
        seen = np.r_[self.R, np.zeros(self.d - 2), 1.0] / math.hypot(self.R, 1)
        how: dict = {"N_B": self.N_B, "K": self.K, "remedy": "parameters", "rng": rng, "n": n}
        return np.array([-(G @ seen).item() for G in released(_unit(self.d - 1), x, y, **how)])

    def false_positives(self, tau: float) -> float:
        r"""Upper bound on the probability of a score of at least tau without the target.

        .. math:: \sum_n P(n) \, e^{-\tau^2 d / (2 n C^2)}

        The proof uses that each coordinate u of a uniform direction on the sphere satisfies E exp(t u) <= exp(t^2 /
        (2 d)). A clipped isotropic estimate is such a direction times a norm of at most C.
        """
        size = np.arange(self.N_B, self.N + 1)
        chance = stats.binom.pmf(size, self.N, Q)
        return float(chance @ np.exp(-(tau**2) * self.d / (2 * size * C**2)) / chance.sum())

    def multiplier(self, G: float, rng: np.random.Generator, n: int = 100_000) -> float:
        """Std of the others' sum divided by the shift from a target with a gradient of norm G, as K goes to infinity.

        The batch has N_B others. The noise of the target's estimate then equals the noise of each other estimate. We
        estimate the mean of the target's clipped estimate from n pairs of samples g and -g.
        """
        variance = (SIGMA_0 * C) ** 2 / (self.N_B + 1)  # of every coordinate, before the clip
        noise, rest2 = math.sqrt(variance) * rng.standard_normal(n), variance * rng.chisquare(self.d - 1, n)
        moved = [a * np.minimum(1, C / np.sqrt(a**2 + rest2)) for a in (G + noise, G - noise)]
        return math.sqrt(self.N_B * clipped_variance(variance=variance, d=self.d, C=C)) / float(np.mean(moved))


@dataclass(frozen=True, kw_only=True)
class ExtraNoise:
    """Audit 2: the rule adds no extra noise in directions in which an example's own noise before the clip is large.

    A dense layer with two inputs and m outputs has the softmax loss at parameters 0. N examples have the input e_1. The
    target has the input R e_2 - e_1, so its [h; 1] is orthogonal to the [h; 1] of the others.

    Parameters
    ----------
    m : int >= 2, number of outputs
    K : int >= 1
    sigma : float > 0, standard deviation of the noise on the pre-activations, which is a free choice
    R : float > 0, large enough that the target's own noise, before the clip, is above the controller's goal
    N, N_B : ints
    """

    m: int = 4
    K: int = 10
    sigma: float = 0.5
    R: float = 1000.0
    N: int = 50
    N_B: int = 10

    def rule(self, world: int, rng: np.random.Generator, n: int) -> np.ndarray:
        """Minus the norm of the sum along the target's [h; 1], from n runs of the rule."""
        net = Net((2,), [(Dense(self.m),)], rng=rng)
        net.W[1][:], net.b[1][:] = 0, 0
        x, y = np.tile([1.0, 0.0], (self.N + world, 1)), np.tile(np.eye(self.m)[0], (self.N + world, 1))
        target = np.array([-1.0, self.R, 1.0])
        if world:
            x[-1] = target[:2]
        seen = target / np.linalg.norm(target)
        how: dict = {"N_B": self.N_B, "K": self.K, "remedy": "eigenvectors", "sigma": self.sigma, "rng": rng, "n": n}
        return np.array([-np.linalg.norm(G @ seen) for G in released(net, x, y, **how)])

    def epsilon(self, *, delta: float, share: float = 0.0) -> float:
        r"""Lower bound on epsilon in closed form, for the norm that is the best threshold for the answer "target".

        .. math:: \log \frac{q' - \delta}{F_{\chi^2_m}(1 / \sigma_0^2)}

        Parameters
        ----------
        delta : float in [0, 1)
        share : float in [0, 1), the share of the extra noise that stays in the target's direction; 0 if the target's
            own noise is above the goal

        Notes
        -----
        Without the target, the sum along its [h; 1] is N(0, (sigma_0 C)^2 I_m), because no other example contributes
        to it. With the target in the batch, this sum is a vector of norm at most C plus the share of the noise that
        stays.
        """
        q1 = inclusion_probability(q=Q, N_B=self.N_B, N=self.N)
        if q1 <= delta:
            return 0.0
        if share == 0:
            return max(0.0, math.log(q1 - delta) - float(stats.chi2.logcdf(1 / SIGMA_0**2, self.m)))
        log_t = np.linspace(math.log(1e-3 * share), math.log(10 * self.m), 4000)  # norm^2 / (sigma_0 C)^2
        t = np.exp(log_t)
        caught = q1 * stats.ncx2.cdf(t / share, self.m, 1 / (SIGMA_0**2 * share)) - delta
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.log(np.maximum(caught, 0)) - stats.chi2.logcdf(t, self.m)
        return max(0.0, float(np.nanmax(bound)))


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Audit 3: the controller reads the losses of the batch. One large loss changes the estimates of all examples.

    The noise is on the parameters of one unit with inputs 0. The losses do not depend on the parameters. The target has
    the loss ratio log 2, and each other example has the loss log 2. The estimates are then isotropic normals for every
    K. A large loss raises the internal noise, so the estimates of the other examples become smaller.

    Parameters
    ----------
    d : int >= 2, number of weights and bias
    ratio : float > 0, the target's loss divided by the loss of another example
    N, N_B : ints
    """

    d: int = 8
    ratio: float = 1000.0
    N: int = 1000
    N_B: int = 200

    def law(self, world: int, rng: np.random.Generator, n: int) -> np.ndarray:
        """Minus the norm of the sum, in n runs, drawn from the exact law without the rule's loops."""
        scores = np.empty(n)
        for start in range(0, n, at_once := max(1, ROWS // (self.N * self.d))):
            part = scores[start : start + at_once]
            others, there = accepted(world, rng, len(part), N=self.N, N_B=self.N_B)
            std = SIGMA_0 * C / np.sqrt(others + there * self.ratio**2)  # std of an estimate with loss log 2
            g = clip_l2(np.repeat(std, others)[:, None] * rng.standard_normal((others.sum(), self.d)), C)
            total = np.add.reduceat(g, np.r_[0, np.cumsum(others)[:-1]])
            target = clip_l2(self.ratio * std[:, None] * rng.standard_normal((len(part), self.d)), C)
            part[:] = -np.linalg.norm(total + there[:, None] * target, axis=1)
        return scores

    def rule(self, world: int, rng: np.random.Generator, n: int) -> np.ndarray:
        """The scores of `law`, from n runs of the rule itself with K = 1."""
        x, y = np.zeros((self.N + world, self.d - 1)), np.tile([1.0, 0.0], (self.N + world, 1))
        if world:
            y[-1, 0] = self.ratio
        how: dict = {"N_B": self.N_B, "K": 1, "remedy": "parameters", "rng": rng, "n": n}
        return np.array([-np.linalg.norm(G) for G in released(_unit(self.d - 1), x, y, **how)])


def accepted(world: int, rng: np.random.Generator, n: int, *, N: int, N_B: int) -> tuple[np.ndarray, np.ndarray]:
    """For each of n accepted batches, the number of other examples, and whether the batch has the target.

    Returns
    -------
    others : (n,) array of ints, the numbers of examples other than the target
    there : (n,) array of bools, whether the target is in the batch
    """
    others, there = np.empty(n, int), np.zeros(n, bool)
    todo = np.arange(n)
    while len(todo):
        others[todo] = rng.binomial(N, Q, len(todo))
        there[todo] = rng.random(len(todo)) < world * Q
        todo = todo[others[todo] + there[todo] < N_B]
    return others, there


def released(net: Net, x, y, *, N_B: int, K: int, remedy: str, sigma=None, rng, n: int) -> Iterator[np.ndarray]:
    """The sums of n runs of the rule for a one-layer network, weights next to bias: (n_1, n_0 + 1) each."""
    batches = PoissonRejection(x, y, Q, N_B, lambda purpose, t: rng)
    for t in range(1, n + 1):
        how: dict = {"sigma_0": SIGMA_0, "C": C, "K": K, "N_B": N_B, "remedy": remedy, "sigma": sigma, "rng": rng}
        dW, db = dp_ulr(net, *batches.at(t), **how)
        yield N_B * np.column_stack([dW[1], db[1]])


def _unit(inputs: int) -> Net:
    """One logistic unit with parameters 0."""
    net = Net((inputs,), [(Dense(1),)], loss=weighted_logistic, rng=np.random.default_rng(0))
    net.W[1][:], net.b[1][:] = 0, 0
    return net
