"""Tests that a rule called on parts of a batch gives the direction of the batch, with noise added once, on any threads.

With parts, a rule needs less memory.
"""

import threading
import tracemalloc
from functools import partial
from itertools import islice

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from nfa import feedback, noise
from nfa.experiments.prepare import prepare
from nfa.experiments.settings import Settings
from nfa.kernels import cores, philox, rounded
from nfa.network import Net, mlp, ops
from nfa.network.dense import Conv2d, Dense
from nfa.network.pooling import MaxPool
from nfa.parts import LEAST, InParts, check_is_sum, of_all, part_size
from nfa.rules.spec import ALIASES, names, spec
from tests.oracles.rule_settings import values
from tests.rules.test_rules import batch

SUMS = [name for name in names() if spec(name).sum_over_examples and name not in ALIASES]


def rng(seed):
    return np.random.default_rng(seed)


def bound(name, net, **more):
    """A rule with all its arguments, with or without noise."""
    rule = spec(name)
    known = {
        "B": feedback.draw(net, law="spectral", scale=0.9, rng=rng(1)),
        "V": feedback.draw_layerwise(net, law="normal", scale=0.7, rng=rng(2)),
        **{"m": 7, "sigma": 0.3, "s": 0.3, "sigma_0": 0.3, "K": 2, "t": 0.1, "tau": 0.1, "tau_h": 0.9, "C": 0.2},
        **more,
    }
    return partial(rule.function, **values(rule, known, bound=0.2, positive=1.0, noise=0.3, count=2)), rule


def flat(direction):
    return np.concatenate([np.ravel(p) for lists in direction for p in lists[1:]])


def close(a, b):
    np.testing.assert_allclose(flat(a), flat(b), rtol=0, atol=1e-12)


def state_of(rule):
    return {"state": {}} if "state" in rule.given else {}


NETS = {
    "dense": lambda: mlp((3, 5, 4, 2), ops.tanh, rng=rng(0)),
    "skip": lambda: Net(
        (3,), [(Dense(3), ops.tanh), (Dense(3, bias=False), ops.tanh), (Dense(2),)], skip={2: 0, 3: 1}, rng=rng(0)
    ),
    "convolution": lambda: Net(
        (1, 6, 6), [(Conv2d(2, 3), ops.tanh, MaxPool(2)), (Dense(4), ops.sigmoid), (Dense(2),)], rng=rng(0)
    ),
}


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("name", [name for name in SUMS if not spec(name).draws_by_example])
def test_parts_have_the_direction_of_the_whole_with_its_noise(name, size, net):
    """The parts give the direction of the whole batch with its noise, which is drawn once.

    We compare two steps, to test the rule's state too. The oracle is the rule on the whole batch.
    """
    net = NETS[net]()
    rule, known = bound(name, net)
    x, y = batch(net, 7)
    states = state_of(known), state_of(known)
    for t in (1, 2):
        whole = rule(net, x, y, rng=rng(t), **states[0])
        close(InParts(rule, known, size=size)(net, x, y, rng=rng(t), **states[1]), whole)
    for name, value in states[0].get("state", {}).items():
        np.testing.assert_allclose(states[1]["state"][name], value, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SUMS)
def test_how_a_batch_is_cut_changes_nothing_but_rounding(name):
    """The division of a batch changes only rounding errors, because an example has the same samples in any part."""
    net = NETS["dense"]()
    rule, known = bound(name, net)
    x, y = batch(net, 7)
    whole = InParts(rule, known, size=7)(net, x, y, rng=rng(5), **state_of(known))
    assert np.abs(flat(whole)).max() > 1e-3
    for size in (1, 2, 5):
        close(InParts(rule, known, size=size)(net, x, y, rng=rng(5), **state_of(known)), whole)


@pytest.mark.parametrize("name", SUMS)
def test_the_numbers_do_not_depend_on_the_threads(name):
    """The results are bitwise identical for parts one after another, and on two, three or five threads."""
    net = NETS["convolution"]() if "weigh" not in spec(name).given else NETS["dense"]()
    rule, known = bound(name, net)
    x, y = batch(net, 23)
    alone = flat(InParts(rule, known, size=2)(net, x, y, rng=rng(5), **state_of(known)))
    try:
        for threads in (1, 2, 3, 5):
            cores.limit(threads)
            here = InParts(rule, known, size=2, run=cores.together)
            for _ in range(3):
                assert np.array_equal(flat(here(net, x, y, rng=rng(5), **state_of(known))), alone)
    finally:
        cores.limit()


