"""Tests of `nfa course check`: correct functions pass in any style, and the output names slips in few lines."""

import os
import re
import sys
from pathlib import Path

import pytest

from nfa.cli import main
from nfa.course import check, checking, directions, judging
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.rules.dp_dfa_joint import dp_dfa_joint
from nfa.rules.dp_sgd import dp_sgd
from nfa.rules.fa import fa
from tests.oracles.core import assert_close, bp_by_records, dfa_by_records

KINDS = list(check.staged().values())
OURS = {"bp": bp, "dfa": dfa, "fa": fa, "dp_sgd": dp_sgd, "dp_dfa_joint": dp_dfa_joint}
DENSE = """\
def {name}(net, x, y, *, {given}m=None, at="h", project=None, rng=None):
    z, h = forward(net, x)
    m = m or len(x)
    dW, db = [None] * (net.L + 1), [None] * (net.L + 1)
    for l in range(net.L, 0, -1):
        if l == net.L:
            dz = net.loss.error(z[l], y)
        else:
            dz = {back} * net.phi[l].dphi(z[l])
        dW[l] = sum(np.outer(dz[i], h[l - 1][i]) for i in range(len(x))) / m
        db[l] = np.mean(dz, axis=0) * (len(x) / m)
    return dW, db
"""
# Other implementations of the rules, which share no text with nfa's code.
MINE = {
    "bp": DENSE.format(name="bp", given="", back="(dz @ net.W[l + 1])"),
    "dfa": DENSE.format(name="dfa", given="B, ", back="((h[net.L] - y) @ B[l].T)"),
    "fa": DENSE.format(name="fa", given="V, ", back="(dz @ V[l + 1])"),
}
# Slips in these implementations: the old code, the new code, and words of the sentence that must name the slip.
WRONG = {
    "derivative": (" * net.phi[l].dphi(z[l])", "", "derivative is missing"),
    "derivative of h": ("dphi(z[l])", "dphi(h[l])", "derivative is taken at h"),
    "derivative at the top": ("net.loss.error(z[l], y)", "(h[l] - y) * h[l] * (1 - h[l])", "derivative too many"),
    "sign": ("net.loss.error(z[l], y)", "y - h[l]", "sign is wrong"),
    "no 1/m": ("range(len(x))) / m", "range(len(x)))", "1/m is missing in the weights"),
    "1/m twice": (
        "/ m\n        db[l] = np.mean(dz, axis=0) * (",
        "/ m / m\n        db[l] = np.mean(dz, axis=0) / m * (",
        "twice",
    ),
    "h of layer l": ("h[l - 1][i]", "h[l][i]", "h of the wrong layer"),
    "no bias": ("np.mean(dz, axis=0) * (len(x) / m)", "0 * net.b[l]", "bias is forgotten"),
    "bias none": ("np.mean(dz, axis=0) * (len(x) / m)", "None", "bias is forgotten"),
    "outer product turned": ("np.outer(dz[i], h[l - 1][i])", "np.outer(h[l - 1][i], dz[i])", "dW[l] is transposed"),
    "m ignored": ("m = m or len(x)", "m = len(x)", "given m is ignored"),
}
ONLY_DFA = {
    "sign": ("((h[net.L] - y)", "((y - h[net.L])", "sign of the hidden layers"),
    "top through B": (
        "if l == net.L:",
        "if l == net.L:\n            dz = (h[l] - y) @ B[l].T\n        elif False:",
        "top layer",
    ),
    "B transposed": ("B[l].T", "B[l]", "matrix is transposed"),
    "B of the next layer": ("B[l].T", "B[l + 1].T", "B of the wrong layer"),
    "backpropagation": ("((h[net.L] - y) @ B[l].T)", "(dz @ net.W[l + 1])", "This is backpropagation"),
}
ONLY_BP = {
    "W transposed": ("net.W[l + 1]", "net.W[l + 1].T", "matrix is transposed"),
    "W of layer l": ("net.W[l + 1]", "net.W[l]", "W of the wrong layer"),
}
CASES = [
    *((kind, name, wrong) for kind in MINE for name, wrong in WRONG.items() if (kind, name) != ("dfa", "sign")),
    *(("dfa", name, wrong) for name, wrong in ONLY_DFA.items()),
    *(("bp", name, wrong) for name, wrong in ONLY_BP.items()),
    ("fa", "V transposed", ("V[l + 1]", "V[l + 1].T", "matrix is transposed")),
    ("fa", "weights", ("V[l + 1]", "net.W[l + 1]", "This is backpropagation")),
]


