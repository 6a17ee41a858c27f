"""Tests of secure runs: their randomness, the privacy statements in their records, and the epsilon of lost steps.

The random samples come from the operating system, so they differ in every run of a test. Each statistical test fails on
correct code once in 10^9 runs.
"""

import copy
import itertools
import json
import math
import pickle
import re
import shutil
import signal
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from nfa import cipher, data, noise, philox, rounded
from nfa.cli import main
from nfa.data import keyed_digest
from nfa.experiments import checkpoint, company, records
from nfa.experiments import prepare as prepared
from nfa.experiments.prepare import prepare
from nfa.experiments.privacy_statement import FLOATS, OVERFLOWS, SIDE_CHANNELS, UNREPORTED
from nfa.experiments.run import run
from nfa.experiments.settings import Settings
from nfa.mechanism import ADJACENCIES, Mechanism
from nfa.privacy import accountant
from nfa.privacy.gaussians import hockey_stick_gaussian
from nfa.privacy.theorems import COVERAGE
from nfa.rules.spec import names, spec
from nfa.sampling import SCHEMES
from nfa.train import Diverged
from tests.experiments.test_rounding_of_sums import ALLOWED
from tests.experiments.tiny_runs import PRIVATE, Killed, stop_after, tiny_settings, write_data
from tests.oracles import rule_settings

pytestmark = pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")

FALSE_ALARM = 1e-9


def killed(settings, folder, monkeypatch, k, **how):
    """Stop the run after k steps."""
    with monkeypatch.context() as patch:
        stop_after(patch, k)
        with pytest.raises(Killed):
            run(settings, folder, **{"checkpoint_every": 0} | how)


def ctrl_c_at(patch, k):
    """Send Ctrl-C in step k. The run then writes a checkpoint and stops."""
    whole = prepared.train

    def interrupted(*given, **more):
        for t in whole(*given, **more):
            if t == k:
                signal.raise_signal(signal.SIGINT)
            yield t

    patch.setattr(prepared, "train", interrupted)


def raising(problem):
    raise problem


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A temporary folder for the user's key."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def settings(tmp_path):
    return tiny_settings(write_data(tmp_path / "some.npz"), **PRIVATE)


# --- the streams


def test_a_stream_is_the_cipher_under_a_key_of_its_own(monkeypatch):
    """A stream is the output of the cipher with its own key. We compare each word.

    test_kernels_noise compares `cipher.chacha20` itself with RFC 8439.
    """
    master = np.arange(100, 108, dtype=np.uint32)
    monkeypatch.setattr(noise.os, "urandom", lambda n: master.tobytes())
    streams, seen = noise.secure(), set()
    for purpose in noise.SECRET:
        for t in (0, 1, 2**32 - 1):
            key = cipher.chacha20(master, noise.PURPOSES[purpose] * 2**32 + t, 1)[:8, 0]
            words = streams(purpose, t).bit_generator.random_raw(16).view(np.uint32)
            assert np.array_equal(words, cipher.chacha20(key, 0, 2).T.ravel())
            seen.add(key.tobytes())
    assert len(seen) == 3 * len(noise.SECRET)


def test_batches_and_noise_are_fresh_and_the_rest_is_public():
    one, two = noise.secure(), noise.secure()
    assert noise.SECRET == ("batch", "noise")
    for purpose in noise.PURPOSES:
        draws = [streams(purpose, 3).random(4).tolist() for streams in (one, two, noise.Streams(0))]
        assert (draws[0] == draws[1]) == (draws[0] == draws[2]) == (purpose not in noise.SECRET)


def test_a_key_leaves_the_process_in_no_way(monkeypatch):
    streams = noise.secure()
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be saved"):
            copied(streams)
    monkeypatch.setattr(noise.os, "getpid", lambda: -1)
    with pytest.raises(RuntimeError, match="only in the process that made them"):
        streams("noise", 1)


def test_without_the_library_a_sentence(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "randomgen", None)
    with pytest.raises(OSError, match=r"pip install 'noisy-feedback-alignment\[secure\]'"):
        noise.secure()


