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
# Section 4. About 100 minutes, 20 points. Tutorial 07 is the reading beside it. No more optics is needed than this.
#
# The paper lets light compute $p = B e$. But mirrors are lit or dark, a camera sees intensities, and an error has
# signs. You build the projection from what a camera sees, take a step of DFA with it, and then ask what its noise can
# hide. Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, arrays or nested
# lists, helper functions in the same cell: all are fine. A cell with points may show a few of its checks; others run
# when your notebook is graded. Do not change those cells: they are put back before grading.
#
# `nfa eq ohana2021:eq5` shows what stands behind a tag such as [ohana2021:eq5]. When your notebook is graded, each
# call of one of your functions has three seconds of computing.
#
# Notation and units. Rows are examples; k of them. `n_in` mirrors show the data, `n_anchor` further mirrors are the
# *anchor*, and the camera has `n_out` pixels.
#
# | | shape | |
# |---|---|---|
# | `R` | `(n_out, n_in + n_anchor)` | the medium, a complex matrix; the columns of the anchor are the last |
# | `mirrors` | `(k, n_in + n_anchor)` | 1 where a mirror is lit, 0 where it is dark |
# | `x` | `(k, n_in)` | the part of `mirrors` that shows data |
# | `I` | `(k, n_out)` | intensities, in units of what one lit mirror causes in the mean |
#
# The entries of R are independent and complex Gaussian: real and imaginary part are independent $N(0, 1/2)$, so that
# the mean of $|R_{jk}|^2$ is 1.

# %% setting
import numpy as np


def medium(n_in, n_out, n_anchor, seed):
    """A random medium R, (n_out, n_in + n_anchor)."""
    rng = np.random.default_rng(seed)
    size = (n_out, n_in + n_anchor)
    return (rng.normal(size=size) + 1j * rng.normal(size=size)) / np.sqrt(2)


# %% [markdown]
# ## 1. Speckle (3 points)
#
# The fields of all lit mirrors add up at a pixel to the complex number $(R\,x)_j$. A camera records its squared size,
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
assert np.allclose(intensity(np.array([[3.0, 4.0j, 7.0]]), np.array([[1, 1, 0]])), 25.0), "the field there is 3 + 4i"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "intensity_values")

# %% [markdown]
# The picture is *speckle*: most pixels are dark, a few are very bright. Look at one (and change what you like):

# %%
import matplotlib.pyplot as plt

lit = np.ones((1, 30))
picture = np.asarray(intensity(medium(30, 1000, 0, seed=0), lit))[0]
plt.hist(picture, bins=40)
plt.xlabel("intensity, 30 mirrors lit")
plt.ylabel("pixels")
plt.title(f"mean {picture.mean():.1f}, standard deviation {picture.std():.1f}")
plt.show()

# %% [markdown]
# Now by reasoning: formulas, no random numbers. What is the mean of the intensity over very many pixels, if n mirrors
# are lit, and what is its standard deviation? And which share of the pixels is brighter than a given intensity `top`?
# Both parts of the field are Gaussian. Which law has the sum of their squares?


# %% speckle solution=true
def speckle(n):
    """The mean and the standard deviation of the intensity over pixels, for n lit mirrors."""
    ### BEGIN SOLUTION
    return float(n), float(n)
    ### END SOLUTION


# %% speckle_law points=1
# 1 point: both numbers, for several n
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").speckle_law(speckle)
### END HIDDEN TESTS
assert len(speckle(10)) == 2

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "speckle_law")


# %% overexposed solution=true
def overexposed(n, top):
    """The share of pixels, between 0 and 1, whose intensity exceeds top, for n lit mirrors."""
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
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "overexposed_share")

