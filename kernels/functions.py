"""Losses and activations for compiled loops over float32, their scalar functions, and the options of compilation.

Names that end in 64 are functions for float64.
"""

import gc

import numpy as np
from numba import njit
from numba.core import event

f32, i32 = np.float32, np.int32
f64, i64 = np.float64, np.int64

# The compiler may fuse a product and a sum into one operation with one rounding.
loop = njit(nogil=True, error_model="numpy", fastmath={"contract"})
inlined = njit(inline="always")


class _NothingCollected(event.Listener):
    """A listener that stops Python's garbage collector while numba compiles.

    The compiler makes many objects that are not garbage. Scanning them repeatedly would take a tenth of the time of
    compilation.
    """

    # ``depth`` counts nested compilations, because numba compiles a called function during the compilation of its
    # caller. numba holds a lock during compilations.
    depth, enabled = 0, False

    def on_start(self, _):
        if self.depth == 0:
            self.enabled = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, _):
        self.depth -= 1
        if self.depth == 0 and self.enabled:
            gc.enable()


event.register("numba:compile", _NothingCollected())


# These functions of one number use only float32 and have no branches. So the compiler can process many numbers of a
# loop at once.


@inlined
def exp(x):
    """exp(x) for x <= 0, with an error of two roundings. For x < -87, the result is exp(-87). NaN stays NaN.

    The method is exp(x) = 2^k exp(r) with |r| <= log(2) / 2.
    """
    x = f32(-87) if x < f32(-87) else x
    k = np.floor(x * f32(1.44269504) + f32(0.5))
    r = x - k * f32(0.693359375) + k * f32(2.12194440e-4)
    return (grown(r) + f32(1)) * i32((i32(k) + i32(127)) << i32(23)).view(f32)


@inlined
def grown(r):
    """exp(r) - 1 for |r| <= log(2) / 2, by the polynomial of Cephes (expf)."""
    p = f32(1.9875691500e-4)
    p = p * r + f32(1.3981999507e-3)
    p = p * r + f32(8.3334519073e-3)
    p = p * r + f32(4.1665795894e-2)
    p = p * r + f32(1.6666665459e-1)
    p = p * r + f32(5.0000001201e-1)
    return p * r * r + r


@inlined
def grown64(r):
    """exp(r) - 1 for |r| <= log(2) / 2, by thirteen terms of its series. The remainder is below 2e-17 of the sum."""
    p = f64(1 / 6227020800)
    p = p * r + f64(1 / 479001600)
    p = p * r + f64(1 / 39916800)
    p = p * r + f64(1 / 3628800)
    p = p * r + f64(1 / 362880)
    p = p * r + f64(1 / 40320)
    p = p * r + f64(1 / 5040)
    p = p * r + f64(1 / 720)
    p = p * r + f64(1 / 120)
    p = p * r + f64(1 / 24)
    p = p * r + f64(1 / 6)
    p = p * r + f64(1 / 2)
    return p * r * r + r


@inlined
def log(x):
    """log(x) for normal x > 0, with an error of at most two rounding errors or 1e-7.

    log(x) = k log(2) + log(1 + r) with sqrt(1/2) <= 1 + r < sqrt(2). The second term uses the polynomial of Cephes
    (logf).
    """
    bits = f32(x).view(i32)
    k = i32((bits - i32(0x3F3504F3)) >> i32(23))
    r = i32(bits - i32(k << i32(23))).view(f32) - f32(1)
    p = f32(7.0376836292e-2)
    p = p * r + f32(-1.1514610310e-1)
    p = p * r + f32(1.1676998740e-1)
    p = p * r + f32(-1.2420140846e-1)
    p = p * r + f32(1.4249322787e-1)
    p = p * r + f32(-1.6668057665e-1)
    p = p * r + f32(2.0000714765e-1)
    p = p * r + f32(-2.4999993993e-1)
    p = p * r + f32(3.3333331174e-1)
    return f32(k) * f32(0.69314718) + (r + r * r * (f32(-0.5) + r * p))


