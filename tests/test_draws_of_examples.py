"""Tests that an example's random samples depend only on the step and on the example's place, not on the parts.

We call every function that draws samples for examples, and every rule that uses such a function, on a whole batch and
on random parts of it. The samples must be equal. Samples at different places, in different calls and in different steps
must be independent.
"""

import copy
import functools
import math

import numpy as np
import pytest
from scipy import stats

from nfa import cipher, feedback, noise, ops, philox
from nfa.feedback import OPU, Camera, camera, optical
from nfa.network import forward, mlp
from nfa.noise import OfExamples, of_examples
from nfa.rules import ulr
from nfa.rules.spec import spec
from tests.kernels.python_source import in_python
from tests.oracles import chance
from tests.oracles.core import assert_same_direction, batch

fast = pytest.importorskip("nfa.kernels.philox", reason="numba is not installed: pip install numba")
from nfa.kernels import cores, shot  # noqa: E402
from nfa.kernels import noise as cipher_noise  # noqa: E402
from nfa.kernels import ulr as forward_learning  # noqa: E402

rng = np.random.default_rng


@functools.cache
def _of_secure_step(t):
    return noise.secure()("noise", t)


def secure_step(t):
    """The generator of step t of a secure run. Each call returns it in its first state."""
    return copy.deepcopy(_of_secure_step(t))


N_OUT = 37  # a number of units for which no row of samples ends at the end of a kernel's tile
EVERY_STEP = pytest.mark.parametrize("step", [lambda: rng(5), lambda: secure_step(5)], ids=["seeded", "secure"])


def cuts(k, seed, parts=4):
    """The parts [(start, stop), ...] of a batch of k examples, divided at random places. A part may be empty."""
    inner = np.sort(rng(seed).integers(0, k + 1, parts - 1)).tolist()
    return list(zip([0, *inner], [*inner, k], strict=True))


# --- functions -------------------------------------------------------------------------------------------------


def added(add, dtype, *shape):
    """A function that adds the noise of ``add`` to nonzero values. ``shape`` is the shape of an example."""

    def rows(start, stop, own):
        out = np.linspace(-1, 1, 300 * math.prod(shape)).astype(dtype).reshape(300, *shape)[start:stop].copy()
        add(out, 0.7, own)
        return out

    return rows


def counted(count):
    """A function that returns Poisson numbers with means from 0 to 90."""
    means = rng(0).exponential(30, (300, N_OUT))
    means[:, ::5] = 0
    return lambda start, stop, own: count(means[start:stop], own)


def projected(opu):
    """A function that returns the projections of ternary errors by an OPU."""
    e = rng(1).integers(-1, 2, (300, 10)).astype(float)
    return lambda start, stop, own: opu.project(e[start:stop], rng=own)


def device(count, **how):
    """An OPU with shot noise, dark noise and a camera that rounds.

    The OPU measures the anchor in each projection, and adds noise to its output.
    """
    effects = Camera(photons=200.0, dark_std=0.3, saturation=60.0, bits=12, count=count)
    return OPU(10, N_OUT, rng=rng(2), camera=effects, anchor_shot=True, noise_std=0.1, **how)


def weighed(weigh, dtype, l, draws, antithetic=False):
    """The weighted sums of ULR at a layer, in one array (k, n_l + 1). With 530 repeats, the kernel makes two tiles."""
    net = mlp((6, 9, 5, 3), ops.gelu, rng=rng(0), dtype=dtype)
    x, y = (a.astype(dtype) for a in batch(net, 300))
    z, h = forward(net, x)

    def rows(start, stop, own):
        cut = [[None if v is None else v[start:stop] for v in some] for some in (z, h)]
        m = stop - start
        total, power = weigh(
            net, l, *cut, y[start:stop], dtype(0.3), draws, np.full(m, 0.5, dtype), antithetic, 1 << 12, own
        )
        return np.concatenate([total, power[:, None]], axis=1)

    return rows


