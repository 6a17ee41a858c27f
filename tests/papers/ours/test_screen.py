"""The experiment ours:screen changes the chosen settings one at a time."""

import pytest

from nfa.papers.ours import screen
from nfa.papers.ours.contenders import DENSE

CELLS = screen.cells("small", [1])
RUNS = {(cell.key["rule"], cell.key["changed"]): cell.settings for cell in CELLS}
NAMES = {rule: DENSE.rules[rule]["name"] for rule in screen.SCREEN["rules"]}


@pytest.mark.verifies("ours:screen")
@pytest.mark.parametrize("rule", NAMES)
def test_the_first_variant_is_what_was_chosen(rule):
    values = DENSE.values_chosen(rule, 3, 5)
    how = {"epsilon": 3, "dataset": "mnist", "epochs": 5, "seed": 1, "validation": 1 / 6}
    assert RUNS[NAMES[rule], "as chosen"] == DENSE.settings(rule, values, **how)


@pytest.mark.verifies("ours:screen")
def test_every_other_differs_in_something_and_all_spend_as_much():
    assert len({cell.name for cell in CELLS}) == len(CELLS) == len(RUNS)
    for (rule, changed), run in RUNS.items():
        base = RUNS[rule, "as chosen"].to_json()
        differs = {name for name, value in run.to_json().items() if base.get(name) != value}
        own = {name for name, value in run.rule_settings.items() if base["rule_settings"].get(name) != value}
        assert (run.target_epsilon, run.delta) == (3.0, 1e-5)
        # a changed value can equal the chosen value
        if changed.startswith("t = ") or changed == "sign of the error":
            assert differs | own <= {"rule_settings", "t"}
        else:
            assert bool(differs) == (changed != "as chosen")


@pytest.mark.verifies("ours:screen")
@pytest.mark.parametrize("rule", NAMES.values())
def test_what_is_changed_is_what_its_name_says(rule):
    base, of = RUNS[rule, "as chosen"], lambda changed: RUNS[rule, changed]
    C = base.rule_settings["C"]
    for changed, factor in (("C halved", 0.5), ("C doubled", 2.0), ("C ten times", 10.0)):
        assert of(changed).rule_settings["C"] == pytest.approx(factor * C)
        assert of(changed).lr * factor == pytest.approx(base.lr, rel=1e-3)  # lr C stays the same; lr has four digits
    assert of("step doubled").lr == pytest.approx(2 * base.lr, rel=1e-3)
    assert of("feedback a quarter").feedback_scale == pytest.approx(base.feedback_scale / 4)
    assert (of("batch halved").batch, of("twice the epochs").epochs) == (base.batch // 2, 10)
    assert of("half the epochs").epochs == 2  # half of 5, rounded to even
    falls = of("step falls by ten to the end")
    assert falls.lr * falls.lr_factor ** (falls.epochs - 1) == pytest.approx(base.lr / 10)
    assert (of("Adam, 0.001").optimizer, of("Adam, 0.001").lr) == ("adam", 0.001)
    assert of("two hidden layers of 1,024").architecture == "784-1024-1024-10"
