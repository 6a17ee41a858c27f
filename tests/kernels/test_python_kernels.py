"""Fast tests of the kernels as Python functions on a few numbers, compared with NumPy.

The tests compile nothing.
"""

import types

import numpy as np
import pytest
from scipy import stats

from nfa import cipher, ops, rounded
from nfa import philox as reference_philox
from nfa.feedback import never_stored
from nfa.network import Net, forward, mlp
from nfa.network.dense import Dense
from nfa.rules import ulr as reference
from tests.kernels.python_source import in_python

kernels = pytest.importorskip("nfa.kernels.noise", reason="numba is not installed: pip install numba")
from nfa.kernels import cores, functions, philox, projection  # noqa: E402
from nfa.kernels import rounded as rounded_kernel  # noqa: E402
from nfa.kernels import ulr as ulr_kernel  # noqa: E402

KEY = np.array([7, 2**32 - 1, 0, 12345, 2**31, 99, 3, 2**16], np.uint32)
LANES = 4  # instead of 256, in the kernel and in the reference
rng = np.random.default_rng


@pytest.fixture
def few_lanes(monkeypatch):
    """The kernel with groups of 4 blocks of the cipher. Warnings are ignored, because words overflow on purpose."""
    monkeypatch.setattr(cipher, "LANES", LANES)
    with np.errstate(over="ignore"):
        yield in_python(kernels, LANES=LANES)


@pytest.mark.parametrize(
    "key, counter, stream",  # RFC 8439, Appendix A.1, test vectors 1, 3 and 4; the nonce is 0
    [
        ("00" * 32, 0, "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"),
        ("00" * 31 + "01", 1, "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"),
        ("00ff" + "00" * 30, 2, "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"),
    ],
)
def test_the_cipher(few_lanes, key, counter, stream):
    key, stream = (np.frombuffer(bytes.fromhex(text), "<u4").astype(np.uint32) for text in (key, stream))
    assert np.array_equal(few_lanes.chacha20(key, counter, 1)[:8, 0], stream)


def test_the_cipher_s_counter_has_64_bits(few_lanes):
    got = few_lanes.chacha20(KEY, 2**32 - 2, 4)
    assert got.dtype == np.uint32
    assert np.array_equal(got, cipher.chacha20(KEY, 2**32 - 2, 4))


@pytest.mark.parametrize("n", [0, 1, 150])
def test_sums_with_normals(few_lanes, n):
    """`add_keyed` adds normals times a std to the content of an array, for four groups and a smaller last group."""
    start = rng(0).normal(size=n)
    for group, std in ((0, 0.5), (3, 2.0)):
        got = few_lanes.add_keyed(start.copy(), std, KEY, group)
        want = cipher.add_keyed(start.copy(), std, KEY, group)
        assert got.dtype == np.float64
        np.testing.assert_allclose(
            got, want, rtol=0, atol=8 * np.finfo(np.float64).eps * max(1, np.abs(want).max(initial=0))
        )


