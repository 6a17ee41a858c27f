"""Tests that a setting is declared only once, next to its field. Its option, help, default and check follow."""

import inspect
import json
import re
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, get_args

import numpy as np
import pytest
import typer

from nfa.cli import main, terminal
from nfa.cli.train import given_settings, takes
from nfa.experiments.declaration import AT_LEAST_1, SHARE, OneOf, Setting, declared, documented, parameters
from nfa.experiments.prepare import prepare
from nfa.experiments.settings import Settings, check_ranges


@documented
@dataclass(frozen=True, kw_only=True)
class Longer(Settings):
    """Settings with more of each kind.

    Parameters
    ----------
    burn_in : Steps not counted.
    dropout : Units left out. Never the last layer's.
    filter : hard or soft.
    mirror : Images both ways.
    traced : With a trace.
    decay : Of the weights: plain, or KEY=VALUE.
    """

    burn_in: Annotated[int | None, Setting(range=AT_LEAST_1, unset="never")] = None
    dropout: Annotated[float, Setting(range=SHARE)] = 0.25
    filter: Annotated[str, Setting(range=OneOf(("hard", "soft")), option="--cut --filter")] = "soft"
    mirror: bool = False
    traced: Annotated[bool | None, Setting(unset="")] = None
    decay: Annotated[dict[str, Any] | None, Setting(range=parameters, empty="plain")] = None


def shown(command, capsys):
    """The output of --help in one line, with single blanks."""
    command("--help")
    out = capsys.readouterr().out
    return " ".join(out.split())


@pytest.fixture
def longer():
    """longer(*arguments) -> the settings that a command with the settings Longer receives."""
    app = typer.Typer(rich_markup_mode=None)
    found = []

    @app.command()
    @takes(Longer)
    def command(*, json: terminal.AsJson = False, **given: Any) -> None:
        found.append(given_settings(Longer, given))

    def call(*arguments):
        app(list(arguments), standalone_mode=False)
        return found.pop() if found else None

    return call


def test_every_setting_has_a_meaning_and_stands_in_the_help_of_train(capsys):
    text = shown(lambda option: main.main(["train", option]), capsys)
    names = [one.name for one in declared(Settings)]
    assert names == [f.name for f in fields(Settings)]
    for one in declared(Settings):
        words = terminal.spelled_out(one.meaning)
        assert re.fullmatch(r"[A-Za-z].{8,}\.", words)
        assert words.replace(" ", "") in text.replace(" ", ""), one.name
        option = (one.setting.option or f"--{one.name.replace('_', '-').lower()}").split()[0]
        assert f" {option}" in text
        assert f"\n{one.name} : {one.meaning.split()[0]} " in Settings.__doc__


def test_the_folder_of_the_data_means_the_same_for_every_command():
    """The help text of --data-dir is the same for every command.

    Commands without settings declare this option themselves, so its help text exists twice.
    """
    (meaning,) = (one.meaning for one in declared(Settings) if one.name == "data_dir")
    assert get_args(terminal.DataDir)[1].help == meaning


def test_a_new_setting_gets_its_option_help_and_default(longer, capsys):
    text = shown(longer, capsys)
    for words in (
        "--burn-in <int> Steps not counted. [default: never]",
        "--dropout <float> Units left out. [default: 0.25]",
        "--cut, --filter <str> hard or soft. [default: soft]",
        "--mirror / --no-mirror Images both ways. [default: no-mirror]",
        "--traced With a trace. --decay <list[str]>",
        "Of the weights: plain, or KEY=VALUE. You can repeat this option. [default: none]",
    ):
        assert words in text
    assert longer() == Longer()
    typed = "--burn-in 7 --dropout 0.5 --filter hard --mirror --traced --decay rate=0.1 --decay l1=true --epochs 3"
    assert longer(*typed.split()) == Longer(
        burn_in=7, dropout=0.5, filter="hard", mirror=True, traced=True, decay={"rate": 0.1, "l1": True}, epochs=3
    )
    assert longer("--decay", "plain", "--no-mirror", "--cut", "hard") == Longer(decay={}, filter="hard")
    with pytest.raises(ValueError, match="--decay must have the form KEY=VALUE, got 'fast'"):
        longer("--decay", "fast")
    with pytest.raises(ValueError, match="--set must have the form KEY=VALUE, got ''"):
        longer("--set", "")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"burn_in": 0}, "burn_in must be a whole number >= 1, got 0"),
        ({"dropout": 1.0}, "dropout must be a share in [0, 1), got 1.0"),
        ({"dropout": "half"}, "dropout must be a finite number, got 'half'"),
        ({"dropout": None}, "dropout must be a finite number, got None"),
        ({"filter": "firm"}, "filter must be one of hard, soft, got 'firm'"),
        ({"decay": 3}, "decay must be a dictionary from names of parameters to values, got 3"),
        ({"decay": {"rate": float("nan")}}, "decay must contain only JSON values "),
    ],
)
def test_a_new_setting_is_checked(given, sentence):
    check_ranges(Longer(burn_in=1, dropout=0.0, filter="hard", decay={"rate": 0.5}))
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        check_ranges(Longer(**given))


