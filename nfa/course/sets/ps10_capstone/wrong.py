"""Typical mistakes, each with its score out of 20 points and the cells that lose their points.

A line ("cell", "old", "new") replaces text in a cell of the reference solution. The old text occurs there once.
"""

# %% guessed_in_percent score=19 fails=["guess_made"]
# guessed percentages
("guess", "[0.6, 0.7, 0.8]", "[60, 70, 80]")

# %% replaced_record score=19 fails=["claim_right"]
# took the sensitivity for a record that is replaced
("claim", "C / m", "2 * C / m")

# %% other_statement score=19 fails=["claim_right"]
# cited the bound of the paper, which clips errors and inputs
("claim", "ours:joint-clip", "lee2020:sens-total")

# %% no_derivative score=19 fails=["signals_values"]
# left out the derivative of tanh
("signals", " * (1 - h[l] ** 2)", "")

# %% layer_by_layer score=19 fails=["sum_values"]
# clipped each layer to C separately
(
    "clipped_sum",
    "    norms = np.sqrt(sum((dz[l] ** 2).sum(axis=1) * (1 + (h[l - 1] ** 2).sum(axis=1)) for l in layers))\n",
    "    norms = [None] + [np.sqrt((dz[l] ** 2).sum(axis=1) * (1 + (h[l - 1] ** 2).sum(axis=1))) for l in layers]\n",
)
("clipped_sum", "np.maximum(norms, C)", "np.maximum(norms[l], C)")

# %% biases_forgotten score=19 fails=["sum_values"]
# left the biases out of the norm
("clipped_sum", "(1 + (h[l - 1] ** 2).sum(axis=1))", "(h[l - 1] ** 2).sum(axis=1)")

# %% fixed_batches score=19 fails=["draw_law"]
# drew batches of the fixed size q n
("draw", "rng.random(n) < q", "rng.permutation(n) < q * n")

# %% size_of_a_poisson_law score=19 fails=["draw_law"]
# drew the size of the batch from a Poisson law, cut at n
("draw", "rng.random(n) < q", "rng.permutation(n) < rng.poisson(q * n)")

# %% a_record_in_every_batch score=19 fails=["draw_law"]
# put a random record into an empty batch
(
    "draw",
    "    return rng.random(n) < q\n",
    "    batch = rng.random(n) < q\n    if n and not batch.any():\n"
    "        batch[rng.integers(n)] = True\n    return batch\n",
)

# %% drawn_until_not_empty score=19 fails=["draw_law"]
# drew again until the batch had a record
(
    "draw",
    "    return rng.random(n) < q\n",
    "    batch = rng.random(n) < q\n    while n and not batch.any():\n"
    "        batch = rng.random(n) < q\n    return batch\n",
)

# %% no_empty_batch score=19 fails=["signals_values"]
# collected the errors of the records in a list, which has no axis of units for an empty batch
("signals", "    e = h[L] - y\n", "    e = np.array([np.squeeze(row) for row in h[L] - y])\n")

# %% own_generator score=19 fails=["draw_law"]
# made a new generator in every call, so that all batches are the same
("draw", "rng.random(n)", "np.random.default_rng(0).random(n)")

# %% noise_for_each_record score=19 fails=["step_noise"]
# added noise to every record's direction before the sum
("private_step", "z * C, a.shape", "z * C * math.sqrt(max(len(dz[1]), 1)), a.shape")

# %% step_without_noise score=19 fails=["step_noise"]
# forgot the noise
("private_step", "z * C", "0 * C")

# %% one_draw_for_all score=19 fails=["step_noise"]
# drew the noise once, with a generator of its own that begins again in every step
("private_step", "rng.normal", "np.random.default_rng(3).normal")

# %% noise_after_the_mean score=19 fails=["step_noise"]
# added the noise of the sum to the mean
("private_step", "(a + rng.normal(0, z * C, a.shape)) / m", "a / m + rng.normal(0, z * C, a.shape)")

# %% one_number_for_all_coordinates score=19 fails=["step_noise"]
# drew one number for each layer
("private_step", "z * C, a.shape", "z * C")

# %% mean_of_the_batch score=19 fails=["step_signal"]
# divided the sum by the number of records in the batch
(
    "private_step",
    "(a + rng.normal(0, z * C, a.shape)) / m",
    "a / max(len(dz[1]), 1) + rng.normal(0, z * C, a.shape) / max(len(dz[1]), 1)",
)

# %% too_little_noise score=19 fails=["noise_values"]
# accounted for one step
("noise_for", "spent(middle, q, steps, delta)", "spent(middle, q, 1, delta)")

# %% noise_to_be_safe score=19 fails=["noise_values"]
# doubled the noise to be safe
("noise_for", "return high", "return 2 * high")

# %% sampling_forgotten score=19 fails=["noise_values"]
# left out the sampling, which costs accuracy
("noise_for", "spent(middle, q, steps, delta)", "spent(middle, 1.0, steps, delta)")

# %% infinite_loop score=19 fails=["noise_values"]
# halved the interval until its two ends met, which never happens
("noise_for", "high > 1.01 * low", "high != low")

