"""Tests of `nfa audit`, and of the audit of ohana2021:prop3-cols with its neighbours, its claim and its output."""

import json
import math
import os
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from nfa import ledger
from nfa.audit.bounds import epsilon_lower_bound
from nfa.audit.reports import AuditOptions, Part, Report, Target
from nfa.cli import main
from nfa.cli.audit import show_report
from nfa.cli.layout import output
from nfa.network import forward
from nfa.papers import audits
from nfa.papers.ohana2021 import audit_columns
from nfa.papers.ohana2021.audit_columns import CLIPS, SIGMA, SIZES, M, claim, neighbours, play_the_game
from nfa.papers.ohana2021.span_attack import layer_input

KEYS = {"target", "claimed_epsilon", "lower_bound", "confidence", "auc", "delta"}


@pytest.fixture(scope="module")
def pair():
    return neighbours(1)


@pytest.fixture
def nfa(tmp_path, monkeypatch, capsys):
    """Call the command line in an empty folder, on the embedded images: nfa(*arguments) -> (code, out, err)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NFA_DEBUG", "NFA_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(*arguments):
        code = main.main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def short(monkeypatch):
    """A short audit: the span attack on one batch with one sigma of Table 1."""
    monkeypatch.setattr(audit_columns, "SIGMAS", (0.2,))
    monkeypatch.setattr(audit_columns, "BATCHES", 1)


# ---------------------------------------------------------------- the game


def test_the_batches_are_neighbours_and_meet_every_condition_of_the_claim(pair):
    """The batches are neighbours, because they differ in the first record, and satisfy every condition of the claim.

    Every entry that a layer reads is c or -c, so r is 1.
    """
    for one, other in (pair.x, pair.y):
        np.testing.assert_array_equal(one[1:], other[1:])
        assert len(one) == len(other) == M
    assert not np.array_equal(pair.x[0][0], pair.x[1][0])
    assert all((y.sum(axis=1) == 1).all() for y in pair.y)
    assert tuple(pair.net.shape_h[l][0] for l in range(4)) == SIZES
    for x in pair.x:
        z, _ = forward(pair.net, x)
        for l in (1, 2, 3):
            h = layer_input(pair.net, l, x, **CLIPS)
            np.testing.assert_array_equal(np.abs(h), np.full(h.shape, 1 / math.sqrt(h.shape[1])))
            if l < 3:
                np.testing.assert_array_equal(pair.net.pull(l, z, np.ones_like(z[l])), np.ones_like(z[l]))


def test_the_direction_tells_the_new_record_alone(pair):
    h0, h1 = (layer_input(pair.net, 1, x, **CLIPS) for x in pair.x)
    assert np.linalg.norm(pair.direction) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(h0 @ pair.direction, 0, atol=1e-14)
    assert h1[0] @ pair.direction == pytest.approx(pair.gap, rel=1e-12)  # the norm is 1, as for all inputs
    # The distance from the span, by least squares.
    rest = h1[0] - h0.T @ np.linalg.lstsq(h0.T, h1[0])[0]
    assert pair.gap == pytest.approx(np.linalg.norm(rest), rel=1e-10)


@pytest.mark.verifies("ohana2021:prop3-cols")
def test_the_claim_is_the_formulas_smallest_epsilon():
    """The claim is the formula's smallest epsilon over all Rényi orders, which the test computes by a search.

    The formula is 1808 columns of 2 alpha / (m sigma^2) each, plus log(1/delta) / (alpha - 1).
    """

    def spent(log_x, delta):
        alpha = 1 + math.exp(log_x)
        return (784 + 512 + 512) * 2 * alpha / (256 * 100.0**2) + math.log(1 / delta) / (alpha - 1)

    for delta in (1e-5, 1e-7):
        best = optimize.minimize_scalar(lambda x, d=delta: spent(x, d), bounds=(-5, 20), method="bounded").fun
        assert claim(SIGMA, delta) == pytest.approx(best, rel=1e-6)
    assert claim(SIGMA, 1e-5) == pytest.approx(0.2565, abs=5e-5)


@pytest.mark.verifies("ohana2021:prop3-cols")
@pytest.mark.slow
def test_the_rule_is_told_apart_without_an_error_whatever_the_claim(pair):
    """The game distinguishes the data sets without an error, with 60 runs for each.

    So it refutes any claim below its bound. The scores of the two data sets differ by many orders of magnitude, so
    1,000 runs on each side give a bound above 5.
    """
    game = play_the_game(pair, AuditOptions(trials=60), claim(SIGMA, 1e-5))
    assert game.refuted
    assert game.hits == (0, 60)
    assert game.auc == 1
    assert game.lower_bound == epsilon_lower_bound((0, 60), 60, delta=1e-5, confidence=0.95)
    assert game.scores[0].max() < 1e-14
    assert game.scores[1].min() > 0.2 * pair.gap / math.sqrt(M)
    assert epsilon_lower_bound((0, 1000), 1000, delta=1e-5, confidence=0.95) > 5


@pytest.mark.slow
def test_what_protects_is_not_refuted(pair, monkeypatch):
    """The game does not refute two changes that protect the record.

    If the neighbours differ only in labels, the span is the same for both. If we add noise in every direction, the
    noise hides the span. In both cases, no threshold separates the two data sets, so the bound is 0.
    """
    labels = replace(pair, x=(pair.x[0], pair.x[0]))
    game = play_the_game(labels, AuditOptions(trials=20), claim(SIGMA, 1e-5))
    assert (game.hits, game.lower_bound, game.refuted) == ((0, 0), 0, False)
    published = audit_columns.Neighbours.update
    monkeypatch.setattr(
        audit_columns.Neighbours,
        "update",
        lambda self, world, rng: published(self, world, rng) + 100 * rng.standard_normal((512, 784)),
    )
    game = play_the_game(pair, AuditOptions(trials=20), claim(SIGMA, 1e-5))
    assert (game.hits, game.lower_bound, game.refuted) == ((20, 20), 0, False)


def test_the_number_of_cores_changes_nothing(pair, monkeypatch):
    several = pair.updates(1, np.random.default_rng(3), 3)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    alone = pair.updates(1, np.random.default_rng(3), 3)
    np.testing.assert_array_equal(several, alone)
    assert not np.array_equal(alone[0], alone[1])


@pytest.mark.verifies("ohana2021:prop3-cols")
def test_the_laws_are_mutually_singular(pair):
    """The two laws are mutually singular: each row of layer 1 is in one of two different spaces of 256 dimensions.

    There are 784 dimensions, and the two spaces together have rank 257.
    """
    h0, h1 = (layer_input(pair.net, 1, x, **CLIPS) for x in pair.x)
    assert np.linalg.matrix_rank(h0) == np.linalg.matrix_rank(h1) == M
    assert np.linalg.matrix_rank(np.vstack([h0, h1])) == M + 1
    assert audit_columns.exact_divergences(pair) == dict.fromkeys(audit_columns.ORDERS, (math.inf, math.inf))


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize("delta, warned", [(1e-5, False), (0.0156, False), (1 / 64, True), (0.5, True)])
def test_a_delta_of_one_over_the_records_of_an_audit_is_cautioned_about(delta, warned, nfa, monkeypatch):
    def audit(options):
        found = {"claimed_epsilon": 1.0, "lower_bound": 0.5, "confidence": 0.95, "auc": 0.6, "delta": options.delta}
        return Report(target="some", title="An audit of nothing", parts=(), **found)

    monkeypatch.setattr(audits, "find", lambda name: Target(name="some", about="nothing", audit=audit, trials=10))
    code, out, err = nfa("audit", "some", "--delta", delta)
    assert (code, "The claim is not refuted" in out) == (0, True), err
    assert ("at least 1/n" in err) is warned
    assert ("n = 64" in err) is warned


@pytest.mark.slow
def test_json(nfa, short):
    code, out, err = nfa(
        "audit", "ohana2021:prop3-cols", "--trials", 24, "--confidence", 0.9, "--delta", 1e-6, "--json"
    )
    assert code == 0  # also if the claim is refuted
    found = json.loads(out)
    assert found.keys() >= KEYS
    assert found["target"] == "ohana2021:prop3-cols"
    assert found["claimed_epsilon"] == pytest.approx(claim(SIGMA, 1e-6))
    assert found["lower_bound"] == pytest.approx(float(epsilon_lower_bound((0, 24), 24, delta=1e-6, confidence=0.9)))
    assert (found["confidence"], found["delta"], found["auc"], found["refuted"]) == (0.9, 1e-6, 1.0, True)
    assert found["trials"] == [24, 24]
    assert {d["forward"] for d in found["renyi"]} == {d["backward"] for d in found["renyi"]} == {"inf"}
    assert found["dataset"] == "fashion-mnist-small"
    assert {a["layer"] for a in found["span_attack"]} == {1, 2, 3}
    assert {a["auc"] for a in found["span_attack"]} == {1.0}
    repaired = found["repaired"]
    assert repaired["epsilon"] <= 3
    assert all(abs(a["auc"] - 0.5) <= 0.05 for a in repaired["span_attack"])
    assert 0.55 < repaired["optimal_auc"] < 0.8
    assert "distinguishing game" in err
    assert "Traceback" not in err


@pytest.mark.slow
def test_text(nfa, short):
    code, out, _ = nfa("audit", "OHANA2021:PROP3-COLS", "--trials", 24)
    assert code == 0
    assert max(len(line) for line in out.splitlines()) <= 80
    words = " ".join(out.split())
    for said in (
        "Span attack on fashion-mnist-small",
        "the claim of 0.2565 is refuted",
        "their total variation is 1",
        "infinite at every order above 1",
        "not a valid record-level guarantee",
        "differ only in a label",
        "valid but loose",
        "The paper itself reports no epsilon.",
        "The claim is refuted with 95 % confidence.",
    ):
        assert said in words
    assert re.search(r"^0\.2 +1 +1 +1 +1 +1 +\S+ +480\.6$", out, re.M)
    assert re.search(r"^repaired( +0\.(4[5-9]|5[0-5]?)\d*){5} *$", out, re.M)
    assert "The best possible test of one update" in words
    assert re.search(r"^on D +24 +0 ", out, re.M)
    assert re.search(r"^on D' +24 +24 ", out, re.M)
    assert re.search(r"^ohana2021:prop3-cols +0\.2565 ", out, re.M)


@pytest.mark.parametrize("name", ["dp_sgd", pytest.param("DP-BP", marks=pytest.mark.slow)])
def test_dp_sgd_is_not_refuted(nfa, name):
    code, out, err = nfa("audit", name, "--trials", 400, "--json")
    assert code == 0
    found = json.loads(out)
    assert found.keys() >= KEYS
    assert (found["target"], found["refuted"], found["trials"]) == ("dp_sgd", False, [400, 400])
    assert 0 < found["lower_bound_any_law"] < found["lower_bound"] < found["exact_epsilon"] < found["claimed_epsilon"]
    assert found["law"] == "gaussian"
    games = found["games"]
    assert [game["game"] for game in games] == [
        "replace-one, 1 step", "add-remove, 1 step", "replace-one, 3 steps", "add-remove, 3 Poisson steps",
    ]  # fmt: skip
    assert [game["trials"] for game in games] == [[400, 400], [200, 200], [20, 20], [20, 20]]
    assert (games[-1]["lower_bound"], games[-1]["exact_epsilon"]) == (None, None)
    assert "replace-one, 1 step" in err


def test_dp_sgd_in_words(nfa):
    code, out, _ = nfa("audit", "dp_sgd", "--trials", 200)
    assert code == 0
    assert max(len(line) for line in out.splitlines()) <= 80
    words = " ".join(out.split())
    for said in (
        "a lower bound on epsilon for Gaussian noise",
        "the opposite vector, in all layers together",
        "This result does not prove the claim.",
    ):
        assert said in words
    assert re.search(r"^replace-one, 1 step +200 +5\.299 +4\.377 +\S+ +\d+ % +\S+$", out, re.M)
    assert re.search(r"^add-remove, 3 Poisson steps +10 +\S+ +\d\S*$", out, re.M)
    assert re.search(r"^dp_sgd +5\.299 ", out, re.M)


@pytest.mark.parametrize("name", ["dp_dfa", pytest.param("lee2020:sens-total", marks=pytest.mark.slow)])
def test_the_printed_sensitivity_of_dp_dfa_is_refuted(nfa, name):
    code, out, _ = nfa("audit", name, "--trials", 360, "--json")
    assert code == 0  # also if the claim is refuted
    found = json.loads(out)
    assert found.keys() >= KEYS
    assert (found["target"], found["refuted"], found["trials"]) == ("dp_dfa", True, [360, 360])
    assert found["claimed_epsilon"] < found["lower_bound"] < found["exact_epsilon"]
    for game in found["games"]:
        assert game["lower_bound"] < game["claims"]["corrected"]
        assert game["sensitivity"]["moved"] <= game["sensitivity"]["corrected"] * (1 + 1e-12)
    more = [game["game"] for game in found["games"] if game["lower_bound"] > game["claims"].get("printed", math.inf)]
    assert {"1-1-2", "4-4-4-2"} <= set(more) <= {"1-1-2", "784-128-256-10", "4-4-4-2"}


@pytest.mark.slow
def test_dp_dfa_in_words(nfa):
    """The output for DP-DFA names the readings (interpretations of the paper) for which the printed formula holds.

    The output also has the result for the paper's parameters.
    """
    code, out, _ = nfa("audit", "dp_dfa", "--trials", 300)
    assert code == 0
    assert max(len(line) for line in out.splitlines()) <= 80
    words = " ".join(out.split())
    for said in (
        "For this DFA, with gamma_l as in Section 4, the formula is no upper bound.",
        "gamma beta is one bound over all layers, including the output's 1",
        "an element-wise derivative y_hat (1 - y_hat)",
        "this audit does not refute the printed epsilons",
        "exceeds the printed epsilon: 1-1-2;",
        "The claim is refuted with 95 % confidence.",
    ):
        assert said in words
    assert re.search(r"^1-1-2 +0\.2828 +0\.09 +0\.2899$", out, re.M)
    assert re.search(r"^784-128-256-10 +3\.328 +2 +5\.386$", out, re.M)
    assert re.search(r"^hybrid +0\.2868 +0\.2868$", out, re.M)


def test_every_audit_has_its_own_number_of_trials(nfa, monkeypatch):
    asked = []
    for name, target in list(audits.TARGETS.items()):
        spy = replace(target, audit=lambda settings: asked.append(settings.trials) or report())
        monkeypatch.setitem(audits.TARGETS, name, spy)
        assert nfa("audit", name)[0] == 0
        assert nfa("audit", name, "--trials", 7)[0] == 0
    assert asked == [trials for target in audits.TARGETS.values() for trials in (target.trials, 7)]
    known = {"dp_dfa": 6000, "ohana2021:prop3-cols": 1000, "dpulr2024:thm2": 4_000_000, "dp_sgd": 20_000}
    assert {name: audits.find(name).trials for name in known} == known


@pytest.mark.nightly
def test_as_a_reader_runs_it(nfa, data_home, monkeypatch):
    """The audit as a reader runs it gives a bound of at least 5 at 95 %: Fashion-MNIST, every sigma of Table 1.

    There are 1,000 trials for each data set.
    """
    monkeypatch.setenv("NFA_DATA_HOME", str(data_home.resolve()))
    code, out, _ = nfa("audit", "ohana2021:prop3-cols", "--json", "--data-dir", data_home.resolve())
    found = json.loads(out)
    assert code == 0
    assert found["dataset"] == "fashion-mnist"
    assert found["lower_bound"] >= 5 > 0.2565 > found["claimed_epsilon"]
    assert {a["sigma"] for a in found["span_attack"]} == {0.01, 0.03, 0.05, 0.1, 0.2, 100.0}
    assert {a["auc"] for a in found["span_attack"]} == {1.0}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            ("ohana2021:no-such-prop3",),
            "there is no audit of 'ohana2021:no-such-prop3'. The audits are dp_dfa, ohana2021:prop3-cols",
        ),
        (("lee2020:eq5",), "there is no audit of 'lee2020:eq5'. The audits are"),
        (("pdfa", "--trials", "0"), "trials must be a whole number >= 1, got 0"),
        (("pdfa", "--trials", "many"), "invalid value for '--trials'"),
        (("pdfa", "--confidence", "1"), "confidence must be in (0, 1), got 1.0"),
        (("pdfa", "--confidence", "95"), "confidence must be in (0, 1), got 95.0"),
        (("pdfa", "--confidence", "nan"), "confidence must be in (0, 1), got nan"),
        (("pdfa", "--delta", "0"), "delta must be positive"),
        (("pdfa", "--delta", "1"), "delta must be in [0, 1), got 1.0"),
        (("pdfa", "--delta", "nan"), "delta must be in [0, 1), got nan"),
        (("pdfa", "--seed", "-1"), "the seed must be a whole number >= 0, got -1"),
        (("pdfa", "--data-dir", "nowhere"), "data_dir must be an existing folder, got 'nowhere'"),
        (("pdfa", "--out", "picture.jpg"), "--out must be a file that ends in .png, .pdf or .svg, got 'picture.jpg'"),
        (("pdfa", "--alpha", "2"), "no such option"),
        (("dp_sgd", "--out", "a.png"), "the audit dp_sgd has no picture: leave out --out"),
        (("pdfa", "--out", ""), "invalid value for '--out': must not be empty"),
        (("dp_dfa", "--trials", "0"), "trials must be a whole number >= 1, got 0"),
        (("dp_sgd", "--set", "C=1"), "--set has an effect only with --rule: give --rule, or leave out --set"),
        (
            ("dp_sgd", "--adjacency", "add-remove"),
            "--adjacency has an effect only with --rule: give --rule, or leave out --adjacency",
        ),
        (("dp_sgd", "--net", "5-5-2"), "--net has an effect only with --rule: give --rule, or leave out --net"),
        (
            ("dp_sgd", "--activation", "tanh"),
            "--activation has an effect only with --rule: give --rule, or leave out --activation",
        ),
        (("--batch", "4"), "--batch has an effect only with --rule: give --rule, or leave out --batch"),
        (
            ("--trials", "10"),
            "--out and --trials need an audit: give a target or --rule. `nfa audit` without options lists",
        ),
        (("--out", "a.png"), "give a target or --rule"),
        (("--rule", ""), "or module:function, got ''"),
        (("--rule", "dp_sgd", "--adjacency", "add-remove", "--net", ""), "or module:function, got ''"),
        (
            ("--rule", "dp_sgd", "--adjacency", "add-remove", "--net", "lee2020-cnn"),
            "of this audit must have at most 10,000",
        ),
        (("--rule", "dp_sgd", "--adjacency", "add-remove", "--batch", "0"), "batch must be a whole number >= 1, got 0"),
    ],
)
def test_bad_input_is_one_sentence(nfa, tmp_path, typed, said):
    code, out, err = nfa("audit", *typed)
    assert (code, out) == (2, "")
    assert re.fullmatch(r"nfa: [^\n]+\n", err), err
    assert said in err
    assert not list(tmp_path.iterdir())


def test_a_picture_that_has_no_place_is_told_before_the_work(nfa, tmp_path, monkeypatch):
    def worked(settings):
        raise AssertionError("the audit has begun")

    monkeypatch.setitem(audits.TARGETS, "ohana2021:prop3-cols", replace(audits.find("pdfa"), audit=worked))
    (tmp_path / "file").write_text("")
    for wrong in (tmp_path / "file" / "a.png", tmp_path / "file" / "folder" / "a.png"):
        code, out, err = nfa("audit", "pdfa", "--out", str(wrong))
        assert (code, out) == (1, "")
        assert err == f"nfa: --out needs a folder in which nfa can write, got {tmp_path / 'file'} (Not a directory)\n"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_audits_there_are(nfa):
    code, out, _ = nfa("audit")
    assert code == 0
    listed = json.loads(nfa("audit", "--json")[1])
    assert [one["target"] for one in listed] == list(audits.TARGETS)
    assert all(one["target"] in out and one["about"] for one in listed)


def test_names_are_taken_in_any_of_their_forms():
    (prop3,) = (t for t in audits.TARGETS.values() if t.name == "ohana2021:prop3-cols")
    for name in ("ohana2021:prop3-cols", "Ohana2021:Prop3-Cols", "ohana2021:prop3", "ohana2021:eq17", "PDFA", " pdfa "):
        assert audits.find(name) is prop3
    for alias in ledger.find("ohana2021:prop3-cols").aliases:
        assert audits.find(alias) is prop3


def report(**change):
    part = Part(heading="One", before=("Before.",), columns=("a", "b"), rows=(("1", "2"),), after=("After.",))
    return replace(
        Report(target="own", claimed_epsilon=math.inf, lower_bound=1.5, confidence=0.95, auc=0.75, delta=0.0,
               title="Own", parts=(part,), details={"note": math.inf}),
        **change,
    )  # fmt: skip


def test_a_report_that_refutes_nothing_and_one_that_is_exact(capsys):
    """`nfa audit` can print a report that refutes no claim and a report of an exact computation.

    The first report has no claim. The second has an infinite bound, from a closed form.
    """
    show_report(output(), report())
    out = capsys.readouterr().out
    assert "The claim is not refuted. This result does not prove the claim." in out
    assert re.search(r"^own +inf +1\.5 +0 +0\.75$", out, re.M)
    exact = report(claimed_epsilon=2.0, lower_bound=math.inf, confidence=1)
    show_report(output(), exact)
    assert "The claim is refuted by an exact computation." in capsys.readouterr().out
    assert exact.as_json() == {
        "target": "own", "claimed_epsilon": 2.0, "lower_bound": math.inf, "confidence": 1, "auc": 0.75, "delta": 0.0,
        "refuted": True, "note": math.inf,
    }  # fmt: skip


def test_a_long_name_of_a_rule_is_whole_and_the_answer_too(capsys, monkeypatch):
    """The output has the whole name of a rule and all its numbers. In a pipe, name and numbers are on one line.

    If the width is 100 columns, no line is wider, and the numbers are in a table below.
    """
    name = "a_module_with_a_rather_long_name_of_its_own:private_rule_with_a_name_as_long"
    told = report(target=name, claimed_epsilon=0.9263, lower_bound=1.375, delta=1e-5)
    monkeypatch.delenv("COLUMNS", raising=False)
    show_report(output(), told)
    assert re.search(rf"^{name} +0.9263 +1.375 +1e-05 +0.75$", capsys.readouterr().out, re.MULTILINE)
    monkeypatch.setenv("COLUMNS", "100")
    show_report(output(), told)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    beside = [line.removeprefix(name).split() for line in lines if line.startswith(name)]
    assert [number for numbers in beside for number in numbers] == ["0.9263", "1.375", "1e-05", "0.75"]


def test_the_picture(nfa, monkeypatch, tmp_path):
    """With --out, the audit returns the data of its picture and prints the picture's path.

    An audit without a picture refuses --out.
    """
    from nfa.papers.ohana2021 import audit_images
    from nfa.papers.ohana2021.audit_images import PhotonicAudit

    whole = PhotonicAudit(
        dataset="own", digest="", note="", m=2, trials=1, seed=1, attacks=[], labels=[], repaired=None
    )
    asked = []

    def audit(settings):
        asked.append(settings.picture)
        return report(drawn=whole if settings.seed == 1 else None)

    target = Target(name="own", about="mine", audit=audit, draw=audits.find("pdfa").draw)
    monkeypatch.setitem(audits.TARGETS, "own", target)
    monkeypatch.setattr(audit_images, "audit_figure", lambda path, drawn: path.write_text(drawn.dataset))
    assert nfa("audit", "own")[0] == 0
    code, out, _ = nfa("audit", "own", "--out", "new/picture.png")
    assert code == 0
    assert out.endswith("The picture is in new/picture.png\n")
    assert (tmp_path / "new/picture.png").read_text() == "own"
    assert json.loads(nfa("audit", "own", "--out", "b.png", "--json")[1])["files"] == ["b.png"]
    assert asked == [False, True, True]
    code, out, err = nfa("audit", "own", "--out", "c.png", "--seed", "2")
    assert (code, out) == (2, "")
    assert "the audit own has no picture" in err
