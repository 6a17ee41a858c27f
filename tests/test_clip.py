"""Tests of the clips: their guarantee for all dtypes, bounds and rows, values by hand, and messages."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from nfa import clip, feedback, ops
from nfa.network import forward, mlp
from nfa.rules.bp import bp
from nfa.rules.dp_dfa import dp_dfa
from nfa.rules.dp_hybrid import dp_hybrid
from nfa.rules.dp_sgd import dp_sgd
from nfa.rules.dp_ulr_sound import dp_ulr_sound
from nfa.rules.noise_feedback import noise_feedback
from nfa.rules.noisy_bp import noisy_bp
from nfa.rules.pdfa import pdfa
from nfa.rules.pdfa_isotropic import pdfa_isotropic
from nfa.rules.shuffled_sgd import shuffled_sgd

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
BOUNDS = pytest.mark.parametrize("c", [1e-30, 1e-6, 0.1, 1.0, 7.5, 1e6, 1e30, np.inf])
ROUNDINGS = 8  # bound on the rounding error of a norm of few entries and of one product, in units of the dtype's eps


def exact_norms(v):
    """Row norms in extended precision, which also has a wider range."""
    rows = v.reshape(len(v), -1).astype(np.longdouble)
    return np.sqrt((rows * rows).sum(axis=1))


def hard_rows(dtype):
    """Zero, ordinary, one-hot, tiny, huge and mixed rows.

    In float32, many of these rows have squares that overflow or underflow.
    """
    return np.array(
        [
            [0, 0, 0, 0],
            [1, -2, 3, -4],
            [0, 5, 0, 0],
            [1e-30, 2e-30, -1e-30, 0],
            [1e-36, 0, 0, 1e-37],
            [3e37, -4e37, 0, 1e37],
            [1e30, 1, 1e-30, 0],
            [0.05, 0.05, 0.05, 0.05],
        ],
        dtype,
    )


@pytest.mark.verifies("lee2020:clip", "ohana2021:scale")
@DTYPES
@BOUNDS
def test_row_norms_are_at_most_the_bound(dtype, c):
    v = clip.clip_l2(hard_rows(dtype), c)
    assert v.dtype == dtype
    assert np.isfinite(v).all()
    assert (exact_norms(v) <= c * (1 + ROUNDINGS * np.finfo(dtype).eps)).all()


@DTYPES
@BOUNDS
def test_rows_within_the_bound_stay_bit_for_bit(dtype, c):
    v = hard_rows(dtype)
    inside = exact_norms(v) <= c
    assert np.array_equal(clip.clip_l2(v, c)[inside], v[inside])
    assert inside[0]  # the zero row


@DTYPES
@pytest.mark.parametrize("c", [0.1, 1.0, 1e6])
def test_longer_rows_end_on_the_bound_in_the_same_direction(dtype, c):
    v = hard_rows(dtype)
    norms = exact_norms(v)
    longer = (norms > c) & (
        norms * np.finfo(dtype).tiny < c
    )  # in all other cases, the clip weight is not precise enough, so the row becomes 0
    want = v[longer] / norms[longer, None] * c
    np.testing.assert_allclose(clip.clip_l2(v, c)[longer], want, rtol=ROUNDINGS * np.finfo(dtype).eps, atol=c * 1e-37)
    assert longer.any()


@given(
    arrays(np.float64, array_shapes(min_dims=2, max_dims=4, max_side=5), elements=st.floats(-1e100, 1e100)),
    st.floats(1e-9, 1e9),
)
def test_clipping_twice_is_clipping_once(v, c):
    once = clip.clip_l2(v, c)
    assert (exact_norms(once) <= c * (1 + 1e-15 * v[0].size)).all()
    np.testing.assert_allclose(clip.clip_l2(once, c), once, rtol=1e-14 * v[0].size)


@given(arrays(np.float64, (3, 4), elements=st.floats(-1e300, 1e300)))
def test_row_norms_equal_extended_precision(v):
    np.testing.assert_allclose(clip.row_norms(v), exact_norms(v).astype(float), rtol=1e-14)


@pytest.mark.parametrize(
    "dtype, scale",
    [(np.float32, s) for s in (1e-30, 1e-22, 1e37)] + [(np.float64, s) for s in (1e-200, 1e-161, 1e300)],
)
def test_rows_whose_squares_leave_the_range_have_their_norm(dtype, scale):
    """Rows with squares beyond the dtype's range have the correct norm: (3, -4, 12) has 13, (0.3, 0.4, 0) has 0.5.

    We test each row alone, so that no other row causes the rescaling.
    """
    v = np.array([[3, -4, 12], [0.3, 0.4, 0]], dtype) * dtype(scale)
    np.testing.assert_allclose(clip.row_norms(v) / dtype(scale), [13, 0.5], rtol=ROUNDINGS * np.finfo(dtype).eps)
    assert (exact_norms(clip.clip_l2(v, scale)) <= scale * (1 + ROUNDINGS * np.finfo(dtype).eps)).all()


@pytest.mark.verifies("lee2020:clip")
def test_clip_l2_of_the_hand_example():
    """The l2 clip agrees with a hand computation: the norm of (3, -4, 12) is 13."""
    v = np.array([[3.0, -4.0, 12.0]])
    np.testing.assert_allclose(clip.clip_l2(v, 1)[0], [3 / 13, -4 / 13, 12 / 13], rtol=1e-15)
    np.testing.assert_allclose(clip.clip_l2(v, 1)[0], [0.2307692308, -0.3076923077, 0.9230769231], atol=5e-11)
    assert np.array_equal(clip.clip_l2(v, 20), v)


@pytest.mark.verifies("lee2020:clip")
def test_clipping_the_error_of_the_hand_example():
    """The clip of the error gives example V1 of the ledger: e for z = (1, -2, 0.5) and label 0, clipped to norm 0.1."""
    e = np.array([[0.60374889614863 - 1, 0.030058887569574, 0.3661922162818]])
    np.testing.assert_allclose(clip.clip_l2(e, 0.1)[0], [-0.07332765, 0.0055625, 0.06776514], atol=5e-9)


@pytest.mark.verifies("ohana2021:scale")
def test_scale_of_the_hand_example():
    """`scale` gives the values of example V-13 of the ledger: scale_2((3, -4, 12)), and scale(0) = 0.

    For the vector 0, the printed formula is 0/0.
    """
    scaled = clip.clip_l2(np.array([[3.0, -4.0, 12.0], [0.0, 0.0, 0.0]]), 2)
    np.testing.assert_allclose(scaled, [[0.461538461538, -0.615384615385, 1.84615384615], [0, 0, 0]], atol=1e-11)


@pytest.mark.verifies("ohana2021:clip", "ohana2021:offset")
def test_offset_and_entry_clip_of_the_hand_example():
    """The offset and the entrywise clip give the values of example V-13 of the ledger: nu = 0.02 and c = 0.25.

    With the printed offset, -0.02 becomes 0. With the signed offset, it becomes -0.04.
    """
    v = np.array([[0.5, -0.02, 0.001, -0.3, 0.0]])
    printed = clip.clip_entries(clip.offset(v, 0.02), 0.25)
    np.testing.assert_allclose(printed, [[0.25, 0, 0.021, -0.25, 0.02]], rtol=0, atol=1e-16)
    assert np.linalg.norm(printed) == pytest.approx(0.354740750408, rel=1e-11)
    signed = clip.clip_entries(clip.offset_signed(v, 0.02), 0.25)
    np.testing.assert_allclose(signed, [[0.25, -0.04, 0.021, -0.25, 0.02]], rtol=0, atol=1e-16)


@pytest.mark.verifies("ohana2021:clip")
@given(arrays(np.float64, (2, 5), elements=st.floats(-10, 10)), st.floats(0.01, 20))
def test_entry_clip_is_sign_times_minimum(v, c):
    want = [[(1 if t > 0 else -1) * min(c, abs(t)) for t in row] for row in v.tolist()]
    assert np.array_equal(clip.clip_entries(v, c), want)


@pytest.mark.verifies("ohana2021:eq9a")
@given(arrays(np.float64, (2, 5), elements=st.floats(-10, 10)), st.floats(0, 3))
def test_signed_offset_moves_every_entry_nu_away_from_zero(v, nu):
    moved = clip.offset_signed(v, nu)
    np.testing.assert_allclose(np.abs(moved), np.abs(v) + nu, rtol=1e-15)
    assert ((moved < 0) == (v < 0)).all()


@pytest.mark.verifies("ohana2021:exp-ternary")
@pytest.mark.parametrize(
    "e, t, want",
    [([0.16, -0.16], 0.15, [1, -1]), ([0.15, -0.15], 0.15, [0, 0]), ([0.0, 1e-9], 0.0, [0, 1])],
)
def test_ternarize_by_hand(e, t, want):
    assert feedback.ternarize(np.array(e), t).tolist() == want


@DTYPES
@pytest.mark.parametrize("c", [0.5, np.float64(0.5), np.float32(0.5), 2, np.int64(2)])
def test_no_clip_changes_the_dtype(dtype, c):
    v = np.array([[3.0, -4.0], [0.0, 0.1]], dtype)
    for f in (clip.clip_l2, clip.clip_entries, clip.offset, clip.offset_signed, feedback.ternarize):
        assert f(v, c).dtype == dtype, f.__name__
    assert clip.row_norms(v).dtype == dtype
    assert clip.clip_factor(clip.row_norms(v), c).dtype == dtype


def test_clips_take_an_empty_batch():
    v = np.empty((0, 2, 3))
    for f in (clip.clip_l2, clip.clip_entries, clip.offset, clip.offset_signed, feedback.ternarize):
        assert f(v, 1.0).shape == (0, 2, 3)
    assert clip.row_norms(v).shape == (0,)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
@pytest.mark.parametrize("f", [clip.clip_l2, clip.clip_entries])
def test_a_bound_that_is_not_positive_is_refused(f, bad):
    with pytest.raises(ValueError, match=f"the clipping bound c must be positive, got {bad}"):
        f(np.ones((1, 2)), bad)


@pytest.mark.parametrize("bad", [-0.5, np.nan])
@pytest.mark.parametrize(
    "f, name",
    [(clip.offset, "offset nu"), (clip.offset_signed, "offset nu"), (feedback.ternarize, "threshold t")],
)
def test_a_negative_offset_or_threshold_is_refused(f, name, bad):
    with pytest.raises(ValueError, match=f"the {name} must not be negative, got {bad}"):
        f(np.ones((1, 2)), bad)


@DTYPES
def test_a_bound_whose_square_the_dtype_does_not_hold_is_refused(dtype):
    """A bound is refused if the dtype cannot represent its square.

    At the smallest accepted bound, the clip scales all larger norms down to the bound, up to eps. Smaller bounds are
    refused.
    """
    least = float(np.sqrt(np.finfo(dtype).tiny / np.finfo(dtype).eps))
    norms = (1.001 * least * np.array([0.5, 1.0, 1.5, 1e6])).astype(dtype)
    clipped = norms * clip.clip_factor_of_squares(np.square(norms), 1.001 * least)
    want = 1.001 * least * np.array([0.5, 1, 1, 1])
    np.testing.assert_allclose(clipped, want, rtol=ROUNDINGS * np.finfo(dtype).eps)
    with pytest.raises(ValueError, match=f"must be at least {least:.3g} for .*{np.dtype(dtype)}"):
        clip.clip_factor_of_squares(np.square(norms), 0.999 * least)
    with pytest.raises(ValueError, match="the clipping bound must be positive, got nan"):
        clip.clip_factor_of_squares(norms, np.nan)


def test_what_clips_shorten_can_be_noted():
    """Each clip function appends the share of rows that it scales down to a list, in the order of the calls.

    For an empty batch, it appends no share.
    """
    v = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0], [6.0, 8.0]])
    shares, inner = [], []
    clip.clip_l2(v, 1.0)
    clip.clip_l2(v, 5.0, shares)
    clip.clip_l2(v, 1.0, inner)
    clip.clip_factor_of_squares(np.array([4.0, 9.0]), 2.5, shares)
    clip.clip_l2(v[:0], 1.0, shares)
    clip.clip_l2(v, np.inf, shares)
    with pytest.raises(ValueError, match="must be positive"):
        clip.clip_l2(v, 0.0, shares)
    clip.clip_l2(v, 1.0)
    assert (shares, inner) == ([0.25, 0.5, None, 0.0], [0.75])


def halved(rows):
    """A value between the middle two norms of these rows, so half of the norms are above it. Each row is one record."""
    low, high = np.sort([np.linalg.norm(row) for row in rows])[len(rows) // 2 - 1 :][:2]
    return (low + high) / 2


NET = mlp((5, 4, 3), ops.tanh, rng=np.random.default_rng(0))
FED = feedback.draw(NET, law="normal", scale=1.0, rng=np.random.default_rng(1))
X, Y = np.random.default_rng(2).normal(size=(6, 5)), np.eye(3)[[0, 1, 2, 0, 1, 2]]
E, H = NET.loss.error(forward(NET, X)[0][2], Y), forward(NET, X)[1]
G = [bp(NET, X[i : i + 1], Y[i : i + 1]) for i in range(6)]
WHOLE = [np.concatenate([a.ravel() for slots in g for a in slots[1:]]) for g in G]
TELLING = {
    "dp_sgd": (dp_sgd, {"C": halved(WHOLE)}, [0.5]),
    "noise_feedback": (noise_feedback, {"C": halved(WHOLE)}, [0.5]),
    "dp_dfa": (dp_dfa, {"B": FED, "tau_e": halved(E), "tau_h": halved(H[1])}, [0.5, 0.5, None]),
    "dp_hybrid": (
        dp_hybrid,
        {"B": FED, "ell": 1, "tau_e": 9.0, "tau_h": halved(H[1]), "tau": halved([g[0][1] for g in G])},
        [0.0, 0.5, 0.5, None],
    ),
    "pdfa": (pdfa, {"B": FED, "tau_B": halved(E @ FED[1].T)}, [None, 0.5]),
    "pdfa, the top as it is": (pdfa, {"B": FED, "tau_B": halved(E @ FED[1].T), "top": "raw"}, [0.5]),
    "pdfa_isotropic": (pdfa_isotropic, {"B": FED, "tau_B": halved(E)}, [0.5, None]),
    "noisy_bp": (noisy_bp, {"tau_e": halved(E)}, [0.5]),
}


def asked(rule, settings, x, y, state):
    noise = {"s": 0.0} if rule is pdfa_isotropic else {"sigma": 0.0}
    return rule(NET, x, y, m=6, **noise, **settings, rng=np.random.default_rng(3), state=state)


@pytest.mark.parametrize("name", TELLING)
def test_a_rule_tells_what_each_of_its_clips_shortens(name):
    """A rule reports the share that each of its clips scales down, in the order of the clips.

    In this test, half of the norms of single records exceed the bound. None means that the rule computed no share.
    """
    rule, settings, shares = TELLING[name]
    state = {}
    asked(rule, settings, X, Y, state)
    assert len(state["clipped"]) == len(shares)
    for found, share in zip(state["clipped"], shares, strict=True):
        assert share is None or found == share
    first = state["clipped"]
    asked(rule, settings, X[:0], Y[:0], state)
    assert state["clipped"] == [None] * len(shares)
    assert first is not state["clipped"]  # a later step does not change the values of an earlier step


def test_a_rule_in_a_thread_tells_the_same():
    rule, settings, _ = TELLING["dp_dfa"]
    here, there = {}, {}
    asked(rule, settings, X, Y, here)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asked, rule, settings, X, Y, there).result()
    assert here == there


def test_shuffled_sgd_tells_whether_it_clips():
    told = []
    for L in (halved(WHOLE), None):
        for x, y in zip(X[:, None], Y[:, None], strict=True):
            shuffled_sgd(NET, x, y, L=L, sigma=0.0, rng=np.random.default_rng(0), state=(state := {}))
            told.append(state["clipped"])
    assert told == [[float(np.linalg.norm(g) > halved(WHOLE))] for g in WHOLE] + [[]] * 6


@pytest.mark.parametrize("C, share", [(1e-9, 1.0), (1e9, 0.0)])
def test_sound_dp_ulr_tells_what_its_clip_shortens(C, share):
    how = {"sigma": 0.5, "sigma_0": 1.0, "K": 2, "m": 6, "rng": np.random.default_rng(0)}
    dp_ulr_sound(NET, X, Y, C=C, **how, state=(state := {}))
    assert state["clipped"] == [share]
