"""Tutorials 06 and 08 say which rule is more accurate, and by how much.

These tests train the networks again with the functions of the tutorials.
"""

import runpy

import matplotlib.pyplot as plt
import numpy as np
import pytest

from tests.project.tree import ROOT

pytestmark = pytest.mark.nightly  # each test runs a whole tutorial, which the build of the site also runs
NEAR = 0.6  # points; allows for rounding on other processors (a few of 1,000 test images) and in the texts

# table of tutorial 06: mean and standard deviation of ten seeds, with clips only, and with clips and noise
ON_CONVOLUTIONS = {
    "bp": ((75.4, 0.8), (62.9, 3.1)),
    "hybrid": ((64.1, 6.3), (30.3, 7.4)),
    "dfa": ((59.9, 7.3), (21.6, 5.9)),
}


def ran(name, monkeypatch):
    """{name: value} of everything that a tutorial has defined at its end."""
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    return runpy.run_path(str(ROOT / "tutorials" / f"{name}.py"))


def rules_of(tutorial):
    return {name: tutorial[f"private_{name}"] for name in ("bp", "hybrid", "dfa")}


def test_the_races_of_private_dfa_on_dense_networks(monkeypatch):
    tutorial = ran("06_private_dfa", monkeypatch)
    race, sigma, rules = tutorial["race"], tutorial["sigma"], rules_of(tutorial)
    clipped, noisy = (
        {name: race(rules[name], tutorial["dense"], (1, 2, 3), s)[:, -1] for name in ("bp", "dfa")}
        for s in (0.0, sigma)
    )
    assert (np.abs(clipped["bp"] - clipped["dfa"]) < 7).all()
    assert (noisy["bp"] > noisy["dfa"] + 15).all()


def test_the_races_of_private_dfa_on_convolutions(monkeypatch):
    """Private DFA on convolutions has the means and standard deviations of tutorial 06's table, over ten seeds."""
    tutorial = ran("06_private_dfa", monkeypatch)
    race, sigma, rules = tutorial["race"], tutorial["sigma"], rules_of(tutorial)
    seeds = range(1, 11)
    found = {}
    for name, columns in ON_CONVOLUTIONS.items():
        for s, (mean, std) in zip((0.0, sigma), columns, strict=True):
            last = found[name, s > 0] = race(rules[name], tutorial["cnn"], seeds, s, T=100)[:, -1]
            assert (last.mean(), last.std(ddof=1)) == pytest.approx((mean, std), abs=NEAR), (name, s)
    for is_noisy in (False, True):
        assert (found["hybrid", is_noisy] > found["dfa", is_noisy]).sum() == 9
        assert (found["bp", is_noisy] > found["hybrid", is_noisy]).all()


def test_the_price_of_the_repair(monkeypatch):
    tutorial = ran("08_span_attack", monkeypatch)
    found = [[tutorial["accuracy_of"](seed, **way) for seed in range(1, 6)] for way in tutorial["ways"].values()]
    clips, published, at_8, at_3 = np.array(found)
    assert [own[:3].mean() for own in (at_8, at_3)] == pytest.approx([64.8, 45.0], abs=NEAR)
    assert [own.mean() for own in (clips, published, at_8, at_3)] == pytest.approx([66.6, 66.3, 64.7, 43.8], abs=NEAR)
    assert at_8[2] > clips[2]
    assert clips[:3].mean() - at_8[:3].mean() == pytest.approx(2, abs=1)
    assert clips[:3].mean() - at_3[:3].mean() == pytest.approx(20, abs=4)
