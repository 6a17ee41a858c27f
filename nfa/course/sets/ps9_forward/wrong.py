"""Typical mistakes, each with its score out of 20 points and the cells that lose their points.

A line ("cell", "old", "new") replaces text in a cell of the reference solution. The old text occurs there once.
"""

# %% forgot_sigma score=19 fails=["estimate_sigma"]
# forgot to divide by sigma
("estimate", " / sigma", "")

# %% sigma_squared score=19 fails=["estimate_sigma"]
# divided u by the square of sigma, as the paper divides zeta
("estimate", " / sigma", " / sigma**2")

# %% sigma_for_variance score=19 fails=["estimate_direction"]
# took sigma for the variance of the noise
("estimate", "noisy = loss(z + sigma * u)", "u = np.sqrt(sigma) * u\n    noisy = loss(z + u)")

# %% sum_for_mean score=19 fails=["estimate_K"]
# summed over the draws without 1/K
("estimate", ".mean(axis=0)", ".sum(axis=0)")

# %% mean_over_records score=19 fails=["estimate_direction"]
# took the mean over the records in place of the draws
("estimate", ".mean(axis=0)", ".mean(axis=1)")

# %% shared_noise score=19 fails=["estimate_direction"]
# gave every record the noise of the first record
("estimate", "noisy = loss", "u = u[:, :1, :]\n    noisy = loss")

# %% true_gradient score=19 fails=["quartic"]
# gave the derivative of the loss itself for the mean
("mean_of_quartic", "return 7.0", "return 4.0")

# %% baseline_sign score=19 fails=["baseline_values"]
# added the baseline
("baseline", "loss(v) - without_noise", "loss(v) + without_noise")

# %% baseline_of_draws score=19 fails=["baseline_values"]
# used the average of the same draws' losses as the baseline
("baseline", "without_noise = loss(z)", "without_noise = loss(z + sigma * u).mean(axis=0)")

# %% fresh_noise score=19 fails=["antithetic_values"]
# drew new noise for the second half of a pair
("antithetic", "-u", "np.random.default_rng(0).standard_normal(u.shape)")

# %% no_half score=19 fails=["antithetic_values"]
# did not halve the difference of a pair
("antithetic", " / 2", "")

# %% pair_sum score=19 fails=["antithetic_values"]
# added the two losses of a pair
("antithetic", "+ estimate", "- estimate")

# %% std_for_variance score=19 fails=["exponents_plain"]
# gave the exponents of the standard deviation
("exponents", '"K": -1, "sigma": -2, "loss": 2', '"K": -0.5, "sigma": -1, "loss": 1')

# %% misprint score=19 fails=["exponents_plain"]
# believed the misprint of Equation 22
("exponents", '"loss": 2', '"loss": 1')

# %% bias_linear score=19 fails=["exponents_rest"]
# thought that the bias is proportional to sigma
("exponents", '"bias_sigma": 2', '"bias_sigma": 1')

# %% off_by_one_layer score=18 fails=["ulr_direction"]
# read h[l] where dW[l] needs h[l-1]
("ulr", "h[l - 1]", "h[min(l, L - 1)]")

# %% wrong_step score=18 fails=["ulr_direction"]
# passed h in place of z to the layers above
("ulr", "z[l], u[l]", "h[l] if l < L else z[l], u[l]")

# %% dw_transposed score=18 fails=["ulr_direction"]
# exchanged rows and columns of dW[l]
("ulr", "g.T @ h[l - 1]", "h[l - 1].T @ g")

# %% sum_over_records score=19 fails=["ulr_scale"]
# summed over the records without 1/m
("ulr", "h[l - 1] / m", "h[l - 1]")
("ulr", "g.sum(axis=0) / m", "g.sum(axis=0)")

# %% mean_twice score=19 fails=["ulr_scale"]
# divided by m twice for the biases
("ulr", "g.sum(", "g.mean(")

# %% climbs score=19 fails=["train_learns"]
# added the direction in place of subtracting it
("train", "W[l] -=", "W[l] +=")
("train", "b[l] -=", "b[l] +=")

# %% guessed_in_percent score=19 fails=["guess_made"]
# guessed percentages
("guess", "[0.001, 0.1]", "[0.1, 10]")

# %% average_is_fine score=19 fails=["own_average_answer"]
# thought that the average of the same draws does not change the mean
("own_average", '"b"', '"a"')

# %% no_reason score=19 fails=["own_average_answer"]
# gave a letter and hardly a reason
(
    "own_average",
    "For K = 1 the difference is zero, and only the losses of the K - 1 other draws are independent.",
    "It is obvious.",
)

