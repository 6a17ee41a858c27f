"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose.

A line ("cell", "old", "new") replaces text in the reference solution, which has the old text in that cell once.
"""

# %% amplitude score=19 fails=["intensity_values"]
# took the field's size for the intensity
("intensity", "field.real**2 + field.imag**2", "np.abs(field)")

# %% real_medium score=19 fails=["intensity_values"]
# took the medium's real part only: a real Gaussian matrix in place of a complex one
("intensity", "field.real**2 + field.imag**2", "field.real**2")

# %% incoherent score=19 fails=["intensity_values"]
# added the intensities of the mirrors in place of their fields
("intensity", "field.real**2 + field.imag**2", "mirrors @ (np.abs(R) ** 2).T")

# %% pixels_by_patterns score=19 fails=["intensity_values"]
# returned a row a pixel
("intensity", "mirrors @ R.T", "R @ mirrors.T")

# %% std_is_root score=19 fails=["speckle_law"]
# took the root of the mean for the standard deviation, as if intensities were counts
("speckle", "float(n), float(n)", "n, np.sqrt(n)")

# %% mean_is_square score=19 fails=["speckle_law"]
# let n fields add up in phase: n squared
("speckle", "float(n), float(n)", "n**2, n**2")

# %% share_below score=19 fails=["overexposed_share"]
# returned the share of pixels that are not cut off
("overexposed", "np.exp(-top / n)", "1 - np.exp(-top / n)")

# %% share_gaussian score=19 fails=["overexposed_share"]
# took the intensity's law for Gaussian, with the right mean and standard deviation
(
    "overexposed",
    "return np.exp(-top / n)",
    "from math import erfc, sqrt\n\n    return 0.5 * erfc((top - n) / n / sqrt(2))",
)

# %% no_anchor score=17 fails=["linear_in_x", "linear_pixels", "linear_length"]
# took the intensity itself for the projection
("linear", "crossed / (2 * np.sqrt(I_a))", "see(x, anchor=False).astype(float)")

# %% anchor_stays score=19 fails=["linear_in_x"]
# did not subtract the anchor's own picture
("linear", " - I_a", "")

# %% same_speckle_twice score=19 fails=["linear_in_x"]
# subtracted the picture of x twice
("linear", "- see(x, anchor=False)", "- 2 * see(x, anchor=False)")

# %% divides_by_intensity score=19 fails=["linear_pixels"]
# divided by the anchor's intensity in place of its field
("linear", "np.sqrt(I_a)", "I_a")

# %% forgot_two score=19 fails=["linear_length"]
# forgot the factor 2 of the cross term
("linear", "(2 * np.sqrt(I_a))", "np.sqrt(I_a)")

# %% dark_minus_lit score=19 fails=["linear_length"]
# subtracted the picture with the anchor from the others
("linear", "return crossed", "return -crossed")

# %% real_part score=19 fails=["matrix_rows"]
# took the real part of R for B, whatever the anchor's phase
("matrix", "(R_x * np.exp(-1j * np.angle(anchor))[:, None]).real", "R_x.real")

# %% turned_away score=19 fails=["matrix_rows"]
# turned by the anchor's phase the wrong way
("matrix", "-1j", "1j")

# %% anchor_times score=19 fails=["matrix_values"]
# multiplied by the anchor's field and did not divide by its size
("matrix", "np.exp(-1j * np.angle(anchor))", "anchor.conj()")

# %% transposed score=19 fails=["matrix_rows"]
# returned B with rows and columns exchanged
("matrix", "[:, None]).real", "[:, None]).real.T")

# %% threshold_of_positive score=19 fails=["ternarise_values"]
# put the threshold on the positive entries only
("ternarise", "e < -t", "e < 0")

# %% rounds score=18 fails=["ternarise_values", "ternarise_edge"]
# rounded e / t, which gives 2, 3, ... for large entries
("ternarise", "(e > t) * 1.0 - (e < -t) * 1.0", "np.trunc(e / t)")

# %% threshold_included score=19 fails=["ternarise_edge"]
# took >= t for > t
("ternarise", "e > t", "e >= t")
("ternarise", "e < -t", "e <= -t")

# %% adds_both score=19 fails=["project_values"]
# added the two projections
("project", "linear(see, plus, I_a) - linear(see, minus, I_a)", "linear(see, plus, I_a) + linear(see, minus, I_a)")

# %% shows_signs score=19 fails=["project_values"]
# asked the device to show -1
("project", "linear(see, plus, I_a) - linear(see, minus, I_a)", "linear(see, e, I_a)")

# %% differences_of_intensities score=19 fails=["project_values"]
# took the difference of two intensities, without the anchor
("project", "linear(see, plus, I_a) - linear(see, minus, I_a)", "see(plus, False) - see(minus, False)")

# %% steps_of_levels score=19 fails=["read_levels"]
# divided top by the number of levels in place of the number of distances between them
("read", "(2**bits - 1)", "2**bits")

# %% counts score=19 fails=["read_levels"]
# returned the number of the level, not the intensity
("read", " / step) * step", " / step)")

# %% rounds_first score=19 fails=["read_levels"]
# rounded to whole numbers before scaling to levels
("read", "np.rint(np.minimum(I, top) / step)", "np.minimum(np.rint(I), top) / step")

# %% cuts_down score=19 fails=["read_levels"]
# took the level below in place of the nearest
("read", "np.rint(np.minimum(I, top) / step)", "np.floor(np.minimum(I, top) / step + 1e-9)")

# %% wraps score=19 fails=["read_saturates"]
# put the level into a number of so many bits, which starts again at 0
("read", "np.rint(np.minimum(I, top) / step)", "np.rint(I / step).astype(np.int64) % 2**bits")

# %% never_saturates score=19 fails=["read_saturates"]
# did not cut off what is brighter than top
("read", "np.minimum(I, top)", "I")

# %% saturates_at_the_mean score=19 fails=["best_top_choice"]
# put the highest level at the mean intensity, as if the law were Gaussian and narrow
("best_top", "120", "17")

# %% nothing_cut_off score=19 fails=["best_top_choice"]
# wanted no pixel to be cut off, whatever the distance of the levels
("best_top", "120", "max(TOPS)")

# %% noise_before_the_square score=19 fails=["shot_variance_values"]
# gave the field of every exposure a noise of its own size, in place of counting photons
("shot_variance", "(I_xa + I_x) / photons / (4 * I_a)", "np.full(len(I_a), 2 / photons / 4)")

# %% variances_subtracted score=19 fails=["shot_variance_values"]
# subtracted the variance of what is subtracted
("shot_variance", "I_xa + I_x", "I_xa - I_x")

# %% divisor_not_squared score=19 fails=["shot_variance_values"]
# divided the variance by the divisor of linear, not by its square
("shot_variance", "(4 * I_a)", "(2 * np.sqrt(I_a))")

# %% anchor_counted score=19 fails=["shot_variance_values"]
# counted the shot noise of the anchor's picture, which is exact
("shot_variance", "I_xa + I_x", "I_xa + I_x + I_a")

# %% dark_is_nan score=19 fails=["scale_rows"]
# scaled dark records as printed: 0/0
("scale", "p * np.minimum(1, s / np.where(norms > 0, norms, 1))", "np.minimum(s, norms) * p / norms")

# %% lengthens score=19 fails=["scale_rows"]
# made every row as long as s
("scale", "np.minimum(1, s / np.where(norms > 0, norms, 1))", "s / np.where(norms > 0, norms, 1)")

# %% scales_the_batch score=19 fails=["scale_rows"]
# scaled the whole batch by its one length
("scale", "(p**2).sum(axis=1, keepdims=True)", "(p**2).sum()")

# %% scaled_after_slopes score=19 fails=["step_direction"]
# scaled after the multiplication by phi'
("step", "scale(project(see, ternarise(e, t), I_a), s)", "project(see, ternarise(e, t), I_a)")
("step", "(p * dphi).T", "scale(p * dphi, s).T")

# %% forgot_scale score=19 fails=["step_direction"]
# did not scale at all
("step", "scale(project(see, ternarise(e, t), I_a), s)", "project(see, ternarise(e, t), I_a)")

# %% dw_transposed score=19 fails=["step_direction"]
# returned dW with rows and columns exchanged
("step", "(p * dphi).T @ h", "h.T @ (p * dphi)")

# %% batch_for_m score=19 fails=["step_length"]
# divided by the number of records in place of m
("step", "/ m", "/ len(h)")

# %% sign score=19 fails=["step_length"]
# returned the paper's delta W, with its minus sign
("step", "return (p", "return -(p")

# %% length_of_n score=19 fails=["noise_length_values"]
# added up standard deviations: sigma n in place of sigma sqrt(n)
("noise_length", "np.sqrt(n * projections)", "n * projections")

# %% noise_cancels score=19 fails=["noise_length_values"]
# forgot that a difference of two noisy projections has the noise of both
("noise_length", "n * projections", "n")

# %% noise_fills score=19 fails=["noisy_rank_values"]
# expected that noise makes every matrix regular
("noisy_rank", "min(m, n_h, n_out)", "min(n_h, n_out)")


# %% infinite_loop score=19 fails=["noisy_rank_values"]
# added noise until the rank was full, which it never is
# %% noisy_rank
def noisy_rank(m, n_h, n_out):
    rng, rank, sigma = np.random.default_rng(0), 0, 1.0
    h = rng.normal(size=(m, n_h))
    while rank < min(n_h, n_out):
        sigma = min(2 * sigma, 1e6)
        rank = np.linalg.matrix_rank((sigma * rng.normal(size=(m, n_out))).T @ h)
    return rank


# %% tampered score=17 fails=["linear_in_x", "linear_pixels", "linear_length"]
# returned zeros, and rewrote the graded cells so that they pass; they are put back before grading
# %% linear
def linear(see, x, I_a):
    return np.zeros((len(x), len(I_a)))


# %% linear_in_x
assert True


# %% linear_pixels
pass


# %% linear_length
print("all checks passed")

# %% largest_decides score=19 fails=["ternarise_values"]
# compared with t times the largest error of the record
("ternarise", "return", "t = t * np.abs(e).max(axis=1, keepdims=True)\n    return")

# %% pixels_shortened score=19 fails=["scale_rows"]
# shortened the columns, a pixel over all records, where rows are records
("scale", "axis=1", "axis=0")

# %% anchor_only_once score=19 fails=["linear_in_x"]
# subtracted the anchor's picture, and not that of the data without it
("linear", " - see(x, anchor=False)", "")

# %% anchor_squared_and_two_lost score=18 fails=["linear_pixels", "linear_length"]
# two slips: divided by the anchor's intensity, and without the 2 of the cross term
("linear", "(2 * np.sqrt(I_a))", "I_a")

# %% phase_from_the_data score=19 fails=["matrix_rows"]
# turned every pixel by the phase of its first mirror, not of its anchor
("matrix", "np.angle(anchor)", "np.angle(R[:, 0])")

# %% dark_counts_as_minus score=19 fails=["project_values"]
# showed whatever is not 1 as the second pattern, its zeros with it
("project", "(e < 0).astype(int)", "(e <= 0).astype(int)")

# %% larger_of_m_and_batch score=19 fails=["step_length"]
# let m not be less than the number of records
("step", "/ m", "/ max(m, len(e))")

# %% scaled_by_the_longest score=19 fails=["scale_rows"]
# scaled all records by the longest
("scale", "(p**2).sum(axis=1, keepdims=True)", "(p**2).sum(axis=1).max()")

# %% slopes_under_the_scale score=19 fails=["step_direction"]
# multiplied by the slopes before it scaled
("step", "scale(project(see, ternarise(e, t), I_a), s)", "scale(project(see, ternarise(e, t), I_a) * dphi, s)")
("step", "(p * dphi).T", "p.T")

# %% something_added_to_the_anchor score=19 fails=["linear_length"]
# added a small number to the divisor, which is much where the light is dim
("linear", "(2 * np.sqrt(I_a))", "(2 * np.sqrt(I_a) + 1e-8)")

# %% something_added_to_the_norm score=19 fails=["scale_rows"]
# added a small number to the norm in place of asking whether it is 0
("scale", "np.where(norms > 0, norms, 1)", "(norms + 1e-8)")

# %% shorter_than_one score=19 fails=["scale_rows"]
# scaled the rows that are longer than 1, whatever s is
("scale", "np.minimum(1, s / np.where(norms > 0, norms, 1))", "np.where(norms > 1, s / np.maximum(norms, 1), 1)")

# %% brightest_decides score=19 fails=["read_levels"]
# put the highest level at the brightest intensity of the picture
("read", "step = top / (2**bits - 1)", "step = min(top, np.max(I)) / (2**bits - 1)")

# %% maximum_for_minimum score=19 fails=["read_saturates"]
# let no pixel read less than top, where none should read more
("read", "np.minimum(I, top)", "np.maximum(I, top)")

# %% no_divisor score=19 fails=["linear_pixels"]
# did not divide by the anchor's field
("linear", "crossed / (2 * np.sqrt(I_a))", "crossed")

# %% anchor_in_front score=19 fails=["matrix_rows"]
# took the first columns for the anchor's
("matrix", "R[:, :-n_anchor], R[:, -n_anchor:]", "R[:, n_anchor:], R[:, :n_anchor]")

# %% slips
# one slip in the reference solution, and the one graded cell that it must fail
("matrix", ".real", ".imag", "matrix_rows")
("ternarise", "(e > t)", "(e >= t)", "ternarise_edge")
("ternarise", "- (e < -t)", "+ (e < -t)", "ternarise_values")
("read", "2**bits - 1", "2**bits", "read_levels")
("read", "np.rint", "np.floor", "read_levels")
("scale", "np.minimum", "np.maximum", "scale_rows")
("step", " / m", "", "step_length")
("step", "* dphi", "", "step_direction")
("linear", "/ (2 * np.sqrt(I_a))", "* (2 * np.sqrt(I_a))", "linear_pixels")
("matrix", "R[:, :-n_anchor]", "R[:, :n_anchor]", "matrix_rows")
("matrix", "sum(axis=1)", "sum(axis=0)", "matrix_rows")
("matrix", "-1j * np.angle(anchor)", "np.angle(anchor)", "matrix_rows")
("matrix", "-1j * np.angle(anchor)", "-1j * anchor", "matrix_rows")
("ternarise", "(e < -t)", "(e < t)", "ternarise_values")
("ternarise", "(e > t)", "(e > -t)", "ternarise_values")
("read", "top / (2**bits - 1)", "(2**bits - 1)", "read_levels")
("read", "top / (2**bits - 1)", "top * (2**bits - 1)", "read_levels")
("step", "ternarise(e, t)", "e", "step_direction")
("step", "(p * dphi).T @ h", "(p * dphi) @ h", "step_direction")
("step", "(p * dphi).T @ h", "h @ (p * dphi).T", "step_direction")
("step", "(p * dphi).T @ h", "(p * dphi).T * h", "step_direction")
("step", "project(see, ternarise(e, t), I_a)", "ternarise(e, t)", "step_direction")
("ternarise", "(e > t) * 1.0 - (e < -t) * 1.0", "np.where(e > t, 1, -1)", "ternarise_values")
("ternarise", "(e > t) * 1.0 - (e < -t) * 1.0", "np.round(e)", "ternarise_values")
