"""Typical mistakes, each with its score out of 20 points and the cells that lose their points.

A line ("cell", "old", "new") replaces text in a cell of the reference solution. The old text occurs there once.
"""

# %% amplitude score=19 fails=["intensity_values"]
# took the absolute value of the field for the intensity
("intensity", "field.real**2 + field.imag**2", "np.abs(field)")

# %% real_medium score=19 fails=["intensity_values"]
# used the real part of the medium only
("intensity", "field.real**2 + field.imag**2", "field.real**2")

# %% incoherent score=19 fails=["intensity_values"]
# added the intensities of the mirrors in place of their fields
("intensity", "field.real**2 + field.imag**2", "mirrors @ (np.abs(R) ** 2).T")

# %% pixels_by_patterns score=19 fails=["intensity_values"]
# returned a row for each pixel
("intensity", "mirrors @ R.T", "R @ mirrors.T")

# %% guessed_in_percent score=19 fails=["guess_made"]
# guessed percentages
("guess", "[0.6, 0.6]", "[60, 60]")

# %% squares_cancel score=19 fails=["differences_answer"]
# thought that a difference of intensities is linear
("differences", '"b"', '"a"')

# %% mean_is_subtracted score=19 fails=["differences_answer"]
# thought that a constant makes intensities linear
("differences", '"b"', '"c"')

# %% saturates_at_the_mean score=19 fails=["saturation_answer"]
# put the saturation at the mean intensity, as if the distribution were narrow
("saturation", '"c"', '"a"')

# %% nothing_cut_off score=19 fails=["saturation_answer"]
# wanted no pixel above the saturation, and ignored the gap between levels
("saturation", '"c"', '"b"')

# %% noise_covers_everything score=19 fails=["candidate_answer"]
# thought that noise of this size hides the inputs too
("candidate", '"a"', '"b"')

# %% label_needed score=19 fails=["candidate_answer"]
# thought that a test of the inputs needs the label
("candidate", '"a"', '"c"')

# %% no_reason score=19 fails=["candidate_answer"]
# gave a letter and hardly a reason
(
    "candidate",
    "Every record adds a noisy column times its own input row, so all rows stay in the span of the inputs.",
    "It is obvious.",
)

# %% std_is_root score=19 fails=["speckle_law"]
# took the square root of the mean for the standard deviation, as if intensities were counts
("speckle", "float(n), float(n)", "n, np.sqrt(n)")

# %% mean_is_square score=19 fails=["speckle_law"]
# added n fields in phase, which gives n squared
("speckle", "float(n), float(n)", "n**2, n**2")

# %% share_below score=19 fails=["overexposed_share"]
# returned the share of pixels below top
("overexposed", "np.exp(-top / n)", "1 - np.exp(-top / n)")

# %% share_gaussian score=19 fails=["overexposed_share"]
# used a Gaussian distribution with the right mean and standard deviation
(
    "overexposed",
    "return np.exp(-top / n)",
    "from math import erfc, sqrt\n\n    return 0.5 * erfc((top - n) / n / sqrt(2))",
)

# %% no_anchor score=17 fails=["linear_in_x", "linear_pixels", "linear_norm"]
# took the intensity itself for the projection
("linear", "crossed / (2 * np.sqrt(I_a))", "see(x, anchor=False).astype(float)")

# %% anchor_stays score=19 fails=["linear_in_x"]
# did not subtract the picture of the anchor alone
("linear", " - I_a", "")

# %% same_speckle_twice score=19 fails=["linear_in_x"]
# subtracted the picture of x twice
("linear", "- see(x, anchor=False)", "- 2 * see(x, anchor=False)")

# %% measures_the_anchor_again score=19 fails=["linear_in_x"]
# measured the anchor again in place of the exact picture
("linear", "    crossed =", "    I_a = see(np.zeros_like(x), anchor=True)\n    crossed =")

# %% divides_by_intensity score=19 fails=["linear_pixels"]
# divided by the anchor's intensity in place of its field
("linear", "np.sqrt(I_a)", "I_a")

# %% forgot_two score=19 fails=["linear_norm"]
# forgot the factor 2 of the cross term
("linear", "(2 * np.sqrt(I_a))", "np.sqrt(I_a)")

# %% dark_minus_lit score=19 fails=["linear_norm"]
# subtracted the picture with the anchor from the others
("linear", "return crossed", "return -crossed")

# %% real_part score=19 fails=["matrix_rows"]
# took the real part of R for B, without the phase of the anchor
("matrix", "(R_x * np.exp(-1j * np.angle(anchor))[:, None]).real", "R_x.real")

# %% turned_away score=19 fails=["matrix_rows"]
# rotated by the phase of the anchor in the wrong direction
("matrix", "-1j", "1j")

# %% anchor_times score=19 fails=["matrix_values"]
# multiplied by the anchor's field and did not divide by its absolute value
("matrix", "np.exp(-1j * np.angle(anchor))", "anchor.conj()")

