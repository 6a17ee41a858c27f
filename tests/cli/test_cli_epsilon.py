"""Tests of `nfa epsilon` as a user sees it: values, refusals, wrong input, and the output of --explain."""

import json
import math
import os
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from nfa.cli import main
from nfa.cli.epsilon import parse_orders
from nfa.mechanism import ADJACENCIES, Mechanism
from nfa.noise import Streams
from nfa.privacy import rdp, theorems
from nfa.privacy.accountant import epsilon as account
from nfa.privacy.gaussians import epsilon_gaussian
from nfa.privacy.pure import FORMULAS, ROUTES
from nfa.privacy.rounding import down, up
from nfa.privacy.theorems import BOUNDS
from nfa.sampling import SAMPLERS, SCHEMES, WithoutReplacement
from tests.project.tree import ROOT

Z = 0.01 / (3 / 512)  # the first caption of lee2020's Figure 2: sigma 0.01, sensitivity 3 / 512
BATCHES = ("--n", "60000", "--batch", "512")
PAPERS = ("--conversion", "mironov2017")  # a second --conversion replaces this one
CAPTION = ("--sampling", "without-replacement", "--adjacency", "replace-one", *BATCHES, "--steps", "5850", *PAPERS)
LEAST = ("--sampling", "poisson", "--adjacency", "add-remove", *BATCHES, "--steps", "5850")
POISSON = (*LEAST, *PAPERS)
KEYS = ["epsilon", "delta", "order", "adjacency", "sampling", "steps", "bound", "conversion", "noise_multiplier"]


