"""Tests of runs with networks from outside nfa, and of the privacy statements in the records of these runs.

A guarantee also depends on the network, because a network from outside could compute its first weights from the data.
"""

import importlib
import json
import sys
from dataclasses import replace

import pytest

from nfa.cli import main
from nfa.experiments import dry_run, records
from nfa.experiments.experiment import Cell
from nfa.experiments.prepare import prepare
from nfa.experiments.run import run
from nfa.network import Conv2d, MaxPool
from tests.experiments.tiny_runs import Killed, stop_after, tiny_settings, untimed, write_data

HERE = "tests.experiments.own_networks"
SMALL = f"{HERE}:small"
DP_SGD = {
    "rule": "dp_sgd", "rule_settings": {"C": 1.0, "sigma": 3.0}, "adjacency": "replace-one", "delta": 1e-3,
    "pixels": "as-is",
}  # fmt: skip


@pytest.fixture
def tiny(tmp_path):
    return write_data(tmp_path / "tiny.npz")


@pytest.fixture
def settings(tiny):
    return tiny_settings(tiny, architecture=SMALL)


def test_it_trains_as_the_same_network_of_nfa(settings, tmp_path):
    mine = untimed(run(settings, tmp_path / "mine"))
    ours = untimed(run(replace(settings, architecture="6-5-4-3"), tmp_path / "ours"))
    assert mine.pop("settings") == ours.pop("settings") | {"architecture": SMALL}
    assert len(mine.pop("network_digest")) == 64
    assert mine == ours


def test_a_text_trains_as_its_sizes_do(settings, tmp_path):
    mine = untimed(run(replace(settings, architecture="6:dense5,dense4,3"), tmp_path / "mine"))
    ours = untimed(run(replace(settings, architecture="6-5-4-3"), tmp_path / "ours"))
    assert mine.pop("settings") == ours.pop("settings") | {"architecture": "6:dense5,dense4,3"}
    assert mine == ours


def test_stopped_and_resumed_it_is_the_uninterrupted_run(settings, tmp_path, monkeypatch):
    settings = replace(settings, architecture=f"{HERE}:skipping", rule="bp")
    whole = untimed(run(settings, tmp_path / "whole"))
    with monkeypatch.context() as patch:
        stop_after(patch, 5)
        with pytest.raises(Killed):
            run(settings, tmp_path / "again", checkpoint_every=0)
    assert untimed(run(settings, tmp_path / "again")) == whole