@pytest.mark.parametrize("name", SUMS)
def test_no_examples(name):
    """For an empty batch, a private rule returns only its noise, and a rule without noise returns 0."""
    net = NETS["dense"]()
    rule, known = bound(name, net)
    x, y = batch(net, 3)
    dW, db = InParts(rule, known, size=2)(net, x[:0], y[:0], rng=rng(1), **state_of(known))
    if known.noise_on_sum:
        close((dW, db), rule(net, x[:0], y[:0], rng=rng(1), **state_of(known)))
    else:
        assert not flat((dW, db)).any()


def test_a_rule_without_a_normaliser_gets_the_size_of_the_whole_batch():
    net = NETS["dense"]()
    known = spec("bp")
    x, y = batch(net, 7)
    close(InParts(partial(known.function), known, size=2)(net, x, y, rng=None), known.function(net, x, y))


def test_what_is_no_sum_has_no_parts():
    known = spec("dp_ulr")
    with pytest.raises(ValueError, match="rule dp_ulr must declare SUM_OVER_EXAMPLES"):
        InParts(partial(known.function), known, size=2)
    with pytest.raises(ValueError, match="the size of a part must be at least 1, got 0"):
        InParts(partial(spec("bp").function), spec("bp"), size=0)


def test_shares_are_weighted_by_the_parts_sizes():
    assert of_all([0.5, 1.0, 0.0], [4, 2, 2]) == 0.5
    assert of_all([[0.5, 0.0], [1.0, 1.0]], [3, 1]) == [0.625, 0.25]


def test_a_part_is_a_function_of_shapes_and_of_the_public_size_of_a_batch():
    """The size of a part depends only on the shapes and on the public batch size.

    A part is as large as a core's cache allows. It is at most half a batch, and it has at least `LEAST` examples.
    """
    dense = mlp((784, 512, 512, 10), ops.tanh, rng=rng(0))
    assert [part_size(dense, m) for m in (256, 4096, 100, 8)] == [128, 128, 50, LEAST]
    small = mlp((20, 10, 2), ops.tanh, rng=rng(0))
    assert part_size(small, 60_000) > 4096
    assert part_size(NETS["convolution"](), 64) == LEAST


SUM = """
import numpy as np

from nfa.rules.bp import bp

SUM_OVER_EXAMPLES = True


def rule(net, x, y, *, m: float | None = None, add_normal=None, rng, state=None):
    dW, db = bp(net, x, y, m=m)
    EXTRA
    return dW, db
"""
LIES = {
    "its own mean": "dW[1] = dW[1] * (m / max(1, len(x)))",
    "a draw for each part": "dW[1] = dW[1] + rng.standard_normal(dW[1].shape)",
    "a draw for each example": "dW[1] = dW[1] + rng.standard_normal((len(x), *dW[1].shape)).sum(axis=0)",
    "the state": "dW[1] = dW[1] * state.get('scale', 1.0); state['scale'] = 2.0",
    "weight decay": "dW[1] = dW[1] + net.W[1]",
}
ALL = "(*dW[1:], *db[1:])"
OF_NOISE = {
    "no noise on part of a batch": f"[add_normal(p, 1.0, rng) for p in {ALL} if not len(x)]",
    "noise that is returned elsewhere": (
        "n = [np.zeros_like(dW[1]) for _ in x[:1]]; [add_normal(p, 1.0, rng) for p in n];"
        f" dW[1] = dW[1] + sum(n); [add_normal(p, 1.0, rng) for p in {ALL} if not len(x)]"
    ),
    "noise on each example": "e = np.zeros((len(x), 5)); add_normal(e, 1.0, rng); db[1] = db[1] + e.sum(axis=0)",
    "noise by the number of examples": f"[add_normal(p, 1.0 + len(x), rng) for p in {ALL}]",
    "noise by the examples": f"[add_normal(p, 1.0 + np.abs(x).max(initial=0), rng) for p in {ALL}]",
    "noise that grows with the steps": (
        f"k = state.get('k', 1.0); [add_normal(p, k, rng) for p in {ALL}]; state.update(k=k + 1 if len(x) else k)"
    ),
    "a clip after the noise": f"[add_normal(p, 1.0, rng) for p in {ALL}]; dW[1] = np.clip(dW[1], -1, 1)",
}


def from_outside(tmp_path, monkeypatch, name, extra, m="float | None = None"):
    (tmp_path / f"{name}.py").write_text(SUM.replace("EXTRA", extra).replace("float | None = None", m))
    monkeypatch.syspath_prepend(str(tmp_path))
    return spec(f"{name}:rule")