# name -> function (start, stop, own) that returns rows start..stop of a batch of 300, drawn from own, and the tolerated
# relative difference from the rows of the whole batch.
ROWS = {
    "noise.add_normal_each": (added(noise.add_normal_each, np.float64, N_OUT), 0),
    "noise.add_normal_each, float32 images": (added(noise.add_normal_each, np.float32, 2, 3, 5), 0),
    "philox.add_normal_each": (added(philox.add_normal_each, np.float32, N_OUT), 0),
    "philox.add_normal_each, float64": (added(philox.add_normal_each, np.float64, 7), 0),
    "cipher.add_normal_each_keyed": (added(cipher.add_normal_each_keyed, np.float64, N_OUT), 0),
    "kernels.philox.add_normal_each": (added(fast.add_normal_each, np.float32, N_OUT), 0),
    "kernels.philox.add_normal_each, images": (added(fast.add_normal_each, np.float32, 4, 11, 50), 0),
    "kernels.philox.add_normal_each, float64": (added(fast.add_normal_each, np.float64, N_OUT), 0),
    "kernels.noise.add_normal_each": (added(cipher_noise.add_normal_each, np.float64, N_OUT), 0),
    "kernels.noise.add_normal_each, images": (added(cipher_noise.add_normal_each, np.float64, 4, 11, 50), 0),
    "camera.poisson": (counted(camera.poisson), 0),
    "kernels.shot.poisson": (counted(shot.poisson), 0),
    "project": (lambda i, j, own: feedback.project(np.ones((j - i, 2)), np.ones((3, 2)), noise_std=1.0, rng=own), 0),
    # In a batch of another size, the product that gives the light has another rounding. Photon counts and camera levels
    # are then the same, except with a probability of about 1e-12 for each value.
    "OPU": (projected(device(camera.poisson)), 1e-10),
    "OPU by the kernel": (projected(device(shot.poisson)), 1e-10),
    "OPU, medium not stored": (projected(device(shot.poisson, stored=False)), 1e-10),
    "OPU, noise after the camera alone": (projected(OPU(10, N_OUT, rng=rng(2), noise_std=0.4)), 1e-10),
    **{f"ulr.weigh, layer {l}": (weighed(ulr.weigh, np.float64, l, 7), 1e-10) for l in (1, 3)},
    "ulr.weigh, pairs": (weighed(ulr.weigh, np.float64, 2, 7, antithetic=True), 1e-10),
    **{f"kernels.ulr.weigh, layer {l}": (weighed(forward_learning.weigh, np.float32, l, 530), 0) for l in (1, 2, 3)},
    "kernels.ulr.weigh, few draws": (weighed(forward_learning.weigh, np.float32, 2, 40), 0),
    "kernels.ulr.weigh, pairs": (weighed(forward_learning.weigh, np.float32, 2, 40, antithetic=True), 0),
}
QUICK = "noise.", "camera.", "project", "ulr.weigh, pairs"
EVERY_ROW = pytest.mark.parametrize(
    "name", [name if name.startswith(QUICK) else pytest.param(name, marks=pytest.mark.slow) for name in ROWS]
)


@EVERY_ROW
@EVERY_STEP
def test_the_rows_of_parts_are_those_of_the_whole(name, step):
    """The rows of parts are bitwise identical to those of the whole batch.

    If the rounding of a product depends on the batch, the tolerance is 1e-10.
    """
    rows, off = ROWS[name]
    whole = rows(0, 300, of_examples(step()))
    scale = np.abs(whole).max()
    for seed in range(3):
        parts = [rows(i, j, of_examples(step(), i)) for i, j in cuts(300, seed)]
        np.testing.assert_allclose(np.concatenate(parts), whole, rtol=0, atol=off * scale)
    assert np.array_equal(rows(7, 8, of_examples(step(), 7)), rows(7, 8, of_examples(step(), 7)))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ROWS if name.startswith("kernels.")])
def test_the_threads_change_no_row(name):
    """The rows do not depend on the number of threads.

    The tested part begins within a tile of the kernel. The kernel computes it in one piece or in many pieces, at most
    one for each tile.
    """
    rows, _ = ROWS[name]
    found = []
    try:
        for threads in (1, 2, 5):
            cores.limit(threads)
            found.append(rows(3, 300, of_examples(rng(4), 3)))
    finally:
        cores.limit()
    assert all(np.array_equal(one, found[0]) for one in found)


