"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose."""

# %% arguments_exchanged score=19 fails=["renyi_values"]
# took the two laws the other way round
import numpy as np


# %% renyi
def renyi(p, q, alpha):
    q, p = np.asarray(p, float), np.asarray(q, float)
    if ((p > 0) & (q == 0)).any():
        return np.inf
    p, q = p[p > 0], q[p > 0]
    if alpha == 1:
        return (p * np.log(p / q)).sum()
    return np.log((p**alpha * q ** (1 - alpha)).sum()) / (alpha - 1)


# %% log_base_2 score=19 fails=["renyi_values"]
# took logarithms to the base 2
import numpy as np


# %% renyi
def renyi(p, q, alpha):
    p, q = np.asarray(p, float), np.asarray(q, float)
    if ((p > 0) & (q == 0)).any():
        return np.inf
    p, q = p[p > 0], q[p > 0]
    if alpha == 1:
        return (p * np.log2(p / q)).sum()
    return np.log2((p**alpha * q ** (1 - alpha)).sum()) / (alpha - 1)


# %% alpha_minus_1_forgotten score=19 fails=["renyi_values"]
# left out 1 / (alpha - 1)
import numpy as np


# %% renyi
def renyi(p, q, alpha):
    p, q = np.asarray(p, float), np.asarray(q, float)
    if ((p > 0) & (q == 0)).any():
        return np.inf
    p, q = p[p > 0], q[p > 0]
    if alpha == 1:
        return (p * np.log(p / q)).sum()
    return np.log((p**alpha * q ** (1 - alpha)).sum())


# %% average_over_p score=19 fails=["renyi_values"]
# averaged the ratio's power over p in place of q
import numpy as np


# %% renyi
def renyi(p, q, alpha):
    p, q = np.asarray(p, float), np.asarray(q, float)
    if ((p > 0) & (q == 0)).any():
        return np.inf
    p, q = p[p > 0], q[p > 0]
    if alpha == 1:
        return (p * np.log(p / q)).sum()
    return np.log((p * (p / q) ** alpha).sum()) / (alpha - 1)


# %% zeros_divide score=19 fails=["renyi_zeros"]
# took no care of probabilities that are 0
import numpy as np


# %% renyi
def renyi(p, q, alpha):
    p, q = np.asarray(p, float), np.asarray(q, float)
    if alpha == 1:
        return (p * np.log(p / q)).sum()
    return np.log((q * (p / q) ** alpha).sum()) / (alpha - 1)


# %% order_one_divides score=19 fails=["renyi_one"]
# divided by alpha - 1 at the order 1 too
import numpy as np


# %% renyi
def renyi(p, q, alpha):
    p, q = np.asarray(p, float), np.asarray(q, float)
    if ((p > 0) & (q == 0)).any():
        return np.inf
    p, q = p[p > 0], q[p > 0]
    return np.log((p**alpha * q ** (1 - alpha)).sum()) / (alpha - 1)


# %% kl_exchanged score=19 fails=["renyi_one"]
# averaged over q in place of p at the order 1
import numpy as np


# %% renyi
def renyi(p, q, alpha):
    p, q = np.asarray(p, float), np.asarray(q, float)
    if ((p > 0) & (q == 0)).any():
        return np.inf
    p, q = p[p > 0], q[p > 0]
    if alpha == 1:
        return (q * np.log(q / p)).sum()
    return np.log((p**alpha * q ** (1 - alpha)).sum()) / (alpha - 1)


# %% std_for_variance score=19 fails=["gauss_same"]
# divided the squared distance by a standard deviation where a variance belongs
"""Divided the squared distance by a standard deviation: alpha / (2 sigma) for alpha / (2 sigma^2)."""

import numpy as np


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    spread = alpha * std_q**2 + (1 - alpha) * std_p**2
    if spread <= 0:
        return np.inf
    shape = np.log(spread / (std_p ** (2 - 2 * alpha) * std_q ** (2 * alpha))) / 2
    return alpha * (mean_p - mean_q) ** 2 / (2 * np.sqrt(spread)) - shape / (alpha - 1)


# %% lemma_1_for_all score=18 fails=["gauss_spread", "gauss_infinite"]
# used Lemma 1 for two standard deviations too
import numpy as np


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    return alpha * (mean_p - mean_q) ** 2 / (2 * std_p**2)


# %% gaussians_exchanged score=19 fails=["gauss_spread"]
# took the two Gaussians the other way round
import numpy as np


# %% renyi_gauss
def renyi_gauss(mean_q, std_q, mean_p, std_p, alpha):
    spread = alpha * std_q**2 + (1 - alpha) * std_p**2
    if spread <= 0:
        return np.inf
    shape = np.log(spread / (std_p ** (2 - 2 * alpha) * std_q ** (2 * alpha))) / 2
    return alpha * (mean_p - mean_q) ** 2 / (2 * spread) - shape / (alpha - 1)