# %% clip_keeps_the_noise score=19 fails=["enough_records_answer"]
# thought that a clip does not change the variance
("enough_records", '"c"', '"a"')

# %% more_draws score=19 fails=["enough_records_answer"]
# thought that a larger K gives the clipped estimates more variance
("enough_records", '"c"', '"b"')

# %% too_few_draws score=19 fails=["outlier_answer"]
# thought that a larger K hides the outlier
("outlier", '"b"', '"a"')

# %% infinite_loop score=19 fails=["train_learns"]
# wrote a loop that never ends
("train", "np.zeros(steps)", "[]")
("train", "for t in range(steps):", "while len(losses) < steps:")
(
    "train",
    "losses[t] = loss_above(W, b, L, forward(W, b, x)[0][L], y).mean()",
    "losses + [loss_above(W, b, L, forward(W, b, x)[0][L], y).mean()]",
)

# %% noisy_loss score=19 fails=["train_learns"]
# stored the losses with noise on the logits
("train", "forward(W, b, x)[0][L]", "forward(W, b, x)[0][L] + 3 * sigma * rng.standard_normal((len(x), len(b[L])))")

# %% same_noise score=19 fails=["train_learns"]
# drew the noise once for all steps
("train", "u = [None,", "u = u if t else [None,")

# %% controller_variance score=19 fails=["controller_value"]
# returned the variance in place of sigma
("controller", "np.sqrt(smallest / K) / (C * sigma_0)", "smallest / (K * C**2 * sigma_0**2)")

# %% loss_not_squared score=19 fails=["controller_value"]
# did not square the losses in Equation 8
("controller", "losses[:, None] ** 2", "losses[:, None]")

# %% forgot_K score=19 fails=["controller_value"]
# left K out of Equation 8
("controller", "smallest / K", "smallest")

# %% clips_the_sum score=19 fails=["printed_values"]
# clipped the sum in place of each record
(
    "printed",
    "np.clip(losses * xi / (sigma * np.sqrt(K)), -C, C).sum(axis=1)",
    "np.clip((losses * xi).sum(axis=1) / (sigma * np.sqrt(K)), -C, C)",
)

# %% own_sigma score=19 fails=["printed_values"]
# gave each record its own sigma
("printed", "controller(np.ones((len(losses), 1)), losses, K, C, sigma_0)", "losses / (np.sqrt(K) * C * sigma_0)")

# %% clips_entries score=19 fails=["sound_clip"]
# clipped each entry separately
("sound", "(g / np.maximum(1, norm / C))", "np.clip(g, -C, C)")

# %% normalises score=19 fails=["sound_clip"]
# scaled small estimates up to C
("sound", "np.maximum(1, norm / C)", "(np.maximum(norm, 1e-12) / C)")

# %% clips_after_sum score=19 fails=["sound_clip"]
# clipped the sum of the batch, and not each record
("sound", "norm =", "g = g.sum(axis=0, keepdims=True)\n    norm =")

# %% noise_before_clip score=19 fails=["sound_noise"]
# added the noise before the clip, to each record
("sound", "norm =", "g = g + sigma_0 * C * xi\n    norm =")
("sound", ".sum(axis=0) + sigma_0 * C * xi", ".sum(axis=0)")

# %% noise_variance score=19 fails=["sound_noise"]
# used the variance of the noise as its standard deviation
("sound", "+ sigma_0 * C * xi", "+ (sigma_0 * C) ** 2 * xi")


# %% tampered score=17 fails=["estimate_direction", "estimate_K", "estimate_sigma"]
# returned zeros, and rewrote the graded cells so that they pass; grading restores these cells
# %% estimate
def estimate(loss, z, u, sigma):
    return 0 * z


# %% estimate_direction
assert True

# %% estimate_K
print("all checks passed")

# %% estimate_sigma
pass

# %% one_length_for_all score=19 fails=["sound_clip"]
# clipped all estimates as one long vector, to C times the square root of their number
("sound", "np.linalg.norm(g, axis=1, keepdims=True)", "np.linalg.norm(g) / np.sqrt(len(g))")

# %% mean_for_baseline score=19 fails=["baseline_values"]
# subtracted the mean loss of the batch from every record's loss
("baseline", "without_noise = loss(z)", "without_noise = loss(z).mean()")

# %% mean_in_the_controller score=19 fails=["controller_value"]
# took the mean over the records in place of the sum
("controller", "smallest / K", "smallest / len(h) / K")

# %% draws_not_scaled score=19 fails=["estimate_direction"]
# computed the loss at z + u
("estimate", "z + sigma * u", "z + u")