# %% [markdown]
# ## 2. A linear projection, out of intensities (5 points)
#
# Equation 5 says $p = B x$ ([ohana2021:eq5]). Intensities are not linear in x: two lights can be darker than one. But
# where two fields u and v meet,
#
# $$|u + v|^2 = |u|^2 + |v|^2 + 2\,\mathrm{Re}(\bar v\, u),$$
#
# and the last term is linear in u. So light the anchor, whose pattern never changes, beside the data. Let $R a$ be the
# anchor's field alone and $R x$ that of the data alone. What we want is the part of the data's field that swings in
# phase with the anchor's,
#
# $$p_j = \mathrm{Re}\big(e^{-i \arg (R a)_j}\, (R x)_j\big).$$
#
# You get a device: `see(x, anchor)` is what its camera reads, `(k, n_out)`, with the patterns x (a row each, k rows)
# and the anchor lit (`anchor=True`) or dark (`anchor=False`). It cannot show you a field, and it refuses an x that is
# not made of 0 and 1. The anchor's own picture `I_a`, `(n_out,)`, was taken once and for all, long enough to be exact.

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
    """What the camera reads at a pixel where the field of the one mirror is 3 + 4i and the anchor's is 5."""
    pictures = {(0, 0): 0.0, (1, 0): 25.0, (0, 1): 25.0, (1, 1): 80.0}  # the last is 8^2 + 4^2
    return np.array([[pictures[int(lit), int(anchor)]] for lit in np.ravel(x)])


# %% linear solution=true
def linear(see, x, I_a):
    """The projections p of the binary patterns x, (k, n_in) -> (k, n_out)."""
    ### BEGIN SOLUTION
    crossed = see(x, anchor=True) - see(x, anchor=False) - I_a
    return crossed / (2 * np.sqrt(I_a))
    ### END SOLUTION


# %% linear_in_x points=1
# 1 point: every pixel for itself is right up to a factor, for all patterns
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

# %% linear_length points=1
# 1 point: length and sign
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").linear_length(linear)
### END HIDDEN TESTS

# %%
# to try it
assert np.isclose(np.ravel(linear(by_hand, np.array([[1]]), np.array([25.0])))[0], 3), "of 3 + 4i, 3 is in phase with 5"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "linear_in_x", "linear_pixels", "linear_length")

# %% [markdown]
# With a real device nobody knows the matrix. In a simulation we do: for which real matrix B, `(n_out, n_in)`, is your
# `linear(see, x, I_a)` equal to $B x$ for every x? Compute it from R.


# %% matrix solution=true
def matrix(R, n_anchor):
    """The real matrix B, (n_out, n_in), by which the device with the medium R multiplies."""
    ### BEGIN SOLUTION
    R_x, anchor = R[:, :-n_anchor], R[:, -n_anchor:].sum(axis=1)
    return (R_x * np.exp(-1j * np.angle(anchor))[:, None]).real
    ### END SOLUTION


# %% matrix_rows points=1
# 1 point: every pixel's row, whatever its length
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").matrix_rows(matrix)
### END HIDDEN TESTS

# %%
# to try it
assert np.shape(matrix(medium(4, 7, 2, seed=1), 2)) == (7, 4)

# %% matrix_values points=1
# 1 point: every entry; where rows are wrong, their lengths
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").matrix_values(matrix)
### END HIDDEN TESTS

# %%
# to try it
assert np.allclose(matrix(np.array([[2.0j, 1.0j]]), 1), [[2.0]]), "in phase with an anchor of phase i, 2i is 2"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "matrix_rows", "matrix_values")

# %% [markdown]
# Do the two agree, and how are the entries of B spread? (A free cell: change what you like.)

# %%
R = medium(8, 500, 4, seed=2)
see = device(R, 4)
I_a = np.asarray(see(np.zeros((1, 8)), anchor=True))[0]
x = (np.random.default_rng(3).random((3, 8)) < 0.5).astype(int)
B = np.asarray(matrix(R, 4))
print("largest difference:", np.abs(np.asarray(linear(see, x, I_a)) - x @ B.T).max())
print("entries of B: mean", B.mean().round(3), "variance", B.var().round(3))

# %% [markdown]
# ## 3. An error has signs (3 points)
#
# An error e has positive and negative entries of any size. The paper makes it ternary with a threshold
# $t \ge 0$ ([ohana2021:exp-ternary]): entries larger than $t$ become 1, entries smaller than $-t$ become $-1$, and all
# in between become 0, among them those that are exactly $t$ or $-t$.


