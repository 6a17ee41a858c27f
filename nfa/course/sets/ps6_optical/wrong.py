"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose."""

# %% amplitude score=19 fails=["intensity_values"]
# took the field's size for the intensity
import numpy as np


# %% intensity
def intensity(R, mirrors):
    return np.abs(mirrors @ R.T)


# %% real_medium score=19 fails=["intensity_values"]
# took the medium's real part only: a real Gaussian matrix in place of a complex one
import numpy as np


# %% intensity
def intensity(R, mirrors):
    return (mirrors @ R.real.T) ** 2


# %% incoherent score=19 fails=["intensity_values"]
# added the intensities of the mirrors in place of their fields
import numpy as np


# %% intensity
def intensity(R, mirrors):
    return mirrors @ (np.abs(R) ** 2).T


# %% pixels_by_patterns score=19 fails=["intensity_values"]
# returned a row a pixel
import numpy as np


# %% intensity
def intensity(R, mirrors):
    return np.abs(R @ mirrors.T) ** 2


# %% std_is_root score=19 fails=["speckle_law"]
# took the root of the mean for the standard deviation, as if intensities were counts
import numpy as np


# %% speckle
def speckle(n):
    return n, np.sqrt(n)


# %% mean_is_square score=19 fails=["speckle_law"]
# let n fields add up in phase: n squared
import numpy as np


# %% speckle
def speckle(n):
    return n**2, n**2


# %% share_below score=19 fails=["overexposed_share"]
# returned the share of pixels that are not cut off
import numpy as np


# %% overexposed
def overexposed(n, top):
    return 1 - np.exp(-top / n)


# %% share_gaussian score=19 fails=["overexposed_share"]
# took the intensity's law for Gaussian, with the right mean and standard deviation
import numpy as np


# %% overexposed
def overexposed(n, top):
    from math import erfc, sqrt

    return 0.5 * erfc((top - n) / n / sqrt(2))


# %% no_anchor score=17 fails=["linear_in_x", "linear_pixels", "linear_length"]
# took the intensity itself for the projection
import numpy as np


# %% linear
def linear(see, x, I_a):
    return np.asarray(see(x, anchor=False), dtype=float)


# %% anchor_stays score=19 fails=["linear_in_x"]
# did not subtract the anchor's own picture
import numpy as np


# %% linear
def linear(see, x, I_a):
    return (see(x, anchor=True) - see(x, anchor=False)) / (2 * np.sqrt(I_a))


# %% same_speckle_twice score=19 fails=["linear_in_x"]
# subtracted the picture of x twice
import numpy as np


# %% linear
def linear(see, x, I_a):
    return (see(x, anchor=True) - 2 * see(x, anchor=False) - I_a) / (2 * np.sqrt(I_a))


# %% divides_by_intensity score=19 fails=["linear_pixels"]
# divided by the anchor's intensity in place of its field
import numpy as np


# %% linear
def linear(see, x, I_a):
    return (see(x, anchor=True) - see(x, anchor=False) - I_a) / (2 * I_a)


# %% forgot_two score=19 fails=["linear_length"]
# forgot the factor 2 of the cross term
import numpy as np


# %% linear
def linear(see, x, I_a):
    return (see(x, anchor=True) - see(x, anchor=False) - I_a) / np.sqrt(I_a)


# %% dark_minus_lit score=19 fails=["linear_length"]
# subtracted the picture with the anchor from the others
import numpy as np


# %% linear
def linear(see, x, I_a):
    return (see(x, anchor=False) + I_a - see(x, anchor=True)) / (2 * np.sqrt(I_a))


# %% real_part score=19 fails=["matrix_rows"]
# took the real part of R for B, whatever the anchor's phase
import numpy as np


# %% matrix
def matrix(R, n_anchor):
    return R[:, :-n_anchor].real


# %% turned_away score=19 fails=["matrix_rows"]
# turned by the anchor's phase the wrong way
import numpy as np


# %% matrix
def matrix(R, n_anchor):
    anchor = R[:, -n_anchor:].sum(axis=1)
    return (R[:, :-n_anchor] * np.exp(1j * np.angle(anchor))[:, None]).real


# %% anchor_times score=19 fails=["matrix_values"]
# multiplied by the anchor's field and did not divide by its size
import numpy as np


# %% matrix
def matrix(R, n_anchor):
    anchor = R[:, -n_anchor:].sum(axis=1, keepdims=True)
    return (R[:, :-n_anchor] * anchor.conj()).real


# %% transposed score=19 fails=["matrix_rows"]
# returned B with rows and columns exchanged
import numpy as np


# %% matrix
def matrix(R, n_anchor):
    anchor = R[:, -n_anchor:].sum(axis=1)
    return (R[:, :-n_anchor].T * np.exp(-1j * np.angle(anchor))).real


