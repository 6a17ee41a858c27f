"""Every number of README.md is computed here from a record, a declaration or the code, and rounded once.

A digit outside code and links that no entry covers is an error, so a new number needs an entry. The papers' theorems,
tables and figures are looked up in the ledger.
"""

import configparser
import csv
import functools
import itertools
import json
import re
import tomllib
from fractions import Fraction
from statistics import mean

import pytest

from nfa import ledger
from nfa.data.registry import DATASETS
from nfa.papers.berthier2019.mechanisms.printed_scales import exact_over_claimed
from nfa.papers.lee2020 import epsilons
from nfa.papers.lee2020.sensitivity import sensitivity_rows
from tests.project.test_readme import EQUAL_EPSILON, LEVEL, README, USAGE, of_seeds
from tests.project.tree import ROOT

RESULTS = ROOT / "results"


def rows_of(folder, **key):
    """The rows of a committed table with these values."""
    with open(RESULTS / folder / "table.csv", encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[name] == value for name, value in key.items())]


def settings_of(folder, name, pattern="*.json"):
    """The one value that a setting has in all records of a folder."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in (RESULTS / folder).glob(pattern)]
    (value,) = {record["settings"][name] for record in found if "settings" in record}
    return value


def number(text):
    (found,) = re.findall(r"[\d.]+", text)
    return found


# --- what the commands print


def python():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    return (number(setup["options"]["python_requires"]),)


def demo_runs():
    (images,) = DATASETS[settings_of("ohana2021-table1-demo", "dataset")].variants
    return str(len(list((RESULTS / "ohana2021-table1-demo").glob("*-seed1.json")))), f"{images.n_train:,}"


def paper_images():
    return (f"{DATASETS['fashion-mnist'].variants[0].n_train:,}",)


def demo_row(rule, sigma):
    (row,) = rows_of("ohana2021-table1-demo", rule=rule, sigma=sigma)
    return f"{float(row['paper']):.2f}", f"{float(row['ours']):.2f}", row["n"], f"{float(row['difference']):+.2f}"


def more_accurate(one, other):
    ours = [float(row["ours"]) for key in (one, other) for row in rows_of("ohana2021-table1-demo", **key)]
    return (f"{ours[0] - ours[1]:.1f}",)


# --- the table at equal epsilon


def accuracies(name):
    found = [of_seeds("fashion-mnist", EQUAL_EPSILON[name], epsilon) for epsilon in (1, 3, 8)]
    return tuple(f"{one:.1f}" for pair in found for one in pair)


def gaps(images):
    return tuple(f"{of_seeds(images, 'dp-sgd', e)[0] - of_seeds(images, 'joint-dfa', e)[0]:.2f}" for e in (1, 3, 8))


def how_often_searched():
    """The number of trials of each rule: of all rules the same."""
    trials = itertools.groupby(sorted(path.stem for path in (RESULTS / "ours-trials").glob("*-trial*.json")), rule_of)
    (number_of_trials,) = {len(list(group)) for _, group in trials}
    return (str(number_of_trials),)


def rule_of(stem):
    return stem.split("-trial")[0]


# --- what we found


def captions():
    rows = [row for row in epsilons.epsilon_rows() if row["data"] == "Fashion-MNIST"]
    cut, _, _ = epsilons.agreement(rows, "ours")
    return f"{epsilons.DATA['Fashion-MNIST']:,}", str(cut), str(len(rows))


def too_small():
    """The worst sigmoid network of three layers whose output layer learns from e, and the certificate's of two."""
    rows = [row for row in sensitivity_rows() if (row["setting"], row["top"]) == ("worst sigmoid", "e")]
    (three,) = [row for row in rows if row["L"] == 3]
    # Two layers as in the certificate: squares of what moves and of what is printed, in units of tau_e / m.
    bound = (three_beta := Fraction(9, 10)) * Fraction(1, 4)
    two = float((bound**2 * 2 + 2) / (bound**2 * 2 * 2)) ** 0.5
    return f"{three['attained'] / three['paper']:.2f}", str(float(three_beta)), f"{two:.2f}"


def table_1():
    """How far DFA, TDFA and PDFA are from print in the nearest reading, on average, and among how many it is one."""
    near = [
        row for row in rows_of("ohana2021-table1-paper", reading="nearest") if row["rule"] in ("DFA", "TDFA", "PDFA")
    ]
    (tried,) = tomllib.loads((ROOT / "nfa/papers/ohana2021/numbers.toml").read_text(encoding="utf-8"))["tried"]
    return str(len(near)), f"{mean(abs(float(row['difference'])) for row in near):.2f}", str(len(tried["rows"]))


