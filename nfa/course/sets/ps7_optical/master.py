# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Problem set 7: the optical projection
#
# **Have these pages open**: Ohana et al. (2021), Section 2.2 with Equation 5, Equations 8 to 10, and "Photonic DFA" in
# Section 4. Problem set 2 comes before this one, and tutorial 07 explains the background. You need no optics beyond
# this text. About 115 minutes, 20 points.
#
# In the paper, an optical device computes $p = B e$. But a mirror is either lit or dark, a camera records intensities,
# and an error has signs. You recover the projection from the readings of a camera, and you compute a DFA update with
# this projection. Then you ask what the noise of this update can hide.
#
# Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, arrays or nested lists, and
# helper functions in the same cell are all fine. After each exercise, `check_it` runs the checks of grading with other
# values. The checks of grading are hidden in the cells with points. Do not change these cells, because grading restores
# them.
#
# `nfa eq ohana2021:eq5` explains a tag such as [ohana2021:eq5]. In grading, each call of one of your functions has
# three seconds of processor time.
#
# Notation and units: the rows of an array are records or patterns, and k is their number. `n_in` mirrors show the data,
# `n_anchor` further mirrors are the *anchor*, and the camera has `n_out` pixels.
#
# | | shape | |
# |---|---|---|
# | `R` | `(n_out, n_in + n_anchor)` | the medium, a complex matrix; its last columns belong to the anchor |
# | `mirrors` | `(k, n_in + n_anchor)` | patterns: 1 for a lit mirror, 0 for a dark mirror |
# | `x` | `(k, n_in)` | the part of `mirrors` that shows data |
# | `I` | `(k, n_out)` | intensities; the unit is the mean intensity of one lit mirror |
#
# The entries of R are independent and complex Gaussian: their real and imaginary parts are independent $N(0, 1/2)$. So
# the mean of $|R_{jk}|^2$ is 1.

# %% setting
import numpy as np


def medium(n_in, n_out, n_anchor, seed):
    """A random medium R, (n_out, n_in + n_anchor)."""
    rng = np.random.default_rng(seed)
    size = (n_out, n_in + n_anchor)
    return (rng.normal(size=size) + 1j * rng.normal(size=size)) / np.sqrt(2)


# %% [markdown]
# ## 1. Speckle (4 points, 22 minutes)
#
# At a pixel j, the fields of all lit mirrors of a pattern x add up to the complex number $(R\,x)_j$. A camera records
# the intensity $|(R\,x)_j|^2$.


# %% intensity solution=true
def intensity(R, mirrors):
    """The intensity of every pattern (row of mirrors) at every pixel, (k, n_out)."""
    ### BEGIN SOLUTION
    field = mirrors @ R.T
    return field.real**2 + field.imag**2
    ### END SOLUTION


# %% intensity_values points=1
# 1 point: the intensities of several patterns
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").intensity_values(intensity)
### END HIDDEN TESTS
assert np.allclose(intensity(np.array([[3.0, 4.0j, 7.0]]), np.array([[1, 1, 0]])), 25.0), "the field is 3 + 4i"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "intensity_values")

# %% [markdown]
# **Predict** first. Light 30 mirrors, and compare the intensities of 1,000 pixels with their mean. Which share of the
# pixels is darker than half of the mean, and which share is brighter than three times the mean? Every guess between 0
# and 1 gets the point.


# %% guess solution=true
def guess():
    """A list with your two guesses: the share below half of the mean, the share above three times the mean."""
    ### BEGIN SOLUTION
    return [0.6, 0.6]
    ### END SOLUTION


# %% guess_made points=1
# 1 point: two numbers between 0 and 1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").guess_made(guess)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "guess_made")

# %% [markdown]
# The picture of such intensities is called *speckle*. The next cell compares your guess with a picture. Change the cell
# as you like.

# %%
import matplotlib.pyplot as plt

lit = np.ones((1, 30))
picture = np.asarray(intensity(medium(30, 1000, 0, seed=0), lit))[0]
shares = np.mean(picture < picture.mean() / 2), np.mean(picture > 3 * picture.mean())
for name, mine, share in zip(("below half of the mean", "above three times the mean"), guess(), shares, strict=True):
    print(f"share of pixels {name}: my guess {mine:g}, measured {share:.3g}")