@pytest.mark.slow
def test_the_laws_of_the_draws():
    """The samples have the right distributions. Samples of different steps, purposes and calls are uncorrelated.

    We use KS tests for uniforms and normals, a chi-square test for bytes, and correlations of neighbouring steps,
    purposes and samples. The keys are new in each run, and correct code fails once in 10^9 runs. The test misses the
    following errors once in 10^6 runs: a distribution function wrong by 0.06, a correlation of 0.09 between normals,
    and a correlation of 0.4 or 0.7 between first samples.
    """
    streams = noise.secure()
    firsts = {purpose: np.array([streams(purpose, t).random() for t in range(300)]) for purpose in noise.SECRET}
    normals = streams("noise", 5000).standard_normal(20_000)
    on_grid = np.zeros(20_000)
    rounded.add_normal(on_grid, 2.0, streams("noise", 5001), unit=2.0**-24)
    values = [stats.kstest(d, "uniform").pvalue for d in firsts.values()]
    values += [stats.kstest(normals, "norm").pvalue, stats.kstest(on_grid / 2, "norm").pvalue]
    values += [stats.chisquare(np.bincount(np.frombuffer(streams("batch", 300).bytes(2**16), np.uint8))).pvalue]
    pairs = [(firsts["batch"], firsts["noise"]), (normals[1:], normals[:-1])]
    pairs += [(d[1:], d[:-1]) for d in firsts.values()]
    values += [2 * stats.norm.sf(abs(np.corrcoef(a, b)[0, 1]) * len(a) ** 0.5) for a, b in pairs]
    tails = int((np.abs(normals) > 3).sum())
    values.append(stats.binomtest(tails, 20_000, 2 * stats.norm.sf(3)).pvalue)
    assert min(values) > FALSE_ALARM / len(values)


# --- the record


def test_the_record_of_a_secure_run(settings, tmp_path, monkeypatch):
    key = bytes(range(7, 39))
    monkeypatch.setattr(noise.os, "urandom", lambda n: key[:n])
    record = run(settings, tmp_path / "out", checkpoint_every=0)
    assert record["private"] is True
    assert record["seed"] is None
    assert "seed" not in record["settings"]
    assert record["settings"]["secure"] is True
    assert keyed_digest.fits(record["data"]["digest"], data.load(settings.dataset).digest)
    first = record["privacy"]["statement"].partition(". ")[0]
    assert first.endswith("-DP under replace-one: this secure run is private")
    assert {FLOATS, SIDE_CHANNELS} < set(re.split(r"(?<=\.) ", record["privacy"]["statement"]))
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.suffix != ".lock") == [
        "dp_sgd-secure.json"
    ]
    assert records.read(tmp_path / "out" / "dp_sgd-secure.json") == record
    guarantee = record["privacy"]["guarantee"]
    mechanism = Mechanism(**record["privacy"]["mechanism"])
    assert guarantee["epsilon"] == accountant.epsilon([(mechanism, 12)], delta=1e-3, steps_per_epoch=4).epsilon


def test_two_secure_runs_differ_and_no_file_holds_the_key(settings, tmp_path, monkeypatch):
    key = bytes(range(7, 39))
    weights = []
    for number, given in enumerate((key, key[::-1])):
        monkeypatch.setattr(noise.os, "urandom", lambda n, given=given: given[:n])
        killed(settings, tmp_path / str(number), monkeypatch, 6)
        files = [path for path in (tmp_path / str(number)).iterdir() if path.is_file()]
        assert {path.suffix for path in files} >= {".npz", ".txt"}
        for path in files:
            content = path.read_bytes()
            assert given not in content
            assert given[:8] not in content
            assert b"PCG" not in content
            assert b"ChaCha" not in content
        with np.load(tmp_path / str(number) / "dp_sgd-secure.ckpt.npz") as saved:
            weights.append(saved["W1"])
            assert "seed" not in json.loads(saved["header"].tobytes())["meta"]["settings"]
    assert not np.array_equal(*weights)


@pytest.mark.parametrize("secure, kept", [(True, []), (None, ["clipped"])])
def test_no_checkpoint_of_a_secure_run_shows_what_its_clip_shortened(secure, kept, settings, tmp_path, monkeypatch):
    killed(replace(settings, secure=secure), tmp_path / "out", monkeypatch, 6)
    (checkpoint,) = (tmp_path / "out").glob("*.ckpt.npz")
    with np.load(checkpoint) as saved:
        assert list(json.loads(saved["header"].tobytes())["state"]) == kept


@pytest.mark.parametrize(
    "change, told",
    [
        ({"secure": None}, "if run with --secure; this seeded run is not private."),
        ({"delta": None}, "no delta is named"),
        ({"adjacency": None, "delta": None}, "no adjacency is named"),
        ({"sampling": "poisson"}, "the theorems on Poisson batches cover only an added"),
    ],
)
def test_a_run_is_private_only_if_all_parts_warrant_it(settings, tmp_path, change, told):
    record = run(replace(settings, epochs=1, **change), tmp_path / "out")
    assert record["private"] is False
    assert record["privacy"]["statement"].startswith("(" if "secure" in change else "none: ")
    assert told in record["privacy"]["statement"]