# %% ternarise solution=true
def ternarise(e, t):
    """The ternary t(e), of e's shape (k, n_in)."""
    ### BEGIN SOLUTION
    return (e > t) * 1.0 - (e < -t) * 1.0
    ### END SOLUTION


# %% ternarise_values points=1
# 1 point: entries away from the threshold
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").ternarise_values(ternarise)
### END HIDDEN TESTS
assert np.array_equal(ternarise(np.array([[0.7, 0.1, -0.8]]), 0.15), [[1, 0, -1]])

# %% ternarise_edge points=1
# 1 point: entries exactly at the threshold, and t = 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").ternarise_edge(ternarise)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "ternarise_values", "ternarise_edge")

# %% [markdown]
# A ternary error still cannot be shown: $e = e_+ - e_-$ takes two binary patterns ([ohana2021:exp-twoproj]).


# %% project solution=true
def project(see, e, I_a):
    """B e for a ternary e, (k, n_in) -> (k, n_out), by means of the device."""
    ### BEGIN SOLUTION
    plus, minus = (e > 0).astype(int), (e < 0).astype(int)
    return linear(see, plus, I_a) - linear(see, minus, I_a)
    ### END SOLUTION


# %% project_values points=1
# 1 point: ternary errors, also without any 1 or any -1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").project_values(project)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "project_values")

# %% [markdown]
# Why not simply the difference of two intensities, $|R e_+|^2 - |R e_-|^2$, without any anchor? Try it on a pair of
# errors before you go on:

# %%
e = np.array([[1, 0, 0, -1, 0, 0, 0, 0], [0, 1, 0, 0, 0, -1, 0, 0]])
both = e.sum(axis=0, keepdims=True)
apart = np.asarray(project(see, e, I_a)).sum(axis=0)
together = np.asarray(project(see, both, I_a))[0]
plt.plot(apart, together, ".", label="your project")
no_anchor = [np.asarray(see(c > 0, False)) - np.asarray(see(c < 0, False)) for c in (e, both)]
plt.plot(no_anchor[0].sum(axis=0), no_anchor[1][0], ".", ms=3, label="differences of intensities")
plt.axline((0, 0), slope=1, color="k", lw=0.8)
plt.xlabel("of two errors, added")
plt.ylabel("of their sum")
plt.legend()
plt.show()

# %% [markdown]
# ## 4. The camera (4 points)
#
# A camera of b bits has $2^b$ levels at equal distances, the lowest at 0 and the highest at the intensity `top`. It
# reads the level that is nearest, and what is brighter than `top` reads `top`. A reading is given in units of
# intensity, not as the number of the level. (Intensities half-way between two levels are not tested.)


# %% read solution=true
def read(I, top, bits):
    """What the camera reads for intensities I >= 0, an array of I's shape (k, n_out)."""
    ### BEGIN SOLUTION
    step = top / (2**bits - 1)
    return np.rint(np.minimum(I, top) / step) * step
    ### END SOLUTION


# %% read_levels points=1
# 1 point: intensities up to top
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").read_levels(read)
### END HIDDEN TESTS

# %%
# to try it
assert np.allclose(read(np.array([[0.2, 1.4, 2.6]]), 3.0, 2), [[0, 1, 3]]), "two bits up to 3 are the levels 0, 1, 2, 3"

# %% read_saturates points=1
# 1 point: whatever is brighter than top reads what top reads
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").read_saturates(read)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "read_levels", "read_saturates")

# %% [markdown]
# **Predict, then measure.** An error with a single entry left, as ternarised errors often are, lights one mirror beside
# an anchor of 16. The camera has 8 bits. `TOPS` has four saturations. At which of them is the projection that is
# recovered from the readings most like the exact one (has the largest cosine with it, over very many pixels)? Two
# things go wrong: bright pixels are cut off (your `overexposed` knows how many), and levels are far apart. Return your
# prediction; afterwards the cell below measures it.

# %% tops
TOPS = (4, 17, 120, 4000)


