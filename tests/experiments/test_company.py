"""Tests that the pass of an example in a secure run is bitwise identical for any other examples in its batch.

Shapes, dtypes, activations, feedback and batches are random. We compare an example's values in one batch with its
values in other batches. The other batches have another size (from 1 on), permuted rows, or different other examples.
"""

import math
from functools import partial

import numpy as np
import pytest

from nfa import feedback, ops
from nfa.experiments import bind, company
from nfa.experiments.settings import Settings
from nfa.feedback.opu import OPU, optical
from nfa.network import AvgPool, Conv2d, Dense, MaxPool, Net, mlp
from nfa.network.per_example import Terms
from nfa.noise import of_examples
from nfa.optim import SGD
from nfa.rules.spec import names, spec
from tests.oracles import rule_settings

kernels = pytest.importorskip("nfa.kernels.rows")
from nfa.kernels import clip, rows  # noqa: E402

generator = np.random.default_rng
PHIS = list(ops.ACTIVATIONS.values())


def between(rng, low, high):
    """A random integer in low..high with a uniform logarithm."""
    return min(high, int(np.exp(rng.uniform(math.log(low), math.log(high + 1)))))


def dense_net(rng, widest, dtype):
    sizes = [between(rng, 1, widest) for _ in range(rng.integers(2, 5))]
    return mlp(sizes, PHIS[rng.integers(len(PHIS))], rng=rng, dtype=dtype)


def deep_net(rng, widest, dtype):
    """A network of more than 8 layers, because NumPy changes the order of a sum if it has more than 8 terms."""
    return mlp([between(rng, 1, min(9, widest)) for _ in range(12)], ops.tanh, rng=rng, dtype=dtype)


def convolutions(rng, c, k, phi):
    """(layers, skip): one or two convolutions with c channels and k x k kernels, with a random stride and pooling."""
    pool = [(), (MaxPool(2),), (AvgPool(2),), (MaxPool(2, 1),)][rng.integers(4)]
    layers = [(Conv2d(c, k, int(rng.integers(1, 3)), "same"), phi, *pool)]
    if rng.random() < 0.5:
        return [*layers, (Conv2d(c, 3, 1, "same"), phi)], {3: 1}
    return layers, {}


def conv_net(rng, widest, dtype):
    """A network of one or two convolutions with random strides, paddings, poolings, and a skip if the
    shapes allow it.
    """
    image = (int(rng.integers(1, 4)), int(rng.integers(6, 13)), int(rng.integers(6, 13)))
    c, k, phi = between(rng, 1, min(widest, 40)), int(rng.integers(1, 6)), PHIS[rng.integers(len(PHIS))]
    layers, skip = convolutions(rng, c, k, phi)
    return Net(image, [*layers, (Dense(between(rng, 1, 10)),)], skip=skip, rng=rng, dtype=dtype)


def feedback_of(rng, net, product):
    """(B, project) for a kind of feedback: matrices, matrices that are never stored, or devices."""
    more = {} if product is None else {"product": product}
    kind = rng.integers(3)
    if kind == 0:
        return feedback.draw(net, law="normal", scale=0.5, rng=rng), feedback.project
    if kind == 1:
        made = partial(feedback.Unstored, **more)
        return feedback.draw_devices(made, net, scale=0.5, rng=rng), feedback.project_unstored
    B = feedback.draw_devices(partial(OPU, **more), net, scale=0.5, rng=rng)
    return B, partial(optical, threshold=0.1)