def written(folder, kind, text):
    """A file with a student's version of a rule."""
    code = next(code for code, name in check.staged().items() if name == kind)
    head = "import numpy as np\nfrom nfa.course.stubs import exercise\nfrom nfa.network import forward\n"
    path = folder / "mine.py"
    path.write_text(f'{head}\n\n@exercise("{code}", "lee2020:eq5")\n{text}', encoding="utf-8")
    return path


def judged(folder, kind, text):
    (one,) = check.judgements(written(folder, kind, text))
    return one.judgement


def printed(path, capsys):
    code = main.main(["course", "check", str(path)])
    return code, capsys.readouterr()


# --- the reference values


@pytest.mark.parametrize("kind", KINDS)
def test_our_rules_pass_every_stage(kind):
    judgement = judging.judge(check.task(kind), OURS[kind])
    assert judgement.problem == ""
    private = {directions.CLIP, directions.NOISE}
    assert judgement.passed == len(judgement.stages)
    assert set(judgement.stages) == set(directions.HINTS) - (set() if kind in directions.BASE else private)


@pytest.mark.parametrize("kind", ["bp", "dfa"])
def test_the_values_are_those_of_loops_over_records(kind):
    """Central differences (error about 1e-10) agree with the loops over single records and values in tests/oracles."""
    for stage, _, make, settings in directions.networks(kind):
        net = make()
        if stage == directions.DENSE and not settings:
            x, y = directions.batch(net)
            fed = directions.feed(kind, net)
            want = bp_by_records(net, x, y) if kind == "bp" else dfa_by_records(net, x, y, fed)
            got = directions.wanted(kind, net, x, y, fed, len(x))
            for mine, theirs in zip(got.values(), want, strict=True):
                for l in range(1, net.L + 1):
                    assert_close(mine[l], theirs[l], rtol=1e-7)


# --- what is right and what is wrong


@pytest.mark.parametrize("kind", MINE)
def test_another_way_to_write_it_is_right_for_dense_networks(kind, tmp_path):
    judgement = judged(tmp_path, kind, MINE[kind])
    assert judgement.stages[judgement.passed] == directions.SKIPS
    assert ["skip is forgotten" in sentence for sentence in judgement.slips][:1] == [True]


@pytest.mark.parametrize(
    "kind, name, wrong",
    [pytest.param(*case, id="-".join(case[:2]), marks=() if case[0] == "dfa" else pytest.mark.slow) for case in CASES],
)
def test_a_typical_error_is_named(kind, name, wrong, tmp_path, capsys):
    """A sentence at the end of the output names the slip, and the output has at most 25 lines."""
    old, new, words = wrong
    assert MINE[kind].count(old) == 1
    code, said = printed(written(tmp_path, kind, MINE[kind].replace(old, new)), capsys)
    assert (code, said.err) == (1, "")
    assert re.search(r"dense networks +wrong", said.out)
    assert len(said.out.splitlines()) <= 25
    text = " ".join(said.out.split())
    (slip,) = {slip.sentence for slip in check.task(kind).slips if slip.sentence in text}
    assert words in slip
    assert text.endswith(slip)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind in directions.BASE else ()) for kind in KINDS]
)
def test_every_declared_slip_fails_and_is_recognised(kind):
    """Each declared slip fails with its own sentence. No sentence of another slip fits."""
    task = check.task(kind)
    for slip in task.slips:
        judgement = judging.judge(task, task.function(slip))
        assert judgement.problem, slip
        assert judgement.slips == (slip.sentence,), slip


