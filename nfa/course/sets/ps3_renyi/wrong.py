"""Typical mistakes, each with its score out of 20 points and the cells that lose their points.

A line ("cell", "old", "new") replaces text in a cell of the reference solution. The old text occurs there once.
"""

# %% arguments_exchanged score=19 fails=["renyi_values"]
# exchanged the two distributions
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
# averaged the power of the ratio over p in place of q
("renyi", "np.exp((alpha - 1) * loss)", "np.exp(alpha * loss)")

# %% zeros_divide score=19 fails=["renyi_zeros"]
# ignored that probabilities can be 0
("renyi", "    if ((p > 0) & (q == 0)).any():\n        return math.inf\n    p, q = p[p > 0], q[p > 0]\n", "")

# %% order_one_divides score=19 fails=["renyi_one"]
# divided by alpha - 1 at the order 1 too
("renyi", "    if alpha == 1:\n        return (p * loss).sum()\n", "")

# %% kl_exchanged score=19 fails=["renyi_one"]
# averaged over q in place of p at the order 1
("renyi", "(p * loss)", "-(q * loss)")

# %% std_for_variance score=19 fails=["gauss_same"]
# divided the squared distance by a standard deviation in place of a variance
("renyi_gauss", "(2 * spread)", "(2 * math.sqrt(spread))")


# %% lemma_1_for_all score=18 fails=["gauss_spread", "gauss_infinite"]
# used Lemma 1 also for two different standard deviations
# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    return alpha * (mean_p - mean_q) ** 2 / (2 * std_p**2)


# %% gaussians_exchanged score=19 fails=["gauss_spread"]
# exchanged the two Gaussians
("renyi_gauss", "mean_p, std_p, mean_q, std_q, alpha", "mean_q, std_q, mean_p, std_p, alpha")

# %% never_infinite score=19 fails=["gauss_infinite"]
# evaluated the formula also if the integral diverges
("renyi_gauss", "    if spread <= 0:\n        return math.inf\n", "")
("renyi_gauss", "math.log(spread)", "math.log(abs(spread))")

# %% own_determinants score=19 fails=["gauss_spread"]
# left the normalising constants out of the integral
("renyi_gauss", " - shape / (alpha - 1)", "")


# %% rate_forgotten score=18 fails=["step_values"]
# forgot the sampling rate, so every step has the cost of a step without sampling
# %% step_cost
def step_cost(alpha, q, z):
    return alpha / (2 * z**2)


# %% rates_exchanged score=18 fails=["step_values"]
# exchanged q and 1 - q
("step_cost", "(alpha - k) * math.log1p(-q) + k * math.log(q)", "(alpha - k) * math.log(q) + k * math.log1p(-q)")

# %% k_squared score=18 fails=["step_values"]
# wrote k^2 in place of k (k - 1)
("step_cost", "k * (k - 1)", "k * k")

# %% noise_not_squared score=18 fails=["step_values"]
# wrote z in place of z^2 in the binomial sum
("step_cost", "z**2", "z")

# %% binomials_forgotten score=18 fails=["step_values"]
# left out the binomial coefficients
("step_cost", "math.log(math.comb(alpha, k)) + ", "")

# %% overflows score=19 fails=["step_large"]
# added the terms of the binomial sum without logarithms
(
    "step_cost",
    "(top + math.log(math.fsum(math.exp(t - top) for t in logs)))",
    "math.log(sum(math.exp(t) for t in logs))",
)

# %% delta_for_its_log score=19 fails=["mironov_values"]
# wrote delta in place of log(1 / delta)
("mironov", "math.log(1 / delta)", "delta")

# %% log_delta_added score=19 fails=["mironov_values"]
# added log delta, which is negative
("mironov", "math.log(1 / delta)", "math.log(delta)")

# %% largest_order_counts score=19 fails=["run_value"]
# took the largest epsilon over the orders
("run_epsilon", "np.argmin", "np.argmax")

# %% converted_before_adding score=19 fails=["run_value"]
# converted each step to (epsilon, delta) and added the epsilons
("run_epsilon", "mironov(steps * cost, alpha, delta)", "steps * mironov(cost, alpha, delta)")

# %% steps_multiply score=19 fails=["run_value"]
# took a power of the cost in place of T times the cost
("run_epsilon", "steps * cost", "cost**steps")

# %% steps_forgotten score=19 fails=["run_value"]
# counted only one step of the run
("run_epsilon", "steps * cost", "cost")

# %% end_unnoticed score=19 fails=["run_end"]
# tested only whether the best order is the last one
("run_epsilon", "best in (0, len(candidates) - 1)", "best == len(candidates) - 1")

# %% rounded_captions score=19 fails=["misprint_found"]
# rounded the epsilons in place of truncating them, and chose another misprint
("misprint", "in PRINTED.items()", "in reversed(PRINTED.items())")
("misprint", "math.floor(100 * found) != round(100 * printed)", "round(found, 2) != printed")

# %% wrong_half score=18 fails=["noise_least"]
# kept the half of the interval that does not contain the answer
("noise_for", "found > target", "found < target")

# %% too_few_halvings score=18 fails=["noise_least"]
# halved the interval ten times, so its width is still 0.2
("noise_for", "while high > 1.0001 * low:", "for _ in range(10):")
("noise_for", "math.sqrt(low * high)", "(low + high) / 2")

