"""Private rules with common mistakes, one in each rule. Most rules state the mechanism at the end of this file.

The rules use BP, clip every record's gradient and add noise to the average. `sound` does this correctly. Some other
functions are wrong mechanisms of correct rules.
"""

import math

import numpy as np

from nfa.clip import clip_entries, clip_factor
from nfa.mechanism import Mechanism
from nfa.network import forward
from nfa.papers.lee2020.claims import claimed_dfa_sensitivity
from nfa.rules.dp_dfa import dp_dfa
from nfa.rules.pdfa_isotropic import mechanism as isotropic_mechanism
from nfa.sensitivity import clipped_sensitivity
from nfa.sensitivity.dfa import LayerBound, corrected_dfa_sensitivity, layer_bounds
from nfa.sensitivity.pdfa import column_sensitivity


def gradients(net, x, y):
    """Each record's gradient: a list with one array (k, ...) for every W and b, W before b."""
    z, h = forward(net, x)
    v, found = net.loss.error(z[net.L], y), []
    for l in range(net.L, 0, -1):
        dz = v if l == net.L else net.pull(l, z, v)
        found = [dz[:, :, None] * net.input(l, h)[:, None, :], dz, *found]
        v = net.map[l].transpose(net.W[l], dz)
    return found


def norms_of(parts):
    """The norm of each record's whole gradient. A norm that is NaN counts as infinite."""
    with np.errstate(over="ignore"):
        norms = np.sqrt(sum(np.square(g).sum(axis=tuple(range(1, g.ndim))) for g in parts))
    return np.where(np.isnan(norms), np.inf, norms)


def weighted(parts, factor):
    """Each record's gradient times its factor. A factor of 0 removes the gradient, even if it is not finite."""
    out = [g.copy() for g in parts]
    for g in out:
        g[factor == 0] = 0
        g *= factor.reshape(-1, *[1] * (g.ndim - 1)).astype(g.dtype)
    return out


def fresh(rng, shapes, sigma):
    return [sigma * rng.standard_normal(shape) for shape in shapes]


def answer(parts, net, *, m, sigma, rng, noise=fresh):
    """The result of a rule: the sum over records divided by m, plus noise."""
    total = [g.sum(axis=0) / m for g in parts]
    total = [g + eta for g, eta in zip(total, noise(rng, [g.shape for g in total], sigma), strict=True)]
    return [None, *total[::2]], [None, *total[1::2]]


def sound(net, x, y, *, C, m, sigma, rng, noise=fresh):
    """The correct rule: one clip over all layers and biases, a public m, fresh noise on every coordinate."""
    parts = gradients(net, x, y)
    return answer(weighted(parts, clip_factor(norms_of(parts), C)), net, m=m, sigma=sigma, rng=rng, noise=noise)


# --- the clip


def doubled_clip(net, x, y, *, C, **rest):
    """The clip uses 2 C in place of C."""
    return sound(net, x, y, C=2 * C, **rest)


def bias_forgotten(net, x, y, *, C, **rest):
    """The clip scales biases down with the weights, but its norm does not include the biases."""
    parts = gradients(net, x, y)
    return answer(weighted(parts, clip_factor(norms_of(parts[::2]), C)), net, **rest)


def each_layer_to_C(net, x, y, *, C, **rest):
    """Each layer has its own clip, but the mechanism counts only one of these clips."""
    parts = gradients(net, x, y)
    pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
    return answer([g for pair in pairs for g in weighted(pair, clip_factor(norms_of(pair), C))], net, **rest)


def entries_to_C(net, x, y, *, C, **rest):
    """Every entry of a gradient is clipped to C."""
    return answer([clip_entries(g, C) for g in gradients(net, x, y)], net, **rest)


def clip_after_averaging(net, x, y, *, C, m, **rest):
    """The average is clipped instead of each record."""
    total = [g.sum(axis=0, keepdims=True) / m for g in gradients(net, x, y)]
    return answer(weighted(total, clip_factor(norms_of(total), C)), net, m=1, **rest)


def norm_of_the_batch(net, x, y, *, C, **rest):
    """All records have one clip factor, computed from the mean of their norms."""
    parts = gradients(net, x, y)
    mean = norms_of(parts).mean(keepdims=True) if len(x) else np.zeros(1)
    return answer(weighted(parts, np.repeat(clip_factor(mean, C), len(x))), net, **rest)


def clip_at_the_median(net, x, y, *, C, **rest):
    """The clip bound is the median norm of the batch, but at least C."""
    parts = gradients(net, x, y)
    norms = norms_of(parts)
    bound = max(C, float(np.median(norms))) if len(x) else C
    return answer(weighted(parts, clip_factor(norms, bound)), net, **rest)


def centred(net, x, y, *, C, **rest):
    """The rule subtracts the batch's mean gradient from each record's gradient before the clip."""
    parts = gradients(net, x, y)
    means = [g.mean(axis=0) if len(x) else 0 for g in parts]
    parts = [g - mean for g, mean in zip(parts, means, strict=True)]
    return answer(weighted(parts, clip_factor(norms_of(parts), C)), net, **rest)


def divided_by_len(net, x, y, *, m, **rest):
    """The rule divides the sum by the actual batch size instead of the public m."""
    return sound(net, x, y, m=max(len(x), 1), **rest)


# --- the noise


def noise_on_the_sum(net, x, y, *, m, sigma, **rest):
    """The rule adds the noise for the mean to the sum, and divides by m afterwards."""
    return sound(net, x, y, m=m, sigma=sigma / m, **rest)


