"""Tests that the projection of an example depends only on this example and on independent random samples.

The joint clip needs this property. The tests cover all devices that can replace a matrix B, with every effect switched
on. They also detect devices whose results depend on the batch. Results must be bitwise identical. The media are rounded
to few digits, so their sums are exact in any order. Later operations are elementwise.
"""

import importlib.util
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from nfa import feedback, ops
from nfa.audit.worst_neighbours import no_noise
from nfa.feedback.camera import Camera
from nfa.feedback.lighton import LightOnOPU
from nfa.feedback.mirrors import ternarize, ternarize_relative
from nfa.feedback.never_stored import Unstored, project_unstored, tile
from nfa.feedback.opu import OPU, optical
from nfa.network import mlp
from nfa.rules.dp_dfa_joint import dp_dfa_joint, mechanism
from tests.oracles.chance import CHANCE
from tests.oracles.core import batch
from tests.oracles.private_rules import entries, norm

rng = np.random.default_rng
N_IN, N_OUT = 5, 7
EVERYTHING = {
    "camera": Camera(photons=20, dark_std=0.3, saturation=60.0, bits=8),
    "anchor_shot": True,
    "noise_std": 0.2,
}


class OwnDraws(np.random.Generator):
    """A generator whose samples for an example depend only on the example's name, not on the batch."""

    def __init__(self, names):
        super().__init__(np.random.PCG64(0))
        self.names, self.calls = names, 0

    def _of_each(self, draw):
        self.calls += 1
        return np.stack([draw(i, rng((name, self.calls))) for i, name in enumerate(self.names)])

    def poisson(self, lam):
        return self._of_each(lambda i, own: own.poisson(lam[i]))

    def standard_normal(self, size, dtype=float):
        return self._of_each(lambda i, own: own.standard_normal(size[1:], dtype))


# --- devices ---------------------------------------------------------------------------------------------------


def few_digits(v):
    return np.rint(16 * v) / 16


def coarse_tile(*where):
    return few_digits(tile(*where))


def made(kind=OPU, **how):
    """An OPU whose medium is rounded, so that its sums are exact."""
    device = kind(N_IN, N_OUT, rng=rng(1), **how)
    if how.get("stored", True):
        device.medium = few_digits(device.medium)
    return device


def by_matrix(noise_std):
    B = few_digits(rng(2).standard_normal((N_OUT, N_IN)))
    return lambda e, rng: feedback.project(e, B, noise_std=noise_std, rng=rng)


def never_stored():
    B = Unstored(N_IN, N_OUT, rng=rng(3), make=coarse_tile)
    return lambda e, rng: project_unstored(e, B, rng=rng)


def of_lighton(noise_std):
    if importlib.util.find_spec("lightonml") is None:
        pytest.skip(
            "lightonml is not installed: pip install 'setuptools<81' attrs requests numexpr, "
            "then pip install --no-deps lightonml==1.4.3"
        )
    device = LightOnOPU(N_IN, N_OUT, rng=rng(4), noise_std=noise_std)
    device.driver.device._random_matrix = few_digits(4 * device.driver.device.random_matrix)
    return device


def by(device, **how):
    return lambda e, rng: optical(e, device, rng=rng, **how)


DEVICES = {
    "a matrix": lambda: by_matrix(0.0),
    "a matrix, with noise": lambda: by_matrix(0.2),
    "never stored": never_stored,
    "OPU": lambda: by(made()),
    "OPU, not stored": lambda: by(made(stored=False, make=coarse_tile)),
    "OPU, every effect": lambda: by(made(**EVERYTHING)),
    "OPU, every effect, not stored": lambda: by(made(**EVERYTHING, stored=False, make=coarse_tile)),
    "OPU, noise after the camera alone": lambda: by(made(noise_std=0.2)),
    "OPU, 3 bits": lambda: by(made(camera=Camera(bits=3, saturation=30.0))),
    "OPU, threshold": lambda: by(made(**EVERYTHING), threshold=0.15),
    "lightonml's": lambda: by(of_lighton(None)),
    "lightonml's, with noise": lambda: by(of_lighton(0.2)),
}
EVERY = pytest.mark.parametrize("name", DEVICES)