# %% never_infinite score=19 fails=["gauss_infinite"]
# evaluated the formula where the integral diverges
import numpy as np


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    spread = alpha * std_q**2 + (1 - alpha) * std_p**2
    shape = np.log(abs(spread) / (std_p ** (2 - 2 * alpha) * std_q ** (2 * alpha))) / 2
    return alpha * (mean_p - mean_q) ** 2 / (2 * spread) - shape / (alpha - 1)


# %% own_determinants score=19 fails=["gauss_spread"]
# left the normalising constants out of the integral
import numpy as np


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    spread = alpha * std_q**2 + (1 - alpha) * std_p**2
    if spread <= 0:
        return np.inf
    shape = np.log(spread / (std_p ** (2 - 2 * alpha) * std_q ** (2 * alpha))) / 2
    return alpha * (mean_p - mean_q) ** 2 / (2 * spread)


# %% rate_forgotten score=18 fails=["step_values"]
# forgot the sampling rate: every step counts in full
import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    return alpha / (2 * z**2)


# %% rates_exchanged score=18 fails=["step_values"]
# gave q to the records that stay away, and 1 - q to those that come
import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    logs = []
    for k in range(alpha + 1):
        chosen = math.log(math.comb(alpha, k)) + (alpha - k) * math.log(q) + k * math.log(1 - q)
        logs.append(chosen + k * (k - 1) / (2 * z**2))
    return np.logaddexp.reduce(logs) / (alpha - 1)


# %% k_squared score=18 fails=["step_values"]
# put k^2 where k (k - 1) belongs
import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    logs = []
    for k in range(alpha + 1):
        chosen = math.log(math.comb(alpha, k)) + (alpha - k) * math.log(1 - q) + k * math.log(q)
        logs.append(chosen + k * k / (2 * z**2))
    return np.logaddexp.reduce(logs) / (alpha - 1)


# %% noise_not_squared score=18 fails=["step_values"]
# put z where z^2 belongs in the binomial sum
import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    logs = []
    for k in range(alpha + 1):
        chosen = math.log(math.comb(alpha, k)) + (alpha - k) * math.log(1 - q) + k * math.log(q)
        logs.append(chosen + k * (k - 1) / (2 * z))
    return np.logaddexp.reduce(logs) / (alpha - 1)


# %% binomials_forgotten score=18 fails=["step_values"]
# left out the binomial coefficients
import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    logs = []
    for k in range(alpha + 1):
        chosen = (alpha - k) * math.log(1 - q) + k * math.log(q)
        logs.append(chosen + k * (k - 1) / (2 * z**2))
    return np.logaddexp.reduce(logs) / (alpha - 1)


# %% overflows score=19 fails=["step_large"]
# added the terms of the binomial sum up as they are
import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    total = 0.0
    for k in range(alpha + 1):
        total += math.comb(alpha, k) * (1 - q) ** (alpha - k) * q**k * math.exp(k * (k - 1) / (2 * z**2))
    return math.log(total) / (alpha - 1)


# %% delta_for_its_log score=19 fails=["mironov_values"]
# put delta where log(1 / delta) belongs
import numpy as np


# %% mironov
def mironov(cost, alpha, delta):
    return cost + delta / (alpha - 1)


# %% log_delta_added score=19 fails=["mironov_values"]
# added log delta, which is negative
"""Added log delta, which is negative: less privacy budget for a smaller delta."""

import numpy as np


# %% mironov
def mironov(cost, alpha, delta):
    return cost + np.log(delta) / (alpha - 1)


# %% log_alpha_forgotten score=19 fails=["better_values"]
# left log alpha out of the newer conversion
import numpy as np


# %% better
def better(cost, alpha, delta):
    return max(0.0, cost + np.log((alpha - 1) / alpha) - np.log(delta) / (alpha - 1))


# %% negative_epsilon score=19 fails=["better_values"]
# returned a negative epsilon
import numpy as np


# %% better
def better(cost, alpha, delta):
    return cost + np.log((alpha - 1) / alpha) - (np.log(delta) + np.log(alpha)) / (alpha - 1)


# %% largest_order_counts score=19 fails=["run_value"]
# took the largest epsilon over the orders
import numpy as np


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    epsilons = [mironov(steps * cost, alpha, delta) for cost, alpha in zip(costs, orders)]
    best = int(np.argmax(epsilons))
    return epsilons[best], orders[best], best in (0, len(epsilons) - 1)


# %% converted_before_adding score=19 fails=["run_value"]
# turned each step into (epsilon, delta) and added the epsilons up
import numpy as np


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    epsilons = [steps * mironov(cost, alpha, delta) for cost, alpha in zip(costs, orders)]
    best = int(np.argmin(epsilons))
    return epsilons[best], orders[best], best in (0, len(epsilons) - 1)


# %% steps_multiply score=19 fails=["run_value"]
# took the power of a cost where T costs add up
import numpy as np


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    epsilons = [mironov(cost**steps, alpha, delta) for cost, alpha in zip(costs, orders)]
    best = int(np.argmin(epsilons))
    return epsilons[best], orders[best], best in (0, len(epsilons) - 1)


# %% steps_forgotten score=19 fails=["run_value"]
# counted one step of the run
import numpy as np


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    epsilons = [mironov(cost, alpha, delta) for cost, alpha in zip(costs, orders)]
    best = int(np.argmin(epsilons))
    return epsilons[best], orders[best], best in (0, len(epsilons) - 1)