def test_it_is_not_gone_on_with_by_another_file(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "from nfa.network import mlp\nfrom nfa.network.ops import tanh\ndef net(**given):\n"
    for k, body in enumerate(
        ("    return mlp([6, 4, 3], tanh, **given)\n", "    return mlp([6, 4, 3], tanh, **given) \n")
    ):
        (tmp_path / "changing.py").write_text(code + body)
        importlib.invalidate_caches()
        monkeypatch.setitem(sys.modules, "changing", None)
        del sys.modules["changing"]
        again = replace(settings, architecture="changing:net")
        if k == 0:
            run(again, tmp_path / "out")
            run(again, tmp_path / "out")
        else:
            with pytest.raises(ValueError, match=r"\(another file of the network changing:net\)"):
                run(again, tmp_path / "out")


def test_a_dry_run_knows_it(settings, tiny):
    cells = [Cell("one", settings, {}), Cell("two", replace(settings, architecture="6:dense4,3"), {})]
    found = dry_run.estimates(cells, dry_run.sources(cells), 0.5)
    assert [name.partition(" on ")[0] for name in found] == [f"dfa of {SMALL}", "dfa of 6:dense4,3"]
    assert all(0 < one.seconds < 60 for one in found.values())


def test_images_go_through_a_text(tmp_path):
    """A network that a text describes accepts images. Its convolution and pooling have the sizes in the text.

    We use the images that come with nfa.
    """
    settings = tiny_settings("fashion-mnist-small", architecture="1x28x28:conv3-5,pool4,dense8,10", rule="bp")
    net = prepare(replace(settings, activation="relu", train_examples=50)).net
    assert (type(net.map[1]), type(net.pool[1]), net.phi[1].name) == (Conv2d, MaxPool, "relu")
    assert net.shape_h == [(1, 28, 28), (3, 7, 7), (8,), (10,)]


# --- statements about privacy


def test_a_seeded_record_says_on_what_its_count_rests(settings, tmp_path):
    privacy = run(replace(settings, **DP_SGD), tmp_path / "out")["privacy"]
    premise = f"network {SMALL} uses only rng and nfa's own parts"
    assert f"none that nfa has checked; this seeded run is not private. If {premise}, a run" in privacy["statement"]
    ours = run(replace(settings, architecture="6-5-4-3", **DP_SGD), tmp_path / "ours")["privacy"]
    assert set(privacy) == {"statement", "unchecked"}
    assert privacy["unchecked"] == {
        "stated_by": "dp_sgd", "network": SMALL, "mechanism": ours["mechanism"], "guarantee": ours["guarantee"],
    }  # fmt: skip
    uncounted = prepare(replace(settings, **(DP_SGD | {"delta": None}))).privacy.known["statement"]
    assert uncounted.startswith(f"none: network {SMALL} is unchecked")


@pytest.mark.slow
def test_a_secure_record_is_not_private(settings, tmp_path):
    secure = replace(settings, secure=True, **DP_SGD)
    record = run(secure, tmp_path / "out")
    assert record["private"] is False
    assert "guarantee" not in record["privacy"]
    assert record["privacy"]["statement"].startswith(f"none that nfa has checked. If network {SMALL} uses only rng")
    assert run(secure, tmp_path / "out") == record  # this call reads the record and checks it
    ours = run(replace(secure, architecture="6-5-4-3"), tmp_path / "ours")
    assert ours["private"] is True
    text = run(replace(secure, architecture="6:dense5,dense4,3"), tmp_path / "text")
    assert text["private"] is True
    assert text["privacy"]["guarantee"] == ours["privacy"]["guarantee"]
    with pytest.raises(ValueError, match="nfa never records a run of a user's own network as private, but"):
        records.validate(ours | {"settings": ours["settings"] | {"architecture": SMALL}})


def test_rule_and_network_from_outside_are_both_told(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lends.py").write_text("from nfa.rules.dp_sgd import dp_sgd, mechanism\n")
    told = prepare(replace(settings, **(DP_SGD | {"rule": "lends:dp_sgd"}))).privacy
    assert told.premise == (
        f"the mechanism that lends:dp_sgd states is correct and network {SMALL} uses only rng and nfa's own parts"
    )
    assert f"the mechanism that lends:dp_sgd states and network {SMALL} are unchecked" in told.known["statement"]


def test_a_target_finds_its_noise_all_the_same(settings, tmp_path):
    asking = DP_SGD | {"rule_settings": {"C": 1.0}, "target_epsilon": 3.0, "sampling": "without-replacement"}
    privacy = run(replace(settings, **asking), tmp_path / "out")["privacy"]
    assert privacy["unchecked"]["guarantee"]["epsilon"] <= 3
    assert privacy["unchecked"]["noise"]["asked"] == {"target_epsilon": 3.0, "delta": 1e-3, "steps": 12}


def test_a_network_of_another_class_has_no_guarantee(settings):
    said = prepare(replace(settings, architecture=f"{HERE}:of_another_class", **DP_SGD)).privacy
    assert said.mechanism is None
    assert "the network has a class Other, which is not part of nfa" in said.known["statement"]


# --- refusals


@pytest.mark.parametrize(
    ("net", "said"),
    [
        ("nowhere:net", "network 'nowhere:net' cannot be imported: ModuleNotFoundError"),
        (f"{HERE}:no", f"network '{HERE}:no' cannot be imported: AttributeError"),
        (f"{HERE}:HERE", "cannot be imported"),
        (f"{HERE}:seven", f"architecture {HERE}:seven reads 7 values per example, but tiny has 6"),
        (f"{HERE}:unlucky", f"network {HERE}:unlucky must return a new Net at every call"),
        ("6:dense4,2", "architecture 6:dense4,2 ends in 2 classes, but tiny has 3"),
        ("6:dens4,3", "network 6:dens4,3: no layer is called 'dens4'"),
        ("2x1x3:3", "architecture 2x1x3:3 reads 2x1x3 values per example, but tiny has 6"),
        ("784-conv16-50-10", "conv16 is not a number of units. Write layers after a colon"),
        ("6x3", "architecture must be one of ohana2021"),
    ],
)
def test_bad_networks_get_one_sentence(tiny, tmp_path, monkeypatch, capsys, net, said):
    monkeypatch.chdir(tmp_path)
    assert main.main(["train", "--dataset", "tiny.npz", "--net", net]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"nfa: {said}") or said in told.err
    assert told.err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_an_own_network_has_its_own_activations(settings):
    with pytest.raises(
        ValueError, match=f"activation applies only to an architecture given as sizes or layers, but {SMALL}"
    ):
        prepare(replace(settings, activation="relu"))


def test_the_command_trains_it(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main.main(["train", "--dataset", "tiny.npz", "--net", SMALL, "--epochs", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["architecture"] == SMALL