class ExposedToTheBatch(OPU):
    """A device that sets the highest level of its camera to the brightest light of the batch."""

    bits = 8

    def brightest(self, x):
        return float(np.abs(self.field(x) + self.anchor).max()) ** 2

    def linear(self, x, *, rng=None):
        self.camera = replace(self.camera, saturation=self.brightest(x), bits=self.bits)
        return super().linear(x, rng=rng)


class Adapting(ExposedToTheBatch):
    """A device that sets the highest level of its camera to the brightest light of all batches so far."""

    def brightest(self, x):
        return max(super().brightest(x), self.camera.saturation or 0.0)


class TwoLevels(ExposedToTheBatch):
    """An `ExposedToTheBatch` with a camera of two levels, dark and light."""

    bits = 1


def centred(e, rng):
    """A projection by a matrix, minus the mean of this projection over the batch."""
    p = by_matrix(0.0)(e, rng)
    return p - p.mean(axis=0)


WRONG = {
    "exposed to the batch": lambda: by(made(ExposedToTheBatch)),
    "adapting": lambda: by(made(Adapting)),
    "centred": lambda: centred,
    "the batch's threshold": lambda: lambda e, rng: by_matrix(0.0)(ternarize(e, 0.5 * np.abs(e).max()), rng),
}


# --- bitwise identical results, with samples that belong to the example
# --------------------------------------------------------------


def errors(m, seed=5, ternary=True):
    return ternarize_relative(rng(seed).normal(size=(m, N_IN)), 0.4) if ternary else rng(seed).normal(size=(m, N_IN))


def answers(project, e, names):
    return project(e, OwnDraws(names))


def depends_on_its_example_alone(project, e):
    """Whether a row of e gets the result that it gets alone, in any order and next to any other rows."""
    m = len(e)
    for i in range(0, m, 2):
        want = answers(project, e[i : i + 1], [i])[0]
        batches = [(np.arange(m), e), (np.arange(m)[::-1], e[::-1]), (np.arange(i, m), e[i:])]
        for others in (np.zeros((3, N_IN)), np.ones((3, N_IN)), -np.ones((1, N_IN)), errors(20, 6), e[[i, i]]):
            names = [*range(100, 100 + len(others)), i]
            batches.append((np.array(names), np.concatenate([others, e[i : i + 1]])))
        for names, shown in batches:
            place = int(np.flatnonzero(names == i)[0])
            if not np.array_equal(answers(project, shown, names)[place], want):
                return False
    return True


def remembers_nothing(project, e):
    """Whether an example gets the same result before and after projections of other examples."""
    before = answers(project, e[:1], [0])
    for others in (np.ones((3, N_IN)), -np.ones((2, N_IN)), e, np.zeros((1, N_IN))):
        answers(project, others, range(len(others)))
    return np.array_equal(answers(project, e[:1], [0]), before)


@pytest.mark.verifies("ours:joint-clip")
@EVERY
@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
def test_an_answer_depends_on_its_example_alone_and_on_draws_of_its_own(name, dtype):
    project = DEVICES[name]()
    e = errors(6).astype(dtype)
    assert depends_on_its_example_alone(lambda c, own: project(c.astype(dtype), own), e)
    assert remembers_nothing(project, e)
    assert answers(project, e, range(6)).std() > 0.1


@pytest.mark.parametrize("name", WRONG)
def test_a_device_that_looks_at_the_batch_is_found(name):
    project, e = WRONG[name](), errors(6, ternary=name in ("exposed to the batch", "adapting"))
    assert not (depends_on_its_example_alone(project, e) and remembers_nothing(WRONG[name](), e))


def test_the_fixed_threshold_of_an_opu_looks_at_no_other_error():
    """An OPU with a fixed threshold makes each entry ternary by itself, so a result does not depend on other errors.

    The errors have very different norms. A relative threshold depends only on the row of the example.
    """
    project, e = DEVICES["OPU, threshold"](), errors(6, ternary=False) * np.geomspace(0.01, 1, 6)[:, None]
    assert depends_on_its_example_alone(project, e)
    assert depends_on_its_example_alone(lambda c, own: by(made())(ternarize_relative(c, 0.5), own), e)