@pytest.mark.parametrize(
    "reference, kernel, dtype",
    [
        (philox.add_normal_each, fast, np.float32),
        (philox.add_normal_each, fast, np.float64),
        (cipher.add_normal_each_keyed, cipher_noise, np.float64),
    ],
    ids=["Philox", "Philox, float64", "ChaCha20"],
)
def test_a_kernel_as_python_adds_what_its_reference_adds(reference, kernel, dtype):
    """A kernel as Python adds the noise of its reference, at the places 4,080 to 4,139, where a tile ends.

    The tolerance is 8 roundings of 8.6. All normals are below 8.6.
    """
    got, want = np.ones((2, 2, 30), dtype)
    with np.errstate(over="ignore"):  # words overflow on purpose
        in_python(kernel).add_normal_each(got, 1.0, of_examples(rng(8), 136))
    reference(want, 1.0, of_examples(rng(8), 136))
    np.testing.assert_allclose(got, want, rtol=0, atol=8 * np.finfo(dtype).eps * 8.6)


@EVERY_ROW
@EVERY_STEP
def test_a_call_draws_one_key_whatever_the_number_of_rows(name, step):
    """A call draws one key for any number of rows, so the next call of every part has the same key."""
    rows, _ = ROWS[name]
    after = []
    for i, j in ((0, 300), (40, 41), (300, 300)):
        own = of_examples(step(), i)
        rows(i, j, own)
        after.append(own.random())
    assert len({*after, of_examples(step()).random()}) == 2


@EVERY_ROW
@EVERY_STEP
def test_places_calls_and_steps_share_nothing(name, step):
    """Different places, calls and steps share no samples.

    For example, one example has different rows at 400 different places. We use two calls and two steps. The ranks of
    the first values are uncorrelated, and so are the ranks of their distances from the median. We compare neighbouring
    places, places 400 apart, two calls, and two steps. The test detects a correlation of 0.6.
    """
    rows, _ = ROWS[name]

    def drawn(first, own):
        """The rows of example 3 at the places first, first + 1, ..., as an array (400, n)."""
        found = [rows(3, 4, place(own, first + i)) for i in range(400)]
        return np.concatenate(found).reshape(400, -1).astype(float)

    def place(own, first):
        twin = copy.deepcopy(own)
        twin.first = first
        return twin

    once, later = of_examples(step()), of_examples(step())
    rows(0, 0, later)
    other = of_examples(rng(6))
    one, moved, again, apart = drawn(0, once), drawn(400, once), drawn(0, later), drawn(0, other)
    assert len(np.unique(np.concatenate([one, moved, again, apart]), axis=0)) == 1600
    # the first column that varies (a Poisson number with mean 0 does not vary)
    varies = np.flatnonzero(one.std(axis=0))[0]
    one, moved, again, apart = (a[:, varies] for a in (one, moved, again, apart))
    for a, b in ((one[1:], one[:-1]), (one, moved), (one, again), (one, apart)):
        for f in (lambda v: v, np.abs):
            u, v = (stats.rankdata(f(c - np.median(c))) for c in (a, b))
            chance.is_uncorrelated(u, v, sees=0.6, tests=8 * 2 * len(ROWS))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@EVERY_STEP
def test_the_noise_of_examples_is_normal(step, dtype):
    """The noise for examples is normal. We test 40,000 values for 1,000 examples.

    The test detects an error of 0.03 in the distribution function.
    """
    out = np.zeros((1000, 40), dtype)
    noise.add_normal_each(out, 2.0, of_examples(step()))
    chance.follows(out.astype(float), "norm", sees=0.03, args=(0, 2.0), tests=4)


def test_without_parts_the_numbers_are_those_of_the_generator():
    """Without parts, the samples are those of the generator itself, which draws for a whole batch at once.

    The noise on a sum also comes from the generator itself.
    """
    for each, plain, dtype in (
        (noise.add_normal_each, noise.add_normal, np.float32),
        (philox.add_normal_each, philox.add_normal, np.float32),
        (cipher.add_normal_each_keyed, cipher.add_normal_keyed, np.float64),
    ):
        out, want = np.ones((2, 6, 5), dtype)
        each(out, 0.3, rng(1))
        plain(want, 0.3, rng(1))
        assert np.array_equal(out, want)
    assert np.array_equal(camera.poisson(np.full((3, 4), 9.0), rng(1)), rng(1).poisson(np.full((3, 4), 9.0)))


