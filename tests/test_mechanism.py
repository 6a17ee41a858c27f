"""Tests of Mechanism: the arguments that it refuses, and the exception NoGuarantee."""

import dataclasses
import math

import pytest

from nfa.mechanism import ADJACENCIES, LAWS, Mechanism, NoGuarantee
from nfa.sampling import SAMPLERS, SCHEMES

SOUND = {
    "law": "gaussian",
    "sensitivity": 0.5,
    "adjacency": "replace-one",
    "noise_std": 2.0,
    "sampling": "poisson",
    "sampling_rate": 0.1,
}


def test_the_noise_multiplier_is_noise_over_sensitivity():
    assert Mechanism(**SOUND).noise_multiplier == 4.0


def test_nothing_has_a_default_and_nothing_changes():
    for field in SOUND:
        with pytest.raises(TypeError, match=field):
            Mechanism(**{name: value for name, value in SOUND.items() if name != field})
    with pytest.raises(dataclasses.FrozenInstanceError):
        Mechanism(**SOUND).noise_std = 1.0


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("sampling", SCHEMES)
def test_every_named_combination_can_be_said(law, adjacency, sampling):
    said = Mechanism(**SOUND | {"law": law, "adjacency": adjacency, "sampling": sampling, "sampling_rate": 1.0})
    assert (said.law, said.adjacency, said.sampling) == (law, adjacency, sampling)


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"law": "cauchy"}, "law must be one of gaussian, laplace, got 'cauchy'"),
        ({"adjacency": "bounded"}, f"adjacency must be one of {', '.join(ADJACENCIES)}, got 'bounded'"),
        ({"sampling": "shuffle"}, "sampling must be one of none, .*, got 'shuffle'"),
        ({"sensitivity": 0.0}, "sensitivity must be positive and finite, got 0.0"),
        ({"sensitivity": math.inf}, "sensitivity must be positive and finite, got inf"),
        ({"sensitivity": math.nan}, "sensitivity must be positive and finite, got nan"),
        ({"noise_std": 0.0}, "noise_std must be positive and finite, got 0.0"),
        ({"noise_std": -1.0}, "noise_std must be positive and finite, got -1.0"),
        ({"noise_std": math.nan}, "noise_std must be positive and finite, got nan"),
        ({"sensitivity": 1e-310}, "noise_std / sensitivity must be positive and finite, got .* / 1e-310 = inf"),
        ({"sensitivity": 1e300, "noise_std": 1e-300}, "noise_std / sensitivity must be .*, got 1e-300 / 1e.300 = 0.0"),
        (
            {"sampling_rate": 0.0},
            r"sampling_rate must be in \(0, 1\], and must be 1 if sampling is 'none', "
            "got sampling_rate=0.0 and sampling='poisson'",
        ),
        ({"sampling_rate": 1.1}, r"sampling_rate must be in \(0, 1\], .* got sampling_rate=1.1 "),
        ({"sampling_rate": math.nan}, r"sampling_rate must be in \(0, 1\], .* got sampling_rate=nan "),
        (
            {"sampling": "none"},
            r"sampling_rate must be .* 1 if sampling is 'none', got sampling_rate=0.1 and sampling='none'",
        ),
    ],
)
def test_what_has_no_meaning_gets_a_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        Mechanism(**SOUND | change)


@pytest.mark.parametrize("sampling", [name for name, one in SAMPLERS.items() if not one.theorems])
def test_a_sampling_of_which_no_theorem_speaks_is_refused(sampling):
    with pytest.raises(NoGuarantee) as caught:
        Mechanism(**SOUND | {"sampling": sampling})
    assert (caught.value.id, caught.value.why) == SAMPLERS[sampling].refused


def test_a_refusal_names_the_statement_and_says_why():
    refusal = NoGuarantee("lee2020:no-such-theorem", "nobody has proved it")
    assert refusal.id == "lee2020:no-such-theorem"
    assert refusal.why == "nobody has proved it"
    assert str(refusal) == "no privacy guarantee: nobody has proved it [lee2020:no-such-theorem]"
    # wrong input raises ValueError, but a missing guarantee is no wrong input
    assert not isinstance(refusal, ValueError)
