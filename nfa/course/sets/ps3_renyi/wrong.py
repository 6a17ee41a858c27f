"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose.

A line ("cell", "old", "new") replaces text in the reference solution, which has the old text in that cell once.
"""

# %% arguments_exchanged score=19 fails=["renyi_values"]
# took the two laws the other way round
("renyi", "p, q = np.asarray(p, float), np.asarray(q, float)", "q, p = np.asarray(p, float), np.asarray(q, float)")

# %% log_base_2 score=19 fails=["renyi_values"]
# took logarithms to the base 2
("renyi", "np.log(p / q)", "np.log2(p / q)")
("renyi", "np.exp((alpha - 1) * loss)", "2 ** ((alpha - 1) * loss)")
("renyi", "np.log((p *", "np.log2((p *")

# %% alpha_minus_1_forgotten score=19 fails=["renyi_values"]
# left out 1 / (alpha - 1)
("renyi", " / (alpha - 1)", "")

# %% average_over_p score=19 fails=["renyi_values"]
# averaged the ratio's power over p in place of q
("renyi", "np.exp((alpha - 1) * loss)", "np.exp(alpha * loss)")

# %% zeros_divide score=19 fails=["renyi_zeros"]
# took no care of probabilities that are 0
("renyi", "    if ((p > 0) & (q == 0)).any():\n        return math.inf\n    p, q = p[p > 0], q[p > 0]\n", "")

# %% order_one_divides score=19 fails=["renyi_one"]
# divided by alpha - 1 at the order 1 too
("renyi", "    if alpha == 1:\n        return (p * loss).sum()\n", "")

# %% kl_exchanged score=19 fails=["renyi_one"]
# averaged over q in place of p at the order 1
("renyi", "(p * loss)", "-(q * loss)")

# %% std_for_variance score=19 fails=["gauss_same"]
# divided the squared distance by a standard deviation where a variance belongs
("renyi_gauss", "(2 * spread)", "(2 * math.sqrt(spread))")


# %% lemma_1_for_all score=18 fails=["gauss_spread", "gauss_infinite"]
# used Lemma 1 for two standard deviations too
# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    return alpha * (mean_p - mean_q) ** 2 / (2 * std_p**2)


# %% gaussians_exchanged score=19 fails=["gauss_spread"]
# took the two Gaussians the other way round
("renyi_gauss", "mean_p, std_p, mean_q, std_q, alpha", "mean_q, std_q, mean_p, std_p, alpha")

# %% never_infinite score=19 fails=["gauss_infinite"]
# evaluated the formula where the integral diverges
("renyi_gauss", "    if spread <= 0:\n        return math.inf\n", "")
("renyi_gauss", "math.log(spread)", "math.log(abs(spread))")

# %% own_determinants score=19 fails=["gauss_spread"]
# left the normalising constants out of the integral
("renyi_gauss", " - shape / (alpha - 1)", "")


# %% rate_forgotten score=18 fails=["step_values"]
# forgot the sampling rate: every step counts in full
# %% step_cost
def step_cost(alpha, q, z):
    return alpha / (2 * z**2)


# %% rates_exchanged score=18 fails=["step_values"]
# gave q to the records that stay away, and 1 - q to those that come
("step_cost", "(alpha - k) * math.log1p(-q) + k * math.log(q)", "(alpha - k) * math.log(q) + k * math.log1p(-q)")

# %% k_squared score=18 fails=["step_values"]
# put k^2 where k (k - 1) belongs
("step_cost", "k * (k - 1)", "k * k")

# %% noise_not_squared score=18 fails=["step_values"]
# put z where z^2 belongs in the binomial sum
("step_cost", "z**2", "z")

# %% binomials_forgotten score=18 fails=["step_values"]
# left out the binomial coefficients
("step_cost", "math.log(math.comb(alpha, k)) + ", "")

# %% overflows score=19 fails=["step_large"]
# added the terms of the binomial sum up as they are
(
    "step_cost",
    "(top + math.log(math.fsum(math.exp(t - top) for t in logs)))",
    "math.log(sum(math.exp(t) for t in logs))",
)

# %% delta_for_its_log score=19 fails=["mironov_values"]
# put delta where log(1 / delta) belongs
("mironov", "math.log(1 / delta)", "delta")

# %% log_delta_added score=19 fails=["mironov_values"]
# added log delta, which is negative
("mironov", "math.log(1 / delta)", "math.log(delta)")

# %% log_alpha_forgotten score=19 fails=["better_values"]
# left log alpha out of the newer conversion
("better", "math.log(delta * alpha)", "math.log(delta)")

# %% negative_epsilon score=19 fails=["better_values"]
# returned a negative epsilon
("better", "max(0.0, ", "max(-math.inf, ")

# %% largest_order_counts score=19 fails=["run_value"]
# took the largest epsilon over the orders
("run_epsilon", "np.argmin", "np.argmax")

# %% converted_before_adding score=19 fails=["run_value"]
# turned each step into (epsilon, delta) and added the epsilons up
("run_epsilon", "mironov(steps * cost, alpha, delta)", "steps * mironov(cost, alpha, delta)")

# %% steps_multiply score=19 fails=["run_value"]
# took the power of a cost where T costs add up
("run_epsilon", "steps * cost", "cost**steps")

# %% steps_forgotten score=19 fails=["run_value"]
# counted one step of the run
("run_epsilon", "steps * cost", "cost")

# %% end_unnoticed score=19 fails=["run_end"]
# looked at the last order only, as if the first were never the best
("run_epsilon", "best in (0, len(candidates) - 1)", "best == len(candidates) - 1")

# %% rounded_captions score=19 fails=["misprint_found"]
# rounded the epsilons in place of cutting them, and took another for the misprint
("misprint", "in PRINTED.items()", "in reversed(PRINTED.items())")
("misprint", "math.floor(100 * found) != round(100 * printed)", "round(found, 2) != printed")

# %% wrong_half score=18 fails=["noise_least"]
# kept the half of the interval that does not hold the answer
("noise_for", "found > target", "found < target")

# %% too_few_halvings score=18 fails=["noise_least"]
# halved the interval ten times, which leaves 0.2
("noise_for", "while high > 1.0001 * low:", "for _ in range(10):")
("noise_for", "math.sqrt(low * high)", "(low + high) / 2")

# %% low_end score=18 fails=["noise_least"]
# returned the end of the interval at which the epsilon is just above the target
("noise_for", "return high", "return low")

# %% infinite_loop score=18 fails=["noise_least"]
# a loop that never ends
("noise_for", "while high > 1.0001 * low:", "while low != high:")

# %% noise_doubled score=19 fails=["doubled_full"]
# doubled the noise for twice as many steps
("doubled", 'return factor, "less" if after < before else "more"', 'return 2.0, "less"')

# %% same_factor score=19 fails=["doubled_sampled"]
# took the factor without sampling for that with Poisson batches
("doubled", '"less" if after < before else "more"', '"equal"')

# %% shuffled_independent score=19 fails=["answers_laws"]
# multiplied the laws of two answers that are not independent
("two_answers", 'if scheme == "poisson":', 'if scheme in ("poisson", "shuffled"):')

# %% shuffling_is_safe score=19 fails=["verdict_named"]
# trusted the Poisson account of shuffled batches
("verdict", '"always more" if more.all() else "both happen" if more.any() else "never more"', '"never more"')


# %% tampered score=17 fails=["step_values", "step_large"]
# returned zeros, and rewrote the graded cells so that they pass; they are put back before grading
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
# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    mixed = alpha * std_q**2 - (alpha - 1) * std_p**2
    return math.inf if mixed <= 0 else alpha / 2 * (mean_p - mean_q) ** 2 / mixed


# %% choose_one_less score=18 fails=["step_values"]
# chose k out of alpha - 1
("step_cost", "math.comb(alpha, k)", "max(math.comb(alpha - 1, k), 1)")

# %% order_one_with_zeros score=19 fails=["renyi_zeros"]
# averaged log(p / q) at the order 1 before the outcomes with p = 0 were left out
(
    "renyi",
    "    if ((p > 0) & (q == 0)).any():",
    "    if alpha == 1:\n        return (p * np.log(p / q)).sum()\n    if ((p > 0) & (q == 0)).any():",
)

# %% certain_is_infinite score=19 fails=["renyi_zeros"]
# returned infinity where an outcome has the probability 1 in the second law
("renyi", "(q == 0)", "((q == 0) | (q == 1))")

# %% something_added_to_q score=19 fails=["renyi_values"]
# added a small number to q, against divisions by zero
("renyi", "np.log(p / q)", "np.log(p / (q + 1e-8))")


# %% variances_taken score=19 fails=["gauss_same"]
# took the standard deviations for variances
# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    spread = alpha * std_q + (1 - alpha) * std_p
    if spread <= 0:
        return math.inf
    shape = math.log(spread) - (1 - alpha) * math.log(std_p) - alpha * math.log(std_q)
    return alpha * (mean_p - mean_q) ** 2 / (2 * spread) - shape / (2 * alpha - 2)


# %% flat_is_finite score=19 fails=["gauss_infinite"]
# asked whether the quadratic opens upwards, and forgot the case in which it is a line
(
    "renyi_gauss",
    "    if spread <= 0:\n        return math.inf\n",
    "    if spread < 0:\n        return math.inf\n    spread = max(spread, 1e-300)\n",
)

# %% delta_of_the_captions score=19 fails=["run_value"]
# used the delta of the captions in place of the one that is given
("run_epsilon", "mironov(steps * cost, alpha, delta)", "mironov(steps * cost, alpha, DELTA)")

# %% noise_from_one score=18 fails=["noise_least"]
# searched between 1 and 200, though the answer can be below 1
("noise_for", "low, high = 0.2, 200.0", "low, high = 1.0, 200.0")

# %% noise_to_hundred score=18 fails=["noise_least"]
# searched between 0.2 and 100, though the answer can be above 100
("noise_for", "low, high = 0.2, 200.0", "low, high = 0.2, 100.0")

# %% one_percent score=18 fails=["noise_least"]
# stopped when the interval was one percent wide
("noise_for", "1.0001 * low", "1.01 * low")

# %% slips
# one slip in the reference solution, and the one graded cell that it must fail
("renyi", "np.log(p / q)", "np.log2(p / q)", "renyi_values")
("renyi", "np.log(p / q)", "np.log(q / p)", "renyi_values")
("renyi", "((p > 0) & (q == 0))", "((p == 0) & (q > 0))", "renyi_zeros")
("renyi", "return (p * loss)", "return (q * loss)", "renyi_one")
("renyi_gauss", "alpha * std_q**2 + (1 - alpha) * std_p**2", "alpha * std_q + (1 - alpha) * std_p", "gauss_same")
("renyi_gauss", "(mean_p - mean_q) ** 2", "abs(mean_p - mean_q)", "gauss_same")
("renyi_gauss", "(2 * spread)", "spread", "gauss_same")
("renyi_gauss", "return alpha * (mean_p", "return (mean_p", "gauss_same")
(
    "renyi_gauss",
    "alpha * std_q**2 + (1 - alpha) * std_p**2",
    "alpha * std_p**2 + (1 - alpha) * std_q**2",
    "gauss_spread",
)
("renyi_gauss", "- shape / (alpha - 1)", "+ shape / (alpha - 1)", "gauss_spread")
("renyi_gauss", "shape / (alpha - 1)", "shape", "gauss_spread")
("renyi_gauss", "0.5 * math.log(spread)", "math.log(spread)", "gauss_spread")
("renyi_gauss", "return math.inf", "return 0.0", "gauss_infinite")
("step_cost", "math.log1p(-q)", "0", "step_values")
("step_cost", "(2 * z**2)", "z**2", "step_values")
("step_cost", " / (alpha - 1)", "", "step_values")
("step_cost", "/ (alpha - 1)", "/ alpha", "step_values")
("step_cost", "k * (k - 1)", "k * (k + 1)", "step_values")
("step_cost", "range(alpha + 1)", "range(alpha)", "step_values")
("step_cost", "top = max(logs)", "top = 0.0", "step_large")
("doubled", "return factor,", "return 2,", "doubled_full")
("doubled", "return factor,", "return 1 / factor,", "doubled_full")
("doubled", "after < before", "after > before", "doubled_sampled")
("run_epsilon", "orders[best], best", "best, best", "run_value")
("run_epsilon", "np.argmin(candidates)", "np.argmin(costs)", "run_value")
("run_epsilon", "(0, len(candidates) - 1)", "(0, len(candidates))", "run_end")
("run_epsilon", ", best in (0, len(candidates) - 1)", "", "run_end")
("renyi", ".sum()) / (alpha - 1)", ") / (alpha - 1)", "renyi_values")
("renyi_gauss", "+ (1 - alpha)", "- (1 - alpha)", "gauss_same")
("renyi_gauss", "alpha * std_q**2", "alpha * std_q", "gauss_same")
("renyi_gauss", "(1 - alpha) * std_p**2", "(1 - alpha) * std_p", "gauss_same")
("renyi_gauss", "(1 - alpha) * std_p**2", "std_p**2", "gauss_same")
("renyi_gauss", "alpha * math.log(std_q)", "math.log(std_q)", "gauss_spread")
("renyi_gauss", "(1 - alpha) * math.log(std_p)", "alpha * math.log(std_p)", "gauss_spread")
("renyi_gauss", "0.5 * math.log(spread)", "0.5 * spread", "gauss_spread")
("step_cost", "math.log(math.comb(alpha, k))", "math.comb(alpha, k)", "step_values")
("step_cost", "math.log(q)", "q", "step_values")
("run_epsilon", "candidates[best], ", "candidates[best + 1], ", "run_value")
("run_epsilon", "orders[best], best", "orders[best + 1], best", "run_value")
("run_epsilon", "mironov(steps * cost, alpha, delta)", "mironov(steps, alpha, delta)", "run_value")
("doubled", "math.sqrt(2)", "1.0", "doubled_full")
("step_cost", "top = max(logs)", "top = logs[-1]", "step_large")
("step_cost", "chosen + k * (k - 1)", "chosen - k * (k - 1)", "step_values")
