"""Tests of rules from outside nfa, and of the privacy statements in the records of their runs.

A record has `private: true` only if the rule is part of nfa and was not changed after import. These tests try to get
`private: true` for other rules.
"""

import functools
import importlib
import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from nfa import noise, ops
from nfa.cli import main
from nfa.experiments import records
from nfa.experiments.prepare import prepare
from nfa.experiments.rule_claim import claim_of
from nfa.experiments.run import run
from nfa.network import ARCHITECTURES, Net
from nfa.network.dense import Dense
from nfa.network.ops import Activation
from nfa.rules import dp_dfa as dp_dfa_file
from nfa.rules import dp_sgd as dp_sgd_file
from nfa.rules.spec import GIVEN as GIVEN_BY_A_RUN
from nfa.rules.spec import names, spec
from tests.experiments.tiny_runs import tiny_settings, write_data

HEADER = """\
import functools
import numpy as np
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import forward
from nfa.rules.dp_sgd import dp_sgd
"""
WRAPS = """
@functools.wraps(dp_sgd)
def rule(net, x, y, **settings):
    return dp_sgd(net, x, y, **{**settings, "sigma": 0})
"""
QUIET = """
def rule(net, x, y, *, C, m, sigma, add_normal=None, rng):
    return dp_sgd(net, x, y, C=C, m=m, sigma=0, rng=rng)
"""
POSES = (
    QUIET
    + """
rule.__module__, rule.__name__, rule.__qualname__, rule.__doc__ = "nfa.rules.dp_sgd", "dp_sgd", "dp_sgd", dp_sgd.__doc__
"""
)
EACH = """
from nfa.noise import add_normal, add_normal_each

SUM_OVER_EXAMPLES = True
DRAWN = []

def rule(net, x, y, *, C, m, sigma, add_normal=add_normal, add_normal_each=add_normal_each, rng):
    add_normal_each(np.zeros_like(x), 1.0, rng)
    DRAWN.append((add_normal_each, type(rng.bit_generator)))
    return dp_sgd(net, x, y, C=C, m=m, sigma=sigma, add_normal=add_normal, rng=rng)
"""
BORROWS = "\nfrom nfa.rules.dp_sgd import mechanism\n"
GIVEN = {"rule_settings": {"C": 1.0, "sigma": 3.0}, "adjacency": "replace-one", "delta": 1e-3, "pixels": "as-is"}


