"""Tests of streams: they depend only on seed, purpose and step, are equal in all versions, and are independent."""

import contextlib
import functools
import itertools
import threading

import numpy as np
import pytest

from nfa import noise, ops, sampling
from nfa.network import mlp
from nfa.noise import Streams
from nfa.optim import SGD
from nfa.rules.dp_sgd import dp_sgd
from nfa.train import train
from tests.oracles.chance import follows, is_uncorrelated

FALSE_ALARM = 1e-6


def test_the_same_call_gives_the_same_numbers_whatever_came_between():
    streams = Streams(5)
    first = streams("noise", 3).random(4)
    streams("noise", 4).random(100)
    streams("init").random(7)
    assert np.array_equal(streams("noise", 3).random(4), first)
    assert np.array_equal(Streams(5)("noise", 3).random(4), first)


def test_a_stream_handed_out_twice_does_not_share_its_state():
    streams = Streams(5)
    one, two = streams("batch", 1), streams("batch", 1)
    one.random(10)
    assert np.array_equal(two.random(3), streams("batch", 1).random(3))


def test_no_two_purposes_steps_or_seeds_share_their_first_draws():
    firsts = {
        float(Streams(seed)(purpose, t).random())
        for seed, purpose, t in itertools.product((0, 1, 2**32, 2**64 + 1), noise.PURPOSES, (0, 1, 2, 2**32 - 1))
    }
    assert len(firsts) == 4 * len(noise.PURPOSES) * 4


def test_no_two_purposes_have_the_same_number():
    assert len(set(noise.PURPOSES.values())) == len(noise.PURPOSES)


# The first values of each purpose's stream with seed 7 at step 3. A record names only its seed, so these values must
# never change.
PINNED = {
    "init": 0.9432168673415459,
    "feedback": 0.24347712366202823,
    "batch": 0.5676245348009825,
    "noise": 0.5371496470277703,
    "split": 0.46071851949991993,
    "data": 0.6048486073088057,
    "features": 0.22073875797412057,
}


@pytest.mark.parametrize("purpose", noise.PURPOSES)
def test_a_seed_keeps_its_meaning(purpose):
    assert Streams(7)(purpose, 3).random() == PINNED[purpose]


def test_draws_across_steps_and_purposes_are_uniform_and_uncorrelated():
    """Samples of different steps and purposes are uniform and uncorrelated.

    We test the first value of 4,000 streams each. We use KS tests for the law, and z = r sqrt(n) for the correlations
    of pairs of purposes and of neighbouring steps.
    """
    streams = Streams(0)
    draws = {p: np.array([streams(p, t).random() for t in range(4000)]) for p in ("batch", "noise")}
    pairs = [(draws["batch"], draws["noise"]), *((d[1:], d[:-1]) for d in draws.values())]
    for d in draws.values():
        follows(d, "uniform", sees=0.1)
    for a, b in pairs:
        is_uncorrelated(a, b, sees=0.2)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: Streams(-1), "the seed must be a whole number >= 0, got -1"),
        (lambda: Streams(1.5), "the seed must be a whole number >= 0, got 1.5"),
        (lambda: Streams(0)("nois", 1), "the purpose of a stream must be one of init, .*, got 'nois'"),
        (lambda: Streams(0)("noise", -1), r"the step t of a stream must be in 0\.\.2\*\*32 - 1, got -1"),
        (lambda: Streams(0)("noise", 2**32), r"the step t of a stream must be in 0\.\.2\*\*32 - 1, got 4294967296"),
    ],
)
def test_bad_calls_get_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


# --- a secure stream returns each sample once
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("purpose", noise.SECRET)
def test_a_secure_draw_is_handed_out_once_and_in_order(purpose):
    streams = noise.secure()
    assert streams(purpose, 3).random() != streams(purpose, 4).random()
    for t in (4, 3, 0):
        with pytest.raises(ValueError, match=f"^secure streams draw the {purpose} of each step once"):
            streams(purpose, t)
    streams(purpose, 5)
    other = next(name for name in noise.SECRET if name != purpose)
    streams(other, 0)  # each purpose has its own order
    for name in set(noise.PURPOSES) - set(noise.SECRET):
        assert streams(name, 1).random() == streams(name, 1).random()


def two_models(streams, sampler):
    """Train two models with the same streams. The second model takes a step."""
    x, y = np.arange(24.0).reshape(12, 2), np.eye(2)[np.arange(12) % 2]
    for seed in (0, 1):
        net = mlp([2, 3, 2], ops.tanh, rng=np.random.default_rng(seed))
        rule = functools.partial(dp_sgd, C=1.0, m=4, sigma=1.0)
        batches = sampler.of_run(x, y, streams, batch=4, epochs=1)
        steps = train(net, rule, batches, SGD(0.1), streams)
        for _ in range(4):
            next(steps)


@pytest.mark.parametrize("scheme", sampling.SCHEMES)
def test_two_models_do_not_share_secure_streams(scheme):
    """Two models cannot share secure streams, because the second model would get the noise of the first model.

    Two models can share seeded streams.
    """
    two_models(noise.Streams(0), sampling.SAMPLERS[scheme])
    with pytest.raises(ValueError, match="for a second model or an earlier step"):
        two_models(noise.secure(), sampling.SAMPLERS[scheme])


@pytest.mark.parametrize("scheme", sampling.SCHEMES)
def test_a_batch_that_was_just_drawn_may_be_asked_for_again(scheme):
    """If the batch that was drawn last is requested again, the streams return the same batch.

    If the scheme draws batches at random, an earlier batch is refused, so a batch never changes.
    """
    x = np.arange(12.0)[:, None]
    batches = sampling.SAMPLERS[scheme].of_run(x, x, noise.secure(), batch=4, epochs=1)
    for t in (1, 2, 3, 9):
        first, again = batches.at(t)[0], batches.at(t)[0]
        assert np.array_equal(first, again)
    if sampling.SAMPLERS[scheme].all_records:
        return
    with pytest.raises(ValueError, match="secure streams draw the batch"):
        batches.at(1)


def test_threads_get_no_draw_twice():
    """If forty threads request the noise of one step from a secure stream, only one thread gets it."""
    streams, got = noise.secure(), []

    def ask():
        with contextlib.suppress(ValueError):
            got.append(streams("noise", 7))

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1