# %% best_top solution=true
def best_top():
    """One of the four numbers of TOPS."""
    ### BEGIN SOLUTION
    return 120
    ### END SOLUTION


# %% best_top_choice points=1
# 1 point: the prediction
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").best_top_choice(best_top)
### END HIDDEN TESTS
assert best_top() in TOPS, "one of the four numbers"

# %%
R = medium(5, 100, 16, seed=4)
one = np.eye(5, dtype=int)
I_a = np.asarray(device(R, 16)(np.zeros((1, 5)), anchor=True))[0]
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

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "best_top_choice")

# %% [markdown]
# And light comes in photons. At an intensity $I$ a pixel counts a random number of them: Poisson, with the mean
# $\kappa I$, independently in every exposure. The reading is that number divided by $\kappa$ (`photons` in the code).
# (The anchor's own picture is exact, as before.) What variance does your `linear` then have at a pixel? Equation 10
# says $\sigma^2$, the same everywhere and for every x ([ohana2021:eq10]); is it?


# %% shot_variance solution=true
def shot_variance(I_xa, I_x, I_a, photons):
    """The variance of p at every pixel, (n_out,), given the true intensities with x and the anchor, with x, with the
    anchor alone, each (n_out,)."""
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
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "shot_variance_values")

# %% [markdown]
# ## 5. A step with light, and what its noise can hide (5 points)
#
# Before the projected error enters the update, the paper bounds its length ([ohana2021:scale]), row by row:
#
# $$\mathrm{scale}_s(v) = \min(s, \|v\|_2)\, \frac{v}{\|v\|_2}.$$
#
# A confident record has $|e_k| \le t$ everywhere; its ternarised error is 0, and so is its projection: no light at all.
# The formula then says 0/0; let $\mathrm{scale}_s(0) = 0$.


# %% scale solution=true
def scale(p, s):
    """scale_s of every row of p, (k, n_out)."""
    ### BEGIN SOLUTION
    norms = np.sqrt((p**2).sum(axis=1, keepdims=True))
    return p * np.minimum(1, s / np.where(norms > 0, norms, 1))
    ### END SOLUTION


# %% scale_rows points=1
# 1 point: long rows, short rows, dark rows
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").scale_rows(scale)
### END HIDDEN TESTS
assert np.allclose(scale(np.array([[3.0, -4.0, 12.0]]), 6.5), [[1.5, -2.0, 6.0]]), "the row had the length 13"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "scale_rows")

# %% [markdown]
# Now the update of a hidden layer with `n_out` units, which reads `h`, `(k, n_h)`, and has the slopes `dphi`,
# $\phi'(z)$ of shape `(k, n_out)`. It is Equation 8 ([ohana2021:eq8]) without noise and without offset and clip of h.
# A training loop *subtracts* it, so the paper's minus sign is no part of it:
#
# $$dW = \frac1m \sum_i \big(\mathrm{scale}_s(B\, t(e_i)) \odot \phi'(z_i)\big)\, h_i^\top$$
#
# The number m is given and need not be the number of records. The error e is real; t(e) is for you to make.


# %% step solution=true
def step(see, e, I_a, dphi, h, t, s, m):
    """The direction dW, (n_out, n_h), whose projections are optical."""
    ### BEGIN SOLUTION
    p = scale(project(see, ternarise(e, t), I_a), s)
    return (p * dphi).T @ h / m
    ### END SOLUTION


# %% step_direction points=1
# 1 point: the direction, whatever its length and sign
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").step_direction(step)
### END HIDDEN TESTS

# %% step_length points=1
# 1 point: length and sign, for an m that is not the number of records
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").step_length(step)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "step_direction", "step_length")

# %% [markdown]
# For privacy the paper adds noise to every scaled projection, fresh for every record:
# $\mathrm{scale}_s(B\, t(e_i)) + g_i$ with $g_i \sim N(0, \sigma^2 I)$. How long is such a $g_i$, beside a signal of
# length at most s = 1? The paper leaves open whether its $\sigma$ is that of one measured projection or of the
# difference of two. Here let it be that of one: each of the `projections` that enter (1, or 2 for a difference) brings
# its own independent $N(0, \sigma^2)$ at each of the n units. Return the length of the noise in their sum or
# difference: the root of the mean of its squared length.