@pytest.mark.parametrize("extra", [*LIES.values(), *OF_NOISE.values()], ids=[*LIES, *OF_NOISE])
@pytest.mark.parametrize("sigma", [1e-6, 1.0])
def test_a_declaration_from_outside_is_checked(extra, sigma, tmp_path, monkeypatch):
    """nfa checks the declaration of a rule from outside, and also its noise, however small the noise is.

    The noise must not be lost, be added twice or depend on the examples.
    """
    extra = extra.replace("add_normal(p, ", f"add_normal(p, {sigma} * ").replace("(e, 1.0", f"(e, {sigma}")
    known = from_outside(tmp_path, monkeypatch, f"lies_{abs(hash(extra))}", extra)
    net = NETS["dense"]()
    with pytest.raises(
        ValueError, match="declares SUM_OVER_EXAMPLES, but the direction of a batch of 5 is not the sum"
    ):
        check_is_sum(partial(known.function), known, net, *batch(net, 5), noise.Streams(0))


@pytest.mark.parametrize(
    "extra",
    [
        "pass",
        "add_normal(dW[1], 1.0, rng)",
        "state['seen'] = len(x)",
        f"[add_normal(p, 0.1, rng) for p in {ALL}]",
        f"[add_normal(p, 0.1, rng) for p in {ALL}]; dW[1] *= 2; add_normal(dW[1], 3.0, rng)",
        "eta = np.zeros_like(dW[1]); add_normal(eta, 1.0, rng); dW[1] = dW[1] + eta - state.get('eta', 0);"
        " state['eta'] = eta",
        "k = state.get('k', 1); add_normal(dW[1], k, rng); state['k'] = k + 1",
    ],
)
def test_a_true_declaration_passes(extra, tmp_path, monkeypatch):
    known = from_outside(tmp_path, monkeypatch, f"true_{len(extra)}", extra)
    net = NETS["dense"]()
    check_is_sum(partial(known.function), known, net, *batch(net, 5), noise.Streams(0))


@pytest.mark.parametrize(
    "extra",
    [
        f"[add_normal(p, 1.0, rng) for p in {ALL}]",
        f"[add_normal(p, 1.0, rng) for p in {ALL}]; dW[1] *= 2",
        f"[add_normal(p, 1.0, rng) for p in {ALL}]; add_normal(dW[1], 1.0, rng)",
        "add_normal(dW[1], 1.0, rng)",
        "eta = np.zeros_like(dW[1]); add_normal(eta, 1.0, rng); dW[1] = dW[1] + eta",
    ],
)
def test_what_a_rule_from_outside_does_with_its_noise_is_kept(extra, tmp_path, monkeypatch):
    known = from_outside(tmp_path, monkeypatch, f"noise_{len(extra)}", extra)
    net = NETS["dense"]()
    rule = partial(known.function, m=7, add_normal=noise.add_normal)
    close(InParts(rule, known, size=3)(net, *batch(net, 7), rng=rng(1)), rule(net, *batch(net, 7), rng=rng(1)))


@pytest.mark.parametrize("name", [name for name in SUMS if spec(name).noise_on_sum])
def test_which_rules_add_their_noise_last(name):
    """All rules add their noise last, except noise_feedback."""
    net = NETS["dense"]()
    rule, known = bound(name, net)
    given = {**rule.keywords, **state_of(known)}
    assert InParts(rule, known, size=3).adds_noise_last(net, given) == (name != "noise_feedback")


def test_a_normaliser_with_a_default_stays(tmp_path, monkeypatch):
    known = from_outside(tmp_path, monkeypatch, "with_default", "pass", m="float = 64.0")
    net = NETS["dense"]()
    x, y = batch(net, 7)
    close(InParts(partial(known.function), known, size=3)(net, x, y, rng=rng(1)), spec("bp").function(net, x, y, m=64))


def test_a_share_of_nothing_is_told(tmp_path, monkeypatch):
    """The share of an empty batch is reported as 0, not as the value of the previous step."""
    known = from_outside(
        tmp_path, monkeypatch, "share", "state['clipped'] = float((x[:, 0] > 9).sum() / max(1, len(x)))"
    )
    net = NETS["dense"]()
    state = {"clipped": 1.0}
    InParts(partial(known.function), known, size=3)(net, *batch(net, 7), rng=rng(1), state=state)
    assert state["clipped"] == 0.0