def forward_learning():
    rows = rows_of("dpulr2024-table1-paper", rule="DP-ULR printed", reading="chosen")
    assert {row["n"] for row in rows} == {"1"}
    return str(len(rows)), f"{mean(abs(float(row['difference'])) for row in rows):.2f}"


EPSILON_OF_PROPOSITION = 10

ENTRIES = [
    (r"need Python (\d+\.\d+) or newer", python),
    (r"It trains (\d+) networks on ([\d,]+) images of clothing", demo_runs),
    (r"the paper used ([\d,]+) images", paper_images),
    *(
        (
            rf"^{rule} +{re.escape(sigma)} +nearest +([\d.]+) +([\d.]+) +(\d) +([-+][\d.]+)$",
            functools.partial(demo_row, rule, sigma),
        )
        for rule, sigma in (("BP", "non-private"), ("DFA", "non-private"), ("PDFA", "non-private"), ("PDFA", "0.2"))
    ),
    (
        r"DFA\s+is ([\d.]+) points more accurate than BP",
        functools.partial(
            more_accurate, {"rule": "DFA", "sigma": "non-private"}, {"rule": "BP", "sigma": "non-private"}
        ),
    ),
    (
        r"With sigma 0\.2, PDFA is ([\d.]+) points less accurate than without",
        functools.partial(more_accurate, {"rule": "PDFA", "sigma": "non-private"}, {"rule": "PDFA", "sigma": "0.2"}),
    ),
    (
        r"the same proved epsilon \(delta (\S+), add-remove",
        lambda: (f"{settings_of('ours-equal-epsilon-paper', 'delta'):g}".replace("e-0", "e-"),),
    ),
    (r"the best of (\d+) random ones", how_often_searched),
    (r"Student's (\d+) % interval", lambda: (f"{100 * LEVEL:.0f}",)),
    (r"\| rule \| epsilon 1 \| epsilon 3 \| epsilon 8 \|", lambda: ()),
    *(
        (
            rf"^\| {re.escape(name)} \| " + r" \| ".join([r"([\d.]+) ± ([\d.]+)"] * 3) + r" \|",
            functools.partial(accuracies, name),
        )
        for name in EQUAL_EPSILON
    ),
    (
        r"([\d.]+), ([\d.]+) and ([\d.]+) points less accurate than DP-SGD at epsilon 1, 3 and 8",
        functools.partial(gaps, "fashion-mnist"),
    ),
    (r"On MNIST it is ([\d.]+), ([\d.]+) and ([\d.]+) points less accurate", functools.partial(gaps, "mnist")),
    # Which of the records these words speak of is tested beside the table.
    (r"as accurate as DFA\s+on Fashion-MNIST at epsilon 1 and 3, but not on MNIST", lambda: ()),
    (r"found at epsilon 3\. At epsilon 1, a rule\s+uses a third", lambda: ()),
    (r"For ([\d,]+) records we reproduce (\d+) of the (\d+) printed epsilons", captions),
    (r"a factor of ([\d.]+) for three layers, sigmoid and beta = ([\d.]+), and of ([\d.]+) for two", too_small),
    (
        r"through the (\d+) epochs of Figure 4",
        lambda: (str(settings_of("lee2020-fig4-paper", "epochs", "*seed1.json")),),
    ),
    (r"the (\d+) cells of DFA, TDFA and PDFA differ by ([\d.]+) points on average, under the best of (\d+)", table_1),
    (r"(\d+) cells differ by ([\d.]+) points on average, one seed", forward_learning),
    (
        rf"at epsilon {EPSILON_OF_PROPOSITION}, delta is ([\d.]+) times the promised one",
        lambda: (f"{exact_over_claimed(EPSILON_OF_PROPOSITION, 1e-5):.2f}",),
    ),
    (r"as submitted in (\d+)", lambda: re.findall(r"(\d{4})\), app", ledger.header("dpulr2024").version)),
]
# Commands and the block of Python are run, and what it prints is compared, in test_readme.
CODE = re.compile(
    r"^```sh\n.*?^```$|^```python\n.*?^```\s+It prints\s+```text\n.*?^```$|`[^`\n]+`|\]\([^)]*\)",
    re.MULTILINE | re.DOTALL,
)
NAMED = re.compile(r"\b(Table|Figure|Theorem|Algorithm|Proposition|Conjecture) (\d+(?:\.\d+)?)")
SHORT = {
    "Theorem": "thm",
    "Figure": "fig",
    "Proposition": "prop",
    "Conjecture": "conj",
    "Algorithm": "alg",
    "Table": "table",
}