plt.hist(picture, bins=40)
plt.xlabel("intensity, 30 mirrors lit")
plt.ylabel("pixels")
plt.title(f"mean {picture.mean():.1f}, standard deviation {picture.std():.1f}")
plt.show()

# %% [markdown]
# Now derive formulas. Suppose that n mirrors are lit and the camera has very many pixels. What are the mean and the
# standard deviation of the intensity over the pixels? Which share of the pixels is brighter than a given intensity
# `top`? The two parts of the field are independent and Gaussian. Which distribution does the sum of their squares have?


# %% speckle solution=true
def speckle(n):
    """The mean and the standard deviation of the intensity over pixels, for n lit mirrors."""
    ### BEGIN SOLUTION
    return float(n), float(n)
    ### END SOLUTION


# %% speckle_law points=1
# 1 point: the mean and the standard deviation, for several n
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").speckle_law(speckle)
### END HIDDEN TESTS
assert len(speckle(10)) == 2

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "speckle_law")


# %% overexposed solution=true
def overexposed(n, top):
    """The share of pixels, between 0 and 1, with an intensity above top, for n lit mirrors."""
    ### BEGIN SOLUTION
    return np.exp(-top / n)
    ### END SOLUTION


# %% overexposed_share points=1
# 1 point: the share, for several n and top
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").overexposed_share(overexposed)
### END HIDDEN TESTS
assert np.isclose(overexposed(10, 0.0), 1), "every pixel is brighter than 0"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "overexposed_share")

# %% [markdown]
# ## 2. A linear projection from intensities (5 points, 26 minutes)
#
# Equation 5 says $p = B x$ ([ohana2021:eq5]). Intensities are not linear in x, because two lit mirrors together can be
# darker than one of them alone. But if two fields u and v overlap, the intensity is
#
# $$|u + v|^2 = |u|^2 + |v|^2 + 2\,\mathrm{Re}(\bar v\, u).$$
#
# The last term, the *cross term*, is linear in u. So we also light the anchor, a fixed pattern next to the data. Let
# $(R a)_j$ be the field of the anchor alone at pixel j, and $(R x)_j$ the field of the data alone. We want the part of
# the data's field that is in phase with the anchor's field:
#
# $$p_j = \mathrm{Re}\big(e^{-i \arg (R a)_j}\, (R x)_j\big).$$
#
# You get a device. `see(x, anchor)` is the reading of its camera, `(k, n_out)`. The rows of x are k patterns, and the
# anchor is lit (`anchor=True`) or dark (`anchor=False`). The device returns no fields, and it refuses an x with entries
# other than 0 and 1. The picture of the anchor alone is `I_a`, `(n_out,)`. It was recorded once, and it is exact. The
# readings of the camera can have errors. For example, a camera can add the same number to every reading. So use this
# `I_a`, and do not measure the anchor again.


# %% device
def device(R, n_anchor, camera=lambda I: I):
    """A device with this medium: the function see(x, anchor)."""

    def see(x, anchor):
        x = np.asarray(x)
        if x.ndim != 2 or not np.isin(x, (0, 1)).all():
            raise ValueError("see takes patterns as rows, and a mirror is lit (1) or dark (0)")
        return camera(np.asarray(intensity(R, np.hstack([x, np.full((len(x), n_anchor), int(anchor))]))))

    return see


def by_hand(x, anchor):
    """The reading at a pixel with the field 3 + 4i of the only mirror and the field 5 of the anchor."""
    pictures = {(0, 0): 0.0, (1, 0): 25.0, (0, 1): 25.0, (1, 1): 80.0}  # the last number is 8^2 + 4^2
    return np.array([[pictures[int(lit), int(anchor)]] for lit in np.ravel(x)])


# %% linear solution=true
def linear(see, x, I_a):
    """The projections p of the binary patterns x, (k, n_in) -> (k, n_out)."""
    ### BEGIN SOLUTION
    crossed = see(x, anchor=True) - see(x, anchor=False) - I_a
    return crossed / (2 * np.sqrt(I_a))
    ### END SOLUTION


# %% linear_in_x points=1
# 1 point: the projections of each pixel are right up to one factor, also if the camera adds a number to its readings
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").linear_in_x(linear)
### END HIDDEN TESTS
assert np.shape(linear(by_hand, np.array([[1]]), np.array([25.0]))) == (1, 1)