def random_case(rng, widest, largest, secure=True):
    """Return a function that computes a pass with the kernels of a run, the examples x and y, and batch sizes."""
    dtype = [np.float32, np.float64][rng.integers(2)]
    net = [dense_net, dense_net, conv_net, deep_net][rng.integers(4)](rng, widest, dtype)
    B, project = feedback_of(rng, net, rows.matmul if secure else None)
    bound = {"B": B}
    bind.use_kernels(net, SGD(0.1), bound, secure)
    work = sum(W.size * math.prod(net.shape_z[l][1:]) for l, W in enumerate(net.W[1:], start=1))
    n = between(rng, 1, max(1, min(largest, 30_000_000 // work)))
    x, y = rng.normal(size=(n, *net.shape_h[0])).astype(dtype), np.eye(net.shape_h[net.L][0], dtype=dtype)
    y = y[rng.integers(len(y), size=n)]
    values = partial(company.own_pass, net, B=bound["B"], project=project, clip_l2=clip.clip_l2)
    return values, x, y, [1, n, *(int(size) for size in rng.integers(1, n + 1, 3))]


def differences(cases, widest, largest, secure=True, seed=0):
    """The cases in which a value depends on the batch, each with its first difference."""
    found = []
    for case in range(cases):
        rng = generator((seed, case))
        values, x, y, sizes = random_case(rng, widest, largest, secure)
        with np.errstate(all="ignore"):
            if one := company.first_difference(values, x, y, sizes, rng):
                found.append((case, *one))
    return found


def test_a_secure_pass_does_not_depend_on_its_company():
    assert differences(40, 200, 300) == []


@pytest.mark.nightly
def test_a_secure_pass_does_not_depend_on_its_company_in_a_search():
    assert differences(300, 300, 600, seed=2) == []


@pytest.mark.nightly
def test_a_secure_pass_does_not_depend_on_its_company_in_a_long_search():
    assert differences(4000, 1024, 4096, seed=1) == []


def test_the_search_finds_products_that_round_by_company():
    """The search detects matrix products whose rounding depends on the batch.

    Seeded runs use the library's matrix products. With them, values differ between batches in more than 10 of 40 cases.
    """
    assert len(differences(40, 200, 300, secure=False)) > 10


# --- without kernels


def refusing(net, dtype, **how):
    with pytest.raises(ValueError, match=r"^this secure run needs kernels. Without kernels, ") as refused:
        company.check(net, np.dtype(dtype), 40, **how)
    return str(refused.value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_is_refused_where_a_row_depends_on_its_batch(dtype):
    """A secure run without kernels is refused if a row of NumPy's products depends on its batch.

    In this test, the rounding of a product is different in batches of 13.
    """

    class OddOnes:
        @staticmethod
        def matmul(a, b):
            return rows.matmul(a, b) * (1 + (len(a) == 13) * np.finfo(dtype).eps)

    net = mlp([7, 5, 3], ops.tanh, rng=generator(0), dtype=dtype)
    for l, door in ((1, OddOnes), (2, rows)):
        net.map[l] = Dense(net.map[l].n_out, ops=door).bind(net.map[l].in_shape)
    assert refusing(net, dtype).startswith(
        "this secure run needs kernels. Without kernels, NumPy rounds z[1] of an example"
    )
    assert "in a batch of 13 and in a batch of 40" in refusing(net, dtype)


def test_numpy_passes_where_no_row_depends_on_its_batch():
    """A secure run without kernels is accepted if no row of NumPy's products depends on its batch.

    In this test, each sum has a single term or adds squares of small whole numbers, so its order does not matter.
    """
    net = mlp([1, 1, 1], ops.relu, loss=ops.squared_error, rng=generator(0))
    company.check(net, np.dtype(np.float64), 40, B=[None, np.ones((1, 1)), None])


def test_feedback_is_tried_too():
    """Feedback is also checked. In this test, only the projection depends on the position in the batch."""
    net = mlp([3, 2, 4], ops.identity, rng=generator(0))
    bind.use_kernels(net, SGD(0.1), {}, True)

    def project(e, B):
        return rows.matmul(e, B.T) * (1 + 1e-15 * np.arange(len(e))[:, None])

    assert "B e[1]" in refusing(net, np.float64, B=[None, np.ones((2, 4)), None], project=project)


# --- the factors of the sums over examples


@pytest.fixture
def told(monkeypatch):
    """The arrays with one row per example that a rule sums over examples: the factors of dz h^T, and the weights."""
    told = []

    def noted(whole):
        def watched(self, *given):
            told.extend(one for one in given if one is not None)
            return whole(self, *given)

        return watched

    for kind, name in ((Dense, "outer"), (Dense, "terms"), (Conv2d, "outer"), (Conv2d, "terms"), (Terms, "outer")):
        monkeypatch.setattr(kind, name, noted(getattr(kind, name)))
    return told


# Rules with random samples for each example. The samples of an example do not depend on the other examples.
DRAWN = [name for name in names() if "weigh" in spec(name).given]
SUMS = [name for name in names() if spec(name).sum_over_examples and name not in DRAWN]


def no_noise(out, std, rng):
    """Replacement for `nfa.noise.add_normal` that adds no noise."""


NETS = {
    "dense": ((50,), [(Dense(70), ops.tanh), (Dense(33), ops.sigmoid), (Dense(5),)]),
    "many layers": ((4,), [(Dense(3), ops.tanh)] * 9 + [(Dense(5),)]),
    "a unit a layer": ((1,), [(Dense(1), ops.tanh)] * 2 + [(Dense(5),)]),
    "convolution": (
        (2, 8, 8),
        [(Conv2d(7, 3, padding="same"), ops.tanh, MaxPool(2)), (Dense(9), ops.relu), (Dense(5),)],
    ),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", NETS)
@pytest.mark.parametrize("name", SUMS)
def test_what_a_rule_adds_up_does_not_depend_on_company(name, shape, dtype, told):
    rng, rule, (image, layers) = generator(1), spec(name), NETS[shape]
    net = Net(image, layers, rng=rng, dtype=dtype)
    known = {"B": feedback.draw(net, law="normal", scale=0.5, rng=rng), "m": 100, "rng": generator(0)}
    known["V"] = feedback.draw_layerwise(net, law="normal", scale=0.5, rng=rng)
    given = rule_settings.values(rule, known, bound=0.5, positive=0.5, noise=0.0, count=2)
    given |= bind.fast(rule, Settings(secure=True), net)
    given |= {"add_normal": no_noise} if "add_normal" in given else {}
    bind.use_kernels(net, SGD(0.1), given, True)
    x, y = rng.normal(size=(150, *image)).astype(dtype), np.eye(5, dtype=dtype)[rng.integers(5, size=150)]

    def added_up(x, y):
        told.clear()
        rule.function(net, x, y, **given, **({"state": {}} if "state" in rule.given else {}))
        assert told
        return [(str(i), values) for i, values in enumerate(told)]

    assert company.first_difference(added_up, x, y, [1, 2, 19, 149, 150], rng) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", NETS)
@pytest.mark.parametrize("name", [name for name in DRAWN if spec(name).sum_over_examples])
def test_forward_learning_depends_on_the_place_by_its_draws_alone(name, shape, dtype, told):
    """In forward learning, the position of an example affects its values only through its random samples.

    We exchange the other examples and keep the position of an example, so it keeps its samples.
    """
    rng, rule, (image, layers) = generator(2), spec(name), NETS[shape]
    net = Net(image, layers, rng=rng, dtype=dtype)
    given = rule_settings.values(rule, {"m": 100}, bound=0.5, positive=0.5, noise=0.0, count=70)
    given |= bind.fast(rule, Settings(secure=True), net)
    given |= {"add_normal": no_noise} if "add_normal" in given else {}
    bind.use_kernels(net, SGD(0.1), given, True)
    x, y = rng.normal(size=(60, *image)).astype(dtype), np.eye(5, dtype=dtype)[rng.integers(5, size=60)]

    def added_up(first, x, y):
        told.clear()
        state = {"state": {}} if "state" in rule.given else {}
        rule.function(net, x, y, rng=of_examples(generator(3), first), **given, **state)
        return list(told)

    whole = added_up(0, x, y)
    assert whole
    for first, stop in ((0, 1), (17, 18), (17, 40), (59, 60), (32, 60)):
        own, others = slice(first, stop), slice(first, min(stop + 3, 60))
        exchanged = x[others].copy()
        exchanged[stop - first :] = 1
        for batch in (x[own], exchanged):
            for one, every in zip(added_up(first, batch, y[first : first + len(batch)]), whole, strict=True):
                assert np.array_equal(one[: stop - first], every[own])