def test_two_errors_are_named_both(tmp_path):
    text = (
        MINE["dfa"]
        .replace(" * net.phi[l].dphi(z[l])", "")
        .replace("np.mean(dz, axis=0) * (len(x) / m)", "0 * net.b[l]")
    )
    slips = judged(tmp_path, "dfa", text).slips
    assert [words in slip for words, slip in zip(("derivative is missing", "bias is forgotten"), slips, strict=True)]


@pytest.mark.parametrize("noise", ["np.sin(z[l])", "0.5"])
def test_what_no_slip_explains_gets_the_hint_of_its_stage(noise, tmp_path):
    judgement = judged(tmp_path, "bp", MINE["bp"].replace("net.phi[l].dphi(z[l])", noise))
    assert judgement.slips == ()
    assert judgement.hint == directions.HINTS[directions.DENSE]


JOINT = """\
def dp_dfa_joint(net, x, y, *, B, C, m, sigma, at="h", rng, **others):
    z, h = forward(net, x)
    dW = [None] + [np.zeros_like(w) for w in net.W[1:]]
    db = [None] + [np.zeros_like(b) for b in net.b[1:]]
    for i in range(len(x)):
        e = h[net.L][i] - y[i]
        dz = [None] + [(B[l] @ e) * net.phi[l].dphi(z[l][i]) for l in range(1, net.L)] + [e]
        parts = [np.append(np.outer(dz[l], h[l - 1][i]), dz[l]) for l in range(1, net.L + 1)]
        factor = min(1, C / np.linalg.norm(np.concatenate(parts)))
        for l in range(1, net.L + 1):
            dW[l] += factor * np.outer(dz[l], h[l - 1][i]) / m
            db[l] += factor * dz[l] / m
    for a in dW[1:] + db[1:]:
        a += rng.normal(0, sigma, a.shape)
    return dW, db
"""
PRIVATE = [
    ("", "", directions.SKIPS, "The skip is forgotten"),
    ("min(1, ", "(", directions.DENSE, "Small directions are scaled up"),
    ("min(1, C / np.linalg.norm(np.concatenate(parts)))", "1", directions.CLIP, "The clip is missing"),
    ("np.append(np.outer(dz[l], h[l - 1][i]), dz[l])", "np.outer(dz[l], h[l - 1][i]).ravel()", directions.CLIP, "bias"),
    ("for a in dW[1:] + db[1:]", "for a in dW[1:]", directions.NOISE, "The biases have no noise"),
    ("rng.normal(0, sigma,", "rng.normal(0, sigma**2,", directions.NOISE, "The variance is used"),
    ("rng.normal(0, sigma,", "rng.normal(0, sigma / m,", directions.NOISE, "The noise is divided by m"),
]


@pytest.mark.slow
@pytest.mark.parametrize("old, new, stage, words", PRIVATE)
def test_clip_and_noise_are_stages_of_their_own(old, new, stage, words, tmp_path):
    judgement = judged(tmp_path, "dp_dfa_joint", JOINT.replace(old, new) if old else JOINT)
    assert judgement.stages[judgement.passed] == stage, judgement
    (sentence,) = judgement.slips
    assert words in sentence


# --- output


def test_an_error_of_the_students_own_is_shown_with_its_line(tmp_path, capsys):
    path = written(tmp_path, "bp", MINE["bp"].replace("m = m or len(x)", "m = m or length(x)"))
    code, said = printed(path, capsys)
    assert code == 1
    assert "bp raised NameError: name 'length' is not defined" in said.out
    line = path.read_text().splitlines().index("    m = m or length(x)") + 1
    assert f"mine.py:{line}: m = m or length(x)" in said.out
    assert "Traceback" not in said.out
    assert len(said.out.splitlines()) <= 25


def test_a_loop_that_never_ends_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 0.2)
    judgement = judged(tmp_path, "bp", MINE["bp"].replace("m = m or len(x)", "while True: pass"))
    assert "did not return" in judgement.problem