@pytest.fixture(scope="module")
def text():
    return README.read_text(encoding="utf-8")


@pytest.mark.parametrize(("pattern", "computed"), ENTRIES, ids=[pattern[:40] for pattern, _ in ENTRIES])
def test_a_number_of_readme_is_that_of_its_record(pattern, computed, text):
    (found,) = re.finditer(pattern, text, re.MULTILINE)
    assert found.groups() == tuple(computed())


def of_paper(id, text, at):
    """Whether the row of the table of findings that an offset is in, names the paper of this id."""
    row = text[text.rfind("\n", 0, at) + 1 : text.find("\n", at)]
    return id.partition(":")[0] in row


def test_every_digit_of_readme_has_an_entry(text):
    covered = [found.span() for pattern, _ in ENTRIES for found in re.finditer(pattern, text, re.MULTILINE)]
    covered += [found.span() for found in CODE.finditer(text)]
    covered += [found.span() for found in re.finditer(rf"\b({'|'.join(papers())})\b", text)]
    statements = {name for item in ledger.items() for name in (item.id, *item.aliases)}
    for found in NAMED.finditer(text):
        short = SHORT[found[1]] + found[2]
        ids = [id for id in statements if re.fullmatch(rf"\w+:{re.escape(short)}([.-].*)?", id)]
        assert any(of_paper(id, text, found.start()) for id in ids), found[0]
        covered.append(found.span())
    for found in re.finditer(r"\btutorial (\d+)", text):
        assert list((ROOT / "tutorials").glob(f"{found[1]}_*.py")), found[0]
        covered.append(found.span())
    inside = set(itertools.chain.from_iterable(range(*span) for span in covered))
    loose = [text[max(0, at - 30) : at + 10] for at, letter in enumerate(text) if letter.isdigit() and at not in inside]
    assert loose == []


WORDS = dict(
    zip(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
        " eighteen nineteen twenty".split(),
        range(1, 21),
        strict=True,
    )
)


def papers():
    """The papers with a folder of their own, but for ours."""
    return [
        path.parent.name for path in (ROOT / "nfa" / "papers").glob("*/statements.toml") if path.parent.name != "ours"
    ]


COUNTED = [
    (r"(\w+) tutorials go with the papers", lambda: len(list((ROOT / "tutorials").glob("[0-9][0-9]_*.py")))),
    (r"(\w+) problem sets come", lambda: len(list((ROOT / "nfa" / "course" / "sets").glob("ps*")))),
    (r"nfa follows (\w+) documents", lambda: sum(len(ledger.header(paper).texts) for paper in papers())),
    (
        r"# (\w+) small tasks that lead through a paper",
        lambda: len(list((ROOT / "nfa" / "course" / "ladders" / "lee2020").glob("[0-9]*.py"))),
    ),
    (
        r"trains for (\w+) epochs on Fashion-MNIST",
        lambda: settings_of("ours-equal-epsilon-paper", "epochs", "fashion-mnist-joint*.json"),
    ),
    (r"as the mean of (\w+) seeds", lambda: int(rows_of("ours-equal-epsilon-paper")[0]["n"])),
]


@pytest.mark.parametrize(("pattern", "count"), COUNTED, ids=[pattern[:30] for pattern, _ in COUNTED])
def test_what_readme_counts_in_words(pattern, count, text):
    (found,) = re.findall(pattern, text)
    assert WORDS[found.lower()] == count()


def test_the_table_of_the_user_guide_is_that_of_the_demos_records():
    table = USAGE.read_text(encoding="utf-8").split("## What the demo shows")[1].split("## ")[0]
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d.]*) ?\| ([\d.]*) ?\|$", table, re.MULTILINE)
    columns = ("non-private", "0", "0.2")
    shown = {(rule, sigma): cell for rule, *cells in rows for sigma, cell in zip(columns, cells, strict=True) if cell}
    ours = {(row["rule"], row["sigma"]): f"{float(row['ours']):.2f}" for row in rows_of("ohana2021-table1-demo")}
    assert shown == ours