@inlined
def upper_tail(a):
    """The probability that a standard normal is above a >= 0: erfc(a / sqrt(2)) / 2.

    The relative error is at most 1e-6 for a < 5.

    The formula is erfcc of Press et al., Numerical Recipes. In exact arithmetic, its relative error is 1.2e-7.
    """
    t = f32(1) / (f32(1) + f32(0.35355339) * a)
    p = f32(0.17087277)
    p = p * t + f32(-0.82215223)
    p = p * t + f32(1.48851587)
    p = p * t + f32(-1.13520398)
    p = p * t + f32(0.27886807)
    p = p * t + f32(-0.18628806)
    p = p * t + f32(0.09678418)
    p = p * t + f32(0.37409196)
    p = p * t + f32(1.00002368)
    p = p * t + f32(-1.26551223)
    return f32(0.5) * t * exp(p - f32(0.5) * a * a)


# Losses of outputs z in ``width`` columns, written into rows[0]. Each of m examples, from example i on, has ``repeats``
# adjacent columns.


@loop
def cross_entropy(z, y, i, m, repeats, rows, width):
    """The cross entropy of softmax outputs z."""
    loss, top, spread = rows[0], rows[1], rows[2]
    n = y.shape[1]
    for c in range(width):
        top[c], spread[c], loss[c] = z[0, c], f32(0), f32(0)
    for j in range(1, n):
        z_j = z[j]
        for c in range(width):
            top[c] = z_j[c] if z_j[c] > top[c] else top[c]
    for j in range(n):
        z_j = z[j]
        for c in range(width):
            spread[c] += exp(z_j[c] - top[c])
    for c in range(width):
        spread[c] = log(spread[c])
    for j in range(n):
        z_j = z[j]
        for own in range(m):
            y_ij = y[i + own, j]
            for c in range(own * repeats, (own + 1) * repeats):
                loss[c] -= y_ij * (z_j[c] - top[c] - spread[c])


@loop
def half_squared_error(z, y, i, m, repeats, rows, width):
    """Half the squared distance of outputs z from y."""
    loss = rows[0]
    for c in range(width):
        loss[c] = f32(0)
    for j in range(y.shape[1]):
        z_j = z[j]
        for own in range(m):
            y_ij = y[i + own, j]
            for c in range(own * repeats, (own + 1) * repeats):
                loss[c] += f32(0.5) * (z_j[c] - y_ij) * (z_j[c] - y_ij)


# Activations, in place, of the first ``width`` values of n rows.


@loop
def identity(a, n, width):
    """a stays unchanged."""


@loop
def relu(a, n, width):
    """0 for a < 0, otherwise a."""
    for j in range(n):
        row = a[j]
        for c in range(width):
            row[c] = f32(0) if row[c] < f32(0) else row[c]


@loop
def step(a, n, width):
    """1 for a > 0, otherwise 0."""
    for j in range(n):
        row = a[j]
        for c in range(width):
            row[c] = f32(1) if row[c] > f32(0) else f32(0)


@loop
def gelu(a, n, width):
    """a Phi(a), computed from the smaller of the two tails."""
    for j in range(n):
        row = a[j]
        for c in range(width):
            size = abs(row[c])
            row[c] = (f32(0) if row[c] < f32(0) else row[c]) - size * upper_tail(size)


@loop
def tanh(a, n, width):
    """By an exponential that cannot overflow."""
    for j in range(n):
        row = a[j]
        for c in range(width):
            q = exp(f32(-2) * abs(row[c]))
            t = (f32(1) - q) / (f32(1) + q)
            row[c] = -t if row[c] < f32(0) else t


@loop
def sigmoid(a, n, width):
    """By an exponential that cannot overflow."""
    for j in range(n):
        row = a[j]
        for c in range(width):
            q = exp(-abs(row[c]))
            row[c] = (q if row[c] < f32(0) else f32(1)) / (f32(1) + q)


LOSSES = {"softmax-cross-entropy": cross_entropy, "squared-error": half_squared_error}
ACTIVATIONS = {
    "identity": identity,
    "relu": relu,
    "step": step,
    "gelu": gelu,
    "tanh": tanh,
    "sigmoid": sigmoid,
}