def test_a_new_stub_is_not_written_yet(tmp_path, capsys):
    mine = tmp_path / "mine.py"
    assert main.main(["course", "stub", "lee2020:eq5", "--out", str(mine)]) == 0
    assert f"nfa course check {mine}" in capsys.readouterr().out
    code, said = printed(mine, capsys)
    assert code == 1
    assert "dfa is not written yet" in said.out


def test_what_only_tests_can_judge_needs_a_checkout(tmp_path, monkeypatch, capsys):
    mine = tmp_path / "mine.py"
    assert main.main(["course", "stub", "lee2020:A6-A8", "--out", str(mine)]) == 0
    monkeypatch.setattr(check, "CHECKOUT", tmp_path)
    code, said = printed(mine, capsys)
    assert code == 2
    assert "clone" in said.err


@pytest.mark.slow
def test_what_only_tests_can_judge_is_judged_by_them(tmp_path, capsys):
    """If only tests can judge a function, the tests of its statement run.

    The output has a few lines about the first failure.
    """
    mine = tmp_path / "mine.py"
    assert main.main(["course", "stub", "lee2020:ce", "--out", str(mine)]) == 0
    code, said = printed(mine, capsys)
    assert code == 1
    assert "mine.py is not written yet" in said.out
    text = mine.read_text(encoding="utf-8").rpartition("    raise NotImplementedError")[0]
    mine.write_text(text + "    return (y * z).sum(axis=1)\n", encoding="utf-8")
    code, said = printed(mine, capsys)
    assert code == 1
    assert re.search(r"test: test_\w+\n", said.out)
    assert len(said.out.splitlines()) <= 25
    mine.write_text(text + "    return y * q\n", encoding="utf-8")
    code, said = printed(mine, capsys)
    assert "name 'q' is not defined" in said.out
    assert re.search(r"mine\.py:\d+: return y \* q", said.out)


def test_an_edit_of_the_same_second_and_length_is_seen(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = written(tmp_path, "bp", MINE["bp"])
    changed = path.read_text(encoding="utf-8").replace("h[l - 1][i]", "h[l - 0][i]")
    before = path.stat().st_mtime
    assert "dense networks  right" in printed(path, capsys)[1].out
    path.write_text(changed, encoding="utf-8")
    os.utime(path, (before, before))
    assert "dense networks  wrong" in printed(path, capsys)[1].out
    assert [one.name for one in tmp_path.iterdir()] == ["mine.py"]


def test_many_functions_have_few_lines(tmp_path, capsys):
    head, marked = "from nfa.course.stubs import exercise\nfrom nfa.rules.bp import bp as ours\n", ""
    for number in range(12):
        marked += f'\n@exercise("nfa.rules.bp:bp", "lee2020:eq3")\ndef bp{number}(*args, **settings):\n'
        marked += "    return ours(*args, **settings)\n" if number < 11 else "    return None\n"
    (tmp_path / "mine.py").write_text(head + marked, encoding="utf-8")
    code, said = printed(tmp_path / "mine.py", capsys)
    assert code == 1
    assert len(said.out.splitlines()) <= 25
    assert "3 more functions: right" in said.out
    assert "bp11 (lee2020:eq3):\n" in said.out
    (tmp_path / "mine.py").write_text(head + marked.rpartition("\n@exercise")[0], encoding="utf-8")
    code, said = printed(tmp_path / "mine.py", capsys)
    assert code == 0
    assert "3 more functions: right" in said.out


def test_an_invalid_file_is_refused_in_one_sentence(tmp_path, capsys):
    path = tmp_path / "mine.py"
    for text in ("def f(:\n", "x = 1\n", "raise SystemExit\n"):
        path.write_text(text)
        code, said = printed(path, capsys)
        assert code == 2
        assert re.fullmatch(r"nfa: \S.*\n", said.err)
    assert printed(Path(tmp_path / "none.py"), capsys)[0] == 2