def test_a_new_setting_that_is_not_set_is_no_part_of_the_run():
    old, new = Settings().to_json(), Longer().to_json()
    assert {name: new[name] for name in new if name not in old} == {"dropout": 0.25, "filter": "soft", "mirror": False}
    assert {name: new[name] for name in old} == old
    assert Longer(burn_in=2).to_json()["burn_in"] == 2
    assert [name for name, value in Settings().to_json().items() if value is None] == ["train_examples", "activation"]
    assert Longer.from_json(json.loads(json.dumps(Longer(decay={"l1": 1}).to_json()))).decay == {"l1": 1}


def test_a_new_setting_is_documented():
    for words in (
        "burn_in : Steps not counted. A whole number >= 1. None: never.",
        "dropout : Units left out. A share in [0, 1). Never the last layer's.",
        "filter : hard or soft.",
        "loss : Loss function. One of `nfa.network.ops.LOSSES`.",
    ):
        assert f"\n{words}\n" in Longer.__doc__
    parameters = inspect.signature(Longer).parameters
    assert str(parameters["burn_in"]) == "burn_in: int | None = None"
    assert str(parameters["rule"]) == "rule: str = 'dfa'"


def test_a_setting_must_be_declared():
    @dataclass(frozen=True)
    class Silent(Settings):
        loud: Annotated[int, "no meaning"] = 3

    @dataclass
    class Bare:
        names: dict = field(default_factory=dict)

    for wrong, name in ((Silent, "loud"), (Bare, "names")):
        with pytest.raises(
            TypeError,
            match=f"^the docstring of {wrong.__name__} must describe the setting {name}",
        ):
            declared(wrong)


def test_names_that_a_module_lists_are_there_and_hold_the_default():
    listed = [one for one in declared(Settings) if isinstance(one.setting.range, OneOf)]
    assert {one.name for one in listed if isinstance(one.setting.range.names, str)} == {
        *("activation", "loss", "sampling", "adjacency", "accountant", "conversion")
    }
    for one in listed:
        if one.default is not None:
            one.setting.range(**{one.name: one.default})
        with pytest.raises(ValueError, match=f"^{one.name} must be one of .*, got 'nothing such'"):
            one.setting.range(**{one.name: "nothing such"})


def test_parameters_of_a_rule_must_have_names():
    with pytest.raises(
        ValueError, match=r"^rule_settings must be a dictionary from names of parameters to values, got \[0.5\]"
    ):
        check_ranges(Settings(rule_settings=[0.5]))


def test_what_adam_adds_to_its_root_is_part_of_a_run_only_where_it_is_set():
    """The constant in Adam's denominator is part of a run only if it is set, so older records still
    match their runs.
    """
    plain, other = Settings(optimizer="adam"), Settings(optimizer="adam", adam_eps=0.5)
    assert "adam_eps" not in plain.to_json()
    assert other.to_json() == plain.to_json() | {"adam_eps": 0.5}
    assert Settings.from_json(other.to_json()) == other
    for wrong, sentence in (
        (
            {"optimizer": "sgd", "adam_eps": 0.5},
            "adam_eps needs the optimizer adam, got the optimizer 'sgd': leave out adam_eps",
        ),
        ({"optimizer": "adam", "adam_eps": 0.0}, "adam_eps must be positive, got 0.0"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            check_ranges(Settings(**wrong))


@pytest.mark.verifies("lee2020:adam")
@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("given, eps", [({}, 1e-8), ({"adam_eps": 0.5}, 0.5)])
def test_the_first_step_of_adam_has_the_eps_of_its_run(given, eps, kernels):
    """The first step of Adam uses the eps of the run: eta g / (|g| + eps), in float64.

    In the first step, both bias corrections are 1 - beta.
    """
    settings = Settings(
        rule="bp", architecture="784-10", init="zeros", optimizer="adam", lr=0.1, kernels=kernels, **given
    )
    parts = prepare(settings)
    dW, db = parts.rule(parts.net, *parts.batches.at(1), rng=None)
    g = dW[1].astype(np.float64)
    parts.optimizer.step(parts.net, dW, db, 1)
    assert parts.net.W[1] == pytest.approx(-0.1 * g / (abs(g) + eps), rel=1e-4, abs=1e-7)
