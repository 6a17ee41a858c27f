"""Tests of the page about the guarantees of a private run: its twelve points, and its facts about Opacus.

test_walks.py runs the page's commands.
"""

import re

import pytest

from tests.project.tree import ROOT

PAGE = ROOT / "tutorials" / "threat_model.md"
TEXT = PAGE.read_text(encoding="utf-8")


def tables(text):
    """The tables of a text, each as its rows of cells, without the line of dashes."""
    lines = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    cells = [[[cell.strip() for cell in line.strip("|\n").split("|")] for line in one.splitlines()] for one in lines]
    return [[head, *rows] for head, _, *rows in cells]


LIBRARIES = next(rows for rows in tables(TEXT) if rows[0][1].startswith("version"))[1:]


def points():
    """(number, text) of the sections of the twelve points, in order."""
    section = r"^\(point-[\w-]+\)=\n+### (\d+)\. (.*?)(?=^\(point-|^##)"
    return re.findall(section, TEXT, re.MULTILINE | re.DOTALL)


def test_there_are_twelve_points():
    assert [int(number) for number, _ in points()] == list(range(1, 13))


@pytest.mark.parametrize("text", [pytest.param(text, id=number) for number, text in points()])
def test_a_point_says_what_can_go_wrong_and_what_each_library_does(text):
    """Each point names a risk and the behaviour of each library, with a source.

    A library needs no source if its documents do not mention the risk, or if the library has no such function.
    """
    assert "**What can go wrong.**" in text
    ((_, nfa, *others),) = tables(text)
    assert nfa[0] == "**nfa**"
    assert [name for name, _ in others] == [name for name, _ in LIBRARIES]
    for _, cell in others:
        assert re.search(r"\]\[[\w-]+\]", cell) or re.match(r"Not said|The \w+ (has no|have no|do not) ", cell), cell


def test_every_source_is_cited_once_or_more_and_has_an_address():
    cited = set(re.findall(r"\]\[([\w-]+)\]", TEXT))
    given = re.findall(r"^\[([\w-]+)\]: https://\S+$", TEXT, re.MULTILINE)
    assert len(given) == len(set(given))
    assert cited == set(given)


@pytest.fixture
def torch():
    """PyTorch, if Opacus is installed in the version that the page describes."""
    opacus = pytest.importorskip("opacus", reason="Opacus is not installed: make .venv/.peers installs it")
    (row,) = (row for row in LIBRARIES if row[0] == "Opacus")
    assert row[1].startswith(f"{opacus.__version__}:")
    return pytest.importorskip("torch")


def test_the_noise_of_opacus_is_half_the_sum_of_four_samples(torch, monkeypatch):
    from opacus.optimizers.optimizer import _generate_noise

    stds = []
    monkeypatch.setattr(torch, "normal", lambda *, std, size, **_: stds.append(std) or torch.ones(size))
    noise = _generate_noise(std=3.0, reference=torch.zeros(2), secure_mode=True)
    assert noise.tolist() == [4 / 2, 4 / 2]
    assert stds == [3.0] * 5  # the first value is not used


@pytest.mark.filterwarnings("ignore:Secure RNG turned off")
def test_the_rate_of_opacus_follows_from_the_number_of_records(torch):
    """Opacus computes sampling rate and normaliser from the number of records, so one more record changes them."""
    import opacus

    found = []
    for n in (1200, 1201):
        model, records = torch.nn.Linear(2, 1), torch.utils.data.TensorDataset(torch.ones(n, 2), torch.zeros(n))
        _, optimizer, batches = opacus.PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=torch.utils.data.DataLoader(records, batch_size=600),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
        )
        found.append((batches.sample_rate, optimizer.expected_batch_size))
    assert found == [(1 / 2, 600), (1 / 3, 400)]


def test_opacus_rounds_epochs_down(torch, monkeypatch):
    from opacus.accountants import RDPAccountant, utils
    from opacus.utils.uniform_sampler import UniformWithReplacementSampler

    counted = []
    monkeypatch.setattr(RDPAccountant, "get_epsilon", lambda self, delta: counted.append(self.history[0][2]) or 0.995)
    utils.get_noise_multiplier(target_epsilon=1.0, target_delta=1e-5, sample_rate=1 / 75, epochs=3)
    assert set(counted) == {224}
    assert 3 * len(UniformWithReplacementSampler(num_samples=7500, sample_rate=1 / 75)) == 225


def test_opacus_divides_by_a_norm_that_it_makes_larger(torch):
    from opacus.optimizers import DPOptimizer

    model = torch.nn.Linear(1, 1, bias=False).double()
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=1.0), noise_multiplier=0.0, max_grad_norm=1.0, expected_batch_size=1
    )
    model.weight.grad_sample = torch.full((1, 1, 1), 3.0, dtype=torch.float64)
    optimizer.clip_and_accumulate()
    assert float(model.weight.summed_grad) == pytest.approx(3 / (3 + 1e-6), rel=1e-12)