# %% threshold_of_positive score=19 fails=["ternarise_values"]
# put the threshold on the positive entries only
import numpy as np


# %% ternarise
def ternarise(e, t):
    return (e > t) * 1.0 - (e < 0) * 1.0


# %% rounds score=18 fails=["ternarise_values", "ternarise_edge"]
# rounded e / t, which gives 2, 3, ... for large entries
import numpy as np


# %% ternarise
def ternarise(e, t):
    return np.trunc(e / t)


# %% threshold_included score=19 fails=["ternarise_edge"]
# took >= t for > t
import numpy as np


# %% ternarise
def ternarise(e, t):
    return (e >= t) * 1.0 - (e <= -t) * 1.0


# %% adds_both score=19 fails=["project_values"]
# added the two projections
import numpy as np


# %% project
def project(see, e, I_a):
    return linear(see, e > 0, I_a) + linear(see, e < 0, I_a)


# %% shows_signs score=19 fails=["project_values"]
# asked the device to show -1
import numpy as np


# %% project
def project(see, e, I_a):
    return linear(see, e, I_a)


# %% differences_of_intensities score=19 fails=["project_values"]
# took the difference of two intensities, without the anchor
import numpy as np


# %% project
def project(see, e, I_a):
    return see(e > 0, False) - see(e < 0, False)


# %% steps_of_levels score=19 fails=["read_levels"]
# divided top by the number of levels in place of the number of distances between them
import numpy as np


# %% read
def read(I, top, bits):
    step = top / 2**bits
    return np.rint(np.minimum(I, top) / step) * step


# %% counts score=19 fails=["read_levels"]
# returned the number of the level, not the intensity
import numpy as np


# %% read
def read(I, top, bits):
    return np.rint(np.minimum(I, top) / top * (2**bits - 1))


# %% rounds_first score=19 fails=["read_levels"]
# rounded to whole numbers before scaling to levels
import numpy as np


# %% read
def read(I, top, bits):
    step = top / (2**bits - 1)
    return np.minimum(np.rint(I), top) / step * step


# %% cuts_down score=19 fails=["read_levels"]
# took the level below in place of the nearest
import numpy as np


# %% read
def read(I, top, bits):
    step = top / (2**bits - 1)
    return np.floor(np.minimum(I, top) / step + 1e-9) * step


# %% wraps score=19 fails=["read_saturates"]
# put the level into a number of so many bits, which starts again at 0
import numpy as np


# %% read
def read(I, top, bits):
    step = top / (2**bits - 1)
    return np.rint(I / step).astype(np.int64) % 2**bits * step


# %% never_saturates score=19 fails=["read_saturates"]
# did not cut off what is brighter than top
import numpy as np


# %% read
def read(I, top, bits):
    step = top / (2**bits - 1)
    return np.rint(I / step) * step


# %% saturates_at_the_mean score=19 fails=["best_top_choice"]
# put the highest level at the mean intensity, as if the law were Gaussian and narrow
import numpy as np


# %% best_top
def best_top():
    return 17


# %% nothing_cut_off score=19 fails=["best_top_choice"]
# wanted no pixel to be cut off, whatever the distance of the levels
import numpy as np


# %% best_top
def best_top():
    return max(TOPS)


# %% noise_before_the_square score=19 fails=["shot_variance_values"]
# gave the field of every exposure a noise of its own size, in place of counting photons
import numpy as np


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return np.full(len(I_a), 2 / photons / 4)


# %% variances_subtracted score=19 fails=["shot_variance_values"]
# subtracted the variance of what is subtracted
import numpy as np


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return (I_xa - I_x) / (4 * photons * I_a)


# %% divisor_not_squared score=19 fails=["shot_variance_values"]
# divided the variance by the divisor of linear, not by its square
import numpy as np


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return (I_xa + I_x) / photons / (2 * np.sqrt(I_a))


# %% anchor_counted score=19 fails=["shot_variance_values"]
# counted the shot noise of the anchor's picture, which is exact
import numpy as np


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return (I_xa + I_x + I_a) / (4 * photons * I_a)


# %% dark_is_nan score=19 fails=["scale_rows"]
# scaled dark records as printed: 0/0
import numpy as np


# %% scale
def scale(p, s):
    norms = np.sqrt((p**2).sum(axis=1, keepdims=True))
    return np.minimum(s, norms) * p / norms


# %% lengthens score=19 fails=["scale_rows"]
# made every row as long as s
import numpy as np


# %% scale
def scale(p, s):
    norms = np.sqrt((p**2).sum(axis=1, keepdims=True))
    return s * p / np.where(norms > 0, norms, 1)


