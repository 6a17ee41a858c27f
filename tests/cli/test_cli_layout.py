"""Tests that you can copy the output: no name, path or command is split over lines, and no line ends in blanks."""

import csv
import json
import re
from collections import Counter

import pytest
from rich.cells import cell_len
from rich.text import Text

from nfa import ledger
from nfa.cli import main
from nfa.cli.layout import Answers, hanging, output, plain_table
from tests.project import commands
from tests.project.tree import ROOT

POISSON = "--sampling poisson --adjacency add-remove --q 0.01 --steps 1000 --delta 1e-5 --noise-multiplier 1.1"
TYPED = [
    *("eq", "eq lee2020", "eq ours:joint-clip", "eq ohana2021:eq8", "errata lee2020", "errata berthier2019:prop3.3"),
    pytest.param("errata", marks=pytest.mark.slow),
    *(f"epsilon {POISSON}", "audit", "rules", "rules dp_dfa", "data list"),
    pytest.param(f"epsilon {POISSON} --explain", marks=pytest.mark.slow),
]


@pytest.fixture
def printed(monkeypatch, capsys):
    """A function that returns the output of a command in a pipe.

    It sets COLUMNS to the width, unless the width is None.
    """

    def call(typed: str, width: int | None) -> str:
        monkeypatch.delenv("COLUMNS", raising=False)
        if width is not None:
            monkeypatch.setenv("COLUMNS", str(width))
        assert main.main(typed.split()) == 0
        return capsys.readouterr().out

    return call


def words(text: str) -> list[str]:
    """The words of a text in alphabetical order, because a line of a table has words of several cells.

    Drawn lines are left out.
    """
    return sorted(word for word in text.split() if not set(word) <= set("─█░>…"))


@pytest.mark.parametrize("typed", TYPED)
def test_no_word_is_broken_and_no_line_ends_in_blanks(printed, typed):
    """No word is split and no line ends in blanks. We compare the words with those of a very wide output.

    A table in two parts repeats its first column.
    """
    unbroken = Counter(words(printed(typed, 9999)))
    for width in (None, 80, 100):
        found = printed(typed, width)
        assert Counter(words(found)) >= unbroken
        assert set(words(found)) == set(unbroken)
        assert not re.search(r"[ \t]$", found, re.MULTILINE)


@pytest.mark.parametrize("typed", ["errata", "eq ohana2021:dp-impossible", "eq ours:joint-clip"])
def test_commands_are_whole_at_eighty_columns(printed, typed):
    name = typed.removeprefix("eq ")
    items = ledger.findings(ledger.items()) if name == "errata" else ledger.select(name)
    found = printed(typed, 80)
    assert items
    for item in items:
        for command in re.findall(r"^(?:nfa|pytest) [^;,(]*?(?=[;,(]|$| and | gives )", item.check, re.MULTILINE):
            assert command.strip() in found
        if item.certificate:
            assert f"nfa eq {item.id} --certificate" in found


def answer(capsys, shown, width: int = 20, **how) -> str:
    Answers(width=width, **how).print(shown)
    return capsys.readouterr().out


def test_prose_is_broken_between_words_and_commands_nowhere(capsys):
    told = answer(capsys, "See `nfa eq lee2020:eq5` or (nfa errata ohana2021), or run pytest --eq lee2020:eq5 now.")
    assert told.splitlines() == [
        "See",
        "`nfa eq lee2020:eq5`",
        "or",
        "(nfa errata ohana2021),",
        "or run",
        "pytest --eq lee2020:eq5",
        "now.",
    ]


def test_a_long_name_stands_over_the_end_of_its_line(capsys):
    path = "nfa/papers/" + 30 * "x"
    assert answer(capsys, f"it is {path} and more").splitlines() == ["it is", path, "and more"]
    assert answer(capsys, hanging("at", path, 5)).splitlines() == [f"at   {path}"]
    assert answer(capsys, hanging("longer", "than that", 5)).splitlines() == ["longer", "     than that"]


def test_square_brackets_are_what_they_are_and_colours_end_in_no_blanks(capsys):
    assert answer(capsys, "[bold] a") == "[bold] a\n"
    told = answer(
        capsys, hanging(Text("a", "red"), Text("b  ", "on blue"), 4), force_terminal=True, color_system="standard"
    )
    assert re.sub(r"\x1b\[[\d;]*m", "", told) == "a   b\n"