# %% linear_pixels points=1
# 1 point: all pixels have the same factor
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").linear_pixels(linear)
### END HIDDEN TESTS

# %% linear_norm points=1
# 1 point: the norm and sign of the projections
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").linear_norm(linear)
### END HIDDEN TESTS

# %%
# Try your function.
assert np.isclose(np.ravel(linear(by_hand, np.array([[1]]), np.array([25.0])))[0], 3), "3 of 3 + 4i is in phase with 5"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "linear_in_x", "linear_pixels", "linear_norm")

# %% [markdown]
# Nobody knows the matrix of a real device, but in a simulation we know R. Compute the real matrix B, `(n_out, n_in)`,
# for which `linear(see, x, I_a)` is $B x$ for every x.


# %% matrix solution=true
def matrix(R, n_anchor):
    """The real matrix B, (n_out, n_in), by which the device with the medium R multiplies."""
    ### BEGIN SOLUTION
    R_x, anchor = R[:, :-n_anchor], R[:, -n_anchor:].sum(axis=1)
    return (R_x * np.exp(-1j * np.angle(anchor))[:, None]).real
    ### END SOLUTION


# %% matrix_rows points=1
# 1 point: the row of B for every pixel, up to a factor
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").matrix_rows(matrix)
### END HIDDEN TESTS

# %%
# Try your function.
assert np.shape(matrix(medium(4, 7, 2, seed=1), 2)) == (7, 4)

# %% matrix_values points=1
# 1 point: every entry of B; if rows are wrong, the norms of the rows
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").matrix_values(matrix)
### END HIDDEN TESTS

# %%
# Try your function.
assert np.allclose(matrix(np.array([[2.0j, 1.0j]]), 1), [[2.0]]), "2i is in phase with the anchor i and has the norm 2"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "matrix_rows", "matrix_values")

# %% [markdown]
# Do `linear` and `matrix` agree? What are the mean and the variance of the entries of B? Change the next cell as you
# like.

# %%
R = medium(8, 500, 4, seed=2)
see = device(R, 4)
I_a = np.asarray(see(np.zeros((1, 8)), anchor=True))[0]
x = (np.random.default_rng(3).random((3, 8)) < 0.5).astype(int)
B = np.asarray(matrix(R, 4))
print("largest difference:", np.abs(np.asarray(linear(see, x, I_a)) - x @ B.T).max())
print("entries of B: mean", B.mean().round(3), "variance", B.var().round(3))

# %% [markdown]
# ## 3. An error has signs (4 points, 18 minutes)
#
# An error e has positive and negative entries of any size. The paper makes it ternary with a threshold $t \ge 0$, which
# can be larger than 1 ([ohana2021:exp-ternary]). Entries larger than $t$ become 1, and entries smaller than $-t$ become
# $-1$. All other entries become 0, also the entries that are exactly $t$ or $-t$.


# %% ternarise solution=true
def ternarise(e, t):
    """The ternary error t(e), with the shape (k, n_in) of e."""
    ### BEGIN SOLUTION
    return (e > t) * 1.0 - (e < -t) * 1.0
    ### END SOLUTION


# %% ternarise_values points=1
# 1 point: the ternary errors of entries away from the threshold
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").ternarise_values(ternarise)
### END HIDDEN TESTS
assert np.array_equal(ternarise(np.array([[0.7, 0.1, -0.8]]), 0.15), [[1, 0, -1]])

# %% ternarise_edge points=1
# 1 point: the ternary errors of entries exactly at the threshold, and for t = 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").ternarise_edge(ternarise)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "ternarise_values", "ternarise_edge")

# %% [markdown]
# The mirrors cannot show a ternary error in one pattern. Split this error into two binary patterns, $e = e_+ - e_-$
# ([ohana2021:exp-twoproj]). A record can lack a 1 or a -1, and so can all records of a batch together. Then one of
# the two patterns is dark, or both are dark.


# %% project solution=true
def project(see, e, I_a):
    """B e for a ternary e, (k, n_in) -> (k, n_out), measured with the device."""
    ### BEGIN SOLUTION
    plus, minus = (e > 0).astype(int), (e < 0).astype(int)
    return linear(see, plus, I_a) - linear(see, minus, I_a)
    ### END SOLUTION


