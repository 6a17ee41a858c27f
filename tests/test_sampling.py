"""Tests of samplers: batches depend only on the step, the laws of the schemes, messages for wrong data."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from nfa import sampling
from nfa.mechanism import NUMBER_DIFFERS
from nfa.noise import Streams
from nfa.privacy.theorems import COVERAGE
from nfa.sampling import SCHEMES, EpochPartition, Full, Poisson, PoissonRejection, WithoutReplacement
from tests.oracles.chance import fits, has_rate

FALSE_ALARM = 1e-6  # probability that a statistical test below fails on correct code with another seed


def data(n=23):
    """Records that contain their number i: x = (i, -i), y = 10 i. So a test can identify the records of a batch."""
    i = np.arange(n, dtype=float)
    return np.stack([i, -i], axis=1), 10 * i[:, None]


SAMPLERS = {
    "full": lambda seed=0, n=23: Full(*data(n)),
    "partition, short": lambda seed=0, n=23: EpochPartition(*data(n), 5, Streams(seed)),
    "partition, drop": lambda seed=0, n=23: EpochPartition(*data(n), 5, Streams(seed), last="drop"),
    "without replacement": lambda seed=0, n=23: WithoutReplacement(*data(n), 5, Streams(seed)),
    "poisson": lambda seed=0, n=23: Poisson(*data(n), 0.25, Streams(seed)),
}


def test_the_old_name_of_records_per_pass_still_resolves():
    said = r"^nfa\.sampling\.pass_length is deprecated: use nfa\.sampling\.records_per_pass$"
    with pytest.warns(DeprecationWarning, match=said):
        assert sampling.pass_length is sampling.records_per_pass
    assert not hasattr(sampling, "passes")


def of_run(scheme):
    """The sampler of a run with this scheme.

    Partial passes have ten records in a pass, and other batches have five, or at least three.
    """
    sampler = sampling.SAMPLERS[scheme]
    options = {name: {"N_B": 3, "tau": 10 / 23}[name] for name in sampler.options}
    batch = 1 if "tau" in options else 5
    return lambda seed=0, n=23: sampler.of_run(*data(n), Streams(seed), batch=batch, epochs=10, **options)


OF_RUNS = {f"{scheme} of a run": of_run(scheme) for scheme in sampling.SAMPLERS}
EVERY = pytest.mark.parametrize("make", (SAMPLERS | OF_RUNS).values(), ids=[*SAMPLERS, *OF_RUNS])
RANDOM = pytest.mark.parametrize("make", list(SAMPLERS.values())[1:], ids=list(SAMPLERS)[1:])


@EVERY
def test_a_batch_is_a_function_of_the_step(make):
    """A batch depends only on the step: in any order, repeated, or from another object, it is the same."""
    in_order = [make().indices(t) for t in range(1, 31)]
    sampler = make()
    for t in [30, 29, 1, 1, 17, *range(30, 0, -1), 5, 6, 5]:
        assert np.array_equal(sampler.indices(t), in_order[t - 1])


@RANDOM
def test_another_seed_draws_other_batches(make):
    one, other = make(seed=0), make(seed=1)
    assert any(not np.array_equal(one.indices(t), other.indices(t)) for t in range(1, 6))


@pytest.mark.verifies("lee2020:A3-A5")
@RANDOM
def test_steps_draw_afresh(make):
    """Each step draws a new batch: the first steps of twenty epochs have different lists of 5 of 23 records."""
    sampler = make()
    batches = {tuple(sampler.indices(t)) for t in range(1, 20 * sampler.steps_per_epoch, sampler.steps_per_epoch)}
    assert len(batches) == 20


@EVERY
def test_x_and_y_of_a_batch_are_the_rows_of_its_indices(make):
    sampler = make()
    for t in (1, 4, 9):
        x, y = sampler.at(t)
        i = sampler.indices(t)
        assert x.tolist() == [[k, -k] for k in i]
        assert y.tolist() == [[10 * k] for k in i]


@pytest.mark.parametrize(
    "name, scheme, rate, steps",
    [
        ("full", "none", 1, 1),
        ("partition, short", "epoch-partition", 5 / 23, 5),
        ("partition, drop", "epoch-partition", 5 / 23, 4),
        ("without replacement", "without-replacement", 5 / 23, 4),
        ("poisson", "poisson", 0.25, 4),
    ],
)
def test_scheme_and_rate_are_named(name, scheme, rate, steps):
    sampler = SAMPLERS[name]()
    assert sampler.scheme == scheme
    assert sampler.scheme in SCHEMES
    assert sampler.rate == rate
    assert sampler.steps_per_epoch == steps
    assert sampler.n == 23


# --- the laws ------------------------------------------------------------------------------------------------


def test_an_epoch_of_poisson_batches_of_everybody_is_one_step():
    assert Poisson(*data(), 1.0, Streams(0)).steps_per_epoch == 1


def test_full_gives_every_record_in_order():
    assert SAMPLERS["full"]().indices(7).tolist() == list(range(23))


@pytest.mark.parametrize("epoch", [0, 1, 5])
def test_an_epoch_holds_every_record_exactly_once(epoch):
    sampler = SAMPLERS["partition, short"]()
    batches = [sampler.indices(5 * epoch + k) for k in (1, 2, 3, 4, 5)]
    assert [len(b) for b in batches] == [5, 5, 5, 5, 3]
    assert sorted(np.concatenate(batches)) == list(range(23))


@pytest.mark.parametrize("epoch", [0, 1, 5])
def test_dropping_leaves_the_rest_of_the_shuffle_out(epoch):
    short, drop = SAMPLERS["partition, short"](), SAMPLERS["partition, drop"]()
    for k in (1, 2, 3, 4):
        assert np.array_equal(drop.indices(4 * epoch + k), short.indices(5 * epoch + k))


def test_a_partition_whose_batches_fit_has_no_rest():
    for last in ("short", "drop"):
        sampler = EpochPartition(*data(20), 5, Streams(0), last=last)
        assert sampler.steps_per_epoch == 4
        assert sorted(np.concatenate([sampler.indices(t) for t in (5, 6, 7, 8)])) == list(range(20))


@pytest.mark.verifies("lee2020:A3-A5")
@pytest.mark.parametrize("name, size", [("partition, drop", 5), ("without replacement", 5)])
def test_inclusion_is_uniform_over_records(name, size):
    """Each record is in a batch with the same probability. We count the first steps of 5,000 epochs.

    The records in one batch exclude each other. Compared with independent draws, this multiplies the chi2 statistic by
    (n - m) / (n - 1). If the probabilities have a relative error of 8 % (root mean square), the test misses this with
    probability 1e-6.
    """
    sampler, n = SAMPLERS[name](), 23
    steps = [1 + k * sampler.steps_per_epoch for k in range(5000)]
    drawn = [sampler.indices(t) for t in steps]
    assert all(len(set(d)) == size for d in drawn)
    counts = np.bincount(np.concatenate(drawn), minlength=n)
    expected = 5000 * size / n
    chi2 = ((counts - expected) ** 2).sum() / expected / ((n - size) / (n - 1))
    assert FALSE_ALARM < stats.chi2.sf(chi2, n - 1) < 1 - FALSE_ALARM


@pytest.mark.verifies("lee2020:A3-A5")
def test_without_replacement_pairs_are_uniform():
    """Without replacement, pairs are uniform: each of the 15 pairs of 6 records is equally likely, in 15,000 steps.

    The batch size is 2. Each record is also equally likely.
    """
    sampler = WithoutReplacement(*data(6), 2, Streams(3))
    pairs = [tuple(sorted(sampler.indices(t))) for t in range(1, 15_001)]
    counts = [pairs.count(pair) for pair in {(i, j) for j in range(6) for i in range(j)}]
    fits(counts, sees=0.1)
    assert sum(counts) == 15_000


def test_shuffles_of_epochs_are_uniform():
    """Shuffles of epochs are uniform: each of the 24 orders of 4 records is equally likely, in 12,000 epochs."""
    sampler = EpochPartition(*data(4), 4, Streams(4))
    orders = [tuple(sampler.indices(t)) for t in range(1, 12_001)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 24
    fits(counts, sees=0.12)


def test_poisson_sizes_are_binomial_and_records_independent():
    """Sizes of Poisson batches are binomial, and records are independent, in 4,000 steps at q = 0.25.

    We compare sizes with Binomial(23, q), and count how often each record and each pair of neighbouring records is
    drawn.
    """
    sampler = SAMPLERS["poisson"]()
    taken = np.zeros((4000, 23), bool)
    for t in range(4000):
        i = sampler.indices(t + 1)
        assert (np.diff(i) > 0).all()
        taken[t, i] = True
    law = stats.binom(23, 0.25)
    observed = np.bincount(taken.sum(axis=1), minlength=24)
    middle = [k for k in range(24) if 4000 * law.pmf(k) >= 5]
    counts = [*observed[middle], 4000 - observed[middle].sum()]
    expected = [*(4000 * law.pmf(middle)), 4000 * (1 - law.pmf(middle).sum())]
    fits(counts, expected, sees=0.2)
    for times in taken.sum(axis=0):
        has_rate(int(times), 4000, 0.25, sees=0.08, tests=23)
    both = (taken[:, 1:] & taken[:, :-1]).sum()
    has_rate(int(both), 4000 * 22, 0.0625, sees=0.009)


def test_a_poisson_batch_may_be_empty_and_may_be_all():
    empty = Poisson(*data(3), 0.05, Streams(0))
    sizes = [len(empty.at(t)[0]) for t in range(1, 50)]
    assert 0 in sizes
    assert len(Poisson(*data(3), 1.0, Streams(0)).indices(1)) == 3
    x, y = empty.at(1 + sizes.index(0))
    assert x.shape == (0, 2)
    assert y.shape == (0, 1)


# --- bad input -----------------------------------------------------------------------------------------------


def with_bad(name, row, value):
    x, y = data()
    (x if name == "x" else y)[row, 0] = value
    return x, y


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: Full(data()[0], data(22)[1]), "the same number of examples, at least 1, got 23 and 22"),
        (lambda: Full(*data(0)), "the same number of examples, at least 1, got 0 and 0"),
        (lambda: Full(*with_bad("x", 7, np.nan)), "x holds NaN or infinity in example 7"),
        (lambda: Full(*with_bad("x", 0, -np.inf)), "x holds NaN or infinity in example 0"),
        (lambda: Full(*with_bad("y", 22, np.nan)), "y holds NaN or infinity in example 22"),
        (
            lambda: EpochPartition(*data(), 24, Streams(0)),
            "batch size m must be between 1 and the number n of examples, got m=24 and n=23",
        ),
        (
            lambda: EpochPartition(*data(), 0, Streams(0)),
            "batch size m must be between 1 and the number n of examples, got m=0 and n=23",
        ),
        (lambda: WithoutReplacement(*data(), 24, Streams(0)), "batch size m must be .*, got m=24 and n=23"),
        (lambda: WithoutReplacement(*data(), -1, Streams(0)), "batch size m must be .*, got m=-1 and n=23"),
        (lambda: EpochPartition(*data(), 5, Streams(0), last="keep"), "last must be 'short' or 'drop', got 'keep'"),
        (lambda: Poisson(*data(), 0.0, Streams(0)), r"the sampling rate q must be in \(0, 1\], got 0.0"),
        (lambda: Poisson(*data(), 1.5, Streams(0)), r"the sampling rate q must be in \(0, 1\], got 1.5"),
        (lambda: Poisson(*data(), np.nan, Streams(0)), r"the sampling rate q must be in \(0, 1\], got nan"),
    ],
)
def test_bad_input_gets_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_an_image_with_a_bad_pixel_is_named():
    x = np.zeros((5, 1, 4, 4))
    x[3, 0, 2, 1] = np.nan
    with pytest.raises(ValueError, match="x holds NaN or infinity in example 3"):
        Full(x, np.zeros((5, 2)))


@EVERY
@pytest.mark.parametrize("t", [0, -1])
def test_steps_count_from_one(make, t):
    with pytest.raises(ValueError, match=f"the step t must be at least 1, got t={t}"):
        make().at(t)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_scheme_that_is_counted_in_full_has_no_record_twice_in_a_batch(scheme):
    """If accounting counts every use of a record in a scheme, no batch may contain a record twice.

    Otherwise two uses would count as one. The sampler's rate agrees with the measured share of steps that use a record,
    within 5.5 standard deviations. With another seed, a correct sampler fails with probability below 1e-7 for each
    scheme. The test detects an error of 15 % in the rate.
    """
    x = np.zeros((24, 1))
    sampler = sampling.SAMPLERS[scheme].of_run(x, x, Streams(5), batch=6, epochs=1)
    steps = 40 * sampler.steps_per_epoch
    counts = np.zeros(24)
    for t in range(1, steps + 1):
        chosen = sampler.indices(t)
        assert len(set(chosen.tolist())) == len(chosen) or not COVERAGE[scheme].in_full
        counts[chosen] += 1
    share, rate = counts.sum() / (24 * steps), sampler.rate
    assert abs(share - rate) <= 5.5 * np.sqrt(rate * (1 - rate) / (24 * steps)) + 1e-12


# --- the public number of records --------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", sampling.SAMPLERS)
def test_batches_that_read_n_are_not_counted_where_neighbours_differ_in_number(scheme):
    """If batches depend on the number n of records, nfa gives no epsilon for adjacencies that change n.

    The test doubles the number of records. A scheme may have an epsilon only if the batches then contain the same of
    the first 23 records.
    """
    drawn = [[of_run(scheme)(n=n).indices(t) for t in range(1, 41)] for n in (23, 46)]
    others = [[chosen[chosen < 23].tolist() for chosen in batches] for batches in drawn]
    public = {"records": 23} if not sampling.SAMPLERS[scheme].reads_n else {}
    if public:
        one, more = (
            sampling.SAMPLERS[scheme].of_run(*data(n), Streams(0), batch=5, epochs=10, **public) for n in (23, 46)
        )
        assert (one.rate, one.steps_per_epoch) == (more.rate, more.steps_per_epoch)
        for t in range(1, 41):
            chosen = more.indices(t)
            assert one.indices(t).tolist() == chosen[chosen < 23].tolist()
    else:
        assert others[0] != others[1]
    for adjacency in NUMBER_DIFFERS:
        if scheme in SCHEMES:
            refused = adjacency in COVERAGE[scheme].refused and adjacency not in COVERAGE[scheme].in_full
            assert refused is sampling.SAMPLERS[scheme].reads_n


def test_a_theorem_cannot_count_batches_that_read_n(monkeypatch):
    from nfa.privacy import theorems

    monkeypatch.setattr(Poisson, "reads_n", True)
    with pytest.raises(ValueError, match="the Coverage of poisson must refuse add-remove"):
        theorems._declared()


@pytest.mark.parametrize("q", [0.1, 1 / 3, 0.5, 1.0, 0.009999999776482582, 500 / 6000, 2.0**-30, 1.1 * 2.0**-30])
def test_a_coin_of_53_bits_falls_with_a_probability_of_at_most_q(q):
    """The random decision to include a record has probability at most q: floor(q 2^53) of 2^53 random numbers."""
    k = math.floor(Fraction(q) * 2**53)
    drawn = np.array([k - 1, min(k, 2**53 - 1)]) / 2**53
    x = np.zeros((2, 1))

    def streams(purpose, t):
        return SimpleNamespace(random=lambda n: drawn)

    chosen = [0] if q < 1 else [0, 1]
    assert Poisson(x, x, q, streams).indices(1).tolist() == chosen
    if q > 1e-3:  # lower rates are refused, because few batches would have enough records
        assert PoissonRejection(x, x, q, N_B=1, streams=streams).indices(1).tolist() == chosen