@pytest.fixture
def run(monkeypatch, capsys):
    """Call `nfa epsilon` in this process: run(*arguments) -> (exit code, standard output, standard error)."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NFA_DEBUG", raising=False)

    def call(*arguments):
        code = main.main(["epsilon", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def ask(run):
    """The JSON document of a successful call with delta 1e-5, which writes nothing to standard error."""

    def call(*arguments):
        code, out, err = run(*arguments, "--delta", "1e-5", "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


def given(sampling, adjacency, *more, rate=("--q", "0.01"), z="2"):
    """The arguments of a complete call: 100 steps at delta 1e-5."""
    rate = () if sampling == "none" else rate
    typed = ("--sampling", sampling, "--adjacency", adjacency, *rate, "--steps", "100", "--delta", "1e-5")
    return (*typed, *(() if "--target-epsilon" in more else ("--noise-multiplier", z)), *more)


def told(err):
    """The message on standard error, which must be one line."""
    assert re.fullmatch(r"nfa: [^\n]+\n", err), err
    return err.removeprefix("nfa: ").rstrip()


def flat(text):
    return " ".join(text.split())


# ---------------------------------------------------------------- the epsilon


@pytest.mark.parametrize(
    ("typed", "value", "order", "bound"),
    [  # test_accountant.py and test_subsampling.py compute these epsilons with 60 digits and with dp-accounting
        (CAPTION, 4.43868243865, 7, "wbk2019:thm27"),
        ((*CAPTION, "--bound", "wbk2019:thm27"), 4.43868243865, 7, "wbk2019:thm27"),
        ((*CAPTION, "--bound", "lee2020:lem3"), 4.47741380276, None, "lee2020:lem3"),
        ((*CAPTION, "--conversion", "canonne2020"), 3.90858883869, 6, "wbk2019:thm27"),
        (POISSON, 2.13718981104, 12, "lee2020:fn1"),
        ((*POISSON, "--bound", "mironov2019:sec3.3", "--orders", "2-256"), 2.13718981104, 12, "mironov2019:sec3.3"),
        ((*POISSON, "--conversion", "canonne2020"), 1.81164586551, 11, "lee2020:fn1"),
    ],
)
def test_the_captions_of_lee2020(ask, typed, value, order, bound):
    answer = ask(*typed, "--noise-multiplier", Z)
    assert list(answer) == KEYS
    assert answer["epsilon"] == pytest.approx(value, rel=1e-11)
    assert order in (None, answer["order"])
    assert (answer["bound"], answer["steps"], answer["delta"], answer["noise_multiplier"]) == (bound, 5850, 1e-5, Z)
    assert answer["sampling"] == typed[1]
    assert answer["adjacency"] == typed[3]


def test_rates_and_epochs_are_the_same_settings(ask):
    one = ask(*CAPTION, "--noise-multiplier", Z)
    rest = ("--sampling", "without-replacement", "--adjacency", "replace-one", "--noise-multiplier", Z, *PAPERS)
    assert ask(*rest, "--q", 512 / 60000, "--steps", 5850) == one
    assert ask(*rest, *BATCHES, "--epochs", 50) == one  # floor(60000 / 512) = 117 steps


@pytest.mark.parametrize("scheme", SCHEMES)
def test_epochs_are_as_many_steps_as_nfa_train_takes(ask, scheme):
    """`nfa epsilon` takes as many steps in an epoch as `nfa train`, for random records, batch sizes and epochs.

    For some of these sizes, the last batch of an epoch is smaller.
    """
    rng = np.random.default_rng(8)
    sizes = [(1000, 600, 10), (100, 60, 1), (7, 5, 3), (5, 5, 2)]
    for _ in range(20):
        n = int(rng.integers(2, 400))
        sizes.append((n, int(rng.integers(1, n + 1)), int(rng.integers(1, 20))))
    sampler = SAMPLERS[scheme]
    adjacency = next(name for name in ADJACENCIES if name not in theorems.COVERAGE[scheme].refused)
    rest = ("--sampling", scheme, "--adjacency", adjacency, "--noise-multiplier", "8", "--accountant", "rdp")
    for n, batch, epochs in sizes:
        x = np.zeros((n, 1))
        of_run = sampler.of_run(x, x, Streams(0), batch=batch, epochs=epochs)
        steps = epochs * of_run.steps_per_epoch
        assert sampler.steps_of_epoch(batch, n) == of_run.steps_per_epoch
        found = ask(*rest, "--n", n, "--batch", n if sampler.all_records else batch, "--epochs", epochs)
        release = Mechanism(
            law="gaussian",
            sensitivity=1.0,
            adjacency=adjacency,
            noise_std=8.0,
            sampling=scheme,
            sampling_rate=of_run.rate,
        )
        counted = account([(release, steps)], delta=1e-5, accountant="rdp", steps_per_epoch=of_run.steps_per_epoch)
        assert found["steps"] == steps, (n, batch, epochs)
        assert found["epsilon"] == counted.epsilon, (n, batch, epochs)


def test_the_steps_of_an_epoch_of_every_sampler():
    """For every sampling scheme, the scheme's class and the run's sampler have the same number of steps per epoch."""
    x = np.zeros((23, 1))
    for scheme, sampler in SAMPLERS.items():
        options = {name: {"N_B": 3, "tau": 10 / 23}[name] for name in sampler.options}
        batch = 1 if "tau" in options else 7
        of_run = sampler.of_run(x, x, Streams(0), batch=batch, epochs=10, **options)
        assert sampler.steps_of_epoch(batch, 23, **options) == of_run.steps_per_epoch, scheme


def test_an_epoch_costs_one_release(ask):
    """An epoch of shuffled batches counts as one release, even if its last batch is smaller.

    15 epochs with batches of 256 of 60,000 records have 15 x 235 steps. If the user gives these steps, they count as 16
    epochs. If the user gives the epochs, they count as 15 epochs.
    """
    whole = ask(*given("none", "replace-one"), "--orders", "1.5,2-64")  # each record is used 100 times
    rate = ("--n", "60000", "--batch", "256")
    rest = ("--sampling", "epoch-partition", "--adjacency", "replace-one", *rate, "--noise-multiplier", "2")
    epochs = ask(*rest, "--epochs", "100", "--orders", "1.5,2-64")
    assert (epochs["epsilon"], epochs["steps"]) == (whole["epsilon"], 100 * 235)
    assert ask(*rest, "--steps", 15 * 235)["epsilon"] == ask(*rest, "--epochs", 16)["epsilon"]


def test_a_gaussian_release_by_hand(ask):
    """T Gaussian releases have epsilon = rho + 2 sqrt(rho log(1/delta)) at the best order, with rho = T / (2 z^2).

    The epsilon at the best order of the grid is at most a relative 2e-4 larger.
    """
    rho = 10 / (2 * 20**2)
    best = rho + 2 * math.sqrt(rho * math.log(1e5))
    rest = ("--sampling", "none", "--adjacency", "replace-label", "--steps", "10", *PAPERS)
    assert best <= ask(*rest, "--noise-multiplier", "20")["epsilon"] <= best * (1 + 2e-4)


def test_laplace_noise_is_pure_privacy_at_most(run):
    """The epsilon of Laplace noise is at most its epsilon at delta 0: 2 / 3 for two releases with b = 3, sensitivity 1.

    The standard deviation is 3 sqrt(2).
    """
    rest = ("--sampling", "epoch-partition", "--adjacency", "replace-one", "--n", "10", "--batch", "5", "--epochs", "2")
    typed = (*rest, "--law", "laplace", "--noise-multiplier", 3 * math.sqrt(2), "--delta", "1e-5", "--json")
    code, out, err = run(*typed, *PAPERS)
    assert (code, told(err)[:30]) == (0, "the order 1e+06 is the largest")
    assert json.loads(out)["epsilon"] == pytest.approx(2 / 3, rel=1e-4)
    code, out, err = run(*typed, "--delta", "1e-20")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["epsilon"] == pytest.approx(2 / 3, rel=1e-12)
    assert (answer["bound"], answer["conversion"], answer["order"]) == ("berthier2019:prop2.1", "pure", "inf")


@pytest.mark.parametrize("typed", [CAPTION, POISSON, (*CAPTION, "--conversion", "canonne2020")])
def test_the_noise_for_a_target_is_the_inverse(ask, typed):
    target = ask(*typed, "--noise-multiplier", Z)["epsilon"]
    found = ask(*typed, "--target-epsilon", target)
    assert list(found) == KEYS
    assert found["noise_multiplier"] == pytest.approx(Z, rel=1e-6)
    assert target * (1 - 1e-6) <= found["epsilon"] <= target
    assert ask(*typed, "--noise-multiplier", found["noise_multiplier"]) == found


@pytest.mark.parametrize("target", [0.1, 1, 10, 50, 100])
def test_the_noise_keeps_to_every_target(ask, target):
    found = ask(*LEAST, "--target-epsilon", target)["epsilon"]
    assert target * (1 - 1e-3) <= found <= target
    found = ask(*LEAST, "--target-epsilon", target, "--accountant", "rdp")["epsilon"]
    assert target * (1 - 1e-6) <= found <= target


def test_epsilon_is_never_negative_and_falls_with_delta_and_with_the_noise(run):
    def count(z, delta):
        code, out, _ = run(*LEAST, "--noise-multiplier", z, "--delta", delta, "--json")
        assert code == 0
        return json.loads(out)["epsilon"]

    by_delta = [count(1, delta) for delta in (1.1e-18, 1.13e-18, 1e-5, 0.1, 0.9, 0.999)]
    assert by_delta == sorted(by_delta, reverse=True)
    assert by_delta[-1] == 0
    # the epsilon at the first delta is at most 1 % larger than the epsilon at the second delta
    assert by_delta[0] <= by_delta[1] * (1 + 1e-2)
    by_noise = [count(z, 1e-5) for z in (0.01, 0.1, 1, 10)]
    assert by_noise == sorted(set(by_noise), reverse=True)


def test_epsilon_is_0_where_the_total_variation_is_below_delta(run):
    """Epsilon is 0 if the total variation distance is below delta. A step contains the record with probability q.

    If the step contains the record, the mean of a normal distribution with standard deviation 1 moves by 1.
    """
    q = 0.00105
    total_variation = q * (2 * stats.norm.cdf(0.5) - 1)
    for delta, zero in ((1e-3, total_variation <= 1e-3), (0.99 * total_variation, False)):
        typed = given("poisson", "add-remove", "--steps", "1", "--delta", delta, rate=("--q", q), z="1")
        code, out, _ = run(*typed, "--json")
        assert code == 0
        assert (json.loads(out)["epsilon"] == 0) == zero


def test_the_noise_for_a_target_under_laplace_noise(run):
    typed = ("--sampling", "without-replacement", "--adjacency", "replace-one", "--q", "0.1", "--steps", "50")
    typed += ("--law", "laplace", "--delta", "1e-5", "--accountant", "rdp", "--json")
    found = json.loads(run(*typed, "--target-epsilon", "2")[1])
    assert found["bound"] == "wbk2019:thm9"
    assert json.loads(run(*typed, "--noise-multiplier", found["noise_multiplier"])[1]) == found
    assert 2 * (1 - 1e-6) <= found["epsilon"] <= 2


def test_sums_beyond_floats_are_infinite_without_a_warning():
    assert rdp.compose([(np.array([1e300, 1.0]), 10**15)]).tolist() == [math.inf, 1e15]
    assert rdp.laplace(np.array([1.5, 1e6]), scale=1e-308).tolist() == [pytest.approx(1e308), math.inf]


def test_infinity_is_a_word_and_no_order(run):
    code, out, _ = run(*given("none", "replace-one", z="1e-200"), "--json")
    answer = json.loads(out)
    assert (code, answer["epsilon"], answer["order"]) == (0, "inf", None)
    for more in ((), ("--explain",)):
        code, out, err = run(*given("none", "replace-one", z="1e-200"), *more)
        assert (code, err) == (0, "")
        assert "epsilon = inf" in out
        assert "there is no guarantee" in flat(out)
        assert "nan" not in out


def test_the_end_of_the_grid_is_told_beside_the_answer(run):
    typed = given("without-replacement", "replace-one", z="0.3")[:-6] + (
        *("--steps", "5000", "--delta", "1e-5", "--noise-multiplier", "0.3", "--accountant", "rdp"),
    )
    code, out, err = run(*typed, "--json")
    assert code == 0
    assert told(err).startswith("the order 2 is the smallest of the given orders")
    assert json.loads(out)["order"] == 2
    code, out, same = run(*typed)
    assert (code, same) == (0, err)
    assert "Warning" not in out + err


def test_orders_can_be_given(ask):
    answer = ask(*CAPTION, "--noise-multiplier", Z, "--orders", "2,4-5,9")
    rate = {"sampling": "without-replacement", "sampling_rate": 512 / 60000}
    release = theorems.Mechanism(law="gaussian", sensitivity=1.0, adjacency="replace-one", noise_std=Z, **rate)
    same = account([(release, 5850)], delta=1e-5, conversion="mironov2017", orders=[2, 4, 5, 9])
    assert (answer["epsilon"], answer["order"]) == (same.epsilon, 5)
    assert parse_orders("1.5, 2-4,8") == [1.5, 2, 3, 4, 8]


# ---------------------------------------------------------------- output


def test_printed_numbers_are_never_below_what_they_are():
    for value in (4.43868243865, 0.1, 1 / 3, 9.999999999, 123456.7, 1e-9 / 3, 2.0**70, 5e-324, 1.7e308, 7.0):
        exact = Decimal(repr(value))
        for digits in (3, 5, 6):
            assert exact <= Decimal(up(value, digits)) <= exact * (1 + Decimal(10) ** (1 - digits))
            assert 0 <= Fraction(up(value, decimals=digits)) - Fraction(exact) < Fraction(1, 10**digits)
    assert (up(4.43868243865), up(0.0), up(math.inf)) == ("4.43869", "0", "inf")


def test_the_answer_says_all_that_it_depends_on(run):
    code, out, err = run(*CAPTION, "--noise-multiplier", "1.7066667", "--delta", "1e-5")
    assert (code, err) == (0, "")
    assert out.startswith("epsilon = 4.43869 at delta = 1e-05\n")  # 4.43868231867, rounded up
    for words in (
        "replace-one: " + theorems.ADJACENCY_MEANS["replace-one"],
        "without-replacement: " + WithoutReplacement.does,
        "q = 512 / 60000 = 0.00853333",
        "5850, 50 epochs of 117 steps",
        "gaussian, noise multiplier 1.7066667",
        "wbk2019:thm27",
        "mironov2017, optimal order 7",
    ):
        assert words in flat(out)
    out = run(*CAPTION, "--target-epsilon", "3", "--delta", "1e-5")[1]
    z = float(re.match(r"noise multiplier = (\S+) gives epsilon at most 3 at delta = 1e-05\n", out)[1])
    code, out, _ = run(*CAPTION, "--noise-multiplier", z, "--delta", "1e-5", "--json")
    assert 3 * (1 - 1e-5) < json.loads(out)["epsilon"] <= 3  # the printed noise satisfies the target
    out = " ".join(run(*CAPTION, "--target-epsilon", "0.999310030712345", "--delta", "1.0000049e-5")[1].split())
    # with fewer digits, the printed epsilon would be too small
    assert "gives epsilon at most 0.999310030712345 at delta = 1.0000049e-05 " in out


def test_epochs_that_do_not_fit_are_told(run):
    rest = ("--sampling", "epoch-partition", "--adjacency", "replace-one", "--n", "60000", "--batch", "256")
    out = run(*rest, "--steps", 15 * 235, "--delta", "1e-5", "--noise-multiplier", "8")[1]
    assert "3525, in 16 epochs of floor(n / batch) = 234" in flat(out)
    assert "If your epochs end in a short batch, give --epochs instead" in flat(out)


EXPLAINED = [
    (*CAPTION, "--noise-multiplier", str(Z)),
    (*POISSON, "--target-epsilon", "3", "--conversion", "canonne2020"),
    (
        "--sampling",
        "epoch-partition",
        "--adjacency",
        "replace-one",
        *BATCHES,
        "--epochs",
        "5",
        "--noise-multiplier",
        "8",
    ),
    (
        "--sampling",
        "none",
        "--adjacency",
        "replace-label",
        "--steps",
        "3",
        "--noise-multiplier",
        "8",
        "--law",
        "laplace",
    ),
    ("--sampling", "poisson", "--adjacency", "replace-one", "--q", "0.1", "--steps", "3", "--noise-multiplier", "8")
    + ("--bound", "lee2020:lem1"),
]


@pytest.mark.parametrize(
    "typed",
    [EXPLAINED[0], pytest.param(EXPLAINED[1], marks=pytest.mark.slow), *EXPLAINED[2:]],
    ids=["without-replacement", "poisson", "epochs", "laplace", "on-request"],
)
def test_explain_shows_every_part_in_eighty_columns(run, typed):
    code, out, _ = run(*typed, "--delta", "1e-5", "--explain")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out
    code, document, _ = run(*typed, "--delta", "1e-5", "--explain", "--json")
    answer = json.loads(document)
    assert [name for name in answer if name != "epsilon_at_least"] == [*KEYS, "explain"]
    explained, shown = answer["explain"], flat(out)
    for words in (explained["adjacency"], explained["sampling"]):
        assert flat(words) in shown
    by_losses = answer["conversion"] == "pld"
    assert f"Rényi divergences, one step: {explained['formula']['id']}" in out
    assert by_losses or explained["formula"]["id"] == answer["bound"]
    for line in explained["formula"]["lines"]:
        assert line in out
    assert f"[{explained['conversion']['id']}]" in shown
    assert by_losses or explained["conversion"]["id"] == ROUTES[answer["conversion"]]
    best = min(row["epsilon"] for row in explained["curve"])
    assert by_losses or best == answer["epsilon"]
    assert best in [row["epsilon"] for row in explained["curve"] if by_losses or row["order"] == answer["order"]]
    assert len(re.findall(r"^ *best +\d", out, re.M)) == 1
    for row in explained["curve"]:
        assert row["epsilon"] >= answer["epsilon"]
        assert up(row["epsilon"], 5) in out
    for row in explained["settings"]:
        name = f"{row['sampling']} {row['adjacency']}"
        assert (f"> {name}" in shown) == row["asked"]
        if row["refused"]:
            assert f"{name} refused {row['refused']['id']}" in shown
            assert flat(row["refused"]["why"].partition(". ")[0]) in shown
        else:
            assert f"{name} {up(row['epsilon'], 5)}" in shown
    assert "relative to the sensitivity under that row's adjacency" in shown
    assert "Replacing one record moves the sum by up to 2 C." in shown
    tight = explained["tight"]
    assert tight["says"][1:] in shown
    if tight["epsilon"] is None:
        assert (tight["at_least"], tight["gaussian_limit"]) == (None, None)
        return
    assert tight["at_least"] <= answer["epsilon"]
    assert f"Privacy losses prove epsilon {up(tight['epsilon'])}." in shown
    assert f"{down(tight['at_least'])}." in shown
    assert f"about {up(tight['gaussian_limit'], 3)}." in shown


@pytest.mark.parametrize(
    "typed",
    [
        ("--sampling", "without-replacement", "--adjacency", "replace-one", "--q", "3e-6", "--steps", "315503")
        + ("--noise-multiplier", "30.9", "--law", "laplace", "--delta", "0.1"),
        ("--sampling", "none", "--adjacency", "replace-one", "--steps", "1", "--noise-multiplier", "876.5277065")
        + ("--delta", "8.6e-10", "--conversion", "canonne2020"),
    ],
)
def test_explain_cuts_off_no_number_and_no_id(run, typed):
    out = run(*typed, "--explain")[1]
    explained = json.loads(run(*typed, "--explain", "--json")[1])["explain"]
    assert max(map(len, out.splitlines())) <= 80
    assert not re.search(r"[^ █░]…", out)  # only a bar may precede this character
    for row in explained["curve"]:
        for part in ("one_step", "all_uses", "epsilon"):
            assert up(row[part], 5) in out
    for row in explained["settings"]:
        assert (row["bound"] or row["refused"]["id"]) in out


def test_the_tight_number_for_batches_without_replacement(ask):
    """The tight epsilon for batches without replacement is 1.9966, for the caption in which lee2020 prints 4.43.

    `proved_epsilon` in test_accounting_statements.py computes this epsilon by composition.
    """
    tight = ask(*EXPLAINED[0], "--explain")["explain"]["tight"]
    assert tight["at_least"] <= 1.9967
    assert tight["epsilon"] == pytest.approx(1.9966, rel=1e-3)


def test_explain_has_the_numbers_of_the_calls_it_stands_for(ask):
    """--explain prints the epsilons of other calls with other options.

    Its Rényi curve is T times the curve of one step. We request each row of the table of settings in a separate call.
    """
    rate = ("--n", "60000", "--batch", "512")
    explained = ask(*CAPTION, "--noise-multiplier", Z, "--explain")["explain"]
    rows = explained["settings"]
    assert len(rows) == len(ADJACENCIES) * len(SCHEMES)
    of_papers = ("none", "epoch-partition", "without-replacement", "poisson")
    assert sum(row["refused"] is not None for row in rows if row["sampling"] in of_papers) == 5
    for row in rows:
        if row["refused"]:
            continue
        rest = ("--sampling", row["sampling"], "--adjacency", row["adjacency"], "--steps", 5850)
        rest += (() if row["sampling"] == "none" else rate) + PAPERS
        alone = ask(*rest, "--noise-multiplier", Z)
        assert (row["epsilon"], row["bound"]) == (alone["epsilon"], alone["bound"])
        if row["adjacency"] in ("add-remove", "zero-out"):
            assert row["epsilon_rescaled"] == ask(*rest, "--noise-multiplier", 2 * Z)["epsilon"]
        else:
            assert row["epsilon_rescaled"] is None
    for row in explained["curve"]:
        assert row["all_uses"] == pytest.approx(5850 * row["one_step"], rel=1e-13)
        assert row["epsilon"] == pytest.approx(row["all_uses"] + math.log(1e5) / (row["order"] - 1), rel=1e-13)
        assert row["unsampled"] == pytest.approx(row["order"] / (2 * Z * Z), rel=1e-13)
    # e^4.43868 p + delta: the reading of (epsilon, delta)
    assert f"at most {up(math.exp(4.43868243865), 4)} p + 1e-05" in explained["adjacency"]


def test_explain_keeps_conversion_and_bound(ask):
    typed = (*CAPTION, "--noise-multiplier", Z, "--conversion", "canonne2020", "--bound", "lee2020:lem3")
    answer = ask(*typed, "--explain")
    rows = {(row["sampling"], row["adjacency"]): row for row in answer["explain"]["settings"]}
    asked = rows["without-replacement", "replace-one"]
    assert (asked["epsilon"], asked["bound"], asked["asked"]) == (answer["epsilon"], "lee2020:lem3", True)
    alone = ask(*POISSON, "--noise-multiplier", Z, "--conversion", "canonne2020")
    assert rows["poisson", "add-remove"]["epsilon"] == alone["epsilon"]


def test_the_tight_number_has_the_exact_delta(ask):
    """The tight epsilon has the exact delta. Five releases with z = 8 are equivalent to one with mu = sqrt(5) / 8.

    Its delta at epsilon e is Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu).
    """
    e = ask(*EXPLAINED[2], "--explain")["explain"]["tight"]["epsilon"]
    mu = math.sqrt(5) / 8
    delta = stats.norm.cdf(mu / 2 - e / mu) - math.exp(e) * stats.norm.cdf(-mu / 2 - e / mu)
    assert delta == pytest.approx(1e-5, rel=1e-9)


def test_every_bound_has_a_formula():
    stated = [*BOUNDS, *(pure for one in theorems.COVERAGE.values() for pure in one.pure)]
    assert set(FORMULAS) == set(ROUTES) > set(rdp.CONVERSIONS)
    for lines in (*(theorems.formula(one.id) for one in stated), FORMULAS.values()):
        assert 0 < max(map(len, lines)) <= 68


def test_extreme_numbers_end_in_an_answer(run):
    for z, delta, steps in (("1e99", "1e-300", "1"), ("1e-9", "0.9999", "1000000000000000"), ("1e-320", "0.5", "7")):
        for pair in (
            ("poisson", "add-remove"),
            ("without-replacement", "replace-one"),
            ("without-replacement", "zero-out"),
            ("epoch-partition", "replace-one"),
        ):
            typed = (*given(*pair, z=z), "--delta", delta, "--steps", steps)
            code, out, _ = run(*typed, "--explain")
            assert code == 0
            assert "nan" not in out
            assert max(map(len, out.splitlines())) <= 80


# ---------------------------------------------------------------- refusals

REFUSED = [
    (given("epoch-partition", "add-remove"), "dpulr2024:L249", "Use replace-one"),
    (given("epoch-partition", "add-remove", "--bound", "lee2020:lem1"), "dpulr2024:L249", "draw Poisson batches"),
    (given("epoch-partition", "add-remove", "--bound", "lee2020:fn1"), "dpulr2024:L249", "Draw poisson batches"),
    (given("epoch-partition", "replace-one", "--bound", "lee2020:fn1"), "dpulr2024:L249", "a bound for epoch-part"),
    (
        given("epoch-partition", "replace-one", "--bound", "wbk2019:thm27"),
        "dpulr2024:L249",
        "Draw without-replacement batches",
    ),
    (given("without-replacement", "add-remove"), "wbk2019:thm9", "Use replace-one"),
    (given("without-replacement", "add-remove", "--bound", "lee2020:lem1"), "wbk2019:thm9", "draw Poisson batches"),
    (given("without-replacement", "add-remove", "--bound", "wbk2019:thm27"), "wbk2019:thm27", "Give the sensitivity"),
    (given("without-replacement", "replace-one", "--bound", "lee2020:fn1"), "lee2020:fn1", "Draw poisson batches"),
    (given("without-replacement", "replace-label"), "wbk2019:thm9", "Use replace-one, or the bound"),
    (given("poisson", "add-remove", "--bound", "lee2020:lem3"), "lee2020:lem3", "Draw without-replacement batches"),
    (given("none", "replace-one", "--bound", "wbk2019:thm27"), "wbk2019:thm27", "a bound for none"),
    (given("none", "add-remove", "--bound", "lee2020:fn1"), "lee2020:fn1", "a bound for none"),
    (given("poisson", "replace-one"), "lee2020:fn1", "or zero-out, or the bound lee2020:lem1"),
    (
        given("poisson", "replace-label"),
        "lee2020:fn1",
        "or zero-out, or the bound lee2020:lem1",
    ),
    (given("poisson", "replace-one", "--bound", "lee2020:fn1"), "lee2020:fn1", "the sensitivity for add-remove"),
    (
        given("without-replacement", "replace-one", "--law", "laplace", "--bound", "wbk2019:thm27"),
        "wbk2019:thm27",
        "any",
    ),
    (given("poisson", "add-remove", "--law", "laplace", "--bound", "lee2020:fn1"), "lee2020:fn1", "a bound for any"),
    (given("none", "replace-one", "--law", "laplace", "--bound", "lee2020:lem1"), None, None),
    (given("without-replacement", "replace-one", "--orders", "1.5,2"), "wbk2019:thm27", "give integer orders"),
    (
        given("poisson", "add-remove", "--orders", "2,2.5", "--bound", "lee2020:fn1"),
        "lee2020:fn1",
        "give integer orders",
    ),
    (given("poisson", "add-remove", "--bound", "mironov2019:thm11"), "mironov2019:thm11", "multiplier z >= 4"),
    (
        given("poisson", "add-remove", "--bound", "mironov2019:thm11", rate=("--q", "0.3"), z="5"),
        "mironov2019:thm11",
        "sampling rate q <= 1/5",
    ),
    (given("poisson", "replace-one", "--target-epsilon", "3"), "lee2020:fn1", "Use add-remove"),
    (given("poisson", "replace-one", "--explain"), "lee2020:fn1", "Use add-remove"),
    (
        given("epoch-partition", "replace-one", "--bound", "berthier2019:conj1"),
        "berthier2019:conj1",
        "Without a named bound",
    ),
    (
        given("epoch-partition", "replace-one", "--bound", "berthier2019:conj2"),
        "berthier2019:conj2",
        "Without a named bound",
    ),
]


@pytest.mark.parametrize("json_too", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize(("typed", "id_", "needed"), REFUSED, ids=[f"{r[1]}-{k}" for k, r in enumerate(REFUSED)])
def test_what_has_no_theorem_is_refused_with_what_is_needed(run, typed, id_, needed, json_too):
    code, out, err = run(*typed, *json_too)
    assert (code, out) == (2, "")
    assert told(err).startswith("no privacy guarantee: ")
    if id_:
        assert told(err).endswith(f"[{id_}]")
        assert needed in told(err)


# ---------------------------------------------------------------- bad input

GOOD = dict(zip(given("poisson", "add-remove")[::2], given("poisson", "add-remove")[1::2], strict=True))


def changed(**options):
    """The correct call with options replaced, added, or left out (None). In the options' names, _ stands for -."""
    call = GOOD | {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    return [word for name, value in call.items() if value is not None for word in (name, value)]


BAD = [
    ({"q": "1.5"}, "--q must be in (0, 1], and at least 1e-15, got 1.5"),
    ({"q": "0"}, "--q must be in (0, 1]"),
    ({"q": "-0.1"}, "--q must be in (0, 1]"),
    ({"q": "nan"}, "--q must be in (0, 1]"),
    ({"q": "many"}, "invalid value for '--q'"),
    ({"q": None}, "--sampling poisson needs a sampling rate: give --q, or --n and --batch"),
    ({"n": "100"}, "give the sampling rate once: either --q, or --n and --batch"),
    ({"q": None, "n": "100"}, "--n needs --batch"),
    ({"q": None, "batch": "10"}, "--batch needs --n"),
    ({"q": None, "n": "100", "batch": "101"}, "--batch must be between 1 and the number of records, 100, got 101"),
    ({"q": None, "n": "100", "batch": "0"}, "--batch must be between 1 and the number of records, 100, got 0"),
    ({"q": None, "n": "0", "batch": "0"}, "--n must be between 1 and"),
    ({"q": None, "n": "9" * 400, "batch": "1"}, "--n must be between 1 and 1e+15, got 999"),
    (
        {"sampling": "none"},
        "the sampling rate must be 1 with --sampling none, got 0.01. Every step uses all records: leave out --q",
    ),
    ({"sampling": "shuffle"}, f"--sampling must be one of {', '.join(SCHEMES)}, got"),
    ({"sampling": None}, "missing option '--sampling'"),
    ({"adjacency": None}, "missing option '--adjacency'"),
    ({"adjacency": "neighbours"}, f"--adjacency must be one of {', '.join(ADJACENCIES)}, got"),
    ({"delta": None}, "missing option '--delta'"),
    ({"delta": "0"}, "--delta must be in (0, 1), got 0.0"),
    ({"delta": "1"}, "--delta must be in (0, 1), got 1.0"),
    ({"delta": "-1e-5"}, "--delta must be in (0, 1)"),
    ({"delta": "nan"}, "--delta must be in (0, 1), got nan"),
    ({"delta": "inf"}, "--delta must be in (0, 1)"),
    ({"steps": "0"}, "--steps must be between 1 and 1e+15, got 0"),
    ({"steps": "-3"}, "--steps must be between 1"),
    ({"steps": "1.5"}, "invalid value for '--steps'"),
    ({"steps": "9" * 400}, "--steps must be between 1"),
    ({"steps": None}, "give exactly one of --steps and --epochs"),
    ({"epochs": "3"}, "give exactly one of --steps and --epochs"),
    ({"steps": None, "epochs": "3"}, "--epochs needs --n and --batch"),
    ({"steps": None, "epochs": "0", "q": None, "n": "9", "batch": "3"}, "--epochs must be between 1"),
    ({"noise_multiplier": "0"}, "--noise-multiplier must be positive and finite, at most 1e+100, got 0.0"),
    ({"noise_multiplier": "-1"}, "--noise-multiplier must be positive and finite"),
    ({"noise_multiplier": "nan"}, "--noise-multiplier must be positive and finite"),
    ({"noise_multiplier": "inf"}, "--noise-multiplier must be positive and finite"),
    ({"noise_multiplier": None}, "give exactly one of --noise-multiplier and --target-epsilon"),
    ({"target_epsilon": "3"}, "give exactly one of --noise-multiplier and --target-epsilon"),
    (
        {"noise_multiplier": None, "target_epsilon": "0"},
        "--target-epsilon must be positive and finite, at most 1e+100, got 0.0",
    ),
    ({"noise_multiplier": None, "target_epsilon": "nan"}, "--target-epsilon must be positive and finite"),
    ({"noise_multiplier": None, "target_epsilon": "inf"}, "--target-epsilon must be positive and finite"),
    (
        {"noise_multiplier": None, "target_epsilon": "1e-9", "conversion": "mironov2017"},
        "no amount of noise brings epsilon to 1e-09",
    ),
    (
        {"bound": "lee2020:no-such-lemma"},
        f"--bound must be one of {', '.join(b.id for b in BOUNDS)}, got 'lee2020:no-such-lemma'",
    ),
    ({"conversion": "renyi"}, "--conversion must be one of mironov2017, canonne2020, got 'renyi'"),
    ({"law": "cauchy"}, "--law must be one of gaussian, laplace, got 'cauchy'"),
    ({"orders": "1-5"}, "--orders must be above 1 and at most 4096, got 1-5"),
    ({"orders": "nan"}, "--orders must be above 1"),
    ({"orders": "5000"}, "--orders must be above 1 and at most 4096"),
    ({"orders": "3,2"}, "the orders in --orders must increase, got '3,2'"),
    ({"orders": "5-2"}, "the orders in --orders must increase"),
    ({"orders": "two"}, "--orders must be numbers and ranges such as 1.5,2,8-32, got 'two'"),
    ({"orders": ""}, "--orders must be numbers and ranges"),
    ({"sigma": "1"}, "no such option: --sigma"),
]


@pytest.mark.parametrize(("options", "said"), BAD, ids=[str(bad[0])[:60] for bad in BAD])
def test_bad_input_is_one_sentence_that_names_the_option(run, options, said):
    for more in ((), ("--json",)):
        code, out, err = run(*changed(**options), *more)
        assert (code, out) == (2, "")
        assert said in told(err)


def test_the_good_call_is_good(run):
    assert run(*changed())[0] == 0


# ---------------------------------------------------------------- help, start, page


def test_help_and_start_load_no_heavy_library():
    script = (
        "import sys; from nfa.cli.main import main\n"
        "main(['epsilon', '--help']); main(['epsilon'])\n"
        "heavy = {'scipy', 'matplotlib', 'numba', 'dp_accounting'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "nfa epsilon --sampling without-replacement --adjacency replace-one \\\n" in done.stdout


@pytest.mark.slow
def test_counting_loads_no_dp_accounting_and_no_pictures():
    script = (
        "import sys; from nfa.cli.main import main\n"
        f"assert main(['epsilon', *{changed()!r}]) == 0\n"
        "heavy = {'matplotlib', 'numba', 'dp_accounting', 'joblib', 'pooch'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_the_page_shows_the_real_output():
    text = (ROOT / "tutorials" / "usage.md").read_text(encoding="utf-8")
    command, shown = re.search(r"```sh\n\.venv/bin/nfa (epsilon .*?)\n```\n\n```text\n(.*?)```", text, re.S).groups()
    done = subprocess.run(
        [sys.executable, "-m", "nfa", *command.replace("\\\n", " ").split()],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines()] == shown.splitlines()


# ---------------------------------------------------------------- the smallest proved epsilon, and how to choose
# these tests use another noise multiplier

LAPLACE = ("--sampling", "poisson", "--adjacency", "add-remove", "--q", "0.001", "--steps", "1", "--law", "laplace")
SCALE_1 = ("--noise-multiplier", math.sqrt(2))


def test_without_options_the_smallest_that_is_proved(run, ask):
    """Without options for the accountant, `nfa epsilon` prints the smallest proved epsilon.

    We test 1,000 Poisson steps at z = 1.1, and one step of Laplace noise. test_smallest_epsilon.py has the oracles.
    """
    typed = ("--sampling", "poisson", "--adjacency", "add-remove", "--q", "0.01", "--steps", "1000")
    answer = ask(*typed, "--noise-multiplier", "1.1")
    assert list(answer) == [*KEYS, "epsilon_at_least"]
    assert answer["epsilon_at_least"] <= 1.5161 < answer["epsilon"] < 1.5162
    answer = ask(*typed, "--noise-multiplier", "1.1", "--accountant", "rdp")
    assert list(answer) == KEYS
    assert answer["epsilon"] == pytest.approx(1.7117749457, rel=1e-9)
    assert (answer["bound"], answer["conversion"]) == ("mironov2019:sec3.3", "canonne2020")
    assert ask(*typed, "--noise-multiplier", "1.1", *PAPERS)["epsilon"] == pytest.approx(2.0867961136, rel=1e-9)
    assert ask(*LAPLACE, *SCALE_1)["conversion"] == "pld"
    pure = (*LAPLACE, "--accountant", "rdp")
    answer = ask(*pure, *SCALE_1)
    assert answer["epsilon"] == pytest.approx(math.log1p(1e-3 * math.expm1(1)), rel=1e-12)
    assert (answer["bound"], answer["conversion"], answer["order"]) == ("balle2018:poisson", "pure", "inf")
    shown = flat(run(*pure, *SCALE_1, "--delta", "1e-5")[1])
    assert "epsilon = 0.00171681 at delta" in shown
    assert "pure composition: epsilons at the order infinity add up" in shown
    found = ask(*pure, "--target-epsilon", "0.00171681")
    assert found["noise_multiplier"] == pytest.approx(math.sqrt(2), rel=1e-5)


@pytest.mark.parametrize(
    "typed",
    [LEAST, (*LAPLACE, "--delta", "1e-12"), *(pytest.param(t, marks=pytest.mark.slow) for t in (POISSON, CAPTION))],
    ids=str,
)
def test_explain_says_what_each_choice_is_worth(run, typed):
    more = () if "--delta" in typed else ("--delta", "1e-5")
    noise = SCALE_1 if "laplace" in typed else ("--noise-multiplier", Z)
    _, out, _ = run(*typed, *more, *noise, "--explain", "--json")
    answer = json.loads(out)
    rows = answer["explain"]["choices"]
    assert [row["asked"] for row in rows].count(True) == 1
    asked = next(row for row in rows if row["asked"])
    assert (asked["epsilon"], asked["bound"], asked["conversion"]) == tuple(
        answer[name] for name in ("epsilon", "bound", "conversion")
    )
    assert rows[-1]["asked"] == ("--conversion" not in typed)
    for row, before in zip(rows[1:], rows, strict=False):
        assert row["saves"] == before["epsilon"] - row["epsilon"] >= 0
    out = flat(run(*typed, *more, *noise, "--explain")[1])
    for row in rows:
        assert up(row["epsilon"], 5) in out


def test_privacy_losses_by_name(run, ask):
    """`--accountant pld` gives the exact epsilon.

    Ten Gaussian releases with z = 5 are equivalent to one release with z = 5 / sqrt(10).
    """
    typed = ("--sampling", "none", "--adjacency", "replace-one", "--steps", "10", "--noise-multiplier", "5")
    answer = ask(*typed, "--accountant", "pld")
    exact = epsilon_gaussian(delta=1e-5, noise_multiplier=5 / math.sqrt(10))
    assert list(answer) == [*KEYS, "epsilon_at_least"]
    assert answer["epsilon_at_least"] <= exact <= answer["epsilon"] <= exact * (1 + 1e-9)
    assert (answer["conversion"], answer["bound"], answer["order"]) == ("pld", "lee2020:lem1", None)
    assert answer == ask(*typed)
    assert answer["epsilon"] < ask(*typed, "--accountant", "rdp")["epsilon"]
    code, out, err = run(*typed, "--delta", "1e-5", "--accountant", "pld")
    assert (code, err) == (0, "")
    assert f"No proof can give less than {down(answer['epsilon_at_least'])}" in flat(out)
    assert "no guarantee" not in out


@pytest.mark.parametrize(
    "more, said",
    [
        (("--accountant", "moments"), "--accountant must be one of rdp, pld, got 'moments'"),
        (("--accountant", "pld", "--bound", "lee2020:fn1"), "--bound has an effect only with the accountant rdp"),
        (
            ("--accountant", "pld", "--conversion", "canonne2020"),
            "--conversion has an effect only with the accountant rdp",
        ),
        (("--accountant", "pld", "--orders", "2-8"), "--orders has an effect only with the accountant rdp"),
    ],
)
def test_what_privacy_losses_do_not_take(run, more, said):
    code, out, err = run(*given("poisson", "add-remove", *more))
    assert (code, out) == (2, "")
    assert said in told(err)


def test_less_noise_for_a_target_by_privacy_losses(ask):
    typed = ("--sampling", "without-replacement", "--adjacency", "replace-one", "--q", "0.01", "--steps", "1000")
    by_losses, by_orders = (
        ask(*typed, "--target-epsilon", "3", "--accountant", accountant) for accountant in ("pld", "rdp")
    )
    assert 3 * (1 - 1e-3) <= by_losses["epsilon"] <= 3
    assert by_losses["noise_multiplier"] < by_orders["noise_multiplier"]


def test_privacy_losses_are_refused_where_no_theorem_counts(run):
    code, out, err = run(*given("poisson", "add-remove", "--accountant", "pld", z="0.001"))
    assert (code, out) == (2, "")
    assert "covers only noise multipliers from 0.01 to 1e+06, got 0.001" in told(err)
    code, out, err = run(*given("poisson", "replace-one", "--accountant", "pld"))
    assert (code, out) == (2, "")
    assert told(err).startswith("no privacy guarantee: the theorems on Poisson batches")


@pytest.mark.parametrize(
    "sampling, adjacency, q, z, winner",
    [("without-replacement", "zero-out", "0.05", "30", "rdp"), ("poisson", "add-remove", "0.001", "1.5", "pld")],
)
def test_the_smaller_of_two_proofs_is_the_default(ask, sampling, adjacency, q, z, winner):
    typed = ("--sampling", sampling, "--adjacency", adjacency, "--q", q, "--steps", "1000")
    noise, target = ("--noise-multiplier", z), ("--target-epsilon", "1")
    found = {name: ask(*typed, *noise, "--accountant", name)["epsilon"] for name in ("rdp", "pld")}
    assert min(found, key=found.get) == winner
    assert ask(*typed, *noise)["epsilon"] == found[winner]
    assert ask(*typed, *noise, "--conversion", "canonne2020")["epsilon"] >= found["rdp"]
    answer, by_orders = ask(*typed, *target), ask(*typed, *target, "--accountant", "rdp")
    assert 1 - 1e-3 <= answer["epsilon"] <= 1
    assert answer["noise_multiplier"] <= by_orders["noise_multiplier"]


@pytest.mark.parametrize(
    "sampling, adjacency, best",
    [
        ("none", "replace-label", True),
        ("poisson", "zero-out", True),
        ("without-replacement", "replace-one", False),
        ("epoch-partition", "replace-one", False),
    ],
)
def test_the_lower_bound_is_of_any_proof_only_where_some_data_attain_the_pair(run, sampling, adjacency, best):
    shown = flat(run(*given(sampling, adjacency), "--accountant", "pld")[1])
    assert ("No proof can give less than" in shown) == best
    assert ("An exact computation with the same theorem gives at least" in shown) == (not best)


@pytest.mark.parametrize(
    "typed, by_losses",
    [
        (given("poisson", "add-remove"), True),
        (given("without-replacement", "replace-one", z="0.3"), True),  # the best Rényi order is at the end of the grid
        ((*given("poisson", "replace-one"), "--bound", "lee2020:lem1"), False),  # this bound ignores the sampling
    ],
)
def test_a_picture_of_delta_over_epsilon(run, tmp_path, typed, by_losses):
    path = tmp_path / "epsilon.svg"
    code, out, err = run(*typed, "--plot", str(path))
    assert (code, flat(told(err))) == (0, f"The picture of delta over epsilon is in {path}.")
    assert "epsilon = " in out
    drawn = path.read_text(encoding="utf-8")
    assert "Rényi divergences" in drawn
    assert ("Gaussian limit, not counted" in drawn) == by_losses


@pytest.mark.parametrize(
    "name, said",
    [
        ("missing/e.png", "does not exist"),
        ("e.gif", "needs a file name that ends in .png, .pdf, .svg"),
        ("", "needs a file name"),
        ("folder.png", "is a folder"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused_first(run, tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    code, out, err = run(*given("poisson", "add-remove"), "--plot", name)
    assert (code, out) == (2, "")
    assert said in told(err)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]