@pytest.mark.parametrize(
    "a, b, c, d",
    [
        (0, 0, 0, 0),
        (2**32 - 1,) * 4,
        (2**31, 5, 2**30, 1),
        (3 * 2**30, 255, 2**32 - 2, 7),
        (1, 2**29, 3 * 2**29, 2**31),
        (2**32 - 1, 0, 2**31, 2**31),
        (2**32 - 3, 2**30 + 7, 1, 1),
    ],
)
def test_a_normal_of_extreme_words(few_lanes, a, b, c, d):
    """Extreme words of the cipher give correct normals: uniforms near 0 and 1, angles near multiples of pi / 4."""
    words = [np.array([w], np.uint32) for w in (a, b, c, d)]
    u, v = ((high * 2**20 + low // 2**12) / 2**52 for high, low in ((a, b), (c, d)))
    wide = np.empty((2, 1))
    few_lanes._box_muller_64(*words, *wide)
    radius = np.sqrt(-2 * np.log(u + 2.0**-53))
    np.testing.assert_allclose(
        wide[:, 0], radius * np.array([np.cos(2 * np.pi * v), np.sin(2 * np.pi * v)]), atol=1e-15
    )


def test_noise_is_added_in_place(few_lanes):
    """Noise is added in place: to rows, to transposed columns, to an empty array and to a single number.

    The function draws only a key from the generator.
    """
    for shape in ((5, 30), (0, 3), ()):
        start = np.array(rng(1).normal(size=shape))
        want, got, turned = start.copy(), start.copy(), start.T.copy().T
        key_of = [rng(2), rng(2), rng(2)]
        cipher.add_normal_keyed(want, 0.7, key_of[0])
        few_lanes.add_normal(got, 0.7, key_of[1])
        few_lanes.add_normal(turned, 0.7, key_of[2])
        for out in (got, turned):
            np.testing.assert_allclose(out, want, rtol=0, atol=20 * np.finfo(np.float64).eps)
        assert len({r.random() for r in key_of}) == 1
    asked = rng(2)
    few_lanes.add_normal(got, 0.0, asked)
    assert asked.random() == rng(2).random()


def test_noise_is_the_same_in_any_pieces(few_lanes):
    def one_by_one(work, n, least, last=False):
        for i in range(n):
            work(i, i + 1)

    few_lanes.add_normal.__globals__["cores"] = types.SimpleNamespace(share=one_by_one, aligned=cores.aligned)
    got, want = np.zeros((2, 150))
    few_lanes.add_normal(got, 0.7, rng(2))
    cipher.add_normal_keyed(want, 0.7, rng(2))
    np.testing.assert_allclose(got, want, rtol=0, atol=20 * np.finfo(np.float64).eps)


@pytest.fixture
def few_rounded(monkeypatch, few_lanes):
    """The kernel of noise on a grid, with groups of 4 blocks of the cipher."""
    monkeypatch.setattr(rounded, "LANES", LANES)
    monkeypatch.setattr(rounded, "PAIRS", 4 * LANES)
    return in_python(rounded_kernel, LANES=LANES)


@pytest.mark.parametrize("scale", [0.4, 1e7, 2.0**39])
@pytest.mark.parametrize("n", [0, 1, 75])
def test_sums_on_a_grid(few_rounded, n, scale):
    """Sums on a grid are bitwise correct for two groups and a smaller last group, even beyond the range.

    For some of the sums, float64 does not determine the rounding, so the kernel uses more digits.
    """
    start = rng(0).normal(size=n) * 1e5
    start[:3] = (np.inf, -1e300, 2.5)[: min(3, n)]
    for group in (0, 3):
        got = few_rounded.add_keyed(start.copy(), scale * 4, KEY, group, unit=4.0)
        want = rounded.add_keyed(start.copy(), scale * 4, KEY, group, unit=4.0)
        assert np.array_equal(got.view(np.int64), want.view(np.int64))


def test_rounded_noise_is_the_same_in_any_layout_and_pieces(few_rounded):
    def one_by_one(work, n, least, last=False):
        for i in range(n):
            work(i, i + 1)

    start = rng(1).normal(size=(5, 30)) * 1e5
    want, got, turned = start.copy(), start.copy(), start.T.copy().T
    rounded.add_normal(want, 1e6, rng(2), unit=4.0)
    few_rounded.add_normal(turned, 1e6, rng(2), unit=4.0)
    few_rounded.add_normal.__globals__["cores"] = types.SimpleNamespace(share=one_by_one, aligned=cores.aligned)
    asked = rng(2)
    few_rounded.add_normal(got, 1e6, asked, unit=4.0)
    assert np.array_equal(turned, want)
    assert np.array_equal(got, want)
    few_rounded.add_normal(got, 0.0, asked, unit=4.0)
    assert np.array_equal(got, want)
    assert asked.random() == rng(2).random(5)[4]
    got[3, 3] = np.nan
    for std in (0.0, 1e6):
        with pytest.raises(ValueError, match="noise cannot be added to a sum that contains NaN"):
            few_rounded.add_normal(got, std, asked, unit=4.0)


@pytest.mark.parametrize("std, dtype", [(-1.0, float), (np.inf, float), (np.nan, float), (1.0, np.float32), (1.0, int)])
def test_noise_that_cannot_be_added(few_lanes, std, dtype):
    with pytest.raises(ValueError, match="noise"):
        few_lanes.add_normal(np.zeros(3, dtype), std, rng(0))


# --- projections ----------------------------------------------------------------------------------------------


@pytest.fixture
def projections(monkeypatch):
    """The kernel of projections, with groups of 16 outputs."""
    monkeypatch.setattr(reference_philox, "LANES", LANES)
    monkeypatch.setattr(never_stored, "GROUP", 4 * LANES)
    return in_python(projection, GROUP=4 * LANES, add_keyed=in_python(philox, LANES=LANES).add_keyed)


@pytest.mark.parametrize("threads", [1, 4])
def test_tiles(projections, threads):
    """Tiles of a matrix are correct even if the pieces of the threads begin and end within a column.

    A column has 7 groups. The 21 groups are divided into pieces of 5 and 6 groups.
    """

    def share(work, n, least):
        for i in range(threads):
            work(n * i // threads, n * (i + 1) // threads)

    projections.tile.__globals__["cores"] = types.SimpleNamespace(share=share)
    columns = np.array([0, 3, 1000])
    got, want = (make(KEY[:4], columns, 40, 2, 7) for make in (projections.tile, never_stored.tile))
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=0, atol=4e-6)


# --- forward learning -----------------------------------------------------------------------------------------

ULR = in_python(ulr_kernel, TILE=64, LEAST=2, MOST=8)  # for layers of up to 8 units, a tile has at most 8 columns
FUNCTIONS, PHILOX = in_python(functions), in_python(philox)


class Given:
    """A generator that returns the given normals (repeats, m, n), a few repeats in each call."""

    def __init__(self, u):
        self.u, self.at = u, 0

    def standard_normal(self, shape, dtype=float):
        self.at += shape[0]
        return self.u[self.at - shape[0] : self.at].reshape(shape).astype(dtype)


PHI = (ops.identity, ops.relu, ops.step, ops.gelu, ops.tanh, ops.sigmoid)


@pytest.mark.parametrize("second", [None, pytest.param(ops.tanh, marks=pytest.mark.slow)])
@pytest.mark.parametrize("phi", PHI)
@pytest.mark.parametrize("antithetic", [False, True])
def test_the_repeats_of_ulr(phi, antithetic, second):
    """The kernel of ULR's repeats agrees with NumPy in float64, which gets the kernel's noise.

    In this test, there are several tiles, several examples in one tile, and another activation in the second layer.
    """
    loss = ops.softmax_cross_entropy if antithetic else ops.squared_error
    hidden = [(Dense(9), phi), (Dense(10), second or phi)]
    net = Net((3,), [*hidden, (Dense(4),)], rng=rng(0), dtype=np.float32, loss=loss)
    for b in net.b[1:]:
        b += rng(4).standard_normal(len(b)).astype(np.float32)
    x, y = rng(1).standard_normal((5, 3)).astype(np.float32), np.eye(4, dtype=np.float32)[[0, 3, 1, 1, 2]]
    z, h = forward(net, x)
    wide = net.copy()
    wide.W, wide.b, z_wide, h_wide = ([None if v is None else v.astype(float) for v in a] for a in (net.W, net.b, z, h))
    sigma = 0.1 + 0.4 * rng(3).random((5, 1))
    calm = np.zeros(5) if antithetic else loss.value(z[3].astype(float), y.astype(float)).reshape(-1)
    for l, draws in ((1, 3), (2, 11), (3, 1)):
        with np.errstate(over="ignore"):
            got = ULR.weigh(net, l, z, h, y, sigma.astype("f"), draws, calm.astype("f"), antithetic, 1, rng(9))
            u = ULR._noise(5, z[l].shape[1], draws, rng(9), ULR._columns(net, l)).astype(float)
        want = reference.weigh(
            wide, l, z_wide, h_wide, y.astype(float), sigma, draws, calm, antithetic, 1 << 30, Given(u)
        )
        for found, right in zip(got, want, strict=True):
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, right, rtol=2e-5, atol=2e-5)
        assert np.unique(u).size == u.size


@pytest.mark.parametrize("n_in", [1, 7, 8, 9, 16, 21])
def test_a_layer_by_columns(n_in):
    """The kernel's product of a layer is exact for whole numbers. It adds eight terms at a time, and then the rest.

    Sums of such whole numbers are exact in float32.
    """
    W, b, h = (rng(n_in).integers(-9, 10, size).astype(np.float32) for size in ((4, n_in), 4, (n_in, 5)))
    z = np.full((4, 5), np.nan, np.float32)
    ULR._affine(np.concatenate([[9], W.ravel(), b]).astype(np.float32), 1, n_in, 4, h, z, 5)
    assert (z == W @ h + b[:, None]).all()


def test_how_ulr_is_tiled():
    """The tiles of ULR contain each repeat of each example exactly once.

    The pieces of an example are in order, and a tile has a limited number of columns.
    """
    net = types.SimpleNamespace(W=[None, np.zeros((9, 3)), np.zeros((30, 9)), np.zeros((100, 30)), np.zeros((4, 100))])
    assert [ULR._columns(net, l) for l in (1, 2, 3, 4)] == [2, 2, 2, 8]
    assert [ulr_kernel._columns(net, l) for l in (1, 4)] == [512, 512]
    for m, draws, columns in ((5, 3, 8), (1, 20, 8), (3, 20, 8), (3, 8, 8), (0, 2, 4)):
        tiles = [tile for group in ULR._tiles(m, draws, columns) for tile in group]
        seen, pieces = np.zeros(m, int), np.zeros(m, int)
        for piece, i, examples, repeats in tiles:
            assert len(seen[i : i + examples]) == examples
            assert examples * repeats <= columns
            assert (pieces[i : i + examples] == piece).all()
            pieces[i : i + examples] += 1
            seen[i : i + examples] += repeats
        assert (seen == draws).all()


def test_the_keys_of_ulr_have_all_of_their_bits():
    """The keys of ULR use all their bits: no bit is 0 in all of 64 keys, or 1 in all of them.

    Correct code fails for one in 2^57 seeds.
    """
    keys = np.array([ULR._key(rng(seed)) for seed in range(64)])
    assert keys.dtype == np.uint32
    assert np.bitwise_or.reduce(keys).tolist() == [2**32 - 1] * 2
    assert np.bitwise_and.reduce(keys).tolist() == [0] * 2


def test_what_ulr_cannot_run():
    """ULR's kernel refuses a network or a z that is not float32."""
    wide, narrow = (mlp([3, 2, 2], ops.relu, rng=rng(0), dtype=dtype) for dtype in (np.float64, np.float32))
    assert not ULR.fits(wide)
    assert ULR.fits(narrow)
    for net, dtype in ((wide, np.float32), (narrow, np.float64)):
        z = [None, np.zeros((1, 2), dtype)]
        with pytest.raises(ValueError, match="float32 network"):
            ULR.weigh(net, 1, z, None, np.zeros((1, 2)), 1.0, 1, np.zeros(1), False, 1, rng(0))


@pytest.mark.parametrize(
    "function, x, want, rtol, atol",
    [
        (FUNCTIONS.exp, np.linspace(-87, 0, 301), np.exp, 2e-7, 0),
        (FUNCTIONS.log, np.geomspace(1e-10, 1e3, 301), np.log, 2e-7, 1e-7),
        (PHILOX.quarter_sine, np.linspace(0, 1, 201), lambda x: np.sin(np.pi * x / 2), 0, 2e-7),
        (FUNCTIONS.upper_tail, np.linspace(0, 5, 201), stats.norm.sf, 1e-6, 0),
    ],
)
def test_functions_of_one_number(function, x, want, rtol, atol):
    x = x.astype(np.float32)
    with np.errstate(over="ignore"):
        got = [function(v) for v in x]
    assert {type(v) for v in got} == {np.float32}
    np.testing.assert_allclose(got, want(x.astype(float)), rtol=rtol, atol=atol)


def test_an_exponential_below_that_of_minus_87_is_that():
    assert {FUNCTIONS.exp(np.float32(x)) for x in (-87, -87.001, -87.4, -87.9, -88.5, -1e30, -np.inf)} == {
        FUNCTIONS.exp(np.float32(-87))
    }


@pytest.mark.parametrize("phi", PHI, ids=lambda phi: phi.name)
def test_activations(phi):
    """The kernel's activations agree with float64 to 4e-7 (relative above 1), even for very large inputs."""
    z = np.concatenate([np.linspace(-8, 8, 81), [-1e30, -90, -1e-30, 0, 1e-30, 90, 1e30]]).astype(np.float32)
    got = z.copy()
    with np.errstate(over="ignore"):
        FUNCTIONS.ACTIVATIONS[phi.name](got[None], 1, len(got))
    np.testing.assert_allclose(got, phi.phi(z.astype(float)), rtol=4e-7, atol=4e-7)


def test_random_words():
    """The random words equal the known answers of Random123 for Philox4x32-10."""
    ones = 2**32 - 1
    for counter, key, words in (
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((ones,) * 4, (ones,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ):
        found = PHILOX.philox(*map(np.uint32, counter), *map(np.uint32, key))
        assert " ".join(f"{int(word):08x}" for word in found) == words


def test_two_normals_of_two_words():
    """Two words give two normals: 32 bits for the radius, 30 bits for the angle, and 2 bits for the signs.

    Each normal depends only on its key and its place.
    """
    for a, b in ((0, 0), (5, 3), (2**32 - 2**12, 2**32 - 2), (2**31, 2**31 + 1), (123456789, 987654321)):
        radius, turn = np.sqrt(-2 * np.log((a + 0.5) / 2**32)), np.pi / 2 * (b >> 2) / 2**30
        want = radius * np.sin(turn) * (1 if b & 1 else -1), radius * np.cos(turn) * (1 if b & 2 else -1)
        np.testing.assert_allclose(PHILOX.pair(np.uint32(a), np.uint32(b)), want, rtol=0, atol=2e-6)
    out, key = np.full(13, np.nan, np.float32), np.array([3, 4], np.uint32)
    PHILOX.normals(out.view(np.uint32), 9, key, 8, 6)
    for c in range(3):
        words = PHILOX.philox(np.uint32(c), np.uint32(6), np.uint32(8), np.uint32(0), *key)
        assert [*out[c:12:3]] == [*PHILOX.pair(*words[:2]), *PHILOX.pair(*words[2:])]
    assert np.isnan(out[12])


# --- threads --------------------------------------------------------------------------------------------------


def test_pieces_of_work(monkeypatch):
    monkeypatch.setattr(cores, "count", lambda: 3)
    assert cores.pieces(10, 3) == [(0, 3), (3, 6), (6, 10)]
    assert cores.pieces(6, 2) == [(0, 2), (2, 4), (4, 6)]
    assert cores.pieces(7, 4) == [(0, 7)]
    assert cores.pieces(0, 1) == [(0, 0)]


def test_threads_warn_of_what_the_caller_is_to_be_warned_of():
    """NumPy's settings of warnings in the calling thread also apply in the other threads.

    If the caller ignores overflows, an overflow in each of three pieces has no effect. If the caller treats overflows
    as errors, an overflow raises an error.
    """
    x = np.full(3, 1e30, np.float32)

    def work(start, stop):
        x[start:stop] * x[start:stop]

    try:
        cores.limit(3)
        with np.errstate(over="ignore"):
            cores.share(work, 3, 1)
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            cores.share(lambda start, stop: start and work(start, stop), 3, 1)
    finally:
        cores.limit()


def test_how_many_threads(monkeypatch):
    monkeypatch.setattr(
        cores.os, "sched_getaffinity", lambda process: {0, 1, 2, 3} if process == 0 else {0}, raising=False
    )
    for asked, found in (("", 4), ("1", 1), ("3", 3), ("9", 4), ("0", 4), ("2,2", 4)):
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        assert cores.count() == found
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert cores.count() == 4
    monkeypatch.delattr(cores.os, "sched_getaffinity")
    for machine, found in ((7, 7), (None, 1)):
        monkeypatch.setattr(cores.os, "cpu_count", lambda machine=machine: machine)
        assert cores.count() == found
    try:
        cores.limit(1)
        assert cores.count() == 1
        cores.limit(5)
        assert cores.count() == 5
        for n in (0, -1, 1.5):
            with pytest.raises(ValueError, match="whole number >= 1"):
                cores.limit(n)
        assert cores.count() == 5
    finally:
        cores.limit()


def test_what_the_c_library_is_told_about_memory(monkeypatch):
    """nfa sets two parameters of the C library: M_TRIM_THRESHOLD (-1) and M_MMAP_THRESHOLD (-3), which is at most 2^25.

    The function mallopt(3) sets the parameters. Its result 1 means success.
    """
    told = []

    def mallopt(what, size):
        told.append((what, size))
        return int(size != 7)

    monkeypatch.setattr(cores.ctypes, "CDLL", lambda name: types.SimpleNamespace(mallopt=mallopt))
    assert cores.keep_memory() is True
    assert cores.keep_memory(1000) is True
    assert told == [(-1, 2**28), (-3, 2**25), (-1, 1000), (-3, 1000)]
    assert cores.keep_memory(7) is False
    monkeypatch.setattr(cores.ctypes, "CDLL", lambda name: types.SimpleNamespace())
    assert cores.keep_memory() is False
