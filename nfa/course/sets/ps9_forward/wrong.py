"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose.

A line ("cell", "old", "new") replaces text in the reference solution, which has the old text in that cell once.
"""

# %% forgot_sigma score=19 fails=["estimate_sigma"]
# forgot to divide by sigma
("estimate", " / sigma", "")

# %% sigma_squared score=19 fails=["estimate_sigma"]
# divided u by sigma squared, as the paper does zeta
("estimate", " / sigma", " / sigma**2")

# %% sigma_for_variance score=18 fails=["estimate_direction"]
# took sigma for the variance of the noise
("estimate", "felt = loss(z + sigma * u)", "u = np.sqrt(sigma) * u\n    felt = loss(z + u)")

# %% sum_for_mean score=19 fails=["estimate_K"]
# summed over the draws without 1/K
("estimate", ".mean(axis=0)", ".sum(axis=0)")

# %% mean_over_records score=18 fails=["estimate_direction"]
# took the mean over the records in place of the draws
("estimate", ".mean(axis=0)", ".mean(axis=1)")

# %% shared_noise score=18 fails=["estimate_direction"]
# gave every record the noise of the first one
("estimate", "felt = loss", "u = u[:, :1, :]\n    felt = loss")

# %% true_gradient score=19 fails=["quartic"]
# gave the derivative without noise for the mean
("mean_of_quartic", "return 7.0", "return 4.0")

# %% baseline_sign score=19 fails=["baseline_values"]
# added the baseline
("baseline", "loss(v) - calm", "loss(v) + calm")

# %% baseline_of_draws score=19 fails=["baseline_values"]
# took the average of the same draws' losses for the baseline
("baseline", "calm = loss(z)", "calm = loss(z + sigma * u).mean(axis=0)")

# %% fresh_noise score=19 fails=["antithetic_values"]
# drew fresh noise for the mirrored half of a pair
("antithetic", "-u", "np.random.default_rng(0).standard_normal(u.shape)")

# %% no_half score=19 fails=["antithetic_values"]
# forgot the half of a pair's difference
("antithetic", " / 2", "")

# %% pair_sum score=19 fails=["antithetic_values"]
# added the two losses of a pair
("antithetic", "+ estimate", "- estimate")

# %% average_is_fine score=19 fails=["own_average_factor"]
# thought the average of the same draws leaves the mean as it is
("own_average", "1 - 1 / K", "1.0")

# %% std_for_variance score=19 fails=["exponents_plain"]
# gave the exponents of the standard deviation
("exponents", '"K": -1, "sigma": -2, "loss": 2', '"K": -0.5, "sigma": -1, "loss": 1')

# %% misprint score=19 fails=["exponents_plain"]
# believed Equation 22's misprint
("exponents", '"loss": 2', '"loss": 1')

# %% bias_linear score=19 fails=["exponents_rest"]
# thought the bias in proportion to sigma
("exponents", '"bias_sigma": 2', '"bias_sigma": 1')

# %% off_by_one_layer score=18 fails=["ulr_direction"]
# read h[l] where dW[l] needs h[l-1]
("ulr", "h[l - 1]", "h[min(l, L - 1)]")

# %% wrong_step score=18 fails=["ulr_direction"]
# ran the layers above from h in place of z
("ulr", "z[l], u[l]", "h[l] if l < L else z[l], u[l]")

# %% dw_transposed score=18 fails=["ulr_direction"]
# returned dW[l] with rows and columns exchanged
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

# %% infinite_loop score=19 fails=["train_learns"]
# a loop that never ends
("train", "np.zeros(steps)", "[]")
("train", "for t in range(steps):", "while len(losses) < steps:")
(
    "train",
    "losses[t] = loss_above(W, b, L, forward(W, b, x)[0][L], y).mean()",
    "losses + [loss_above(W, b, L, forward(W, b, x)[0][L], y).mean()]",
)

# %% noisy_loss score=19 fails=["train_learns"]
# noted the losses with noise on the logits
("train", "forward(W, b, x)[0][L]", "forward(W, b, x)[0][L] + 3 * sigma * rng.standard_normal((len(x), len(b[L])))")

# %% same_noise score=19 fails=["train_learns"]
# drew the noise once for all steps
("train", "u = [None,", "u = u if t else [None,")

# %% controller_variance score=19 fails=["controller_value"]
# returned the variance in place of sigma
("controller", "np.sqrt(least / K) / (C * sigma_0)", "least / (K * C**2 * sigma_0**2)")

# %% loss_not_squared score=19 fails=["controller_value"]
# did not square the losses in Equation 8
("controller", "loss[:, None] ** 2", "loss[:, None]")

# %% forgot_K score=19 fails=["controller_value"]
# left K out of Equation 8
("controller", "least / K", "least")

# %% records_unsquared score=19 fails=["records_value"]
# forgot the square of sigma_0
("records_needed", "sigma_0**2", "sigma_0")

# %% records_each score=19 fails=["records_value"]
# thought each clipped record may have variance C^2 in every direction
("records_needed", " * d", "")

# %% clips_the_sum score=19 fails=["printed_values"]
# clipped the sum in place of each record
(
    "printed",
    "np.clip(loss * xi / (sigma * np.sqrt(K)), -C, C).sum(axis=1)",
    "np.clip((loss * xi).sum(axis=1) / (sigma * np.sqrt(K)), -C, C)",
)

# %% own_sigma score=19 fails=["printed_values"]
# gave each record a sigma of its own
("printed", "controller(np.ones((len(loss), 1)), loss, K, C, sigma_0)", "loss / (np.sqrt(K) * C * sigma_0)")

# %% complement score=19 fails=["outlier_value"]
# gave the chance that the outlier is not clipped
("outlier", "0.803", "0.197")

# %% still_gaussian score=19 fails=["outlier_value"]
# thought the sum is N(0, 16) with the outlier too
("outlier", "0.803", "4 * 0.001 * np.exp(-1 / 32) / np.sqrt(2 * np.pi * 16)")

# %% clips_entries score=19 fails=["sound_clip"]
# clipped every entry by itself
("sound", "(g / np.maximum(1, norm / C))", "np.clip(g, -C, C)")

# %% normalises score=19 fails=["sound_clip"]
# lengthened short estimates to C
("sound", "np.maximum(1, norm / C)", "(np.maximum(norm, 1e-12) / C)")

# %% clips_after_sum score=19 fails=["sound_clip"]
# clipped the sum of the batch, and not each record
("sound", "norm =", "g = g.sum(axis=0, keepdims=True)\n    norm =")

# %% noise_before_clip score=19 fails=["sound_noise"]
# added the noise before the clip, to each record
("sound", "norm =", "g = g + sigma_0 * C * xi\n    norm =")
("sound", ".sum(axis=0) + sigma_0 * C * xi", ".sum(axis=0)")

# %% noise_variance score=19 fails=["sound_noise"]
# took the variance of the noise for its standard deviation
("sound", "+ sigma_0 * C * xi", "+ (sigma_0 * C) ** 2 * xi")


# %% tampered score=16 fails=["estimate_direction", "estimate_K", "estimate_sigma"]
# returned zeros, and rewrote the graded cells so that they pass; they are put back before grading
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
# clipped the estimates as one long vector, to C times the root of their number
("sound", "np.linalg.norm(g, axis=1, keepdims=True)", "np.linalg.norm(g) / np.sqrt(len(g))")

# %% mean_for_baseline score=19 fails=["baseline_values"]
# subtracted the mean loss of the batch from every record's
("baseline", "calm = loss(z)", "calm = loss(z).mean()")

# %% mean_in_the_controller score=19 fails=["controller_value"]
# took the mean over the records for their sum
("controller", "least / K", "least / len(h) / K")

# %% draws_not_scaled score=18 fails=["estimate_direction"]
# asked the loss at z + u
("estimate", "z + sigma * u", "z + u")

# %% clips_by_the_square score=19 fails=["sound_clip"]
# divided long estimates by the square of what they are too long
("sound", "norm / C", "norm**2 / C**2")

# %% noise_of_one_record score=19 fails=["controller_value"]
# put the losses in where their squares belong
("controller", "(h * loss[:, None] ** 2).T @ h", 'np.einsum("m,mi,mj->ij", loss, h, h)')

# %% frozen_below score=19 fails=["train_learns"]
# moved the top layer alone
("train", "for l in range(1, L + 1)", "for l in range(L, L + 1)")

# %% frozen_biases score=19 fails=["train_learns"]
# forgot to move the biases
("train", "b[l] -= eta * db[l]", "pass")

# %% one_draw_a_record score=19 fails=["train_learns"]
# drew once for each record, whatever K is
("train", "standard_normal((K, ", "standard_normal((1, ")

# %% sigma_of_the_example score=19 fails=["train_learns"]
# left the sigma in that was tried first
("train", "y, u, sigma)", "y, u, 0.5)")

# %% eta_left_out score=19 fails=["train_learns"]
# subtracted the direction itself
("train", "eta * dW[l]", "dW[l]")
("train", "eta * db[l]", "db[l]")

# %% eta_left_out_of_biases score=19 fails=["train_learns"]
# subtracted the direction itself from the biases
("train", "eta * db[l]", "db[l]")

# %% uniform_draws score=19 fails=["train_learns"]
# drew uniform noise of variance 1
("train", "standard_normal((", "uniform(-np.sqrt(3), np.sqrt(3), (")

# %% noise_of_positive_sign score=19 fails=["train_learns"]
# drew between 0 and 1
("train", "standard_normal(", "random(")

# %% draws_for_all_records score=19 fails=["train_learns"]
# gave all records of the batch the same draws
("train", "rng.standard_normal((K, len(x), len(v)))", "rng.standard_normal((K, 1, len(v))).repeat(len(x), axis=1)")

# %% direction_of_the_first_weights score=19 fails=["train_learns"]
# took all directions at the weights that were given
(
    "train",
    "L = len(W) - 1",
    "L, W_0, b_0 = len(W) - 1, [None, *(w.copy() for w in W[1:])], [None, *(v.copy() for v in b[1:])]",
)
("train", "ulr(W, b,", "ulr(W_0, b_0,")

# %% noise_scaled_twice score=19 fails=["train_learns"]
# multiplied the draws by sigma, which ulr does as well
("train", "rng.standard_normal", "sigma * rng.standard_normal")

# %% upper_clip_alone score=19 fails=["printed_values"]
# clipped from above alone
("printed", "-C, C)", "None, C)")

# %% lower_clip_alone score=19 fails=["printed_values"]
# clipped from below alone
("printed", "-C, C)", "-C, None)")

# %% clipped_to_one score=19 fails=["printed_values"]
# clipped to 1 in place of C
("printed", "-C, C)", "-1, 1)")

# %% half_beside_a_factor score=18 fails=["estimate_sigma", "antithetic_values"]
# forgot sigma in the estimate, and the half in the pairs, which makes up for it where sigma is 1/2
("estimate", " / sigma", "")
("antithetic", " / 2", "")

# %% pairs_without_a_half score=18 fails=["estimate_K", "antithetic_values"]
# summed over the draws, and forgot the half in the pairs
("estimate", ".mean(axis=0)", ".sum(axis=0)")
("antithetic", " / 2", "")

# %% no_mean score=18 fails=["estimate_direction"]
# forgot the mean, and so returned the terms of all draws
("estimate", ".mean(axis=0)", "")

# %% mean_over_everything score=18 fails=["estimate_direction"]
# forgot the axis of the mean
("estimate", ".mean(axis=0)", ".mean()")

# %% mean_over_entries score=18 fails=["estimate_direction"]
# took the mean over the entries of a record
("estimate", ".mean(axis=0)", ".mean(axis=-1)")

# %% largest_eigenvalue score=19 fails=["controller_value"]
# took the largest eigenvalue
("controller", ")[0]", ")[-1]")

# %% clipped_where_the_bound_is_small score=19 fails=["controller_value"]
# kept C away from 0 by adding to it
("controller", "(C * sigma_0)", "(C * sigma_0 + 1e-8)")

# %% no_slot_0 score=18 fails=["ulr_direction"]
# returned lists that begin with layer 1
("ulr", "return dW, db", "return dW[1:], db[1:]")

# %% sum_not_taken score=19 fails=["sound_clip"]
# returned every record's clipped estimate, each with the noise
("sound", ".sum(axis=0)", "")

# %% noise_without_draws score=19 fails=["sound_noise"]
# added the standard deviation in place of the noise
("sound", "sigma_0 * C * xi", "sigma_0 * C")

# %% slips
# one slip in the reference solution, and the one graded cell that it must fail
("estimate", "z + sigma * u", "z + np.sqrt(sigma) * u", "estimate_direction")
("estimate", "z + sigma * u", "z - sigma * u", "estimate_direction")
("estimate", "(u * felt[:, :, None])", "felt[:, :, None].repeat(z.shape[1], axis=2)", "estimate_direction")
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