def test_what_lightonml_sets_is_set_before_any_example_is_shown():
    """lightonml sets exposure, frame time, gain and the camera's region before nfa passes any example.

    nfa calls the method that fits the device with the sizes, not with the data.
    """
    device = of_lighton(None)
    opened = device.driver.device

    def settings():
        return opened.exposure_us, opened.frametime_us, opened.gain_dB, opened.output_roi, device._unit

    before = settings()
    for e in (np.ones((200, N_IN)), -np.ones((1, N_IN)), np.zeros((3, N_IN))):
        device.project(e)
    assert settings() == before
    assert device.driver._runner.ones_info == {}


# --- equal distributions, with samples from one stream
# ------------------------------------------------------------------------


def same_law(one, other, *, sees):
    """Test that two samples of size n have the same law.

    By the inequality of Dvoretzky, Kiefer and Wolfowitz, the distribution function of a sample is within b of that of
    its law, except with probability CHANCE / 2. So two samples of one law are at most 2 b apart. Laws that are 4 b
    apart are detected, except with probability CHANCE.
    """
    b = math.sqrt(math.log(4 / CHANCE) / 2 / len(one))
    assert 4 * b <= sees
    grid = np.sort(np.concatenate([one, other]))
    apart = np.abs(np.searchsorted(np.sort(one), grid, "right") - np.searchsorted(np.sort(other), grid, "right"))
    return bool(apart.max() <= 2 * b * len(one))


def beside(device, other, n=20_000):
    """The results at one pixel for n copies of an example, each followed by the example ``other``."""
    e = np.tile([[1.0, 0, -1, 0, 1], other], (n, 1))
    return device.project(e, rng=rng(7))[::2, 0]


@pytest.mark.verifies("ours:joint-clip")
@pytest.mark.parametrize("kind, same", [(OPU, True), (ExposedToTheBatch, False)])
def test_what_others_show_does_not_change_the_law_of_an_answer(kind, same):
    """Other examples in the batch do not change the law of a result. They change only its value.

    The value changes because earlier rows use more or fewer uniform samples for their Poisson numbers.
    """
    camera = Camera(photons=2, dark_std=0.1, saturation=40.0, bits=8)
    device = kind(N_IN, 1, rng=rng(8), camera=camera, anchor_shot=True, noise_std=0.05, n_anchor=4)
    dark, lit = beside(device, np.zeros(N_IN)), beside(device, np.ones(N_IN))
    assert not np.array_equal(dark, lit)
    assert same_law(dark, lit, sees=0.08) is same


# --- the rule --------------------------------------------------------------------------------------------------


def moved(kind, C, **how):
    """The largest change of the rule's sum if one record is left out, divided by the stated change."""
    net = mlp([4, N_OUT, N_IN], ops.tanh, rng=rng(9))
    x, y = batch(net, 6, 3)
    largest = 0.0
    for i in range(6):
        sums = []
        for names in (np.arange(6), np.delete(np.arange(6), i)):
            device = kind(N_IN, N_OUT, rng=rng(1), scale=30.0, **how)
            given = {"carries": "ternary", "t": 0.4, "project": optical, "add_normal": no_noise, "sigma": 1.0}
            call = partial(dp_dfa_joint, net, B=[None, device, None], C=C, m=6, rng=OwnDraws(names), **given)
            sums.append(entries(call(x[names], y[names])))
        largest = max(largest, norm(sums[0] - sums[1]))
    where = {"adjacency": "add-remove", "sampling": "none", "sampling_rate": 1.0}
    return largest / mechanism(C=C, m=6, sigma=1.0, **where).sensitivity


@pytest.mark.verifies("ours:joint-clip")
def test_by_a_device_with_every_effect_a_record_moves_the_sum_by_what_is_stated():
    assert moved(OPU, 0.3, **EVERYTHING) == pytest.approx(1, rel=1e-9)


@pytest.mark.verifies("ours:joint-clip")
def test_by_a_device_that_looks_at_the_batch_it_moves_it_further():
    """If a device depends on the batch, one record changes the sum by more than the mechanism states.

    This record changes the exposure of a camera with two levels, and so the camera's readings for all other records.
    """
    assert moved(TwoLevels, 0.3, n_anchor=4) > 3