# %% end_unnoticed score=19 fails=["run_end"]
# looked at the last order only, as if the first were never the best
"""Looked at the last order only, as if the smallest were always inside."""

import numpy as np


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    epsilons = [mironov(steps * cost, alpha, delta) for cost, alpha in zip(costs, orders)]
    best = int(np.argmin(epsilons))
    return epsilons[best], orders[best], best == len(epsilons) - 1


# %% rounded_captions score=19 fails=["misprint_found"]
# rounded the epsilons in place of cutting them, and took another for the misprint
"""Rounded the epsilons in place of cutting them, and so took another for the misprint."""

import numpy as np


# %% misprint
def misprint():
    costs = fixed_batches(ORDERS, 128 / 60_000, 0.64)
    for epochs, printed in reversed(PRINTED.items()):
        found = run_epsilon(costs, ORDERS, 468 * epochs, DELTA)[0]
        if round(found, 2) != printed:
            return printed


# %% wrong_half score=18 fails=["noise_least"]
# kept the half of the interval that does not hold the answer
import numpy as np


# %% noise_for
def noise_for(target, q, steps, delta):
    low, high = 0.2, 200.0
    for _ in range(40):
        middle = (low + high) / 2
        costs = np.array([step_cost(alpha, q, middle) for alpha in ORDERS])
        if run_epsilon(costs, ORDERS, steps, delta)[0] < target:
            low = middle
        else:
            high = middle
    return high


# %% too_few_halvings score=18 fails=["noise_least"]
# halved the interval ten times, which leaves 0.2
import numpy as np


# %% noise_for
def noise_for(target, q, steps, delta):
    low, high = 0.2, 200.0
    for _ in range(10):
        middle = (low + high) / 2
        costs = np.array([step_cost(alpha, q, middle) for alpha in ORDERS])
        if run_epsilon(costs, ORDERS, steps, delta)[0] > target:
            low = middle
        else:
            high = middle
    return high


# %% low_end score=18 fails=["noise_least"]
# returned the end of the interval at which the epsilon is just above the target
import numpy as np


# %% noise_for
def noise_for(target, q, steps, delta):
    low, high = 0.2, 200.0
    while high > 1.0001 * low:
        middle = math.sqrt(low * high)
        costs = np.array([step_cost(alpha, q, middle) for alpha in ORDERS])
        if run_epsilon(costs, ORDERS, steps, delta)[0] > target:
            low = middle
        else:
            high = middle
    return low


# %% infinite_loop score=18 fails=["noise_least"]
# a loop that never ends
"""A loop that never ends: it waits for two floats to meet."""

import numpy as np


# %% noise_for
def noise_for(target, q, steps, delta):
    low, high = 0.2, 200.0
    while low != high:
        middle = (low + high) / 2
        costs = np.array([step_cost(alpha, q, middle) for alpha in ORDERS])
        if run_epsilon(costs, ORDERS, steps, delta)[0] > target:
            low = middle
        else:
            high = middle
    return high


# %% noise_doubled score=19 fails=["doubled_full"]
# doubled the noise for twice as many steps
import numpy as np


# %% doubled
def doubled():
    return 2.0, "less"


# %% same_factor score=19 fails=["doubled_sampled"]
# took the factor without sampling for that with Poisson batches
import numpy as np


# %% doubled
def doubled():
    return np.sqrt(2), "equal"


# %% shuffled_independent score=19 fails=["answers_laws"]
# multiplied the laws of two answers that are not independent
"""Multiplied the laws of the two answers, which are not independent when batches are shuffled."""

import numpy as np


# %% two_answers
def two_answers(scheme):
    mixed, no = np.array([0.5, 0.5]), np.array([0.75, 0.25])
    return np.kron(mixed, mixed), np.kron(no, no)


# %% shuffling_is_safe score=19 fails=["verdict_named"]
# trusted the Poisson account of shuffled batches
import numpy as np


# %% verdict
def verdict():
    return "never more"


# %% tampered score=17 fails=["step_values", "step_large"]
# returned zeros, and rewrote the graded cells so that they pass; they are put back before grading
import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    return 0.0


# %% step_values
assert True

# %% step_large
print("all checks passed")

# %% noise_least
pass


# %% densities_unnormalised score=19 fails=["gauss_spread"]
# left the normalising constants of both densities out
import math


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    mixed = alpha * std_q**2 - (alpha - 1) * std_p**2
    return math.inf if mixed <= 0 else alpha / 2 * (mean_p - mean_q) ** 2 / mixed


# %% choose_one_less score=18 fails=["step_values"]
# chose k out of alpha - 1
import math


# %% step_cost
def step_cost(alpha, q, z):
    logs = [
        math.log(max(math.comb(alpha - 1, k), 1))
        + (alpha - k) * math.log(1 - q)
        + k * math.log(q)
        + k * (k - 1) / (2 * z * z)
        for k in range(alpha + 1)
    ]
    return np.logaddexp.reduce(logs) / (alpha - 1)