# %% project_values points=1
# 1 point: the projections of ternary errors, also of records and of whole batches that lack a 1 or a -1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").project_values(project)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "project_values")

# %% [markdown]
# **Question.** Somebody leaves out the anchor and returns the difference of two intensities, $|R e_+|^2 - |R e_-|^2$.
# Is this difference a linear function of the ternary error e?
#
# - `"a"`: Yes, because the squares of the two fields cancel in the difference, and only a cross term remains.
# - `"b"`: No, because it contains products of the fields of different mirrors, so the results of two errors do not add
#   up.
# - `"c"`: No, but it becomes linear if the mean intensity of each pattern is subtracted.
#
# Return the letter and your reason, which must have at least eight different words. The letter is graded. Your teacher
# reads the reason.


# %% differences solution=true
def differences():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "b", "Two mirrors with the same sign have a common cross term, which neither of them has alone."
    ### END SOLUTION


# %% differences_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").differences_answer(differences)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "differences_answer")

# %% [markdown]
# The next cell tests the linearity for a pair of errors. For a linear function, all points lie on the line.

# %%
e = np.array([[1, 0, 0, -1, 0, 0, 0, 0], [0, 1, 0, 0, 0, -1, 0, 0]])
both = e.sum(axis=0, keepdims=True)
apart = np.asarray(project(see, e, I_a)).sum(axis=0)
together = np.asarray(project(see, both, I_a))[0]
plt.plot(apart, together, ".", label="your project")
no_anchor = [np.asarray(see(c > 0, False)) - np.asarray(see(c < 0, False)) for c in (e, both)]
plt.plot(no_anchor[0].sum(axis=0), no_anchor[1][0], ".", ms=3, label="differences of intensities")
plt.axline((0, 0), slope=1, color="k", lw=0.8)
plt.xlabel("sum of the results of two errors")
plt.ylabel("result of the sum of the errors")
plt.legend()
plt.show()

# %% [markdown]
# ## 4. The camera (2 points, 19 minutes)
#
# A camera with b bits has $2^b$ levels at equal distances. The lowest level is 0, and the highest is the intensity
# `top`, which is called the saturation. The camera reads the nearest level. For an intensity above `top` it reads
# `top`.


# %% read
def read(I, top, bits):
    """The readings of the camera for intensities I >= 0, in units of intensity, with the shape of I."""
    gap = top / (2**bits - 1)
    return np.rint(np.minimum(I, top) / gap) * gap


TOPS = (4, 17, 120, 4000)  # saturations

# %% [markdown]
# **Question.** A ternarised error often has a single entry that is not 0. This entry lights one mirror next to an
# anchor of 16 mirrors, so 17 mirrors are lit. The camera has 8 bits. You recover the projection from the readings, and
# you measure its cosine with the exact projection over very many pixels. Which of the following three saturations gives
# the largest cosine? Your `overexposed` computes the share of pixels above `top`.
#
# - `"a"`: 17, because this is the mean intensity, so the levels are close together.
# - `"b"`: 4000, because then no pixel exceeds the saturation.
# - `"c"`: 120, because hardly any pixel exceeds the saturation, and the levels are still close enough.


# %% saturation solution=true
def saturation():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "c", "About one pixel in a thousand is brighter than 120, and the gap between levels is below one half."
    ### END SOLUTION


# %% saturation_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").saturation_answer(saturation)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "saturation_answer")

# %% [markdown]
# The next cell measures the cosines over 10,000 pixels. Which of the four saturations is best for a camera with 4 bits?

# %%
R = medium(1, 10_000, 16, seed=4)
one = np.array([[1]])
I_a = np.asarray(device(R, 16)(np.zeros((1, 1)), anchor=True))[0]
exact = np.ravel(project(device(R, 16), one, I_a))
for bits in (4, 8):
    cosines = []
    for top in TOPS:
        seeing = device(R, 16, camera=lambda I, top=top, bits=bits: np.asarray(read(I, top, bits)))
        found = np.ravel(project(seeing, one, I_a))
        cosines.append(exact @ found / np.linalg.norm(exact) / max(np.linalg.norm(found), 1e-12))
    plt.semilogx(TOPS, cosines, "o-", label=f"{bits} bits")
plt.xlabel("saturation")
plt.ylabel("cosine with the exact projection")
plt.legend()
plt.show()