def test_the_widest_column_of_a_table_gives_way_and_none_below_its_words(capsys):
    table = plain_table()
    table.add_column("name", no_wrap=True)
    table.add_column("meaning")
    table.add_column("n", justify="right")
    table.add_row("a name", "some words of such prose", "12")
    table.add_row("b", "own_rules:long_name", "3")
    assert answer(capsys, table, width=31).splitlines()[2:] == [
        "a name  some words of such   12",
        "        prose",
        "b       own_rules:long_name   3",
    ]


def table_of(*rows):
    table = plain_table()
    for name, side in (("rule", "left"), ("n", "right"), ("data", "left"), ("loss", "right"), ("verdict", "left")):
        table.add_column(name, justify=side)
    for row in rows:
        table.add_row(*row)
    return table


def test_what_every_row_has_stands_below_a_table_that_cannot_fit_until_nothing_is_narrowed(capsys):
    rows = [("dp_sgd", "7", "mnist", "0.25", "not comparable"), ("dp_dfa", "8", "mnist", "0.5", "not comparable")]
    whole = ["rule    n  data   loss  verdict", "dp_sgd  7  mnist  0.25  not comparable"]
    told = answer(capsys, table_of(*rows), width=38).splitlines()
    assert [told[0], told[2]] == whole
    assert "every row" not in " ".join(told)
    assert answer(capsys, table_of(*rows), width=25).splitlines() == [
        "rule    n  data   loss",
        "─" * 22,
        "dp_sgd  7  mnist  0.25",
        "dp_dfa  8  mnist   0.5",
        "",
        "in every row: verdict not",
        "comparable",
    ]
    assert answer(capsys, table_of(*rows), width=20).splitlines() == [
        "rule    n  loss",
        "─" * 15,
        "dp_sgd  7  0.25",
        "dp_dfa  8   0.5",
        "",
        "in every row: data",
        "mnist, verdict not",
        "comparable",
    ]
    named = [("joint DFA", *rows[0][1:]), ("joint TDFA", *rows[1][1:])]
    assert answer(capsys, table_of(*named), width=23).splitlines()[2:4] == [
        "joint DFA   7  0.25",
        "joint TDFA  8   0.5",
    ]
    alone = answer(capsys, table_of(rows[0]), width=25)
    assert "every row" not in alone  # with one row, no column is less important


def test_a_table_that_is_still_too_wide_is_several_each_with_the_columns_that_tell_rows_apart(capsys):
    rows = [("dp_sgd", "7", "mnist", "0.25", "inside"), ("dp_sgd", "8", "cifar-10", "0.5", "outside")]
    assert answer(capsys, table_of(*rows), width=26).splitlines() == [
        "rule    n  data      loss",
        "─" * 25,
        "dp_sgd  7  mnist     0.25",
        "dp_sgd  8  cifar-10   0.5",
        "",
        "rule    n  verdict",
        "─" * 18,
        "dp_sgd  7  inside",
        "dp_sgd  8  outside",
    ]


def test_in_a_pipe_a_row_is_a_line_unless_its_width_is_asked_for(printed):
    for typed in ("eq ours", "rules", "eq berthier2019"):
        piped, narrow = (
            re.split(r"^─+$", printed(typed, width), flags=re.MULTILINE)[1].strip("\n").split("\n\n")[0].splitlines()
            for width in (None, 80)
        )
        listed = json.loads(printed(f"{typed} --json", None))
        assert [row.split()[0] for row in piped] == [one.get("id", one.get("name")) for one in listed]
        assert max(map(len, piped)) > 80 >= max(map(len, narrow))