# %% transposed score=19 fails=["matrix_rows"]
# returned B with rows and columns exchanged
("matrix", "[:, None]).real", "[:, None]).real.T")

# %% threshold_of_positive score=19 fails=["ternarise_values"]
# applied the threshold to positive entries only
("ternarise", "e < -t", "e < 0")

# %% rounds score=18 fails=["ternarise_values", "ternarise_edge"]
# rounded e / t, which gives 2, 3, ... for large entries
("ternarise", "(e > t) * 1.0 - (e < -t) * 1.0", "np.trunc(e / t)")

# %% threshold_included score=19 fails=["ternarise_edge"]
# took >= t for > t
("ternarise", "e > t", "e >= t")
("ternarise", "e < -t", "e <= -t")

# %% overwrites_in_sequence score=19 fails=["ternarise_values"]
# wrote 1 and -1 first, and then replaced all entries of this result between -t and t by 0
(
    "ternarise",
    "return (e > t) * 1.0 - (e < -t) * 1.0",
    "e = np.where(e > t, 1.0, np.where(e < -t, -1.0, e))\n    return np.where((-t <= e) & (e <= t), 0.0, e)",
)

# %% adds_both score=19 fails=["project_values"]
# added the two projections
("project", "linear(see, plus, I_a) - linear(see, minus, I_a)", "linear(see, plus, I_a) + linear(see, minus, I_a)")

# %% shows_signs score=19 fails=["project_values"]
# asked the device to show -1
("project", "linear(see, plus, I_a) - linear(see, minus, I_a)", "linear(see, e, I_a)")

# %% differences_of_intensities score=19 fails=["project_values"]
# took the difference of two intensities, without the anchor
("project", "linear(see, plus, I_a) - linear(see, minus, I_a)", "see(plus, False) - see(minus, False)")

# %% no_sign_without_a_one score=19 fails=["project_values"]
# showed only one pattern if the other one is dark in the whole batch, and forgot the minus sign
(
    "project",
    "    return linear(see, plus, I_a) -",
    "    if not plus.any() or not minus.any():\n        return linear(see, plus + minus, I_a)\n"
    "    return linear(see, plus, I_a) -",
)

# %% noise_before_the_square score=19 fails=["shot_variance_values"]
# gave every exposure a constant noise of its field, in place of counting photons
("shot_variance", "(I_xa + I_x) / photons / (4 * I_a)", "np.full(len(I_a), 2 / photons / 4)")

# %% variances_subtracted score=19 fails=["shot_variance_values"]
# subtracted the variance of the reading that is subtracted
("shot_variance", "I_xa + I_x", "I_xa - I_x")

# %% divisor_not_squared score=19 fails=["shot_variance_values"]
# divided the variance by the divisor of linear, not by its square
("shot_variance", "(4 * I_a)", "(2 * np.sqrt(I_a))")

# %% anchor_counted score=19 fails=["shot_variance_values"]
# counted the shot noise of the anchor's picture, which is exact
("shot_variance", "I_xa + I_x", "I_xa + I_x + I_a")

# %% scaled_after_derivatives score=19 fails=["step_direction"]
# scaled after the multiplication by phi'
("step", "scale(project(see, ternarise(e, t), I_a), s)", "project(see, ternarise(e, t), I_a)")
("step", "(p * dphi).T", "scale(p * dphi, s).T")

# %% forgot_scale score=19 fails=["step_direction"]
# did not scale at all
("step", "scale(project(see, ternarise(e, t), I_a), s)", "project(see, ternarise(e, t), I_a)")

# %% dw_transposed score=19 fails=["step_direction"]
# returned dW with rows and columns exchanged
("step", "(p * dphi).T @ h", "h.T @ (p * dphi)")

# %% batch_for_m score=19 fails=["step_norm"]
# divided by the number of records in place of m
("step", "/ m", "/ len(h)")

# %% sign score=19 fails=["step_norm"]
# returned the paper's delta W, with its minus sign
("step", "return (p", "return -(p")

# %% norm_of_n score=19 fails=["noise_norm_values"]
# added up standard deviations, which gives sigma n in place of sigma sqrt(n)
("noise_norm", "np.sqrt(n * projections)", "n * projections")

# %% noise_cancels score=19 fails=["noise_norm_values"]
# forgot that a difference of two noisy projections has the noise of both
("noise_norm", "n * projections", "n")

# %% mean_of_the_norm score=19 fails=["noise_norm_values"]
# returned the mean of the norm, which is smaller than the root mean square for few units
(
    "noise_norm",
    "return sigma * np.sqrt(n * projections)",
    "from math import exp, lgamma\n\n"
    "    return sigma * np.sqrt(2 * projections) * exp(lgamma((n + 1) / 2) - lgamma(n / 2))",
)

# %% noise_fills score=19 fails=["noisy_rank_values"]
# thought that noise gives every matrix full rank
("noisy_rank", "min(m, n_h, n_out)", "min(n_h, n_out)")


