"""One number at a time, with lists and the math module only."""

# %% renyi
import math


def renyi(p, q, alpha):
    if alpha == 1:
        total = 0.0
        for s, t in zip(p, q):
            if s > 0 and t == 0:
                return math.inf
            if s > 0:
                total += s * math.log(s / t)
        return total
    total = 0.0
    for s, t in zip(p, q):
        if s == 0:
            continue
        if t == 0:
            return float("inf")
        total += s**alpha * t ** (1 - alpha)
    return math.log(total) / (alpha - 1)


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    # p^alpha q^(1-alpha) = C exp(-a x^2 / 2 + b x - c / 2), completed to a square
    a = alpha / std_p**2 + (1 - alpha) / std_q**2
    if a <= 0:
        return float("inf")
    b = alpha * mean_p / std_p**2 + (1 - alpha) * mean_q / std_q**2
    c = alpha * mean_p**2 / std_p**2 + (1 - alpha) * mean_q**2 / std_q**2
    log_integral = -alpha * math.log(std_p) - (1 - alpha) * math.log(std_q) - math.log(a) / 2 + (b * b / a - c) / 2
    return log_integral / (alpha - 1)


# %% step_cost
def step_cost(alpha, q, z):
    log_binomial, log_sum = 0.0, None
    for k in range(0, alpha + 1):
        if k > 0:
            log_binomial += math.log((alpha - k + 1) / k)
        term = log_binomial + (alpha - k) * math.log(1 - q) + k * math.log(q) + k * (k - 1) / 2 / z / z
        if log_sum is None:
            log_sum = term
        elif term > log_sum:
            log_sum = term + math.log(1 + math.exp(log_sum - term))
        else:
            log_sum = log_sum + math.log(1 + math.exp(term - log_sum))
    return log_sum / (alpha - 1)


# %% mironov
def mironov(cost, alpha, delta):
    return cost - math.log(delta) / (alpha - 1)


# %% better
def better(cost, alpha, delta):
    epsilon = cost + math.log((alpha - 1) / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)
    if epsilon < 0:
        return 0
    return epsilon


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    best, where = math.inf, 0
    for i in range(len(orders)):
        epsilon = mironov(costs[i] * steps, orders[i], delta)
        if epsilon < best:
            best, where = epsilon, i
    return [best, orders[where], where == 0 or where == len(orders) - 1]


# %% misprint
def misprint():
    wrong = None
    for epochs in PRINTED:
        epsilon = run_epsilon(fixed_batches(ORDERS, 128 / 60000, 0.64), ORDERS, epochs * 468, DELTA)[0]
        if int(epsilon * 100) / 100 != PRINTED[epochs]:
            wrong = PRINTED[epochs]
    return wrong


# %% noise_for
def noise_for(target, q, steps, delta):
    low, high = 0.2, 200.0
    for _ in range(60):
        z = (low + high) / 2
        costs = []
        for alpha in ORDERS:
            costs.append(step_cost(alpha, q, z))
        if run_epsilon(costs, ORDERS, steps, delta)[0] <= target:
            high = z
        else:
            low = z
    return high


# %% doubled
def doubled():
    return [1.414, "less"]


# %% two_answers
def two_answers(scheme):
    P, Q = [0, 0, 0, 0], [0, 0, 0, 0]
    for i in range(2):
        for j in range(2):
            for there, chance in [((0, 0), 1 / 4), ((0, 1), 1 / 4), ((1, 0), 1 / 4), ((1, 1), 1 / 4)]:
                if scheme == "shuffled":
                    chance = 1 / 2 if there[0] != there[1] else 0
                P[2 * i + j] += chance * (3 / 4 if there[0] == i else 1 / 4) * (3 / 4 if there[1] == j else 1 / 4)
            Q[2 * i + j] = (3 / 4 if i == 0 else 1 / 4) * (3 / 4 if j == 0 else 1 / 4)
    return P, Q


# %% verdict
def verdict():
    return "both happen"
