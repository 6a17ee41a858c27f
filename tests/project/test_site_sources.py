"""Tests of the sources of the site: order of statements, text in Markdown, links, and texts of pictures."""

import importlib
import os
import re
import zipfile

import pytest

from nfa import ledger
from nfa.ledger import documents
from tests.project.tree import ROOT

SCRIPTS = sorted((ROOT / "tutorials").glob("[0-9][0-9]_*.py"))


@pytest.fixture
def site(monkeypatch):
    """A module of the site, by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "tutorials" / "site"))
    return importlib.import_module


# --- the order of print


def sections(where):
    """The sections in the text of a place, as sort keys: the abstract is first, and appendices are last."""
    found = [(0,)] if "abstract" in where.lower() else []
    for begins, number in re.findall(r"\b([Ss]ections?|Appendix) ((?:\d|[A-C])(?:\.\d+)*)", where):
        parts = [ord(part) if part.isalpha() else int(part) for part in number.split(".")]
        found.append((100 * (begins == "Appendix") + parts[0], *parts[1:]))
    if "Limitations" in where:
        found.append((5, 9))
    return sorted(found)


@pytest.mark.parametrize("paper", documents())
def test_the_order_is_that_of_print(site, paper):
    """Statements have the order of the paper: none is in an earlier section than the previous statement."""
    at = (0,)
    for item in site("in_print").items(paper):
        if places := sections(item.where):
            after = [place for place in places if place >= at[: len(place)]]
            assert after, f"{item.id}, {item.where}, stands after a statement of section {at}"
            at = max(at, after[0])


@pytest.mark.parametrize("paper", documents())
@pytest.mark.parametrize("kind", ["eq", "def", "thm", "lem", "prop", "rem", "conj", "alg1.L", "table"])
def test_numbers_of_a_kind_rise(site, paper, kind):
    found = [
        re.fullmatch(rf"{kind}(\d+(?:\.\d+)*)", item.id.partition(":")[2]) for item in site("in_print").items(paper)
    ]
    numbers = [tuple(map(int, match[1].split("."))) for match in found if match]
    assert numbers == sorted(numbers)


def test_a_statement_that_the_order_misses_is_named(site, monkeypatch):
    in_print = site("in_print")
    printed = {"lee2020": {"order": in_print._printed()["lee2020"]["order"].replace("eq5", "eq1")}}
    monkeypatch.setattr(in_print, "_printed", lambda: printed)
    with pytest.raises(ValueError, match="each statement of lee2020 once; look at eq1, eq5"):
        in_print.items("lee2020")


def test_pages_and_lines_are_those_of_the_place(site):
    in_print = site("in_print")
    assert in_print.pages(ledger.find("berthier2019:lecam")) == [14]
    assert in_print.pages(ledger.find("berthier2019:sens")) == [9, 10]
    assert in_print.pages(ledger.find("lee2020:eq5")) == []
    assert in_print.lines(ledger.find("dpulr2024:rank-claim")) == [(805, 805), (812, 816)]
    assert in_print.lines(ledger.find("dpulr2024:rdp-comp")) == [(113, 115)]


# --- Markdown


@pytest.mark.parametrize(
    "text",
    ["%), and more", "+ γβ.", "> 0.34375.", "- 1", "1. of all", "2) of all", "# 7", "= 3", "(label)=", ": so", "~ 1"],
)
def test_a_line_may_begin_with_any_sign(site, text):
    shown = site("markup").line(text, linked=False)
    begins = re.sub(r"^\d*", "", shown)
    assert begins.startswith("\\"), shown
    assert shown.replace("\\", "") == text


def test_formulas_in_a_line_are_left_to_the_site(site):
    markup = site("markup")
    assert markup.line("so $a_1 < b$ and\nc_1 * 5 $", linked=False) == "so $a_1 < b$ and c\\_1 \\* 5 \\$"
    shown = markup.prose("For all\n    $$ x^l = 0 $$ where l < L\n% of it.\n    (A) one\n    (B) two", linked=False)
    assert re.split(r"\n{2,}", shown.strip()) == [
        "For all",
        "$$\nx^l = 0\n$$",
        "where l \\< L % of it.",
        "- \\(A) one\n- \\(B) two",
    ]


# --- links

PAGES = [*sorted((ROOT / "tutorials").glob("*.md")), ROOT / "tutorials" / "solutions" / "index.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT / "tutorials").as_posix())
def test_links_lead_somewhere_in_the_repository_and_on_the_site(site, page):
    """Links work on a forge, which shows Sphinx roles as plain text and lacks pages that only the site has."""
    text = re.sub(
        r"^(```+).*?^\1$|(?<!`)`[^`\n]+`(?!`)", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    assert re.findall(r"\{\w+\}", text) == []
    links = re.findall(r"\[[^\[\]]*(?:\[[^\]]*\][^\[\]]*)*\]\(([^)\s]+)\)", text)
    for target in links:
        path = page.parent / target.partition("#")[0]
        assert "://" in target or path.exists(), target
    shown = site("repository_links").on_the_site(text)
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert [one for one in re.findall(r"\]\((\.\./[^)]*|[^)]*\.toml)\)", shown) if one not in pictures] == []


def test_a_link_to_the_repository_leads_to_the_page_made_of_it(site):
    on_the_site = site("repository_links").on_the_site
    assert on_the_site("[sens](../nfa/papers/lee2020/statements.toml)") == "[sens](generated/papers/lee2020.md)"
    assert on_the_site("[lee2020:eq5](../nfa/papers/lee2020/statements.toml)") == "{ref}`lee2020:eq5 <lee2020-eq5>`"
    assert on_the_site("[2: DFA](../nfa/course/sets/ps2_dfa/goals.md)") == "{ref}`2: DFA <ps2-dfa>`"
    assert on_the_site("[errata](../nfa/papers#errata)") == "[errata](generated/errata.md)"
    assert on_the_site("![drawn](../results/a/figure.png)") == "![drawn](../results/a/figure.png)"


# --- the site as one file


def test_equal_files_make_equal_archives(site, tmp_path):
    """Equal files make equal archives, whatever their times, permissions and order on the disk.

    The archive leaves out hidden files, and everyone may read the other files.
    """
    archive = site("archive")
    pages = {"index.html": "<p>one", "a/b.html": "<p>two", "a.html": "<p>three", ".buildinfo": "", ".git/c": ""}
    for name, order in (("one", list(pages)), ("other", list(reversed(pages)))):
        for place in order:
            path = tmp_path / name / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pages[place], encoding="utf-8")
            os.utime(path, (10**9, 10**9 + len(name)))
            path.chmod(0o600 if name == "one" else 0o644)
        archive.pack(tmp_path / name, tmp_path / "out" / f"{name}.zip", "site")
    one, other = sorted((tmp_path / "out").iterdir())
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as found:
        assert found.namelist() == ["site/a.html", "site/a/b.html", "site/index.html"]
        assert {entry.external_attr >> 16 for entry in found.infolist()} == {0o644}
        assert found.read("site/a/b.html") == b"<p>two"


def test_a_folder_without_a_site_makes_no_archive_and_takes_none_away(site, tmp_path):
    (tmp_path / "site.zip").write_bytes(b"old")
    (tmp_path / "build").mkdir()
    with pytest.raises(FileNotFoundError, match="build the site first"):
        site("archive").pack(tmp_path / "build", tmp_path / "site.zip", "site")
    assert [path.name for path in tmp_path.glob("site*")] == ["site.zip"]
    assert (tmp_path / "site.zip").read_bytes() == b"old"


# --- pictures


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_picture_says_in_words_what_it_shows(site, path):
    in_words = site("alternatives").in_words
    cells = path.read_text(encoding="utf-8").split("\n# %%")
    drawn = [cell for cell in cells if re.search(r"^(plt\.show\(\)|bars\()", cell, re.MULTILINE)]
    told = [in_words(cell) for cell in drawn]
    assert len(told) > 1
    assert len(set(told)) == len(told)
    assert all(len(words) > 60 and words.endswith(".") for words in told), told