# %% [markdown]
# Light consists of photons. At an intensity $I$, a pixel counts a random number of photons in every exposure. This
# number is Poisson with the mean $\kappa I$, and it is independent of other exposures. The reading is this number
# divided by $\kappa$ (`photons` in the code). The picture of the anchor alone is exact, as before. What is the variance
# of the result of your `linear` at a pixel? According to Equation 10, this variance is $\sigma^2$ at all pixels and for
# every x ([ohana2021:eq10]). Is Equation 10 true here?


# %% shot_variance solution=true
def shot_variance(I_xa, I_x, I_a, photons):
    """The variance of p at every pixel, (n_out,).

    The true intensities are I_xa with x and the anchor, I_x with x alone and I_a with the anchor alone, each (n_out,).
    """
    ### BEGIN SOLUTION
    return (I_xa + I_x) / photons / (4 * I_a)
    ### END SOLUTION


# %% shot_variance_values points=1
# 1 point: the variance at several pixels, for few and for many photons
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").shot_variance_values(shot_variance)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "shot_variance_values")

# %% [markdown]
# ## 5. An optical update, and what its noise can hide (5 points, 30 minutes)
#
# The paper bounds the norm of the projected error before it enters the update ([ohana2021:scale]). For this, the paper
# scales each row v of the projections:
#
# $$\mathrm{scale}_s(v) = \min(s, \|v\|_2)\, \frac{v}{\|v\|_2}.$$
#
# If all entries of an error are between $-t$ and $t$, its ternarised error is 0. Then no mirror is lit, and the
# projection is 0. For this record the formula is 0/0, so we define $\mathrm{scale}_s(0) = 0$.


# %% scale
def scale(p, s):
    """scale_s of every row of p, (k, n_out)."""
    p = np.asarray(p, dtype=float)
    norms = np.linalg.norm(p, axis=1, keepdims=True)
    return p * np.minimum(1, s / np.where(norms > 0, norms, 1))


# %% [markdown]
# Now compute the update of a hidden layer with `n_out` units. The input of this layer is `h`, `(k, n_h)`, and `dphi`,
# `(k, n_out)`, are the derivatives $\phi'(z)$. The update is Equation 8 ([ohana2021:eq8]) without three of its parts:
# without the noise, and without the two operations `offset` and `clip`, which the paper applies to h. The training loop
# subtracts dW, so we leave out the minus sign of the paper:
#
# $$dW = \frac1m \sum_i \big(\mathrm{scale}_s(B\, t(e_i)) \odot \phi'(z_i)\big)\, h_i^\top$$
#
# The argument `m` is the number that divides the sum. It can differ from the number k of records in the batch. The
# error e is real, so ternarise it first.


# %% step solution=true
def step(see, e, I_a, dphi, h, t, s, m):
    """The update dW, (n_out, n_h), with optical projections."""
    ### BEGIN SOLUTION
    p = scale(project(see, ternarise(e, t), I_a), s)
    return (p * dphi).T @ h / m
    ### END SOLUTION


# %% step_direction points=1
# 1 point: the direction of dW, with any norm and sign
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").step_direction(step)
### END HIDDEN TESTS

# %% step_norm points=1
# 1 point: the norm and sign of dW, also for an m that is not the number of records
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").step_norm(step)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "step_direction", "step_norm")

# %% [markdown]
# For privacy the paper adds noise to every scaled projection, with a new $g_i$ for every record:
# $\mathrm{scale}_s(B\, t(e_i)) + g_i$ with $g_i \sim N(0, \sigma^2 I)$. The paper does not state whether its $\sigma$
# belongs to one measured projection or to the difference of two. Here, $\sigma$ belongs to one measured projection.
# The argument `projections` is the number of measured projections: 1, or 2 for a difference. Each measured projection
# adds its own independent noise $N(0, \sigma^2)$ at each of the n units. Return the root mean square of the norm of the
# total noise, which is the square root of the mean of the squared norm. The number n can be as small as 1.


# %% noise_norm solution=true
def noise_norm(sigma, n, projections):
    """The root mean square of the norm of the noise at n units, for 1 or 2 noisy projections."""
    ### BEGIN SOLUTION
    return sigma * np.sqrt(n * projections)
    ### END SOLUTION


# %% noise_norm_values points=1
# 1 point: the root mean square for several sigma, for few and many units, with one and two projections
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").noise_norm_values(noise_norm)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "noise_norm_values")

