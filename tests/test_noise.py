"""Streams: a function of seed, purpose and step alone, pinned for good, independent of each other."""

import itertools

import numpy as np
import pytest

from nfa import noise
from nfa.noise import Streams
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


# What each purpose's stream of seed 7 gives first at step 3. A record names its seed: these may never change.
PINNED = {
    "init": 0.9432168673415459,
    "feedback": 0.24347712366202823,
    "batch": 0.5676245348009825,
    "noise": 0.5371496470277703,
    "split": 0.46071851949991993,
    "data": 0.6048486073088057,
}


@pytest.mark.parametrize("purpose", noise.PURPOSES)
def test_a_seed_keeps_its_meaning(purpose):
    assert Streams(7)(purpose, 3).random() == PINNED[purpose]


def test_draws_across_steps_and_purposes_are_uniform_and_uncorrelated():
    """The first number of 4,000 streams each: KS for the law, z = r sqrt(n) for pairs of purposes and for lag 1."""
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