def noise_halved(net, x, y, *, sigma, **rest):
    """The noise has half of the stated std."""
    return sound(net, x, y, sigma=sigma / 2, **rest)


def noise_by_records(net, x, y, *, m, sigma, **rest):
    """The std of the noise depends on the number of records. The std is correct only for m records."""
    return sound(net, x, y, m=m, sigma=sigma * math.sqrt(len(x) / m), **rest)


def one_draw_for_all(net, x, y, **rest):
    """All layers use one noise vector, cut to the shape of the layer."""

    def repeated(rng, shapes, sigma):
        draws = sigma * rng.standard_normal(max(map(math.prod, shapes)))
        return [draws[: math.prod(shape)].reshape(shape) for shape in shapes]

    return sound(net, x, y, noise=repeated, **rest)


def weights_alone(net, x, y, **rest):
    """Biases have no noise."""

    def some(rng, shapes, sigma):
        return [sigma * rng.standard_normal(shape) * (len(shape) > 1) for shape in shapes]

    return sound(net, x, y, noise=some, **rest)


def own_seed(net, x, y, *, rng, **rest):
    """Every step has the same noise, because the rule uses its own seed."""
    return sound(net, x, y, rng=np.random.default_rng(7), **rest)


def nothing_for_nobody(net, x, y, **rest):
    """For an empty batch, the rule returns zeros without noise."""
    dW, db = sound(net, x, y, **rest)
    if len(x) == 0:
        return [None, *(0 * W for W in dW[1:])], [None, *(0 * b for b in db[1:])]
    return dW, db


RULES = (
    doubled_clip, bias_forgotten, each_layer_to_C, entries_to_C, clip_after_averaging, norm_of_the_batch,
    clip_at_the_median, centred, divided_by_len, noise_on_the_sum, noise_halved, noise_by_records, one_draw_for_all,
    weights_alone, own_seed, nothing_for_nobody,
)  # fmt: skip


# --- the stated mechanisms


def gaussian(sensitivity, adjacency, sigma, sampling="none", sampling_rate=1.0):
    return Mechanism(
        law="gaussian",
        sensitivity=sensitivity,
        adjacency=adjacency,
        noise_std=sigma,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )


def mechanism(*, C, m, sigma, adjacency, sampling="none", sampling_rate=1.0):
    """The mechanism of `sound`, which all rules above state."""
    return gaussian(clipped_sensitivity(C=C, m=m, adjacency=adjacency), adjacency, sigma, sampling, sampling_rate)


def stated_half(*, C, m, sigma, adjacency, **where):
    """A mechanism that states half of the sensitivity."""
    return gaussian(clipped_sensitivity(C=C, m=m, adjacency=adjacency) / 2, adjacency, sigma, **where)


def stated_for_another(*, C, m, sigma, adjacency, **where):
    """A mechanism that states the sensitivity for adding a record, for every adjacency."""
    return gaussian(clipped_sensitivity(C=C, m=m, adjacency="add-remove"), adjacency, sigma, **where)


def top_forgotten(*, net, B, m, sigma, tau_e, tau_h, adjacency, **where):
    """A mechanism of DP-DFA with the printed overall sensitivity, which omits the top layer."""
    beta = max(float(np.linalg.norm(M, 2)) for M in B if M is not None)
    gamma = net.phi[1].gamma_max
    printed = claimed_dfa_sensitivity(L=net.L, m=m, gamma=gamma, beta=beta, tau_e=tau_e, tau_h=tau_h)
    return gaussian(printed, adjacency, sigma, **where)


def expected_projection(*, net, B, m, sigma, tau_e, tau_h, adjacency, **where):
    """A mechanism of DP-DFA with the root mean square of ||B e|| over directions of e instead of its bound."""
    layers = layer_bounds(net, B)
    for l in range(1, net.L):
        mean = float(np.linalg.norm(B[l])) / math.sqrt(B[l].shape[1])
        layers[l - 1] = LayerBound(gain_dz=net.phi[l].gamma_max * mean)
    moved = corrected_dfa_sensitivity(layers, m=m, tau_e=tau_e, tau_h=tau_h, adjacency=adjacency)
    return gaussian(moved, adjacency, sigma, **where)


def biases_forgotten(*, net, m, sigma, tau_e, tau_h, B, adjacency, **where):
    """A mechanism of DP-DFA with the sensitivity of the weights without the biases."""
    layers = [LayerBound(gain_dz=one.gain_dz, gain_b=0.0) for one in layer_bounds(net, B)]
    moved = corrected_dfa_sensitivity(layers, m=m, tau_e=tau_e, tau_h=tau_h, adjacency=adjacency)
    return gaussian(moved, adjacency, sigma, **where)


def columns_counted_once(*, net, m, sigma, adjacency, **where):
    """A mechanism of photonic DFA with noise in every direction that states the sensitivity of one column."""
    moved = column_sensitivity(m=m, n=net.shape_h[0][0], tau_B=1.0, gamma_max=1.0, tau_h_max=1.0)
    return gaussian(moved, adjacency, sigma, **where)


def label_bound(*, net, m, sigma, adjacency, **where):
    """A mechanism of photonic DFA that states the sensitivity for adding a record for every adjacency."""
    said = isotropic_mechanism(net=net, m=m, s=sigma, adjacency="add-remove", sampling="none", sampling_rate=1.0)
    return gaussian(said.sensitivity, adjacency, sigma, **where)


def error_unclipped(net, x, y, *, tau_e, **rest):
    """DP-DFA without the clip of the error, although its mechanism assumes this clip."""
    return dp_dfa(net, x, y, tau_e=math.inf, **rest)