# %% [markdown]
# Section 4 says: "$\sigma = 0.1$ implies $\|g\|_2 \simeq \|B e\|_2$". Here $\|B e\|_2$ is at most s = 1
# ([ohana2021:exp-sigma]). The hidden layers of the paper have 512 units, and its output layer has 10. Compare your
# numbers with this sentence. For how many units is the sentence true?

# %%
for n in (10, 100, 256, 512):
    norms = [float(noise_norm(0.1, n, projections)) for projections in (1, 2)]
    print(n, "units, sigma 0.1: norm of the noise", np.round(norms, 2), "for one and two projections")

# %% [markdown]
# Does this noise hide *who* was in the batch? The paper claims that the whole matrix dW is private
# ([ohana2021:prop3-cols]). The device releases
#
# $$dW = \frac1m \sum_{i=1}^m \big((\mathrm{scale}_s(B\, t(e_i)) + g_i) \odot \phi'(z_i)\big)\, h_i^\top.$$
#
# Derive the rank of this matrix for m records, $n_h$ inputs, $n_{out}$ units and any $\sigma > 0$. Assume that
# $\phi' \ne 0$, and that the inputs $h_i$ are in general position. General position means that the $h_i$ are linearly
# independent if $m \le n_h$, and span all dimensions otherwise.


# %% noisy_rank solution=true
def noisy_rank(m, n_h, n_out):
    """The rank of the noisy update dW, (n_out, n_h), of m records."""
    ### BEGIN SOLUTION
    return min(m, n_h, n_out)
    ### END SOLUTION


# %% noisy_rank_values points=1
# 1 point: the rank for few and many records, inputs and units
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").noisy_rank_values(noisy_rank)
### END HIDDEN TESTS
assert noisy_rank(1, 7, 5) == 1, "one record gives one column times one row"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "noisy_rank_values")

# %% [markdown]
# **Question.** An attacker sees dW of a batch of 20 records, from a layer with 60 inputs and 40 units. The attacker
# also has the input h of a candidate record. The standard deviation $\sigma$ is 100. What can the attacker do?
#
# - `"a"`: Test whether h is in the span of the rows of dW. The noise does not change this span.
# - `"b"`: Nothing, because noise of this size covers every entry of dW.
# - `"c"`: Test the candidate, but only together with its label, because the noise multiplies an error that depends on
#   the label.


# %% candidate solution=true
def candidate():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "a", "Every record adds a noisy column times its own input row, so all rows stay in the span of the inputs."
    ### END SOLUTION


# %% candidate_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").candidate_answer(candidate)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "candidate_answer")

# %% [markdown]
# The next cell makes this test with nfa's noisy update. The batch has 20 records of 60 numbers each. What would the
# second figure look like if the noise were added to every entry of dW? Does this noise protect the inputs of the
# records or their labels? Problem set 8 continues this topic.

# %%
from nfa import feedback, network, ops
from nfa.rules.pdfa import pdfa

rng = np.random.default_rng(5)
net = network.mlp([60, 40, 3], ops.tanh, rng=rng)
B_net = feedback.draw(net, law="normal", scale=1.0, rng=rng)
batch, strangers = rng.normal(size=(2, 20, 60))
labels = np.eye(3)[rng.integers(3, size=20)]
fig, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
for sigma, mark in ((0.1, "o"), (100.0, "x")):
    dW = pdfa(net, batch, labels, B=B_net, m=20, sigma=sigma, t=0.15, clip_x=False, rng=rng)[0][1]
    _, values, directions = np.linalg.svd(dW)
    axes[0].semilogy(values / values[0], mark, label=f"sigma = {sigma:g}")
    outside = directions[int(noisy_rank(20, 60, 40)) :]  # all rows of dW are orthogonal to these directions
    for who, name in ((batch, "in the batch"), (strangers, "not in the batch")):
        rest = np.linalg.norm(who @ outside.T, axis=1) / np.linalg.norm(who, axis=1)
        axes[1].semilogy(rest, mark, label=f"{name}, sigma = {sigma:g}")
axes[0].set(xlabel="number", title="singular values of dW / the largest")
axes[1].set(xlabel="record", title="share of a record outside the span of the rows of dW")
for ax in axes:
    ax.legend()
plt.show()