@pytest.mark.parametrize("add", [noise.add_normal_each, philox.add_normal_each, fast.add_normal_each])
def test_no_noise_draws_nothing_and_bad_noise_gets_a_sentence(add):
    own, out = of_examples(rng(0)), np.ones((3, 2), np.float32)
    add(out, 0.0, own)
    assert (out == 1).all()
    assert own.random() == of_examples(rng(0)).random()
    with pytest.raises(ValueError, match="standard deviation of the noise must be a number >= 0, got -1"):
        add(out, -1.0, own)


# --- the generator of a part -----------------------------------------------------------------------------------

SOURCES = {
    **{
        kind.__name__: lambda kind=kind: np.random.Generator(kind(3))
        for kind in (
            np.random.PCG64,
            np.random.PCG64DXSM,
            np.random.MT19937,
            np.random.SFC64,
            np.random.Philox,
        )
    },
    "secure": lambda: secure_step(3),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
def test_a_step_s_generator_is_left_as_it_is(source):
    """Drawing for examples does not change the generator of the step, even if it has stored half of a 64-bit word."""
    own, same = source(), source()
    for one in (own, same):
        one.integers(2**32, size=3, dtype=np.uint32)
    parts = [of_examples(own, first) for first in (0, 5, 2**31)]
    assert [part.first for part in parts] == [0, 5, 2**31]
    assert len({part.random() for part in parts}) == 1
    assert np.array_equal(own.integers(2**32, size=9, dtype=np.uint32), same.integers(2**32, size=9, dtype=np.uint32))
    own.random()
    assert of_examples(own).random() != of_examples(same).random()


@pytest.mark.parametrize("source", SOURCES.values(), ids=list(SOURCES))
def test_examples_draw_no_key_that_the_step_draws(source):
    """The keys for examples and the words that the step draws have none of 20,000 words of 64 bits in common.

    Correct code fails with probability 2e-11. The keys are also uncorrelated. The generator of examples is seeded with
    the next words of the step's generator.
    """
    own, part = source(), of_examples(source())
    words = [g.integers(2**64, size=20_000, dtype=np.uint64) for g in (own, part, of_examples(part))]
    assert len(np.unique(np.concatenate(words))) == 60_000
    a, b, c = (w.astype(float) for w in words)
    for one, other in ((a, b), (b, c), (a, c)):
        chance.is_uncorrelated(one, other, sees=0.1, tests=18)


def test_secure_examples_draw_from_a_cipher_alone():
    from randomgen import ChaCha

    part = of_examples(secure_step(1), 4)
    assert type(part.bit_generator) is ChaCha
    assert {type(one.bit_generator) for one in part.each(3)} == {ChaCha}
    assert {type(one.bit_generator) for one in of_examples(rng(1)).each(3)} == {np.random.Philox}


def test_the_streams_of_secure_examples_are_the_cipher_s():
    """In secure runs, the streams for examples are those of the cipher, with the drawn key and the documented nonces.

    The test computes the state of RFC 8439 word by word.
    """

    def block(key, nonce):
        state = [*np.frombuffer(b"expand 32-byte k", "<u4").tolist(), *key.tolist(), 0, 0, nonce % 2**32, nonce >> 32]
        s = list(state)
        for _ in range(10):
            for a, b, c, d in (
                *((i, i + 4, i + 8, i + 12) for i in range(4)),
                *((i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)),
            ):
                for to, by, other, left in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                    s[to] = (s[to] + s[by]) % 2**32
                    w = s[other] ^ s[to]
                    s[other] = (w << left | w >> (32 - left)) % 2**32
        return [(a + b) % 2**32 for a, b in zip(s, state, strict=True)]

    def words(one):
        return one.integers(2**32, size=16, dtype=np.uint32).tolist()

    key = secure_step(9).integers(2**32, size=8, dtype=np.uint32)
    part = of_examples(secure_step(9), 6)
    assert words(copy.deepcopy(part)) == block(key, 2**59)
    key = copy.deepcopy(part).integers(2**32, size=8, dtype=np.uint32)
    assert [words(one) for one in part.each(2)] == [block(key, 7), block(key, 8)]


def test_a_copy_knows_its_place():
    part = of_examples(rng(0), 12)
    twin = copy.deepcopy(part)
    assert type(twin) is OfExamples
    assert (twin.first, twin.random()) == (12, part.random())


# --- rules -----------------------------------------------------------------------------------------------------


def silent(out, std, generator):
    """Replacement for the noise on the sum, which adds nothing. A run adds this noise once, not in each part."""


def devices(net, **how):
    return feedback.draw_devices(functools.partial(OPU, **how), net, scale=0.5, rng=rng(3))


NOISY = {"camera": Camera(photons=100.0, dark_std=0.1), "noise_std": 0.2, "anchor_shot": True}
BY_SHOT = NOISY | {"camera": Camera(photons=100.0, dark_std=0.1, count=shot.poisson)}
OPTICAL = {"project": optical, "t": 0.15}
SUMS = {  # rule, settings, whether it takes OPUs, dtype
    "ulr": ("ulr", {"sigma": 0.2, "K": 6, "baseline": True}, None, np.float64),
    "ulr, kernel": ("ulr", {"sigma": 0.2, "K": 6, "weigh": forward_learning.weigh}, None, np.float32),
    "dp_ulr_sound": ("dp_ulr_sound", {"sigma": 0.2, "K": 6, "C": 0.3, "sigma_0": 1.0}, None, np.float64),
    "pdfa": ("pdfa", {"sigma": 0.3, "tau_h_min": 0.1}, "matrices", np.float64),
    "pdfa, kernel": ("pdfa", {"sigma": 0.3, "add_normal_each": fast.add_normal_each}, "matrices", np.float32),
    "pdfa, kernel, float64": ("pdfa", {"sigma": 0.3, "add_normal_each": fast.add_normal_each}, "matrices", np.float64),
    "pdfa, OPU": ("pdfa", {"sigma": 0.3} | OPTICAL, NOISY, np.float64),
    "pdfa, OPU by the kernel": ("pdfa", {"sigma": 0.3} | OPTICAL, BY_SHOT, np.float64),
    "tdfa, OPU": ("tdfa", OPTICAL, NOISY, np.float64),
    "dp_dfa_joint, OPU": ("dp_dfa_joint", OPTICAL | {"C": 0.3, "sigma": 1.0, "carries": "ternary"}, NOISY, np.float64),
    "pdfa_isotropic, OPU": ("pdfa_isotropic", OPTICAL | {"s": 1.0}, NOISY, np.float64),
    "noisy_bp": ("noisy_bp", {"sigma": 0.3}, None, np.float64),
    "noisy_bp, one row a batch": ("noisy_bp", {"sigma": 0.3, "noise": "batch"}, None, np.float64),
    "noisy_bp, every layer": ("noisy_bp", {"sigma": 0.3, "noise": "layers"}, None, np.float64),
}


@EVERY_STEP
@pytest.mark.parametrize(
    "name", [name if "kernel" not in name else pytest.param(name, marks=pytest.mark.slow) for name in SUMS]
)
def test_a_rule_that_draws_for_examples_is_a_sum_over_them(name, step):
    """If a rule draws samples for examples, the directions of the parts add up to that of the batch, up to rounding.

    Another step has other samples.
    """
    rule, settings, fed, dtype = SUMS[name]
    net = mlp((4, 6, 5, 3), ops.tanh, rng=rng(0), dtype=dtype)
    x, y = (a.astype(dtype) for a in batch(net, 24))
    known = spec(rule)
    assert known.sum_over_examples
    given = settings | {"m": 24} | ({"add_normal": silent} if "add_normal" in known.given else {})
    if fed is not None:
        given["B"] = (
            feedback.draw(net, law="normal", scale=0.5, rng=rng(3)) if fed == "matrices" else devices(net, **fed)
        )

    def direction(i, j, own):
        return known.function(net, x[i:j], y[i:j], rng=own, **given)

    whole = direction(0, 24, of_examples(step()))
    for seed in range(3):
        parts = [direction(i, j, of_examples(step(), i)) for i, j in cuts(24, seed) if j > i]
        total = tuple([None, *(sum(a) for a in zip(*some, strict=True))] for some in (
            [part[which][1:] for part in parts] for which in (0, 1)
        ))  # fmt: skip
        assert_same_direction(total, whole, 1e-11 if dtype is np.float64 else 3e-5)
    other = direction(0, 24, of_examples(rng(77)))
    assert not np.allclose(other[0][1], whole[0][1], rtol=1e-3)
