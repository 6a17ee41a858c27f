"""Tests that you can add a sampler with a class in nfa/sampling.py, its theorem in nfa/privacy, and a test.

The tests write these files in a copy of the tree. Settings, helps, refusals, accountants and the other tests in the
copy include the sampler without further changes.
"""

import json
import math

import pytest

from tests.experiments.tiny_runs import write_data
from tests.project.copies import copy_of_tree, nfa_in, pytest_in, run_in

SAMPLER = '''\
class RandomBlocks(Sampler):
    """Scheme "random-blocks": the data are cut into blocks once, and every step draws one block uniformly.

    Parameters
    ----------
    x, y : arrays with n rows
    m : int, records in a block, 1 <= m <= n; the last block may have fewer
    streams : `nfa.noise.Streams`; step t draws from ``streams("batch", t)``
    """

    scheme = "random-blocks"
    batches = "random blocks"
    does = "every step draws one of the blocks into which the data were cut once, all with the same probability q"
    theorems = "random_blocks"

    def __init__(self, x: np.ndarray, y: np.ndarray, m: int, streams: StreamsLike) -> None:
        super().__init__(x, y)
        _check_batch_size(m, self.n)
        self.m, self.streams, self.rate = m, streams, self.rate_of(m, self.n)
        self.steps_per_epoch = self.steps_of_epoch(m, self.n)

    @classmethod
    def rate_of(cls, batch: int, n: int) -> float:
        """1 / the number of blocks."""
        return 1 / -(-n // batch)

    @classmethod
    def steps_of_epoch(cls, batch: int, n: int, **options: Any) -> int:
        """The number of blocks."""
        return -(-n // batch)

    def indices(self, t: int) -> np.ndarray:
        """The records of one block."""
        first = self.m * int(self.streams("batch", t).integers(self.steps_per_epoch))
        return np.arange(first, min(first + self.m, self.n))


'''
THEOREM = '''\
"""Random blocks: what a step costs if a record is in one block, and each step draws one block in secret.

The theorem is berthier2019:lem3.1.
"""

import numpy as np

from nfa.mechanism import Release
from nfa.privacy.coverage import Bound, Coverage, unsampled_curve
from nfa.sampling import RandomBlocks


def random_blocks(release: Release, orders: np.ndarray) -> np.ndarray:
    r"""The Renyi curve of a step, from that of a release on all records.

    .. math:: \\epsilon\'(\\alpha) = \\frac{\\log(1 + q (e^{(\\alpha - 1) \\epsilon(\\alpha)} - 1))}{\\alpha - 1}

    The law of a step is a mixture over the blocks. On neighbours it differs in one block, of probability q, and
    e^{(alpha - 1) D_alpha} is jointly convex.
    """
    with np.errstate(over="ignore"):
        grown = np.expm1((orders - 1) * unsampled_curve(release, orders))
    return np.log1p(release.sampling_rate * grown) / (orders - 1)


COVERAGE = (
    Coverage(
        sampling=RandomBlocks.scheme,
        in_full=("replace-one", "zero-out", "replace-label"),
        bounds=(
            Bound(
                id="berthier2019:lem3.1",
                samplings=(RandomBlocks.scheme,),
                adjacencies=("replace-one", "zero-out", "replace-label"),
                integers=False,
                says="random blocks, the mixture of a step that has the record and steps that have not",
                curve=random_blocks,
                formula=("ε'(α) = log(1 + q (e^((α-1) ε(α)) - 1)) / (α - 1)", "with ε(α), the curve without sampling"),
            ),
        ),
        refused={
            "add-remove": (
                "berthier2019:lem3.1",
                "one record more moves others into another block; count replace-one, with the sensitivity to a "
                "replaced record",
            )
        },
    ),
)
'''
TEST = '''\
"""Random blocks: how often a record is drawn, and the bound beside the divergence of the two mixtures."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from nfa.mechanism import Mechanism
from nfa.noise import Streams
from nfa.privacy.theorems import choose, one_step
from nfa.sampling import RandomBlocks
from tests.oracles.chance import fits


def test_blocks_are_drawn_equally_often():
    x = np.zeros((10, 1))
    sampler = RandomBlocks(x, x, 4, Streams(0))
    assert (sampler.steps_per_epoch, sampler.rate) == (3, 1 / 3)
    drawn = [tuple(sampler.indices(t)) for t in range(1, 10_001)]
    assert set(drawn) == {(0, 1, 2, 3), (4, 5, 6, 7), (8, 9)}
    fits([drawn.count(block) for block in sorted(set(drawn))], sees=0.2)


@pytest.mark.verifies("berthier2019:lem3.1")
@pytest.mark.parametrize("other", [-30.0, -1.0, 0.0, 0.5, 30.0])
def test_no_divergence_of_mixtures_exceeds_the_bound(other):
    """The block with the record releases N(0, 1) or N(1 / z, 1), another block, as likely, N(other, 1)."""
    z, alpha, q = 1.5, 3.0, 0.5
    step = {"law": "gaussian", "sensitivity": 1.0, "adjacency": "replace-one", "noise_std": z}
    release = Mechanism(**step, sampling="random-blocks", sampling_rate=q)
    bound = choose(release)
    found = one_step(release, np.array([alpha]), bound)[0]

    def ratio(u):
        both = (1 - q) * stats.norm.pdf(u, other)
        p, r = both + q * stats.norm.pdf(u, 1 / z), both + q * stats.norm.pdf(u)
        return p * math.exp((alpha - 1) * math.log(p / r)) if r > 0 else 0.0

    moment, _ = integrate.quad(ratio, -36, 36, points=(0, 1, other), limit=400)
    assert math.log(moment) / (alpha - 1) <= found * (1 + 1e-6)
    assert (bound.id, found < alpha / (2 * z * z)) == ("berthier2019:lem3.1", True)
    if abs(other) == 30:  # the release tells which block was drawn: equality
        assert math.log(moment) / (alpha - 1) == pytest.approx(found, rel=1e-6)
'''
NEW = "tests/privacy/test_random_blocks.py"
# These tests fail if a list, a help, an error or a theorem leaves out the sampler.
TESTS = """tests/test_sampling.py tests/test_mechanism.py tests/privacy/test_accountant.py tests/cli/test_cli_epsilon.py
    tests/cli/test_cli_secure.py tests/experiments/test_steps_spent.py tests/experiments/test_runs_refused.py
    tests/experiments/test_privacy_statement.py tests/project/test_imports.py tests/project/test_wall.py
    tests/project/test_names.py tests/project/test_commands_unchanged.py""".split()