# %% scales_the_batch score=19 fails=["scale_rows"]
# scaled the whole batch by its one length
import numpy as np


# %% scale
def scale(p, s):
    norm = np.linalg.norm(p)
    return p * min(1, s / norm) if norm > 0 else p


# %% scaled_after_slopes score=19 fails=["step_direction"]
# scaled after the multiplication by phi'
import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = project(see, ternarise(e, t), I_a)
    return scale(p * dphi, s).T @ h / m


# %% forgot_scale score=19 fails=["step_direction"]
# did not scale at all
import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = project(see, ternarise(e, t), I_a)
    return (p * dphi).T @ h / m


# %% dw_transposed score=19 fails=["step_direction"]
# returned dW with rows and columns exchanged
import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = scale(project(see, ternarise(e, t), I_a), s)
    return h.T @ (p * dphi) / m


# %% batch_for_m score=19 fails=["step_length"]
# divided by the number of records in place of m
import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = scale(project(see, ternarise(e, t), I_a), s)
    return (p * dphi).T @ h / len(h)


# %% sign score=19 fails=["step_length"]
# returned the paper's delta W, with its minus sign
import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = scale(project(see, ternarise(e, t), I_a), s)
    return -(p * dphi).T @ h / m


# %% length_of_n score=19 fails=["noise_length_values"]
# added up standard deviations: sigma n in place of sigma sqrt(n)
import numpy as np


# %% noise_length
def noise_length(sigma, n, projections):
    return sigma * n * projections


# %% noise_cancels score=19 fails=["noise_length_values"]
# forgot that a difference of two noisy projections has the noise of both
import numpy as np


# %% noise_length
def noise_length(sigma, n, projections):
    return sigma * np.sqrt(n)


# %% noise_fills score=19 fails=["noisy_rank_values"]
# expected that noise makes every matrix regular
import numpy as np


# %% noisy_rank
def noisy_rank(m, n_h, n_out):
    return min(n_h, n_out)


# %% infinite_loop score=19 fails=["noisy_rank_values"]
# added noise until the rank was full, which it never is
import numpy as np


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
import numpy as np


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
import numpy as np


# %% ternarise
def ternarise(e, t):
    e = np.asarray(e, float)
    return np.sign(e) * (np.abs(e) > t * np.abs(e).max(axis=1, keepdims=True))


# %% pixels_shortened score=19 fails=["scale_rows"]
# shortened the columns, a pixel over all records, where rows are records
import numpy as np


# %% scale
def scale(p, s):
    long = np.linalg.norm(p, axis=0)
    return np.where(long > s, p * s / np.where(long > 0, long, 1), p)


# %% anchor_only_once score=19 fails=["linear_in_x"]
# subtracted the anchor's picture, and not that of the data without it
import numpy as np


# %% linear
def linear(see, x, I_a):
    cross = np.asarray(see(x, True)) - I_a
    return cross / np.sqrt(4 * np.asarray(I_a))


# %% anchor_squared_and_two_lost score=18 fails=["linear_pixels", "linear_length"]
# two slips: divided by the anchor's intensity, and without the 2 of the cross term
import numpy as np


# %% linear
def linear(see, x, I_a):
    return (see(x, True) - see(x, False)) / I_a - 1


# %% phase_from_the_data score=19 fails=["matrix_rows"]
# turned every pixel by the phase of its first mirror, not of its anchor
import numpy as np


# %% matrix
def matrix(R, n_anchor):
    data, first = R[:, : R.shape[1] - n_anchor], R[:, 0]
    return np.real(data * (first.conj() / np.abs(first))[:, None])


# %% dark_counts_as_minus score=19 fails=["project_values"]
# showed whatever is not 1 as the second pattern, its zeros with it
import numpy as np


# %% project
def project(see, e, I_a):
    lit = (np.asarray(e) == 1).astype(int)
    return linear(see, lit, I_a) - linear(see, 1 - lit, I_a)


# %% larger_of_m_and_batch score=19 fails=["step_length"]
# let m not be less than the number of records
import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = scale(project(see, ternarise(e, t), I_a), s)
    return np.einsum("ij,ij,ik->jk", p, dphi, h) / np.maximum(m, len(e))


# %% scaled_by_the_longest score=19 fails=["scale_rows"]
# scaled all records by the longest
import numpy as np


# %% scale
def scale(p, s):
    longest = np.sqrt(np.einsum("ko,ko->k", p, p)).max()
    return p * min(1.0, s / longest) if longest else p


# %% slopes_under_the_scale score=19 fails=["step_direction"]
# multiplied by the slopes before it scaled
import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = project(see, ternarise(e, t), I_a) * dphi
    return np.einsum("ko,kj->oj", scale(p, s), h) / m