# %% noise_length solution=true
def noise_length(sigma, n, projections):
    """How long the noise of n units is, if 1 or 2 noisy projections enter."""
    ### BEGIN SOLUTION
    return sigma * np.sqrt(n * projections)
    ### END SOLUTION


# %% noise_length_values points=1
# 1 point: several sigma and n, one and two projections
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").noise_length_values(noise_length)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "noise_length_values")

# %% [markdown]
# Section 4 says: "$\sigma = 0.1$ implies $\|g\|_2 \simeq \|B e\|_2$", where the latter is at most 1
# ([ohana2021:exp-sigma]). The paper's hidden layers have 512 units, its output layer 10. Hold your numbers against the
# sentence. For how many units would it be right?

# %%
for n in (10, 100, 256, 512):
    lengths = [float(noise_length(0.1, n, projections)) for projections in (1, 2)]
    print(n, "units, sigma 0.1: length of the noise", np.round(lengths, 2), "for one and two projections")

# %% [markdown]
# Is that enough noise to hide *who* was in the batch? The paper says that the whole matrix dW is then private
# ([ohana2021:prop3-cols]). Look at what is released:
#
# $$dW = \frac1m \sum_{i=1}^m \big((\mathrm{scale}_s(B\, t(e_i)) + g_i) \odot \phi'(z_i)\big)\, h_i^\top.$$
#
# Predict its rank, for records in general position (no $h_i$ is a combination of others as long as that is possible),
# $\phi' \ne 0$, $n_h$ inputs, $n_{out}$ units, and any $\sigma > 0$ however large.


# %% noisy_rank solution=true
def noisy_rank(m, n_h, n_out):
    """The rank of the noisy update dW, (n_out, n_h), of m records."""
    ### BEGIN SOLUTION
    return min(m, n_h, n_out)
    ### END SOLUTION


# %% noisy_rank_values points=1
# 1 point: few and many records, inputs, units
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps7_optical").noisy_rank_values(noisy_rank)
### END HIDDEN TESTS
assert noisy_rank(1, 7, 5) == 1, "one record: one column times one row"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps7_optical", globals(), "noisy_rank_values")

# %% [markdown]
# Measure it, with the update as nfa computes it, noise and all. Its batch has 20 records of 60 numbers each. What would
# the second figure look like, had the noise been added to every entry of dW instead? What does this noise protect, if
# not who took part: the records' inputs or their labels? (Problem set 8 goes on from here.)

# %%
from nfa import feedback, network, ops
from nfa.rules.pdfa import pdfa

rng = np.random.default_rng(5)
net = network.mlp([60, 40, 3], ops.tanh, rng=rng)
B = feedback.draw(net, law="normal", scale=1.0, rng=rng)
batch, strangers = rng.normal(size=(2, 20, 60))
labels = np.eye(3)[rng.integers(3, size=20)]
fig, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
for sigma, mark in ((0.1, "o"), (100.0, "x")):
    dW = pdfa(net, batch, labels, B=B, m=20, sigma=sigma, t=0.15, clip_x=False, rng=rng)[0][1]
    _, sizes, directions = np.linalg.svd(dW)
    axes[0].semilogy(sizes / sizes[0], mark, label=f"sigma = {sigma:g}")
    outside = directions[int(noisy_rank(20, 60, 40)) :]  # no row of dW has a part in these
    for who, name in ((batch, "in the batch"), (strangers, "not in it")):
        rest = np.linalg.norm(who @ outside.T, axis=1) / np.linalg.norm(who, axis=1)
        axes[1].semilogy(rest, mark, label=f"{name}, sigma = {sigma:g}")
axes[0].set(xlabel="number", title="singular values of dW, by the largest")
axes[1].set(xlabel="record", title="share of a record outside the rows of dW")
for ax in axes:
    ax.legend()
plt.show()