# %% low_end score=18 fails=["noise_least"]
# returned the end of the interval with an epsilon just above the target
("noise_for", "return high", "return low")

# %% infinite_loop score=18 fails=["noise_least"]
# wrote a loop that never ends
("noise_for", "while high > 1.0001 * low:", "while low != high:")

# %% shuffled_independent score=19 fails=["answers_laws"]
# multiplied the distributions of two answers that are not independent
("two_answers", 'if scheme == "poisson":', 'if scheme in ("poisson", "shuffled"):')

# %% shuffling_is_safe score=19 fails=["shuffled_answer"]
# used the account for Poisson batches for shuffled batches
("shuffled", '"a"', '"b"')

# %% union_bound score=19 fails=["smallest_answer"]
# divided delta by the number of orders, as if each order failed with probability delta
("smallest", '"b"', '"a"')

# %% same_factor score=19 fails=["doubled_answer"]
# used the factor without sampling for Poisson batches
("doubled", '"c"', '"a"')

# %% no_reason score=19 fails=["doubled_answer"]
# gave the right letter and hardly a reason
(
    "doubled",
    "At order 2 a step costs about q^2 (exp(1 / z^2) - 1), and the exponential falls faster than 1 / z^2.",
    "I tried it.",
)

# %% one_guess score=19 fails=["guess_made"]
# guessed the last of the three numbers only
("guess", "[0.03, 1.5, 50.0]", "50.0")


# %% tampered score=17 fails=["step_values", "step_large"]
# returned zeros, and rewrote the graded cells so that they pass; grading restores these cells
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
# took the binomial coefficients of alpha - 1
("step_cost", "math.comb(alpha, k)", "max(math.comb(alpha - 1, k), 1)")

# %% order_one_with_zeros score=19 fails=["renyi_zeros"]
# averaged log(p / q) at the order 1 without leaving out the outcomes with p = 0
(
    "renyi",
    "    if ((p > 0) & (q == 0)).any():",
    "    if alpha == 1:\n        return (p * np.log(p / q)).sum()\n    if ((p > 0) & (q == 0)).any():",
)

# %% certain_is_infinite score=19 fails=["renyi_zeros"]
# returned infinity if an outcome has probability 1 in the second distribution
("renyi", "(q == 0)", "((q == 0) | (q == 1))")

# %% something_added_to_q score=19 fails=["renyi_values"]
# added a small number to q, to avoid divisions by zero
("renyi", "np.log(p / q)", "np.log(p / (q + 1e-8))")


# %% variances_taken score=19 fails=["gauss_same"]
# used the standard deviations as variances
# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    spread = alpha * std_q + (1 - alpha) * std_p
    if spread <= 0:
        return math.inf
    shape = math.log(spread) - (1 - alpha) * math.log(std_p) - alpha * math.log(std_q)
    return alpha * (mean_p - mean_q) ** 2 / (2 * spread) - shape / (2 * alpha - 2)


# %% flat_is_finite score=19 fails=["gauss_infinite"]
# tested whether the quadratic function opens upwards, and forgot that it can be linear
(
    "renyi_gauss",
    "    if spread <= 0:\n        return math.inf\n",
    "    if spread < 0:\n        return math.inf\n    spread = max(spread, 1e-300)\n",
)

# %% constant_is_nan score=19 fails=["gauss_infinite"]
# tested for a negative number only, so that a constant function gives 0/0
(
    "renyi_gauss",
    "    if spread <= 0:\n        return math.inf\n",
    "    if spread < 0:\n        return math.inf\n    spread = np.float64(spread)\n",
)
("renyi_gauss", "math.log(spread)", "np.log(spread)")

# %% last_term_alone score=19 fails=["step_large"]
# used only the last term of the binomial sum if a factor overflows
(
    "step_cost",
    "    top = max(logs)\n",
    "    if alpha * (alpha - 1) / (2 * z**2) > 709:\n        return logs[-1] / (alpha - 1)\n    top = max(logs)\n",
)

# %% largest_term_alone score=19 fails=["step_large"]
# used only the largest term of the binomial sum if a factor overflows
(
    "step_cost",
    "    top = max(logs)\n",
    "    top = max(logs)\n    if alpha * (alpha - 1) / (2 * z**2) > 709:\n        return top / (alpha - 1)\n",
)

# %% delta_of_the_captions score=19 fails=["run_value"]
# used the delta of the captions in place of the argument delta
("run_epsilon", "mironov(steps * cost, alpha, delta)", "mironov(steps * cost, alpha, DELTA)")

# %% noise_from_one score=18 fails=["noise_least"]
# searched between 1 and 200, though the answer can be below 1
("noise_for", "low, high = 0.2, 200.0", "low, high = 1.0, 200.0")

# %% noise_to_hundred score=18 fails=["noise_least"]
# searched between 0.2 and 100, though the answer can be above 100
("noise_for", "low, high = 0.2, 200.0", "low, high = 0.2, 100.0")

# %% one_percent score=18 fails=["noise_least"]
# stopped when the width of the interval was one percent
("noise_for", "1.0001 * low", "1.01 * low")

# %% slips
# each line: one slip in the reference solution, and the graded cell that loses its points
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
("step_cost", "top = max(logs)", "top = logs[-1]", "step_large")
("step_cost", "chosen + k * (k - 1)", "chosen - k * (k - 1)", "step_values")
("noise_for", "while high > 1.0001 * low:", "while high > low + 1e-3:", "noise_least")