# %% clips_by_the_square score=19 fails=["sound_clip"]
# divided large estimates by the square of norm / C
("sound", "norm / C", "norm**2 / C**2")

# %% losses_for_squares score=19 fails=["controller_value"]
# used the losses in place of their squares
("controller", "(h * losses[:, None] ** 2).T @ h", 'np.einsum("m,mi,mj->ij", losses, h, h)')

# %% frozen_below score=19 fails=["train_learns"]
# trained only the top layer
("train", "for l in range(1, L + 1)", "for l in range(L, L + 1)")

# %% frozen_biases score=19 fails=["train_learns"]
# did not train the biases
("train", "b[l] -= eta * db[l]", "pass")

# %% one_draw_a_record score=19 fails=["train_learns"]
# drew once for each record instead of K times
("train", "standard_normal((K, ", "standard_normal((1, ")

# %% sigma_of_the_example score=19 fails=["train_learns"]
# used a fixed sigma in place of the argument
("train", "y, u, sigma)", "y, u, 0.5)")

# %% eta_left_out score=19 fails=["train_learns"]
# left out eta
("train", "eta * dW[l]", "dW[l]")
("train", "eta * db[l]", "db[l]")

# %% eta_left_out_of_biases score=19 fails=["train_learns"]
# left out eta for the biases
("train", "eta * db[l]", "db[l]")

# %% uniform_draws score=19 fails=["train_learns"]
# drew uniform noise of variance 1
("train", "standard_normal((", "uniform(-np.sqrt(3), np.sqrt(3), (")

# %% noise_of_positive_sign score=19 fails=["train_learns"]
# drew values between 0 and 1
("train", "standard_normal(", "random(")

# %% draws_for_all_records score=19 fails=["train_learns"]
# gave all records of the batch the same draws
("train", "rng.standard_normal((K, len(x), len(v)))", "rng.standard_normal((K, 1, len(v))).repeat(len(x), axis=1)")

# %% direction_of_the_first_weights score=19 fails=["train_learns"]
# computed all directions at the first weights
(
    "train",
    "L = len(W) - 1",
    "L, W_0, b_0 = len(W) - 1, [None, *(w.copy() for w in W[1:])], [None, *(v.copy() for v in b[1:])]",
)
("train", "ulr(W, b,", "ulr(W_0, b_0,")

# %% noise_scaled_twice score=19 fails=["train_learns"]
# multiplied the draws by sigma, although ulr does this, too
("train", "rng.standard_normal", "sigma * rng.standard_normal")

# %% upper_clip_alone score=19 fails=["printed_values"]
# clipped only from above
("printed", "-C, C)", "None, C)")

# %% lower_clip_alone score=19 fails=["printed_values"]
# clipped only from below
("printed", "-C, C)", "-C, None)")

# %% clipped_to_one score=19 fails=["printed_values"]
# clipped to 1 in place of C
("printed", "-C, C)", "-1, 1)")

# %% half_beside_a_factor score=18 fails=["estimate_sigma", "antithetic_values"]
# forgot sigma in the estimate and the half in the pairs, which cancel for sigma = 1/2
("estimate", " / sigma", "")
("antithetic", " / 2", "")

# %% pairs_without_a_half score=18 fails=["estimate_K", "antithetic_values"]
# summed over the draws, and forgot the half in the pairs
("estimate", ".mean(axis=0)", ".sum(axis=0)")
("antithetic", " / 2", "")

# %% no_mean score=19 fails=["estimate_direction"]
# forgot the mean, and returned the terms of all draws
("estimate", ".mean(axis=0)", "")

# %% mean_over_everything score=19 fails=["estimate_direction"]
# forgot the axis of the mean
("estimate", ".mean(axis=0)", ".mean()")

# %% mean_over_entries score=19 fails=["estimate_direction"]
# took the mean over the entries of a record
("estimate", ".mean(axis=0)", ".mean(axis=-1)")

# %% largest_eigenvalue score=19 fails=["controller_value"]
# took the largest eigenvalue
("controller", ")[0]", ")[-1]")

# %% clipped_where_the_bound_is_small score=19 fails=["controller_value"]
# added a small number to C * sigma_0
("controller", "(C * sigma_0)", "(C * sigma_0 + 1e-8)")

# %% no_slot_0 score=18 fails=["ulr_direction"]
# returned lists that begin with layer 1
("ulr", "return dW, db", "return dW[1:], db[1:]")

# %% sum_not_taken score=19 fails=["sound_clip"]
# returned each record's clipped estimate with the noise
("sound", ".sum(axis=0)", "")

