"""Tests that you can add a private rule in three files: the rule, its statement and its test.

The tests add these files to a copy of the tree, as CONTRIBUTING describes. Lists, commands, audits, searches and the
tests over all rules in the copy include the new rule without further changes.
"""

import json

import pytest

from tests.project.copies import copy_of_tree, nfa_in, pytest_in, run_in

# the id is joined, because this file must not contain an id that is not in the ledger
NAME, ID = "dp_fa", ":".join(["ours", "dp-fa"])
RULE = '''"""DP feedback alignment: fixed matrices, every example's direction clipped, and noise on the average."""

from collections.abc import Callable

import numpy as np

from nfa import require
from nfa.clip import clip_factor_of_squares
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net, forward
from nfa.noise import add_normal as numpy_normal
from nfa.sensitivity.__init__ import clipped_sensitivity

NOISE = "rho"
SUM_OVER_EXAMPLES = True


def dp_fa(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    V: list,
    reach: float,
    m: int,
    rho: float,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The direction for every layer; the loop subtracts ``eta`` times it.

    .. math:: (dW, db) = N(0, \\rho^2 I) + \\frac1m \\sum_i u_i \\min(1, \\mathrm{reach} / \\|u_i\\|_2)

    Source: [THE-ID]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0 (then the answer is noise alone)
    y : (k, n_L) array of targets
    V : list, V[l] of the shape of W[l], l = 2..L
    reach : float > 0, l2 bound on each example's direction by all weights and biases together
    m : float > 0, the public normaliser
    rho : float >= 0, standard deviation of the noise on every coordinate of the average
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; layers draw from the top down, W before b
    state : dict that the rule writes: "clipped" is the share of examples that the clip scales down

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if m or reach is not positive, or rho is negative
    """
    require.normaliser(m, rule="dp_fa")
    require.positive_or_infinite(**{"the clipping bound reach": reach})
    L = net.L
    z, h = forward(net, x)
    own: list = [None] * (L + 1)
    v: list = [0.0] * (L + 1)  # v[l]: what comes back to h[l]
    for l in range(L, 0, -1):
        dz = net.loss.error(z[L], y) if l == L else net.pull(l, z, v[l])  # (k, n_l)
        if l > 1:
            back = net.map[l].transpose(V[l], dz)  # (k, n_{l-1})
            for j in net.reads(l):
                v[j] = v[j] + back
        own[l] = net.map[l].terms(dz, net.input(l, h))
    norm2 = sum([sum(one.norms2()) for one in own[1:]])  # ||u_i||^2   (k,)
    shares: list = []
    factor = clip_factor_of_squares(norm2, reach, shares)  # min(1, reach / ||u_i||)   (k,)
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        dW[l], db[l] = own[l].outer(factor / float(m))  # (n_l, n_{l-1}), (n_l,)
        add_normal(dW[l], rho, rng)
        add_normal(db[l], rho, rng)
    if state is not None:
        state["clipped"] = shares
    return dW, db


def mechanism(*, reach: float, m: int, rho: float, adjacency: str, sampling: str, sampling_rate: float) -> Mechanism:
    """What one step of `dp_fa` releases: a Gaussian mechanism of sensitivity reach / m, twice if replaced.

    Source: [THE-ID]

    Raises NoGuarantee without noise, ValueError if a number or a name is out of range.
    """
    if rho == 0:
        raise NoGuarantee("lee2020:lem1", "without noise, rho = 0, a release protects nothing")
    return Mechanism(
        law="gaussian",
        sensitivity=clipped_sensitivity(C=reach, m=m, adjacency=adjacency),
        adjacency=adjacency,
        noise_std=rho,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )
'''
STATEMENT = """
[[item]]
id = "THE-ID"
kind = "lemma"
where = "proved as ours:joint-clip is: the clip alone bounds what one record moves"
claims = '''
With every example's direction clipped to norm C, one step is a Gaussian mechanism of sensitivity C/m for a record added
or removed.'''
verdict = "ours"
reviewed = false
number = '''
One record, m = 1 and C = 0.1: the direction has norm 0.1.'''
check = "pytest --eq THE-ID"
code = ["nfa.rules.dp_fa:dp_fa", "nfa.rules.dp_fa:mechanism"]
tutorial = "tutorials/05_sensitivity.py"
"""
TEST = '''"""DP feedback alignment: one record has the norm of its bound."""

import numpy as np
import pytest

from nfa import feedback, ops
from nfa.network import mlp
from nfa.rules.dp_fa import dp_fa
from tests.oracles.core import batch
from tests.oracles.private_rules import entries


@pytest.mark.verifies("THE-ID")
def test_one_record_has_the_norm_of_the_bound():
    net = mlp((3, 4, 2), ops.tanh, rng=np.random.default_rng(0))
    x, y = batch(net, 1)
    V = feedback.draw_layerwise(net, law="normal", scale=0.7, rng=np.random.default_rng(2))
    got = dp_fa(net, x, y, V=V, reach=0.1, m=1, rho=0.0, rng=np.random.default_rng(1))
    assert np.linalg.norm(entries(got)) == pytest.approx(0.1, rel=1e-12)
'''
# Files of tests of the tree and of lists; all their tests run.
WHOLE = (
    *("tests/ledger", "tests/cli/test_cli_rules.py", "tests/experiments/test_rules_from_outside.py"),
    *("tests/project/test_names.py", "tests/project/test_wall.py", "tests/project/test_imports.py"),
)
# Files of tests over all rules; only the new rule's tests run.
OF_THE_RULE = ("tests/rules", "tests/trust", "tests/experiments/test_noise_asked_of_runs.py")
GIVEN = ("--set", "reach=1", "--set", "rho=0.1")


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A copy of the tree with the three files."""
    copy = copy_of_tree(tmp_path_factory.mktemp("added"))
    (copy / "nfa" / "rules" / f"{NAME}.py").write_text(RULE.replace("THE-ID", ID), encoding="utf-8")
    (copy / "tests" / "rules" / f"test_{NAME}.py").write_text(TEST.replace("THE-ID", ID), encoding="utf-8")
    statements = copy / "nfa" / "papers" / "ours" / "statements.toml"
    statements.write_text(statements.read_text(encoding="utf-8") + STATEMENT.replace("THE-ID", ID), encoding="utf-8")
    return copy


@pytest.mark.slow
def test_commands_list_train_count_and_audit_the_rule(added):
    rows = {row["name"]: row for row in json.loads(nfa_in(added, "rules", "--json"))}
    assert rows[NAME]["stated"]
    one = json.loads(nfa_in(added, "rules", NAME, "--json"))
    assert [setting["name"] for setting in one["settings"]] == ["reach", "m", "rho"]
    assert (one["noise"], one["ids"], one["sum_over_examples"]) == ("rho", [ID], True)
    assert json.loads(nfa_in(added, "eq", ID, "--json"))[0]["tests"] == [
        f"tests/rules/test_{NAME}.py::test_one_record_has_the_norm_of_the_bound"
    ]
    words = ["train", "--rule", NAME, "--set", "reach=1", "--train-examples", "100", "--batch", "20", "--epochs", "1"]
    words += ["--pixels", "unit", "--adjacency", "add-remove", "--sampling", "poisson", "--delta", "1e-3"]
    record = json.loads(nfa_in(added, *words, "--target-epsilon", "3", "--json", "--out", str(added.parent / "run")))
    assert 2.9 < record["privacy"]["guarantee"]["epsilon"] <= 3
    words = ["audit", "--rule", NAME, *GIVEN, "--net", "3-2", "--adjacency", "add-remove", "--trials", "20", "--json"]
    assert json.loads(nfa_in(added, *words))["target"] == NAME
    refused = run_in(added, "-m", "nfa", "train", "--rule", NAME, "--set", "rho=0.1")
    assert refused.returncode == 2
    assert "needs a value for the setting 'reach'" in " ".join(refused.stderr.split())


@pytest.mark.nightly
def test_the_tests_that_go_through_the_rules_take_it_in(added):
    pytest_in(added, *WHOLE, "-m", "not slow and not nightly")
    found = pytest_in(added, *OF_THE_RULE, "-m", "not nightly", "-k", f"{NAME} or every_rule_that or recorded", "-vv")
    for test in (
        *("test_an_empty_batch_gives_noise_alone", "test_a_short_search_finds_nothing_above"),
        *("test_a_batch_is_the_sum_of_its_records_and_none_moves_it_further_than_stated",),
        *("test_every_rule_trains_what_the_command_line_can_name", "test_every_rule_has_a_multiplier_or_says"),
    ):
        assert test in found