# %% infinite_loop score=19 fails=["noisy_rank_values"]
# added noise until the rank was full, which never happens
# %% noisy_rank
def noisy_rank(m, n_h, n_out):
    rng, rank, sigma = np.random.default_rng(0), 0, 1.0
    h = rng.normal(size=(m, n_h))
    while rank < min(n_h, n_out):
        sigma = min(2 * sigma, 1e6)
        rank = np.linalg.matrix_rank((sigma * rng.normal(size=(m, n_out))).T @ h)
    return rank


# %% tampered score=17 fails=["linear_in_x", "linear_pixels", "linear_norm"]
# returned zeros, and rewrote the graded cells so that they pass; grading restores these cells
# %% linear
def linear(see, x, I_a):
    return np.zeros((len(x), len(I_a)))


# %% linear_in_x
assert True


# %% linear_pixels
pass


# %% linear_norm
print("all checks passed")

# %% largest_decides score=19 fails=["ternarise_values"]
# compared with t times the largest error of the record
("ternarise", "return", "t = t * np.abs(e).max(axis=1, keepdims=True)\n    return")

# %% anchor_only_once score=19 fails=["linear_in_x"]
# subtracted the picture of the anchor, and not the picture of the data
("linear", " - see(x, anchor=False)", "")

# %% anchor_squared_and_two_lost score=18 fails=["linear_pixels", "linear_norm"]
# made two slips: the anchor's intensity as divisor, and no factor 2 of the cross term
("linear", "(2 * np.sqrt(I_a))", "I_a")

# %% phase_from_the_data score=19 fails=["matrix_rows"]
# rotated every pixel by the phase of its first mirror, and not of its anchor
("matrix", "np.angle(anchor)", "np.angle(R[:, 0])")

# %% projects_with_the_measured_anchor score=19 fails=["project_values"]
# measured the anchor again for the projection of an error
("project", "    plus, minus =", "    I_a = see(np.zeros((1, e.shape[1])), anchor=True)[0]\n    plus, minus =")

# %% dark_counts_as_minus score=19 fails=["project_values"]
# showed all entries that are not 1 in the second pattern, also the zeros
("project", "(e < 0).astype(int)", "(e <= 0).astype(int)")

# %% larger_of_m_and_batch score=19 fails=["step_norm"]
# used the larger of m and the number of records
("step", "/ m", "/ max(m, len(e))")

# %% derivatives_under_the_scale score=19 fails=["step_direction"]
# multiplied by the derivatives before the scaling
("step", "scale(project(see, ternarise(e, t), I_a), s)", "scale(project(see, ternarise(e, t), I_a) * dphi, s)")
("step", "(p * dphi).T", "p.T")

# %% something_added_to_the_anchor score=19 fails=["linear_norm"]
# added a small number to the divisor, which is too much in dim light
("linear", "(2 * np.sqrt(I_a))", "(2 * np.sqrt(I_a) + 1e-8)")

# %% no_divisor score=19 fails=["linear_pixels"]
# did not divide by the anchor's field
("linear", "crossed / (2 * np.sqrt(I_a))", "crossed")

# %% anchor_in_front score=19 fails=["matrix_rows"]
# took the first columns for the columns of the anchor
("matrix", "R[:, :-n_anchor], R[:, -n_anchor:]", "R[:, n_anchor:], R[:, :n_anchor]")

# %% slips
# each line: one slip in the reference solution, and the graded cell that loses its points
("matrix", ".real", ".imag", "matrix_rows")
("ternarise", "(e > t)", "(e >= t)", "ternarise_edge")
("ternarise", "- (e < -t)", "+ (e < -t)", "ternarise_values")
("step", " / m", "", "step_norm")
("step", "* dphi", "", "step_direction")
("linear", "/ (2 * np.sqrt(I_a))", "* (2 * np.sqrt(I_a))", "linear_pixels")
("matrix", "R[:, :-n_anchor]", "R[:, :n_anchor]", "matrix_rows")
("matrix", "sum(axis=1)", "sum(axis=0)", "matrix_rows")
("matrix", "-1j * np.angle(anchor)", "np.angle(anchor)", "matrix_rows")
("matrix", "-1j * np.angle(anchor)", "-1j * anchor", "matrix_rows")
("ternarise", "(e < -t)", "(e < t)", "ternarise_values")
("ternarise", "(e > t)", "(e > -t)", "ternarise_values")
("step", "ternarise(e, t)", "e", "step_direction")
("step", "(p * dphi).T @ h", "(p * dphi) @ h", "step_direction")
("step", "(p * dphi).T @ h", "h @ (p * dphi).T", "step_direction")
("step", "(p * dphi).T @ h", "(p * dphi).T * h", "step_direction")
("step", "project(see, ternarise(e, t), I_a)", "ternarise(e, t)", "step_direction")
("ternarise", "(e > t) * 1.0 - (e < -t) * 1.0", "np.where(e > t, 1, -1)", "ternarise_values")
("ternarise", "(e > t) * 1.0 - (e < -t) * 1.0", "np.round(e)", "ternarise_values")