# %% one_batch_for_all_steps score=19 fails=["train_fresh"]
# drew one batch before the loop
(
    "train",
    "    for _ in range(steps):\n        batch = draw(len(x), q, rng)\n",
    "    batch = draw(len(x), q, rng)\n    for _ in range(steps):\n",
)

# %% same_noise_in_every_step score=19 fails=["train_fresh"]
# began the generator again in every step
("train", "private_step(dz, h, C, m, z, rng)", "private_step(dz, h, C, m, z, np.random.default_rng(5))")

# %% shuffled score=19 fails=["train_fresh"]
# shuffled the records and cut them into batches
("train", "batch = draw(len(x), q, rng)", "batch = np.roll(np.arange(len(x)), round(q * len(x)) * _) < q * len(x)")

# %% climbs score=19 fails=["train_steps"]
# added the direction in place of subtracting it
("train", "w - eta * d", "w + eta * d")

# %% size_of_the_batch_for_m score=19 fails=["train_steps"]
# gave the step the number of records in the batch as m
(
    "train",
    "private_step(dz, h, C, m, z, rng)",
    "private_step(dz, h, C, max(batch.sum(), 1), z * max(batch.sum(), 1) / m, rng)",
)

# %% one_step score=19 fails=["model_accuracy"]
# trained with a learning rate that is too small to change the weights
("private_model", "8.0", "0.008")

# %% private_number score=19 fails=["model_private"]
# divided by the number of records in the data
("private_model", "q * N", "q * len(x)")

# %% accounted_for_less score=19 fails=["model_private"]
# found the noise for one epoch and trained for five
("private_model", "noise_for(target, q, steps, delta)", "noise_for(target, q, 20, delta)")

# %% one_seed score=19 fails=["model_private"]
# drew the same noise for every seed
("private_model", "np.random.default_rng([seed, 1])", "np.random.default_rng(1)")

# %% noise_of_the_network score=19 fails=["model_private"]
# gave the noise the seed of `network`, so that it repeats published values
("private_model", "np.random.default_rng([seed, 1])", "np.random.default_rng([seed, 2026])")

# %% believes_the_mean score=19 fails=["centred_answer"]
# thought that the clip alone is enough for the guarantee
("centred", '"b"', '"a"')

# %% no_reason score=19 fails=["tuned_answer"]
# gave a letter and hardly a reason
("tuned", "All 24 runs read the same records, and which of them wins can depend on one record.", "It is obvious.")

# %% audit_is_the_truth score=19 fails=["audited_answer"]
# took the lower bound for the true epsilon
("audited", '"a"', '"b"')

# %% estimate_for_a_bound score=19 fails=["audit_below"]
# returned the estimate, without a confidence
(
    "audit",
    "epsilon_lower_bound(hits, trials, delta=delta, confidence=confidence)",
    "max(0.0, math.log((hits[1] + 0.1) / (hits[0] + 0.1)))",
)

# %% threshold_of_zero score=19 fails=["audit_above"]
# counted releases above a fixed number, which misses some steps with noise that is drawn once
("audit", "middle = np.mean(tries)", "middle = 0.5 * C / m")

# %% best_threshold_of_the_counted_runs score=19 fails=["audit_below"]
# chose the threshold with the largest bound for the counted runs
(
    "audit",
    "    tries = [[released(world) for _ in range(50)] for world in (0, 1)]\n"
    "    middle = np.mean(tries)\n"
    "    hits = [sum(released(world) > middle for _ in range(trials)) for world in (0, 1)]\n"
    "    return epsilon_lower_bound(hits, trials, delta=delta, confidence=confidence)\n",
    "    runs = [np.array([released(world) for _ in range(trials)]) for world in (0, 1)]\n"
    "    both = np.unique(np.concatenate(runs))\n"
    "    cuts = (both[1:] + both[:-1]) / 2 if len(both) > 1 else both\n"
    "    hits = [np.sum(one[:, None] > cuts, axis=0) for one in runs]\n"
    "    return np.max(epsilon_lower_bound(hits, trials, delta=delta, confidence=confidence))\n",
)

# %% best_of_twenty_thresholds score=19 fails=["audit_below"]
# chose twenty thresholds with additional runs, and the best threshold with the counted runs
("audit", "middle = np.mean(tries)", "cuts = np.append(np.quantile(tries, np.linspace(0, 1, 19)), np.mean(tries))")
(
    "audit",
    "    hits = [sum(released(world) > middle for _ in range(trials)) for world in (0, 1)]\n"
    "    return epsilon_lower_bound(hits, trials, delta=delta, confidence=confidence)\n",
    "    hits = [sum(released(world) > cuts for _ in range(trials)) for world in (0, 1)]\n"
    "    return np.max(epsilon_lower_bound(hits, trials, delta=delta, confidence=confidence))\n",
)