@pytest.fixture
def settings(tmp_path):
    return tiny_settings(write_data(tmp_path / "some.npz"), rule="dp_sgd", **GIVEN)


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Write a module into the current folder, and return the name of its rule."""
    monkeypatch.chdir(tmp_path)

    def write(body, function="rule"):
        name = f"outside_{abs(hash(body))}"
        (tmp_path / f"{name}.py").write_text(HEADER + body)
        importlib.invalidate_caches()
        monkeypatch.setitem(sys.modules, name, None)
        del sys.modules[name]
        return f"{name}:{function}"

    return write


# --- the content of a record


@pytest.mark.parametrize(
    "body, function",
    [(QUIET + BORROWS, "rule"), (POSES + BORROWS, "rule"), (BORROWS, "dp_sgd")],
    ids=["a rule without noise", "one that says it is dp_sgd", "dp_sgd under another name"],
)
def test_a_record_repeats_what_the_module_states_and_warrants_nothing(settings, tmp_path, outside, body, function):
    name = outside(body, function)
    record = run(replace(settings, rule=name, secure=True), tmp_path / "out")
    assert record["private"] is False
    privacy = record["privacy"]
    assert "guarantee" not in privacy
    assert "mechanism" not in privacy
    assert privacy["statement"].startswith(
        f"none that nfa has checked. If the mechanism that {name} states is correct, the"
    )
    theirs = privacy["unchecked"]
    assert theirs["stated_by"] == name
    assert theirs["mechanism"]["noise_std"] == 3.0
    ours = run(replace(settings, secure=True), tmp_path / "ours")
    # For a rule from outside, epsilon includes only the grid of the noise. For a rule of nfa, epsilon also includes
    # rounding.
    epsilons = [said["guarantee"]["epsilon"] for said in (theirs, ours["privacy"])]
    assert 1 < epsilons[1] / epsilons[0] < 1 + 1e-4
    assert ours["private"] is True
    with pytest.raises(ValueError, match="nfa never records a run of a user's own rule as private, but"):
        records.validate(ours | {"settings": ours["settings"] | {"rule": name}})


def test_a_seeded_record_says_who_states_it(settings, tmp_path, outside):
    name = outside(QUIET + BORROWS)
    privacy = run(replace(settings, rule=name), tmp_path / "out")["privacy"]
    premise = f"the mechanism that {name} states is correct"
    words = f"this seeded run is not private. If {premise}, a run with --secure would be ("
    assert privacy["statement"].startswith(f"none that nfa has checked; {words}")
    assert set(privacy) == {"statement", "unchecked"}
    without = run(replace(settings, rule=name, delta=None), tmp_path / "other")["privacy"]
    assert f"the mechanism that {name} states is unchecked" in without["statement"]
    assert "guarantee" not in without["unchecked"]


def test_the_mechanism_is_that_of_the_module_named(settings, outside):
    """The mechanism is that of the module that the settings name, even if the function names another module."""
    prepared = prepare(replace(settings, rule=outside(POSES)))
    assert prepared.privacy.known["statement"].endswith("states no mechanism")
    assert prepared.mechanism is None


def test_a_secure_rule_keeps_its_own_noise_of_examples_and_draws_it_from_the_cipher(settings, outside):
    """In a secure run, a rule draws its noise for single examples from the cipher, without a kernel.

    The kernel for this noise is only for seeded runs. Secure and seeded runs use a kernel for the noise on the sum.
    """
    kernels = pytest.importorskip("nfa.kernels.philox", reason="numba is not installed: pip install numba")
    from randomgen import ChaCha

    name = outside(EACH + BORROWS)
    for secure, add_normal_each, generator in (
        (None, kernels.add_normal_each, np.random.PCG64),
        (True, noise.add_normal_each, ChaCha),
    ):
        parts = prepare(replace(settings, rule=name, secure=secure))
        parts.rule(parts.net, *parts.batches.at(1), rng=parts.streams("noise", 1))
        assert sys.modules[name.partition(":")[0]].DRAWN[-1] == (add_normal_each, generator)
        assert f"nfa.kernels.{'rounded' if secure else 'philox'}.add_normal" in parts.kernels
        assert ("nfa.kernels.philox.add_normal_each" in parts.kernels) == (not secure)


# --- refusals


def test_a_wrapped_function_is_refused(settings, tmp_path, outside, capsys):
    name = outside(WRAPS + BORROWS)
    for call in (lambda: spec(name), lambda: prepare(replace(settings, rule=name, secure=None))):
        with pytest.raises(
            ValueError, match=r"wraps another function \(functools.wraps\), so the guarantee could belong"
        ):
            call()
    command = ["train", "--rule", name, "--set", "C=1", "--set", "sigma=1", "--dataset", settings.dataset]
    assert main.main([*command, "--net", "6-5-4-3", "--out", str(tmp_path / "out")]) == 2
    assert main.main(["audit", "--rule", name, "--set", "C=1", "--set", "sigma=1", "--adjacency", "replace-one"]) == 2
    told = capsys.readouterr()
    assert told.err.count("wraps another function") == 2
    assert "Traceback" not in told.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "mechanism, told",
    [
        ("mechanism = 3", "the mechanism of rule .* must be a function, got int"),
        ("def mechanism(): return None", "the mechanism of rule .* must return a Mechanism, got NoneType"),
        ("def mechanism(): return 1 / 0", "the mechanism of rule .* failed: ZeroDivisionError"),
        (
            "class Less(Mechanism):\n    noise_multiplier = 1e9\n"
            "def mechanism(**of): return Less(law='gaussian', sensitivity=1.0, adjacency='replace-one', noise_std=1.0,"
            " sampling='epoch-partition', sampling_rate=0.25)",
            "must return a Mechanism, got Less",
        ),
        (
            "from nfa.mechanism import Classic\n"
            "def mechanism(**of): return Classic(id='ours:softmax-objective', curve=lambda orders: 0 * orders,"
            " adjacency='replace-one', sampling='epoch-partition', sampling_rate=0.25)",
            "must return a Mechanism, got Classic",
        ),
    ],
)
def test_a_mechanism_that_is_none_gets_a_sentence(settings, outside, mechanism, told):
    with pytest.raises(ValueError, match=told):
        prepare(replace(settings, rule=outside(f"{QUIET}\n{mechanism}\n")))


def test_no_function_reaches_a_rule_as_a_setting(settings, outside):
    """A user cannot pass a function to a rule as a setting, because only the run chooses kernels.

    A setting can set an argument of a rule only to a JSON value.
    """
    for name in names():
        callables = {
            p.name for p in inspect.signature(spec(name).function).parameters.values() if p.annotation is Callable
        }
        assert callables <= set(GIVEN_BY_A_RUN), name
    for rule in ("dp_sgd", outside(BORROWS, "dp_sgd")):
        for value in (lambda out, std, rng: None, "nothing"):
            told = replace(settings, rule=rule, rule_settings=GIVEN["rule_settings"] | {"add_normal": value})
            with pytest.raises(ValueError, match=r"must contain only JSON values|has no setting 'add_normal'"):
                prepare(told)


def test_rule_and_mechanism_are_given_one_plain_number(settings):
    """The rule and its mechanism get the same plain number for a setting.

    A setting can be an object whose value changes at every use. nfa reads such an object only once.
    """

    class Turning(float):
        def __mul__(self, other):
            return 0.0 * other

        __rmul__ = __mul__

    prepared = prepare(replace(settings, rule_settings={"C": 1.0, "sigma": Turning(3.0)}))
    assert type(prepared.rule.keywords["sigma"]) is float
    assert prepared.mechanism.noise_std == 3.0


# --- a rule of nfa that was changed after import


def evil(*args, **kwargs):
    """A function that replaces another function."""


def poses(module):
    """A replacement for a function, with attributes that name the original module."""

    def other(*args, **kwargs):
        return None

    other.__module__, other.__name__ = module, "dp_sgd"
    return other


CHANGES = [
    ("dp_sgd", evil),
    ("dp_sgd", poses("nfa.rules.dp_sgd")),
    ("dp_sgd", functools.partial(dp_sgd_file.dp_sgd, sigma=0)),
    ("dp_sgd", functools.wraps(dp_sgd_file.dp_sgd)(lambda *args, **kwargs: None)),
    ("mechanism", evil),
    ("mechanism", dp_dfa_file.mechanism),
]


@pytest.mark.parametrize("name, other", CHANGES)
def test_a_rule_of_nfa_that_was_replaced_states_nothing(settings, monkeypatch, name, other):
    spec("dp_sgd")
    monkeypatch.setattr(dp_sgd_file, name, other)
    for call in (prepare, claim_of):
        with pytest.raises(ValueError, match=r"nfa\.rules\.dp_sgd was changed in this process"):
            call(settings)


# --- a network that is not part of nfa


class Short(Dense):
    """A layer that understates the norms of its terms."""

    def norms2(self, dz, h):
        return tuple(1e-12 * n for n in super().norms2(dz, h))


FLAT = Activation("flat", np.tanh, lambda z: 100 * np.ones_like(z), 0.0, 0.01)


@pytest.mark.parametrize("part, told", [("layer", "a layer Short"), ("phi", "an activation 'flat'")])
def test_a_network_from_outside_has_no_guarantee_of_nfa(settings, monkeypatch, part, told):
    """nfa gives no guarantee for a network from outside, because nfa has not checked the network's bounds.

    These are bounds on derivatives and norms.
    """

    def build(**given):
        if part == "layer":
            return Net((6,), [(Short(4), ops.tanh), (Dense(3),)], **given)
        return Net((6,), [(Dense(4), FLAT), (Dense(3),)], **given)

    monkeypatch.setitem(ARCHITECTURES, "mine", build)
    prepared = prepare(replace(settings, architecture="mine"))
    assert prepared.mechanism is None
    assert prepared.privacy.known == {
        "statement": f"none: the network has {told}, which is not part of nfa, so nfa has not checked it"
    }


# --- the audit of a rule from outside


@pytest.mark.slow
def test_an_audit_says_that_the_claim_is_the_rules_own(outside, capsys):
    name = outside(QUIET.replace("sigma=0", "sigma=sigma") + BORROWS)
    command = ["audit", "--rule", name, "--set", "C=0.3", "--set", "sigma=0.3", "--net", "3-2", "--batch", "2"]
    command += ["--adjacency", "replace-one", "--trials", "20"]
    assert main.main(command) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"The claim follows from the mechanism that {name} states. nfa has not proved this claim." in told
    assert main.main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stated_by"] == name
