"""Kernels for the activations of `nfa.network.ops` and their derivatives, for float32 and float64.

Each result depends only on its own entry, and is bitwise identical at any place of the array. The memory layout is that
of the input. The relative error of tanh, sigmoid and their derivatives is at most 2.1e-7 in float32, over all floats,
and at most 1e-15 in float64. If the value is tiny, the error is at most two of the smallest floats. NaN stays NaN.
phi(-z) = -phi(z) for tanh, and |phi| <= 1. A derivative is at least 0 and at most `gamma_max`. Rounding cannot exceed
this bound, because a larger result is set to the bound. Guarantees depend on this bound. phi never decreases, but its
computed values can. For a < b, rounding errors can make the computed phi(a) larger than the computed phi(b).
"""

import numpy as np

from nfa.kernels import cores
from nfa.kernels.functions import f32, f64, grown, grown64, i32, i64, inlined, loop

SHARED = 1 << 17  # smallest number of entries for each thread, if several threads share the work
# If we add ROUND to a small float, the sum is rounded to a whole number, which is in the last bits of the sum.
ROUND, ROUND64 = f32(3 * 2**22), f64(3 * 2**51)
BITS, BITS64 = ROUND.view(i32), ROUND64.view(i64)
SMALL, SMALL64 = f32(2.0**-64), f64(2.0**-64)  # in units of SMALL, the smallest floats have all their digits


@inlined
def _parts(x):
    """(k, exp(r) - 1) for x = k log(2) + r with |r| <= log(2) / 2 and -110 <= x <= 0. A NaN gives exp(r) - 1 = NaN."""
    shifted = f32(x * f32(1.44269504) + ROUND)
    k = shifted - ROUND
    return i32(shifted.view(i32) - BITS), grown(x - k * f32(0.693359375) + k * f32(2.12194440e-4))


@inlined
def _exp(x):
    """exp(x) in units of SMALL for x <= 0. For x < -106, the result is exp(-106), which float32 rounds to 0."""
    k, q = _parts(f32(-106) if x < f32(-106) else x)
    return (q + f32(1)) * i32(i32(k + i32(127 + 64)) << i32(23)).view(f32)


@inlined
def _parts64(x):
    """`_parts` in float64, for -750 <= x <= 0."""
    shifted = f64(x * f64(1.4426950408889634) + ROUND64)
    k = shifted - ROUND64
    return i64(shifted.view(i64) - BITS64), grown64(x - k * f64(0.693145751953125) - k * f64(1.4286068203094172e-6))


@inlined
def _exp64(x):
    """exp(x) in units of SMALL for x <= 0. For x < -747, the result is exp(-747), which float64 rounds to 0."""
    k, q = _parts64(f64(-747) if x < f64(-747) else x)
    return (q + f64(1)) * i64(i64(k + i64(1023 + 64)) << i64(52)).view(f64)


@loop
def _tanh(z, out):
    """Tanh from exp(x) - 1, which is accurate near 0. With n = 1 - exp(-2 |x|), |tanh(x)| = n / (2 - n) <= 1."""
    for j in range(len(z)):
        x = f32(-2) * abs(z[j])
        k, q = _parts(f32(-87) if x < f32(-87) else x)
        two_to_k = i32(i32(k + i32(127)) << i32(23)).view(f32)
        n = (f32(1) - two_to_k) - two_to_k * q
        out[j] = np.copysign(n / (f32(2) - n), z[j])


@loop
def _tanh64(z, out):
    """`_tanh` in float64."""
    for j in range(len(z)):
        x = f64(-2) * abs(z[j])
        k, q = _parts64(f64(-700) if x < f64(-700) else x)
        two_to_k = i64(i64(k + i64(1023)) << i64(52)).view(f64)
        n = (f64(1) - two_to_k) - two_to_k * q
        out[j] = np.copysign(n / (f64(2) - n), z[j])


@loop
def _sigmoid(z, out):
    """Sigmoid from an exponential that cannot overflow."""
    for j in range(len(z)):
        e = SMALL * _exp(-abs(z[j]))
        out[j] = (e if z[j] < f32(0) else f32(1)) / (f32(1) + e)


@loop
def _sigmoid64(z, out):
    """`_sigmoid` in float64."""
    for j in range(len(z)):
        e = SMALL64 * _exp64(-abs(z[j]))
        out[j] = (e if z[j] < f64(0) else f64(1)) / (f64(1) + e)


@loop
def _derivative(z, out, a):
    """The derivative of a sigmoid(a z). With e = exp(-a |z|), it is a^2 e / (1 + e)^2 <= a^2 / 4."""
    for j in range(len(z)):
        large = _exp(-a * abs(z[j]))
        e = SMALL * large
        derivative = large / (e * (f32(2) + e) + f32(1))
        derivative = f32(2.0**62) if derivative > f32(2.0**62) else derivative
        out[j] = SMALL * a * a * derivative


@loop
def _derivative64(z, out, a):
    """`_derivative` in float64."""
    for j in range(len(z)):
        large = _exp64(-a * abs(z[j]))
        e = SMALL64 * large
        derivative = large / (e * (f64(2) + e) + f64(1))
        derivative = f64(2.0**62) if derivative > f64(2.0**62) else derivative
        out[j] = SMALL64 * a * a * derivative


@loop
def _relu(z, out):
    zero = z.dtype.type(0)
    for j in range(len(z)):
        out[j] = zero if z[j] < zero else z[j]


@loop
def _positive(z, out):
    zero, one = z.dtype.type(0), z.dtype.type(1)
    for j in range(len(z)):
        out[j] = one if z[j] > zero else zero


DTYPES = (np.float32, np.float64)


def _each(loops, z, *numbers):
    """Call the loop for z's dtype on pieces of z and of an array for the results, with the entries in memory order."""
    if z.dtype not in DTYPES:
        raise ValueError(f"the kernel of an activation needs a float32 or float64 array, got {z.dtype}")
    entries, numbers = loops[z.dtype == np.float64], [z.dtype.type(number) for number in numbers]
    out = np.empty_like(z)
    dense = z if z.strides == out.strides else z.copy(order="K")
    flat, into = dense.ravel(order="K"), out.ravel(order="K")
    cores.share(lambda start, stop: entries(flat[start:stop], into[start:stop], *numbers), z.size, SHARED)
    return out


def tanh(z):
    """Twin of `nfa.network.ops._tanh`."""
    return _each((_tanh, _tanh64), z)


def dtanh(z):
    """Twin of `nfa.network.ops._dtanh`."""
    return _each((_derivative, _derivative64), z, 2)  # tanh(z) = 2 sigmoid(2 z) - 1


def sigmoid(z):
    """Twin of `nfa.network.ops._sigmoid`."""
    return _each((_sigmoid, _sigmoid64), z)


def dsigmoid(z):
    """Twin of `nfa.network.ops._dsigmoid`."""
    return _each((_derivative, _derivative64), z, 1)


def relu(z):
    """Twin of `nfa.network.ops._relu`."""
    return _each((_relu, _relu), z)


def drelu(z):
    """Twin of `nfa.network.ops._positive`."""
    return _each((_positive, _positive), z)