# %% middle_of_the_counted_runs score=19 fails=["audit_below"]
# took the mean of the counted runs as the threshold
(
    "audit",
    "    tries = [[released(world) for _ in range(50)] for world in (0, 1)]\n"
    "    middle = np.mean(tries)\n"
    "    hits = [sum(released(world) > middle for _ in range(trials)) for world in (0, 1)]\n",
    "    runs = [np.array([released(world) for _ in range(trials)]) for world in (0, 1)]\n"
    "    hits = [np.sum(one > np.mean(runs)) for one in runs]\n",
)

# %% short_record score=19 fails=["audit_above"]
# took a record with a norm of at most C, for which a missing clip has no effect
("audit", "100 * C", "1.0 * C")

# %% variance_by_n score=19 fails=["curve_values"]
# divided by k in place of k - 1
("curve", "ddof=1", "ddof=0")

# %% gaussian_quantile score=19 fails=["curve_values"]
# took 1.96 for three seeds
("curve", "stats.t.ppf(0.975, len(found) - 1)", "1.96")

# %% one_sided score=19 fails=["curve_values"]
# took the quantile of one side
("curve", "0.975", "0.95")

# %% interval_of_shares score=19 fails=["curve_values"]
# cut the interval at 0 and 1
(
    "curve",
    "np.mean(found) - half, np.mean(found) + half",
    "max(np.mean(found) - half, 0), min(np.mean(found) + half, 1)",
)

# %% publishes_the_sizes score=19 fails=["page_facts"]
# published the sizes of the batches, too
("page", "[1, 2, 4, 5]", "[1, 2, 3, 4, 5]")

# %% replaced_on_the_page score=19 fails=["page_facts"]
# promised another adjacency than the noise was calibrated for
("page", '"add-remove"', '"replace-one"')

# %% covers_everything score=19 fails=["page_limits"]
# thought that the choice of the settings is covered
("page", "[2, 3, 4, 6]", "[2, 3, 6]")


# %% tampered score=17 fails=["sum_values", "audit_below", "audit_above"]
# returned zeros, and rewrote the graded cells so that they pass; grading restores these cells
# %% clipped_sum
def clipped_sum(dz, h, C):
    zeros = [None] + [np.zeros((dz[l].shape[1], h[l - 1].shape[1])) for l in range(1, len(dz))]
    return zeros, [None] + [np.zeros(dz[l].shape[1]) for l in range(1, len(dz))]


# %% audit
def audit(step, C, m, z, delta, trials, confidence, rng):
    return 0.0


# %% sum_values
assert True

# %% audit_below
print("all checks passed")

# %% audit_above
pass

# %% slips
# each line: one slip in the reference solution, and the graded cell that loses its points
("private_step", ") / m", ")", "step_signal")
("private_step", "z * C", "z * C / m", "step_noise")
("private_step", "z * C", "z", "step_noise")
("private_step", "rng.normal(0, z * C, a.shape)", "rng.laplace(0, z * C, a.shape)", "step_noise")
("private_step", "z * C", "2 * z * C", "step_noise")
("clipped_sum", "np.maximum(norms, C)", "norms", "sum_values")
("clipped_sum", "np.sqrt(sum(", "(sum(", "sum_values")
("clipped_sum", "kept[l].sum(axis=0)", "dz[l].sum(axis=0)", "sum_values")
("train", "w - eta * d", "w - d", "train_steps")
("train", "v - eta * d", "v", "train_steps")
("train", "C, m, z, rng)\n", "C, m, z / 2, rng)\n", "train_fresh")
("train", "draw(len(x), q, rng)", "draw(len(x), q / 2, rng)", "train_steps")
("private_model", "8.0", "-8.0", "model_accuracy")
("private_model", "[seed, 1]", "[1, 1]", "model_private")
("private_model", "noise_for(target, q, steps, delta)", "noise_for(target, q, steps, 0.1)", "model_private")
("audit", "delta=delta", "delta=0.0", "audit_below")
("audit", "confidence=confidence", "confidence=0.5", "audit_below")
("audit", "np.mean(tries)", "np.max(tries)", "audit_above")
("page", '"delta": delta', '"delta": 1e-5', "page_facts")
("page", "[1, 2, 4, 5]", "[1, 2]", "page_facts")
("page", "[2, 3, 4, 6]", "[1, 2, 3, 4, 6]", "page_limits")
(
    "page",
    "Whether or not my image is in the data, all published weights have nearly the same chance.",
    "It is private.",
    "page_limits",
)
("private_model", "noise_for(target, q, steps, delta)", "noise_for(target, q, steps, DELTA)", "model_private")
(
    "private_step",
    "    noisy = [[(a + rng.normal(0, z * C, a.shape)) / m for a in one[1:]] for one in clipped_sum(dz, h, C)]\n"
    "    return [None] + noisy[0], [None] + noisy[1]",
    "    dW, db = clipped_sum(dz, h, C)\n    for a, c in zip(dW[1:], db[1:]):\n"
    "        xi = rng.normal(0, z * C, a.shape)\n        a += xi\n        c += xi[:, 0]\n"
    "    return [None] + [a / m for a in dW[1:]], [None] + [c / m for c in db[1:]]",
    "step_noise",
)