WIDE = [
    *("eq ours", "eq lee2020", "eq dpulr2024", "data list", "rules", "audit", "reproduce --list"),
    "reproduce berthier2019:fig12 --out {folder}",
    pytest.param("reproduce berthier2019:table1 --out {folder}", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("typed", WIDE)
def test_tables_have_room_in_eighty_columns(printed, typed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = printed(typed.format(folder="a"), 80)
    assert max(map(cell_len, found.splitlines())) <= 80
    assert "…" not in found


def test_an_equal_epsilon_table_has_room_in_eighty_columns(capsys, monkeypatch):
    """A table that compares runs at equal epsilon fits into eighty columns, with the rows of the recorded runs."""
    monkeypatch.setenv("COLUMNS", "80")
    with open(ROOT / "results" / "ours-equal-epsilon-small" / "table.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = plain_table()
    for name in rows[0]:
        table.add_column(name)
    for row in rows:
        table.add_row(*row.values())
    output().print(table)
    told = capsys.readouterr().out
    assert max(map(cell_len, told.splitlines())) <= 80
    for name in {word for row in rows for cell in row.values() for word in cell.split()}:
        assert name in told


@pytest.mark.parametrize("name", [name for name in commands.commands() if not name.startswith(commands.LAID_OUT)])
def test_recorded_answers_can_be_copied(name):
    """The recorded output has no blanks at the end of a line, no abbreviated name and no split command.

    It also has no split text between backticks. So you can copy all of these texts.
    """
    _, _, shown = commands.file_of(name).read_text(encoding="utf-8").partition("\nexit code ")
    for line in shown.splitlines():
        assert line == line.rstrip()
        assert not line.endswith("…")
        assert not re.search(r"(^|[^n] )(nfa|pytest|nfa [a-z]+ --[a-z-]+)$|\w/$", line) or "--certificate" in line
        assert line.startswith("  ") or "```" in line or line.count("`") % 2 == 0


def fields(entry: str) -> dict[str, str]:
    return dict(re.findall(r"^  (\w+) = \{(.*)\},$", entry, re.MULTILINE))


def test_bibtex_of_a_statement_names_the_paper_and_the_verdict(printed):
    paper, software = printed("eq lee2020:eq5 --bibtex", None).split("\n\n")
    assert paper.startswith("@misc{lee2020,\n")
    told = fields(paper)
    assert told["title"] == "{Differentially Private Deep Learning with Direct Feedback Alignment}"
    assert told["author"] == "Jaewoo Lee and Daniel Kifer"
    assert (told["year"], told["eprint"], told["archiveprefix"]) == ("2020", "2010.03701", "arXiv")
    assert software.startswith("@misc{nfa-lee2020-eq5,\n")
    assert fields(software)["year"] == (ROOT / "LICENSE").read_text().partition("(c) ")[2][:4]
    assert fields(software)["note"].endswith("lee2020:eq5 (section 3.2, equation (5)), verdict: holds")


# For each paper: year, arXiv number of the version that we assess, and the note about another version.
WHERE = {
    "lee2020": ("2020", "2010.03701", None),
    "ohana2021": ("2021", "2106.03645", None),
    "dpulr2024": ("2024", None, "A later public version exists, arXiv:2504.00411v1"),
    "berthier2019": ("2019", None, None),
    "wbk2019": ("2019", "1808.00087", None),
    "mironov2019": ("2019", "1908.10530", None),
    "mironov2017": ("2017", None, None),
}


@pytest.mark.parametrize("paper", WHERE)
def test_bibtex_says_when_and_where_a_paper_is_found(printed, paper):
    one = next(item.id for item in ledger.items() if item.id.startswith(f"{paper}:"))
    told = fields(printed(f"eq {one} --bibtex", None).split("\n\n")[0])
    year, eprint, note = WHERE[paper]
    assert (told["year"], told.get("eprint"), told.get("note")) == (year, eprint, note)
    assert told.get("archiveprefix") == (eprint and "arXiv")


def test_bibtex_of_every_statement_is_well_formed(printed, capsys):
    """The BibTeX entry of every statement is well formed: balanced braces, unique keys, escaped LaTeX signs.

    Our own statements have no paper.
    """
    everything = printed("eq " + " ".join(item.id for item in ledger.items()) + " --bibtex", None)
    entries = everything.split("\n\n")
    keys = [re.match(r"@misc\{([^,\s]+),\n", entry)[1] for entry in entries]
    assert len(set(keys)) == len(keys)
    assert len(keys) == len(ledger.items()) + len(ledger.papers()) - 1
    for entry in entries:
        assert re.fullmatch(r"(19|20)\d\d", fields(entry)["year"])
        bare = re.sub(r"\\(textbackslash|textasciicircum|textasciitilde)\{\}|\\[&%$#_{}]", "", entry)
        assert bare.count("{") == bare.count("}")
        assert not re.search(r"[\\^~&%$#_]", bare)
    assert printed("eq ours:joint-clip --bibtex", None).startswith("@misc{nfa-ours-joint-clip,\n")
    assert printed("eq berthier2019 --bibtex", None).count("@misc{") == 2


@pytest.mark.parametrize(
    "typed, says", [("eq --bibtex", "give an id"), ("eq lee2020:eq5 --bibtex --certificate", "both")]
)
def test_bibtex_of_nothing_is_refused(capsys, typed, says):
    assert main.main(typed.split()) == 2
    assert says in capsys.readouterr().err