@pytest.mark.parametrize(
    "add_normal, dtype",
    [
        (philox.add_normal, np.float32),
        (philox.add_normal, np.float64),
        (partial(rounded.add_normal, unit=2.0**-20), np.float64),
    ],
    ids=["seeded", "seeded, float64", "secure"],
)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_noise_that_all_threads_share_at_the_end_is_that_of_a_call(add_normal, dtype, n, threads):
    """Noise that all threads add together at the end is bitwise identical to the noise of one call.

    This also holds if the list contains arrays with gaps in memory, and other arrays after them.
    """
    threads(n)
    arrays = [np.ones((400, 1001), dtype), np.ones(3, dtype), np.ones((0, 5), dtype), np.ones((40, 60), dtype)[:, ::2]]
    whole, found = [a.copy() for a in arrays], []
    draws, again = rng(3), rng(3)
    for a in whole:
        add_normal(a, 0.5, draws)
    cores.together(int, 4, found.append, lambda: [add_normal(a, 0.5, again) for a in arrays])
    assert all(np.array_equal(a, b) for a, b in zip(arrays, whole, strict=True))
    add_normal(arrays[1], 0.5, rng(4))  # returns at once, because no call is running
    assert not np.array_equal(arrays[1], whole[1])


# Threads


@pytest.fixture
def threads():
    yield cores.limit
    cores.limit()


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_answers_are_taken_in_order_and_few_wait(n, threads):
    """Results arrive in order, and few items wait, for any running time of an item.

    At most as many items wait or run as there are threads. After all items, the threads divide the last work among
    themselves.
    """
    threads(n)
    begun, most, taken, left = [], [], [], []

    def work(i):
        begun.append(i)
        most.append(len(begun) - len(taken))
        threading.Event().wait(0.002 * ((i * 7) % 5))
        return i

    def finish():
        assert taken == list(range(20))
        cores.share(lambda start, stop: left.extend(range(start, stop)), 7, 2, last=True)

    cores.together(work, 20, taken.append, finish)
    assert max(most) <= n + 1  # a result stops counting shortly after `take`
    assert sorted(left) == list(range(7))


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("where", ["work", "take", "finish", "piece"])
def test_what_fails_ends_it(where, n, threads):
    """If an item fails, the call raises its error, and the next call works."""
    threads(n)

    def fail():
        raise ValueError("no")

    def work(i):
        return fail() if where == "work" and i == 4 else i

    def take(i):
        return fail() if where == "take" and i == 4 else None

    def finish():
        if where == "finish":
            fail()
        cores.share(lambda start, stop: fail() if where == "piece" else None, 5, 1, last=True)

    with pytest.raises(ValueError, match="no"):
        cores.together(work, 10, take, finish)
    found = []
    cores.together(int, 10, found.append)
    assert found == list(range(10))


def library_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_a_part_has_one_thread_and_the_library_too_whatever_was_set_before(threads):
    """While a part runs, the linear algebra library uses one thread, for any limit that was set earlier.

    The test runs like a notebook that imports NumPy first and sets no limit. At the end, the library has its earlier
    limit again.
    """
    threads(2)
    with threadpool_limits(2):
        before = library_threads()
        seen = []
        cores.together(lambda i: (cores.count(), library_threads()), 6, seen.append)
        assert seen == [(1, {1})] * 6
        assert library_threads() == before == {2}
    assert cores.count() == 2


# Memory


@pytest.mark.parametrize("rule", ["bp", "dp_dfa", "dp_sgd"])
def test_the_memory_of_a_step_does_not_grow_with_the_batch(rule, tmp_path, threads):
    """The memory of a step does not grow with the batch: 4,096 examples need as much memory as 1,024, below 20 MB.

    The network is 784-512-512-10. We count the bytes of all arrays that exist at the same time, without the parameters.
    The oracle is Python's own count. The timing of two threads can change this count by one direction (2.7 MB) and by
    the other arrays of a part.
    """
    rng_, peaks = rng(0), []
    x, y = rng_.uniform(0, 1, (4096, 784)).astype(np.float32), np.arange(4096) % 10
    np.savez(tmp_path / "data.npz", x_train=x, y_train=y, x_test=x[:10], y_test=y[:10])
    own = {"dp_dfa": {"sigma": 0.1, "tau_h": 1.0}, "dp_sgd": {"sigma": 0.1, "C": 1.0}}.get(rule, {})
    threads(2)
    for m in (1024, 4096):
        settings = Settings(
            rule=rule, rule_settings=own, dataset=str(tmp_path / "data.npz"), architecture="784-512-512-10", batch=m
        )
        steps = prepare(settings).train()
        list(islice(steps, 2))
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        next(steps)
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
        tracemalloc.stop()
    assert peaks[1] <= peaks[0] + 4.1e6
    assert peaks[1] < 20e6