@pytest.mark.parametrize(
    "change, told",
    [
        ({"pixels": "standard"}, "set pixels to unit or as-is"),
        ({"align_every": 2}, "leave out align_every"),
        ({"validation": 0.25}, "leave out validation"),
    ],
)
def test_what_would_show_examples_is_refused_before_the_first_step(settings, tmp_path, change, told):
    with pytest.raises(
        ValueError, match=f"^a secure run must reveal only its noisy steps, but this run reveals more: .*{told}"
    ):
        run(replace(settings, **change), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_record_says_more(settings, tmp_path):
    record = run(replace(settings, epochs=1), tmp_path / "out")
    for change in ({"seed": 1}, {"settings": {**record["settings"], "secure": False}}, {"privacy": {"statement": ""}}):
        with pytest.raises(ValueError, match="nfa never records a run"):
            records.validate(record | change)


def test_no_secure_rule_of_nfa_draws_noise_for_single_examples():
    """No rule of nfa draws noise for single examples in a secure run, because the kernel of this noise needs a seed."""
    assert {name for name in names() if "add_normal_each" in spec(name).given} >= {"pdfa", "noisy_bp"}
    assert not [name for name in ALLOWED if "add_normal_each" in spec(name).given]


def test_kernels_for_ulr_draw_from_a_cipher(settings):
    pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    own = {"rule": "dp_ulr_sound", "rule_settings": {"K": 2, "sigma": 0.1, "sigma_0": 1.0, "C": 1.0}}
    seeded, secure = (prepare(replace(settings, **own, secure=given)).kernels for given in (None, True))
    assert "nfa.kernels.ulr.weigh" in seeded
    assert not [name for name in secure if name.endswith(".weigh") or "philox" in name]


# --- interrupted


def epsilon_of(record, spent):
    """The epsilon of ``spent`` steps, or of ``spent`` uses of a record if epochs are shuffled."""
    mechanism = Mechanism(**record["privacy"]["mechanism"])
    per_epoch = 1 if mechanism.sampling == "epoch-partition" else None
    return accountant.epsilon(
        [(mechanism, spent)], delta=record["settings"]["delta"], steps_per_epoch=per_epoch
    ).epsilon


@pytest.mark.parametrize("sampling, spent", [("epoch-partition", 5), ("without-replacement", 12)])
def test_every_session_begins_a_fresh_epoch(settings, tmp_path, monkeypatch, sampling, spent):
    """Every session begins a new epoch. After stops at 5 and 9 of 12 steps, a record has up to 2 + 2 + 1 uses.

    The run has 3 epochs of 4 steps.
    """
    settings = replace(settings, sampling=sampling)
    for k in (5, 9):
        killed(settings, tmp_path / "out", monkeypatch, k)
    record = run(settings, tmp_path / "out")
    assert record["private"] is True
    assert record["privacy"]["guarantee"]["steps"] == 12
    assert record["privacy"]["sessions"] == [[1, 5], [6, 4], [10, 3]]
    assert record["privacy"]["guarantee"]["epsilon"] == pytest.approx(epsilon_of(record, spent), rel=1e-12)
    assert not list((tmp_path / "out").glob("*.spent.txt"))


@pytest.mark.parametrize("tau, spent", [(1.0, 2 + 1), (0.5, None), pytest.param(1 / 40, 80, marks=pytest.mark.slow)])
def test_partial_passes_interrupted(settings, tmp_path, monkeypatch, tau, spent):
    """The epsilon of interrupted partial passes includes all sessions: 80 steps over 40 records, interrupted after 50.

    With tau = 1, the interruption is in the second pass. For tau = 1/2, no guarantee is proved.
    """
    settings = replace(settings, epochs=2, sampling="partial-passes", tau=tau, batch=1)
    with monkeypatch.context() as patch:
        ctrl_c_at(patch, 50)
        with pytest.raises(KeyboardInterrupt):
            run(settings, tmp_path / "out")
    record = run(settings, tmp_path / "out")
    assert record["private"] is (spent is not None)
    if spent is None:
        assert record["privacy"]["id"] == "berthier2019:conj1"
    else:
        assert record["privacy"]["guarantee"]["epsilon"] == pytest.approx(epsilon_of(record, spent), rel=1e-12)


def test_steps_count_as_spent_once_anything_of_them_may_be_written(settings, tmp_path, monkeypatch):
    """A step counts as spent as soon as a file may contain its result. After a kill, epsilon is that of 7 + 6 steps.

    The run is killed while it writes the checkpoint of step 7, and continues after step 6.
    """
    whole = checkpoint.save_checkpoint

    def dying(path, net, optimizer, t, *more):
        if t == 7:
            raise Killed
        whole(path, net, optimizer, t, *more)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_checkpoint", dying)
        with pytest.raises(Killed):
            run(settings, tmp_path / "out", checkpoint_every=0)
    record = run(settings, tmp_path / "out")
    assert record["steps"] == 12
    assert record["privacy"]["guarantee"]["steps"] == 13
    assert record["privacy"]["sessions"] == [[1, 7], [7, 6]]
    assert record["privacy"]["guarantee"]["epsilon"] == pytest.approx(epsilon_of(record, 2 + 2), rel=1e-12)


def test_the_sentence_of_a_divergence_is_counted(settings, tmp_path, monkeypatch):
    """The step that diverges counts as spent, because the message reveals that its weights are infinite or NaN."""
    whole = prepared.train

    def diverging(*given, **more):
        yield from itertools.islice(whole(*given, **more), 6)
        raise Diverged(7, 1)

    with monkeypatch.context() as patch:
        patch.setattr(prepared, "train", diverging)
        with pytest.raises(Diverged):
            run(settings, tmp_path / "out")
    assert run(settings, tmp_path / "out")["privacy"]["sessions"] == [[1, 7], [1, 12]]


def test_the_command_counts_what_its_interruptions_cost(tmp_path, monkeypatch, capsys):
    """`nfa train` counts the uses of a record: 1 + 2 + 2 + 1 after Ctrl-C in steps 1, 3 and 5.

    The run has six steps, two per epoch. Without interruptions, a record would be used 3 times.
    """
    out = tmp_path / "out"
    words = "train --secure --rule dp_sgd --classes 3 --net 6-5-4-3 --batch 20 --epochs 3 --pixels as-is --json".split()
    words += "--set C=1 --set sigma=0.02 --adjacency replace-one --delta 1e-5".split()
    words += ["--dataset", str(write_data(tmp_path / "some.npz")), "--out", str(out)]
    for k in (1, 3, 5):
        with monkeypatch.context() as patch:
            ctrl_c_at(patch, k)
            assert main.main(words) == 130
        assert json.loads((out / "dp_sgd-secure.spent.txt").read_text())["sessions"][-1][0] == max(k - 1, 1)
    capsys.readouterr()
    assert main.main(words) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["private"] is True
    assert record["privacy"]["guarantee"]["noise_multiplier"] == pytest.approx(0.2, rel=1e-4)
    assert record["privacy"]["sessions"] == [[1, 1], [2, 2], [4, 2], [6, 1]]
    said = record["privacy"]["guarantee"]["epsilon"]
    assert said == pytest.approx(epsilon_of(record, 6), rel=1e-12)
    # the exact delta at the reported epsilon
    assert hockey_stick_gaussian(epsilon=said, noise_multiplier=0.2 / 6**0.5) <= 1e-5


def test_nothing_written_is_nothing_spent(settings, tmp_path, monkeypatch):
    killed(settings, tmp_path / "out", monkeypatch, 5, checkpoint_every=1e9)
    assert run(settings, tmp_path / "out")["privacy"]["guarantee"]["steps"] == 12


@pytest.mark.parametrize(
    "damage, told",
    [
        (lambda path: path.unlink(), r"dp_sgd-secure\.spent\.txt is missing"),
        (lambda path: path.write_text("[5"), "does not record the steps that were taken"),
        (lambda path: path.write_text('{"sessions": [[0, 5]]}'), "does not record the steps that were taken"),
        (lambda path: path.write_text('{"sessions": [[1, 5, 2]]}'), "does not record the steps that were taken"),
        (lambda path: path.write_text('{"sessions": [5]}'), "does not record the steps that were taken"),
        (lambda path: path.write_text("[[1, 5]]"), "does not record the steps that were taken"),
        (lambda path: path.write_text("{}"), "does not record the steps that were taken"),
        (lambda path: path.write_text('{"sessions": [[1, 5]]}'), "has no valid seal from this user's key"),
    ],
)
def test_a_checkpoint_without_its_account_is_refused(settings, tmp_path, monkeypatch, damage, told):
    killed(settings, tmp_path / "out", monkeypatch, 5)
    damage(tmp_path / "out" / "dp_sgd-secure.spent.txt")
    before = files_of(tmp_path / "out")
    with pytest.raises(ValueError, match=told) as caught:
        run(settings, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert files_of(tmp_path / "out") == before


def test_a_note_of_a_run_begun_afresh_does_not_pass_for_that_of_an_older_checkpoint(settings, tmp_path, monkeypatch):
    """If a run begins again, nfa does not accept its note together with an older checkpoint.

    The first run wrote a checkpoint of 6 steps. We start a new run with --no-resume, and kill the new run after the
    note of its first step.
    """
    killed(settings, tmp_path / "out", monkeypatch, 6)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_checkpoint", lambda *given: raising(Killed()))
        with pytest.raises(Killed):
            run(settings, tmp_path / "out", checkpoint_every=0, resume=False)
    with pytest.raises(ValueError, match=r"spent\.txt records fewer steps than dp_sgd-secure\.ckpt\.npz has taken"):
        run(settings, tmp_path / "out")


# --- refusals


def test_a_secure_run_does_not_go_on_from_a_seeded_one(settings, tmp_path, monkeypatch):
    killed(replace(settings, secure=None), tmp_path / "out", monkeypatch, 5)
    with pytest.raises(ValueError, match="dp_sgd-seed1, which has a seed"):
        run(settings, tmp_path / "out")


@pytest.mark.parametrize(
    "typed, said",
    [
        (
            ["--seed", "1"],
            "give either --secure or --seed, got --secure and --seed 1. A secure run has no seed, because anyone who"
            " knows the seed can compute the noise and the batches",
        ),
        (["--resume"], "which has a seed. A secure run cannot continue a run with a seed: choose another folder"),
    ],
)
def test_the_command_refuses_what_does_not_go_together(settings, tmp_path, monkeypatch, capsys, typed, said):
    killed(replace(settings, secure=None), tmp_path / "out", monkeypatch, 5)
    words = "train --secure --anyway --rule dp_sgd --classes 3 --net 6-5-4-3 --batch 10 --pixels as-is --set C=1"
    words += " --set sigma=3"
    assert main.main([*words.split(), "--dataset", settings.dataset, "--out", str(tmp_path / "out"), *typed]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert said in told
    assert "Traceback" not in told


def test_a_seed_is_refused(settings):
    with pytest.raises(ValueError, match="a secure run has no seed, got seed 3"):
        prepared.check(replace(settings, seed=3))
    with pytest.raises(ValueError, match="secure must be true or false"):
        prepared.check(replace(settings, secure=1))
    assert "secure" not in Settings().to_json()


# --- the data


def replace_data(path):
    """Write other data with the same name, in which the last training example has another label."""
    with np.load(path) as old:
        arrays = dict(old)
    arrays["y_train"][-1] = (arrays["y_train"][-1] + 1) % 3
    np.savez(path, **arrays)


def lose_key(path):
    keyed_digest.key_file().unlink()


def another_key(path):
    keyed_digest.key_file().write_text("12" * 32)


CHANGES = [
    (replace_data, "with other settings (other data)"),
    (
        lose_key,
        "but the data of the run can only be checked with the key of the user who began the run, and the key file ",
    ),
    (another_key, "but the data of the run can only be checked with the key of the user who began the run, and "),
]
TRAIN = (
    "train --secure --rule dp_sgd --net 6-5-4-3 --batch 10 --epochs 3 --pixels as-is --set C=1 --set sigma=3".split()
)
TRAIN += "--lr 0.1 --adjacency replace-one --delta 1e-3 --classes 3 --records 40".split()


@pytest.mark.parametrize("change, said", CHANGES)
@pytest.mark.parametrize("held", ["an interrupted run", "a finished run"])
def test_a_run_goes_on_and_answers_for_its_own_data_only(held, change, said, settings, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    words = [*TRAIN, "--dataset", settings.dataset, "--out", str(out)]
    if held == "an interrupted run":
        killed(settings, out, monkeypatch, 5)
    else:
        assert main.main(words) == 0
    before, key = files_of(out), keyed_digest.key_file()
    change(settings.dataset)
    there = key.exists() and key.read_bytes()
    assert main.main(words) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"holds {held} dp_sgd-secure" in told
    assert said in told
    assert told.endswith("start afresh with --no-resume (resume=False)")
    assert "Traceback" not in told
    assert files_of(out) == before
    assert (key.exists() and key.read_bytes()) == there
    assert main.main([*words, "--no-resume"]) == 0


@pytest.mark.parametrize("secure", [True, False])
def test_another_conversion_of_a_finished_run_is_called_by_its_name(secure, settings, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    words = [word for word in TRAIN if secure or word != "--secure"]
    words += ["--dataset", settings.dataset, "--out", str(out)]
    counted = [*words, "--conversion", "mironov2017"]
    assert main.main(counted) == 0
    before = files_of(out)
    assert main.main(counted) == 0
    capsys.readouterr()
    assert main.main([*words, "--conversion", "canonne2020"]) == 2
    told = capsys.readouterr().err
    assert "this command would compute epsilon by the conversion canonne2020: give --conversion mironov2017" in told
    assert main.main(words) == (2 if secure else 0)  # a seeded record has no seal, so nfa reports the edited record
    assert "edited" not in capsys.readouterr().err
    assert files_of(out) == before


SMALLEST, RDP, PLD, PAPERS = [], ["--accountant", "rdp"], ["--accountant", "pld"], ["--conversion", "mironov2017"]
SAYS = {  # recorded options, requested options, the first words of the refusal, and the suggested options
    "smallest, rdp": (SMALLEST, RDP, "by the smallest bound that is proved, but", "leave out --accountant rdp, or"),
    "smallest, conversion": (
        SMALLEST,
        PAPERS,
        "by the smallest bound that is",
        "leave out --conversion mironov2017, or",
    ),
    "conversion, pld": (
        *(PAPERS, PLD, "by the conversion mironov2017, but"),
        "by the accountant pld: give --conversion mironov2017 instead of --accountant pld, or",
    ),
}


@pytest.mark.parametrize("secure", [True, False])
@pytest.mark.parametrize("said", SAYS)
def test_another_accountant_of_a_finished_run_is_called_by_its_name(said, secure, settings, tmp_path, capsys):
    recorded, asked, first, remedy = SAYS[said]
    out = tmp_path / "out"
    words = [word for word in TRAIN if secure or word != "--secure"]
    words += ["--dataset", settings.dataset, "--out", str(out)]
    assert main.main([*words, *recorded]) == 0
    before = files_of(out)
    assert main.main([*words, *recorded]) == 0
    capsys.readouterr()
    assert main.main([*words, *asked]) == 2
    told = capsys.readouterr().err
    assert f"the epsilon of the record was computed {first}" in told
    assert remedy in told
    assert files_of(out) == before


@pytest.mark.parametrize("secure", [True, False])
def test_a_record_of_an_earlier_version_keeps_its_epsilon(secure, settings, tmp_path, monkeypatch):
    """nfa accepts the epsilon in a record of an earlier version, which used only Rényi divergences.

    Rényi divergences also prove a guarantee. The run of this test has two sessions.
    """
    settings = replace(settings, secure=secure or None)
    old = replace(settings, accountant="rdp")
    killed(old, tmp_path / "out", monkeypatch, 5)
    record = run(old, tmp_path / "out")
    guarantee = record["privacy"]["guarantee"]
    assert guarantee["conversion"] == "canonne2020"
    assert "epsilon_at_least" not in guarantee
    assert run(settings, tmp_path / "out") == record
    assert run(old, tmp_path / "out") == record
    with pytest.raises(ValueError, match="by the accountant pld: give --"):
        run(replace(settings, accountant="pld"), tmp_path / "out")
    if secure:
        assert record["private"]
        edit = {"guarantee": guarantee | {"epsilon": guarantee["epsilon"] / 2}}
        path = tmp_path / "out" / "dp_sgd-secure.json"
        path.write_text(json.dumps(record | {"privacy": record["privacy"] | edit}))
        with pytest.raises(ValueError, match="does not follow from the sessions"):
            run(settings, tmp_path / "out")


def test_an_interrupted_run_of_an_earlier_version_goes_on_and_is_counted_anew(settings, tmp_path, monkeypatch):
    killed(replace(settings, accountant="rdp"), tmp_path / "out", monkeypatch, 5)
    record = run(settings, tmp_path / "out")
    assert len(record["privacy"]["sessions"]) == 2
    assert record["privacy"]["guarantee"]["conversion"] == "pld"
    by_renyi = run(replace(settings, accountant="rdp"), tmp_path / "renyi")
    assert by_renyi["privacy"]["guarantee"]["conversion"] == "canonne2020"


def test_with_its_key_a_run_goes_on_elsewhere(settings, tmp_path, monkeypatch, state):
    """A run continues on another machine if the user's key is there. We copy the run's folder, the data and the key.

    The state folder of the other machine contains the key.
    """
    killed(settings, tmp_path / "out", monkeypatch, 5)
    shutil.copytree(tmp_path / "out", tmp_path / "there" / "out")
    path = shutil.copy(settings.dataset, tmp_path / "there")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "there" / "state"))
    with pytest.raises(ValueError, match=r"the key file .*there/state/nfa/data\.key does not exist"):
        run(replace(settings, dataset=path), tmp_path / "there" / "out")
    shutil.copytree(state, tmp_path / "there" / "state")
    record = run(replace(settings, dataset=path), tmp_path / "there" / "out")
    assert record["privacy"]["sessions"] == [[1, 5], [6, 7]]


def test_no_file_of_a_run_shows_the_key_or_lets_a_guess_of_the_data_be_checked(settings, tmp_path, monkeypatch):
    plain = data.load(settings.dataset).digest
    killed(settings, tmp_path / "out", monkeypatch, 5)
    found = files_of(tmp_path / "out")
    run(settings, tmp_path / "out")
    key = bytes.fromhex(keyed_digest.key_file().read_text())
    for content in [*found.values(), *files_of(tmp_path / "out").values()]:
        for secret in (key, bytes.fromhex(plain)):
            assert secret not in content
            assert secret.hex().encode() not in content


def test_runs_of_earlier_versions_are_refused(settings, tmp_path):
    """Runs of earlier versions are refused, because their records contain no digest of their data."""
    run(settings, tmp_path / "out")
    path = tmp_path / "out" / "dp_sgd-secure.json"
    record = json.loads(path.read_text())
    record["data"]["digest"] = "not kept: a hash of the training data would tell neighbours apart"
    path.write_text(json.dumps(record))
    with pytest.raises(
        ValueError, match="holds a finished run dp_sgd-secure, but the run does not record a digest of the data"
    ):
        run(settings, tmp_path / "out")
    assert json.loads(path.read_text()) == record


@pytest.mark.parametrize("place", ["state/nfa", "state"])
def test_no_record_is_kept_with_the_key(place, settings, tmp_path):
    with pytest.raises(ValueError, match=r"holds .*data\.key, the key to the data of secure runs: choose another"):
        run(settings, tmp_path / place)
    assert not (tmp_path / place).exists()


# --- the noise of a secure run


@pytest.mark.verifies("ours:rounded-gaussian")
@pytest.mark.parametrize("kernels", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["numpy", "kernels"])
@pytest.mark.parametrize("name", ALLOWED)
def test_a_step_is_released_on_the_grid_that_is_stated(name, kernels, settings, monkeypatch):
    """Each entry of a released step is an integer multiple of the stated unit of the grid.

    The noise of two steps has the std of the mechanism. Correct code fails with probability 2e-9.
    """
    monkeypatch.setattr(company, "check", lambda *_, **__: None)  # this test does not need the check of the products
    rule = spec(name)
    given = rule_settings.values(rule, {"m": 8}, bound=1.0, positive=0.5, noise=3.0, count=4)
    run_settings = {one.name: given[one.name] for one in rule.settings if one.name in given and one.name != "m"}
    ready = prepare(replace(settings, rule=name, rule_settings=run_settings, kernels=kernels))
    mechanism, unit = ready.mechanism, ready.privacy.unit
    x, y = ready.batches.at(1)
    one, other = (
        np.concatenate([p.ravel() for arrays in ready.rule(ready.net, x, y, rng=rng) for p in arrays[1:]])
        for rng in (ready.streams("noise", t) for t in (1, 2))
    )
    assert math.frexp(unit)[0] == 0.5
    assert unit * math.sqrt(len(one)) <= 2.0**-14 * mechanism.sensitivity
    for released in (one, other):
        assert released.dtype == np.float64
        assert np.array_equal(np.rint(released / unit) * unit, released)
    squares = float((((one - other) / mechanism.noise_std) ** 2).sum() / 2)
    assert FALSE_ALARM < stats.chi2.cdf(squares, len(one)) < 1 - FALSE_ALARM


# --- why a secure run rounds to a grid


@pytest.mark.parametrize(
    "add_normal, dtype",
    [
        (noise.add_normal, np.float32),
        (philox.add_normal, np.float32),
        (noise.add_normal, np.float64),
        (cipher.add_normal_keyed, np.float64),
    ],
    ids=["NumPy, float32", "Philox", "NumPy, float64", "ChaCha20"],
)
def test_low_order_bits_tell_neighbours_apart(add_normal, dtype):
    """The low-order bits of a float distinguish neighbours, so a secure run needs the grid.

    The noise g has std 10, and the protected value is 0 or 1. By the theorem for real numbers, the probability of an
    event for one value is at most e times its probability for the other value, plus a delta below 1e-20. Our event is
    that |y| < 1/4 and that y is no multiple of the spacing of the floats near 1. For y = 1 + g, this event is
    impossible, because g is near -1. For y = g, the probability of the event is 0.0159, which is four fifths of the
    probability of |y| < 1/4.
    """
    assert hockey_stick_gaussian(epsilon=1, noise_multiplier=10) < 1e-20
    grid = 2.0 ** (-24 if dtype is np.float32 else -53)  # the spacing of the floats from 1/2 to 1
    draws, counts = 200_000, []
    for value in (0, 1):
        y = np.full(draws, value, dtype)
        add_normal(y, 10.0, noise.secure()("noise", value))
        counts.append(int(((np.abs(y) < 0.25) & (y.astype(float) / grid % 1 != 0)).sum()))
    expected = 0.75 * draws * math.erf(0.025 / math.sqrt(2))
    assert counts[1] == 0
    assert counts[0] > 0.8 * expected


# --- an overflow in one record


def test_a_record_that_overflows_neither_ends_a_secure_run_nor_is_told(settings, tmp_path):
    """An overflow in one record does not end a secure run and is not reported, although its pass gives NaN.

    The run's record and history have the same entries with and without this overflow.
    """
    content = dict(np.load(settings.dataset))
    told = []
    for wild in (False, True):
        folder = tmp_path / str(wild)
        if wild:
            content["x_train"][3] = 3e38
        np.savez(tmp_path / "wild.npz", **content)
        given = replace(settings, dataset=str(tmp_path / "wild.npz"), activation="relu", epochs=2)
        told.append(run(given, folder))
    assert told[0]["private"] is told[1]["private"] is True
    assert told[0]["privacy"] == told[1]["privacy"]
    assert f"{OVERFLOWS} {UNREPORTED}" in told[0]["privacy"]["statement"]
    assert [set(entry) for entry in told[0]["history"]] == [set(entry) for entry in told[1]["history"]]


def test_a_secure_run_that_diverges_says_so_by_the_test_examples(settings, tmp_path):
    with pytest.raises(Diverged, match="the run diverged: at step 4 "):
        run(replace(settings, activation="relu", lr=1e150), tmp_path / "out")


# --- attacks of an adversary ---------------------------------------------------------------------------------------


def test_an_edited_record_is_not_answered_with(settings, tmp_path):
    record = run(settings, tmp_path / "run")
    path = next((tmp_path / "run").glob("*.json"))
    assert run(settings, tmp_path / "run") == record
    for edited in (
        record | {"private": False},
        record | {"privacy": record["privacy"] | {"guarantee": record["privacy"]["guarantee"] | {"epsilon": 0.01}}},
    ):
        path.write_text(json.dumps(edited), encoding="utf-8")
        with pytest.raises(ValueError, match="the privacy statement does not follow from the sessions in the record"):
            run(settings, tmp_path / "run")


def test_a_secure_run_asks_for_each_draw_once_and_in_order(settings, tmp_path, monkeypatch):
    """A secure run requests each random sample once, for every sampling scheme with an epsilon.

    For each scheme, we test a whole run, and a run that is interrupted and resumed.
    """
    asked, alive = [], []
    whole = noise.SecureStreams.__call__

    def noted(streams, purpose, t=0):
        if purpose in noise.SECRET:
            asked.append((id(streams), purpose, t))
            alive.append(streams)  # keeps the stream alive, so that no other stream gets its id
        return whole(streams, purpose, t)

    monkeypatch.setattr(noise.SecureStreams, "__call__", noted)
    for scheme in SCHEMES:
        adjacency = next(name for name in ADJACENCIES if name not in COVERAGE[scheme].refused)
        given = replace(settings, sampling=scheme, adjacency=adjacency)
        folder = tmp_path / scheme
        steps = run(given, folder / "whole")["steps"]
        killed(given, folder / "killed", monkeypatch, steps // 2 or 1)
        with suppress(Killed):
            run(given, folder / "killed")
    assert len(set(asked)) == len(asked)
    noises = [t for _, purpose, t in asked if purpose == "noise"]
    assert 0 not in noises  # the check of the rule before the first step uses no noise of this stream