MULTIPLIER, STEPS, DELTA = "2", "100", "1e-5"
COUNTED = ("--adjacency", "replace-one", "--noise-multiplier", MULTIPLIER, "--steps", STEPS, "--delta", DELTA)


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A copy of the tree with the three files, and a small data set next to it."""
    folder = tmp_path_factory.mktemp("added")
    copy = copy_of_tree(folder)
    sampling = copy / "nfa" / "sampling.py"
    before, mark, after = sampling.read_text(encoding="utf-8").partition("SAMPLERS: dict")
    sampling.write_text(before + SAMPLER + mark + after, encoding="utf-8")
    (copy / "nfa" / "privacy" / "random_blocks.py").write_text(THEOREM, encoding="utf-8")
    (copy / NEW).write_text(TEST, encoding="utf-8")
    return copy, str(write_data(folder / "tiny.npz"))


@pytest.mark.slow
def test_the_sampler_is_counted_by_its_theorem(added):
    copy, _ = added
    answer = json.loads(nfa_in(copy, "epsilon", "--sampling", "random-blocks", "--q", "0.01", *COUNTED, "--json"))
    assert (answer["sampling"], answer["bound"]) == ("random-blocks", "berthier2019:lem3.1")
    alpha = answer["order"]
    step = math.log1p(0.01 * math.expm1((alpha - 1) * alpha / 8)) / (alpha - 1)
    converted = 100 * step + math.log((alpha - 1) / alpha) - (math.log(1e-5) + math.log(alpha)) / (alpha - 1)
    assert answer["epsilon"] == pytest.approx(converted, rel=1e-9)
    shown = nfa_in(copy, "epsilon", "--sampling", "random-blocks", "--n", "100", "--batch", "30", *COUNTED, "--explain")
    for words in (
        "q = 0.25",
        "the mixture of a step",
        "ε'(α) = log(1 + q (e^((α-1) ε(α)) - 1)) / (α - 1)",
        "> random-blocks",
    ):
        assert words in " ".join(shown.split()), shown
    refused = run_in(
        copy, "-m", "nfa", "epsilon", "--sampling", "random-blocks", "--q", "0.1", *COUNTED, "--adjacency", "add-remove"
    )
    assert refused.returncode == 2
    assert "one record more moves others into another block" in refused.stderr
    assert refused.stderr.rstrip().endswith("[berthier2019:lem3.1]")


@pytest.mark.slow
def test_the_sampler_is_in_helps_and_errors_and_is_trained_with(added):
    copy, data = added
    listed = "epoch-partition, without-replacement, poisson, poisson-rejection, partial-passes or random-blocks."
    assert listed.replace(" ", "") in "".join(nfa_in(copy, "train", "--help").split())
    assert "poissonorrandom-blocks." in "".join(nfa_in(copy, "epsilon", "--help").split())
    wrong = run_in(copy, "-m", "nfa", "train", "--sampling", "blocks")
    assert wrong.returncode == 2
    assert "partial-passes, random-blocks, got 'blocks'" in wrong.stderr
    typed = [
        "train",
        "--dataset",
        data,
        "--classes",
        "3",
        "--net",
        "6-5-3",
        "--rule",
        "dp_sgd",
        "--set",
        "C=1",
        "--pixels",
        "as-is",
    ]
    typed += ["--sampling", "random-blocks", "--batch", "7", "--epochs", "2", "--noise-multiplier", "1", "--json"]
    typed += ["--adjacency", "replace-one", "--delta", DELTA, "--out", str(copy.parent / "run")]
    record = json.loads(nfa_in(copy, *typed))
    n = record["data"]["train"]
    assert record["steps"] == 2 * math.ceil(n / 7)
    assert record["privacy"]["mechanism"]["sampling_rate"] == 1 / math.ceil(n / 7)
    assert record["privacy"]["guarantee"]["bound"] == "berthier2019:lem3.1"


@pytest.mark.nightly
def test_the_tests_take_the_sampler_in(added):
    copy, _ = added
    pytest_in(copy, NEW)
    pytest_in(copy, "-m", "not slow and not nightly", *TESTS)
