"""The comparison at equal epsilon: laws of the trials, the setting `step`, chosen settings, and epsilon of the runs."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from nfa.experiments.prepare import prepare
from nfa.papers.ours import contenders, equal_epsilon, tuning
from nfa.papers.paired import half_width

DENSE, CNN = contenders.DENSE, contenders.CNN
RULES = [(contest, rule) for contest in (DENSE, CNN) for rule in contest.rules]
STEPS = [(contest, rule) for contest, rule in RULES if contest.rules[rule].get("in_steps", True)]
NAMES = [f"{contest.run.get('architecture', 'cnn')}-{rule}" for contest, rule in RULES]


@pytest.mark.verifies("ours:trials")
@pytest.mark.parametrize(("contest", "rule"), RULES, ids=NAMES)
def test_trials_are_drawn_within_their_ranges_by_their_laws(contest, rule):
    """The values of trials follow their laws and lie within their ranges.

    For each of at most six laws, we test 400 samples. We use a Kolmogorov-Smirnov test for continuous values, and a
    chi-square test for discrete values. A false alarm of one test has probability 1e-6. If a distribution function is
    off by 1/5 at some point, the test misses this with probability below 1/50.
    """
    drawn = [contest.draw(rule, trial) for trial in range(400)]
    laws = contest.laws(rule)
    assert all(set(values) == set(laws) for values in drawn)
    for name, law in laws.items():
        found = [values[name] for values in drawn]
        if "log" in law:
            low, high = np.log(law["log"])
            assert stats.kstest(np.log(found), stats.uniform(low, high - low).cdf).pvalue > 1e-6
        elif "turns" in law:
            assert found == law["turns"] * (400 // len(law["turns"]))
        else:
            counts = [found.count(value) for value in law["of"]]
            assert sum(counts) == 400
            assert stats.chisquare(counts).pvalue > 1e-6
    assert contest.draw(rule, 7) == drawn[7]


@pytest.mark.slow
@pytest.mark.verifies("ours:equal-epsilon")
@pytest.mark.parametrize(("contest", "rule"), STEPS, ids=[f"{contest.file}-{rule}" for contest, rule in STEPS])
def test_a_step_is_what_all_records_at_their_bound_would_make(contest, rule):
    """The value `step` of a trial is the size of the update if all records are at their bound.

    The rule's mechanism states how much one record can change the mean. `step` is this change times the batch size
    times lr.
    """
    values = contest.draw(rule, 3)
    run = contest.settings(rule, values, epsilon=3, dataset="fashion-mnist-small", epochs=1, seed=1)
    prepared = prepare(run)
    moved = prepared.privacy.mechanism.sensitivity
    assert run.lr * moved * run.batch == pytest.approx(values["step"], rel=2e-3)  # lr has four digits


@pytest.mark.verifies("ours:equal-epsilon")
@pytest.mark.parametrize(
    ("contest", "rule", "epsilon"),
    [(*one, epsilon) for one in STEPS for epsilon in one[0].budget["epsilons"]]
    + [(*one, 8) for one in RULES if one not in STEPS],  # 6,000 records are too few for a smaller epsilon
)
def test_every_run_spends_what_it_may_and_no_more(contest, rule, epsilon):
    run = contest.settings(
        rule, contest.draw(rule, 0), epsilon=epsilon, dataset="fashion-mnist-small", epochs=1, seed=1
    )
    prepared = prepare(run)
    spent = prepared.privacy.account([(1, prepared.steps)])["guarantee"]["epsilon"]
    assert epsilon * (1 - 1e-3) < spent <= epsilon


@pytest.mark.parametrize("contest", [DENSE, CNN], ids=["dense", "cnn"])
def test_the_search_gives_every_rule_as_much(contest):
    cells = tuning.trial_cells("paper", [1], contest)
    names = [known["name"] for known in contest.rules.values()]
    of = {name: [cell for cell in cells if cell.key["rule"] == name] for name in names}
    assert {len(found) for found in of.values()} == {contest.budget["trials"]}
    in_steps = {known["name"] for known in contest.rules.values() if known.get("in_steps", True)}
    epochs = {cell.settings.epochs for cell in cells if cell.key["rule"] in in_steps}
    assert epochs == {contest.scales["paper"]["epochs"] // contest.budget["shorter"]}
    assert {cell.settings.target_epsilon for cell in cells} == {3.0}
    assert {cell.settings.dataset for cell in cells} == {"mnist"}
    assert all(round(cell.settings.validation * 60_000) == contest.budget["held_out"] for cell in cells)


@pytest.mark.parametrize("contest", [DENSE, CNN], ids=["dense", "cnn"])
def test_what_was_chosen_is_among_the_finalists(contest):
    finalists, chosen = contest.chosen["finalists"], contest.chosen["chosen"]
    assert set(finalists) == set(chosen) == set(contest.rules)
    for rule in contest.rules:
        assert len(finalists[rule]) == len(set(finalists[rule])) == contest.budget["finalists"]
        assert len(chosen[rule]) == len(contest.budget["epsilons"])
        assert set(chosen[rule]) <= set(finalists[rule])
        for length, tried in zip(contest.chosen["lengths"][rule], contest.budget["lengths"], strict=True):
            assert length in tried


@pytest.mark.verifies("ours:finalists")
@pytest.mark.parametrize("contest", [DENSE], ids=["dense"])
def test_whole_runs_have_the_best_finalist_and_shorter_ones_the_best_trial(contest):
    for rule in contest.rules:
        for epsilon, trial in zip(contest.budget["epsilons"], contest.chosen["chosen"][rule], strict=True):
            whole, drawn = contest.values_chosen(rule, epsilon, 20), contest.draw(rule, trial)
            assert {name for name in drawn if whole[name] != drawn[name]} <= {"step", "lam"}
            shorter = contest.values_chosen(rule, epsilon, 5)
            assert shorter == contest.draw(rule, contest.chosen["finalists"][rule][0])


@pytest.mark.verifies("ours:finalists")
@pytest.mark.parametrize(("contest", "rule"), RULES, ids=NAMES)
def test_half_the_length_is_half_the_step_or_twice_the_regularisation(contest, rule):
    """The factor 0.5 halves the learning rate of rules with steps, or doubles the regularisation of all other rules.

    The remaining settings do not change, except the noise that the rule needs.
    """
    values = contest.draw(rule, 2)
    half = contest.lengthened(values, 0.5)
    what = {"epsilon": 8, "dataset": "fashion-mnist-small", "epochs": 1, "seed": 1}
    whole, shorter = (contest.settings(rule, v, **what) for v in (values, half))
    if (contest, rule) in STEPS:
        assert shorter.lr == pytest.approx(whole.lr / 2, rel=6e-3)  # the step has three digits, and lr four
        assert shorter.rule_settings == whole.rule_settings
    else:
        assert shorter.rule_settings["lam"] == pytest.approx(2 * whole.rule_settings["lam"], rel=5e-3)
        assert shorter.lr == whole.lr


def _write(folder: Path, name: str, accuracy: float) -> None:
    record = {"history": [{"validation_accuracy": 0.0}, {"validation_accuracy": accuracy}]}
    (folder / f"{name}.json").write_text(json.dumps(record))


@pytest.mark.verifies("ours:finalists")
def test_the_best_are_chosen_by_the_last_accuracy_on_images_held_out(tmp_path):
    plain = [(trial, 1.0) for trial in range(3)]
    for trial, accuracies in enumerate([(0.5, 0.7), (0.9, 0.1), (0.6, 0.61)]):
        for seed, accuracy in enumerate(accuracies, start=1):
            _write(tmp_path, f"dp-sgd-trial{trial}-epsilon3-seed{seed}", accuracy)
    assert tuning.best(tmp_path, "dp-sgd", 3, plain) == [(2, 1.0), (0, 1.0), (1, 1.0)]  # mean accuracies .605, .6, .5
    for trial, accuracy in enumerate([0.603, 0.7, 0.1]):
        _write(tmp_path, f"dp-sgd-trial{trial}x0.5-epsilon3-seed1", accuracy)
    ahead = tuning.best(tmp_path, "dp-sgd", 3, [*plain, *((trial, 0.5) for trial in range(3))])
    assert ahead == [(1, 0.5), (2, 1.0), (0, 0.5), (0, 1.0), (1, 1.0), (2, 0.5)]
    with pytest.raises(ValueError, match="no run dp-sgd-trial3-epsilon3"):
        tuning.best(tmp_path, "dp-sgd", 3, [*plain, (3, 1.0)])


def test_the_interval_is_students():
    """The interval uses Student's quantile, which is 4.303 for two degrees of freedom in Gosset's tables."""
    assert half_width([1.0, 2.0, 3.0]) == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)


def test_the_memory_of_a_step_is_told_where_it_was_looked_at():
    assert equal_epsilon._megabytes([12_300_000, None, 12_900_000]) == pytest.approx(12.6, rel=1e-12)
    assert equal_epsilon._megabytes([None, None]) is None


def test_the_time_of_a_step_is_the_processors_where_a_record_tells_it():
    assert equal_epsilon._seconds({"seconds_per_step": 0.5, "cpu_seconds_per_step": 0.2}) == 0.2
    assert equal_epsilon._seconds({"seconds_per_step": 0.5}) == 0.5