# %% noise_without_draws score=19 fails=["sound_noise"]
# added the standard deviation in place of the noise
("sound", "sigma_0 * C * xi", "sigma_0 * C")

# %% record_axis_of_pairs_lost score=19 fails=["antithetic_values"]
# dropped the axis of the records in a batch of one record
(
    "antithetic",
    "return (estimate(loss, z, u, sigma) + estimate(loss, z, -u, sigma)) / 2",
    "return np.squeeze((estimate(loss, z, u, sigma) + estimate(loss, z, -u, sigma)) / 2)",
)

# %% record_axis_lost score=19 fails=["estimate_direction"]
# dropped the axis of the records in a batch of one record
(
    "estimate",
    "return (u * noisy[:, :, None]).mean(axis=0) / sigma",
    "return np.squeeze((u * noisy[:, :, None]).mean(axis=0) / sigma)",
)

# %% record_axis_of_the_baseline_lost score=19 fails=["baseline_values"]
# dropped the axis of the records in a batch of one record
(
    "baseline",
    "return estimate(lambda v: loss(v) - without_noise, z, u, sigma)",
    "return np.squeeze(estimate(lambda v: loss(v) - without_noise, z, u, sigma))",
)

# %% record_axis_of_a_layer_lost score=18 fails=["ulr_direction"]
# dropped the axis of the records or units if there is only one
(
    "ulr",
    "antithetic(lambda v, l=l: loss_above(W, b, l, v, y), z[l], u[l], sigma)",
    "np.squeeze(antithetic(lambda v, l=l: loss_above(W, b, l, v, y), z[l], u[l], sigma))",
)

# %% layers_share_noise score=19 fails=["train_learns"]
# cut the noise of every layer from the same array
(
    "train",
    "u = [None, *(rng.standard_normal((K, len(x), len(v))) for v in b[1:])]",
    "wide = rng.standard_normal((K, len(x), max(map(len, b[1:]))))\n"
    "        u = [None, *(wide[:, :, : len(v)] for v in b[1:])]",
)

# %% no_noise_on_estimates_of_zero score=19 fails=["sound_noise"]
# added no noise if all estimates of the batch are 0
("sound", "+ sigma_0 * C * xi", "+ sigma_0 * C * xi * (len(g) == 0 or np.any(g))")

# %% slips
# each line: one slip in the reference solution, and the graded cell that loses its points
("estimate", "z + sigma * u", "z + np.sqrt(sigma) * u", "estimate_direction")
("estimate", "z + sigma * u", "z - sigma * u", "estimate_direction")
("estimate", "(u * noisy[:, :, None])", "noisy[:, :, None].repeat(z.shape[1], axis=2)", "estimate_direction")
("estimate", "return (u", "return -(u", "estimate_sigma")
("exponents", '"sigma": -2, "loss"', '"sigma": -1, "loss"', "exponents_plain")
("exponents", '"baseline_sigma": 0', '"baseline_sigma": 2', "exponents_rest")
("ulr", "h[l - 1] / m", "h[l if l < L else 0] / m", "ulr_direction")
("ulr", "g.T @", "g @", "ulr_direction")
("ulr", "W, b, l, v, y", "W, b, l - 1, v, y", "ulr_direction")
("ulr", "u[l], sigma", "u[L], sigma", "ulr_direction")
("ulr", "g.T @ h[l - 1] / m", "g.T @ h[l - 1]", "ulr_scale")
("ulr", "g = antithetic(", "g = -antithetic(", "ulr_scale")
("sound", "np.maximum(1, norm / C)", "(norm / C)", "sound_clip")
("sound", "axis=1, keepdims", "axis=0, keepdims", "sound_clip")
("sound", ").sum(axis=0)", ").mean(axis=0)", "sound_clip")
("sound", ").sum(axis=0)", ").sum(axis=1)", "sound_clip")
("sound", "np.maximum", "np.minimum", "sound_clip")
("sound", "sigma_0 * C * xi", "sigma_0 * xi", "sound_noise")
("sound", "+ sigma_0 * C * xi", "+ len(g) * sigma_0 * C * xi", "sound_noise")
("own_average", '"b"', '"c"', "own_average_answer")
("outlier", '"b"', '"c"', "outlier_answer")
("guess", "0.1]", "-0.1]", "guess_made")
("estimate", ".mean(axis=0) / sigma", ".mean(axis=0) / sigma / len(z)", "estimate_K")
("sound", "+ sigma_0 * C * xi", "+ sigma_0 * np.minimum(norm, C).max(initial=C * (len(g) == 0)) * xi", "sound_noise")
