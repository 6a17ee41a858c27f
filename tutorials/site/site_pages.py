"""A Sphinx extension that generates pages: statements, errata, experiments, problem sets and API.

The pages are written to ``generated/`` next to the tutorials before the build reads them. Each fact has one source.
Statements are in the ledger's TOML, and measured numbers are in ``results/``. Contracts are in docstrings, and the
goals of a problem set are in ``goals.md``.
"""

import ast
import itertools
import re
import shutil
from pathlib import Path

from certificates_page import page as certificates_page
from errata_page import errata
from in_print import items
from markup import anchor, badge, escape, link, table, toctree
from moving_page import page as moving_page
from other_tools_page import page as other_tools_page
from pygments.lexers.special import TextLexer
from reading_view import document, named
from trust_page import trust

from nfa import ledger
from nfa.course import SETS, names, problem_sets
from nfa.ledger import OURS, VERDICTS, documents
from nfa.ledger.entries import PAPER

TUTORIALS = Path(__file__).parents[1]
ROOT = TUTORIALS.parent
OUT = TUTORIALS / "generated"
CITED = re.compile(rf"\[({PAPER}:[A-Za-z0-9.%-]+)\]")
QUOTED = re.compile(rf"`({PAPER}:[A-Za-z0-9.%-]+)`")
FIELDS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")


def setup(app) -> dict:
    """Make the pages, and register the function that turns ids in docstrings into links."""
    make()
    app.add_lexer("mermaid", TextLexer)  # the repository draws these diagrams; the site shows their text
    app.connect("autodoc-process-docstring", as_written, priority=400)  # before napoleon reads them
    return {"parallel_read_safe": True}


def make() -> None:
    """Write all pages below ``generated/``, and delete other pages there."""
    pages = {
        "errata.md": errata(),
        "certificates.md": certificates_page(),
        "moving.md": moving_page(OUT),
        "other_tools.md": other_tools_page(),
        "problem_sets.md": sets(),
        "trust.md": trust(),
    }
    pages |= {**papers(), **experiments(), **api()}
    for name, text in pages.items():
        path = OUT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # otherwise, Sphinx would read it again
            path.write_text(text, encoding="utf-8")
    for path in sorted(OUT.rglob("*.md")):
        if path.relative_to(OUT).as_posix() not in pages:
            path.unlink()


# Statements


def papers() -> dict[str, str]:
    """A page for each document, and an index page with the counts of the verdicts."""
    counts = ledger.coverage()
    used = [verdict for verdict in VERDICTS if any(counts[paper].get(verdict) for paper in counts)]
    others = [paper for paper in counts if paper not in (*documents(), OURS)]
    columns = [[paper] for paper in (*documents(), OURS)] + [others]
    rows = [[badge(v), *(str(sum(counts[p].get(v, 0) for p in column) or "") for column in columns)] for v in used]
    heads = ["verdict", *(f"[{paper}]({paper}.md)" for paper in (*documents(), OURS)), "[elsewhere](external.md)"]
    pages = {
        "papers/index.md": "\n".join(
            [
                "# Papers",
                "",
                "These pages have every statement of the documents, with its claim, our verdict, the code that "
                "computes it and its tests. The id of a statement has the name of the document and the number in "
                "this document. For example, `lee2020:eq5` is Equation 5 of Lee & Kifer (2020). `nfa eq` and "
                "`nfa eq lee2020:eq5` print the same on the command line.",
                "",
                *(
                    f"- [{named(one)}]({one.paper}.md): {escape(one.title)}. Judged version: {escape(one.version)}."
                    for one in map(ledger.header, documents())
                ),
                "- [Our own results](ours.md): corrections, bounds and proofs that are not in the documents. Nobody "
                "else has reviewed them.",
                "- [Theorems of other works](external.md): theorems that the documents or our accountant use.",
                "",
                "The table counts the statements with each verdict:",
                "",
                *table(heads, rows),
                "",
                "The verdicts have these meanings:",
                "",
                *(f"- {badge(verdict)} {VERDICTS[verdict]}" for verdict in used),
                "",
                "The {doc}`../errata` list all statements that are not right as printed, that need a condition, or "
                "that are ambiguous. If you think that a verdict is wrong, read [how to dispute it]"
                "(../../contributing.md#how-to-dispute-a-verdict).",
                "",
                *toctree([*documents(), OURS, "external"], ":hidden:"),
            ]
        )
    }
    for paper in documents():
        header = ledger.header(paper)
        pages[f"papers/{paper}.md"] = document(named(header), [header], items(paper))
    pages["papers/ours.md"] = document("Our own results", [ledger.header(OURS)], ledger.items(OURS))
    elsewhere = [item for paper in others for item in ledger.items(paper)]
    pages["papers/external.md"] = document("Theorems of other works", [ledger.header(p) for p in others], elsewhere)
    return pages


# Results


def experiments() -> dict[str, str]:
    """A page for each report in ``results/``, with our numbers next to the numbers of the papers."""
    pages = {}
    for report in sorted((ROOT / "results").glob("*/*REPORT.md")):
        prefix = report.name.removesuffix("REPORT.md")  # if it shares the folder of another experiment
        name = f"{report.parent.name}-{prefix}".rstrip("-")
        text = report.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ").replace("[", "(").replace("]", ")")
        text = text.replace("![the picture](", f"![{title}, drawn; the numbers stand in the table](")
        for picture in report.parent.glob("*.png"):
            target = OUT / "experiments" / f"{report.parent.name}-{picture.name}"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, target)
            text = text.replace(f"({picture.name})", f"({target.name})")
        pages[f"experiments/{name}.md"] = QUOTED.sub(_statement, text)
    pages["experiments/index.md"] = "\n".join(
        [
            "# Experiments",
            "",
            "We reran the tables and figures of the papers. These pages show our numbers next to those of the papers, "
            "with data, seeds and readings. Each page is the report that `nfa reproduce` wrote.",
            "",
            "A *reading* is one way to choose the settings that a paper leaves open. *Inside* means that our number is "
            "in a band around the paper's number, and *outside* means that it is not. The page names the band. *Not "
            "comparable* means that we cannot compare the numbers, and the page gives the reason. If *epsilon* is "
            "none, no theorem gives an epsilon for the run.",
            "",
            *toctree(sorted(Path(page).stem for page in pages)),
        ]
    )
    return pages


# Problem sets


def sets() -> str:
    """The page of the problem sets for teachers and students, with goals and statements but without solutions."""
    every = [problem_sets.load(SETS / name) for name in names()]
    labels = {one.name: one.name.replace("_", "-") for one in every}
    rows = [
        [f"[{one.name}](#{labels[one.name]})", goals(one.name)[0].partition(": ")[2], str(one.minutes), str(one.points)]
        for one in every
    ]
    lines = [
        "# Problem sets",
        "",
        "A problem set is a notebook for a course, and nbgrader grades it. `nfa course new DIR` makes a course with "
        "these problem sets. {doc}`/teacher` shows all steps of a course. {doc}`/student` has an exercise that needs "
        "no teacher.",
        "",
        *table(["set", "about", "minutes", "points"], rows),
    ]
    for one in every:
        title, about, aims = goals(one.name)
        statements = ", ".join(link(ledger.find(name).id) for name in one.statements)
        lines += ["", f"({labels[one.name]})=", f"## {title}", "", about, ""]
        lines += ["What a student can do afterwards:", "", aims, "", f"Statements: {statements}."]
    return "\n".join(lines) + "\n"


def goals(name: str) -> tuple[str, str, str]:
    """The title, the first paragraph with links to tutorials, and the list of goals in the ``goals.md`` of a set."""
    text = (SETS / name / "goals.md").read_text(encoding="utf-8")
    found = re.match(r"# (.+)\n\n((?s:.*?))\n\n## What a student can do afterwards\n\n((?s:.*?))\n\n## ", text)
    if found is None:
        raise ValueError(f"goals.md of {name} must begin with a title, a paragraph and the list of goals")
    tutorials = {path.stem[:2]: path.stem for path in TUTORIALS.glob("[0-9][0-9]_*.py")}
    parts = re.split(r"\b(\d\d)\b", found[2])
    about = "".join(f"{{doc}}`{part} </{tutorials[part]}>`" if part in tutorials else part for part in parts)
    return found[1], about, found[3]


# API


def api() -> dict[str, str]:
    """A page for each public module."""
    files = [*(ROOT / "nfa").rglob("*.py"), *(ROOT / "kernels").glob("*.py"), *(ROOT / "data").glob("*.py")]
    found = {_module(path): path for path in files if (path.parent / "__init__.py").exists()}
    modules = sorted(filter(_documented, found))
    options = "   :members:\n   :ignore-module-all:"
    orphan = "---\norphan: true\n---\n"  # otherwise, the navigation of every page would list all modules
    pages = {f"api/{m}.md": f"{orphan}# {m}\n\n```{{eval-rst}}\n.. automodule:: {m}\n{options}\n```\n" for m in modules}
    about = """These pages describe every public module, function and class. The ids after "Source" are links to the
statements of the papers and to our verdicts. You can begin with these modules: {mod}`nfa.rules.dfa` is a rule, and
{mod}`nfa.rules.dp_dfa` is a private rule with its `mechanism`. {mod}`nfa.train` has the training loop.
{mod}`nfa.privacy.accountant` computes epsilon, and {mod}`nfa.audit.game` tests a claim."""
    listing = [f"- {{mod}}`{m}`: {_first_sentence(found[m])}" for m in modules]
    pages["api/index.md"] = "\n".join(["# API", "", about, "", *listing, ""])
    return pages


def _first_sentence(path: Path) -> str:
    """The first paragraph of a module's docstring, on one line."""
    first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    return escape(" ".join(first.split())).replace("\\`", "`")


def _module(path: Path) -> str:
    """The module of a file. ``kernels`` and ``data`` are `nfa.kernels` and `nfa.data`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "nfa" else ("nfa", *parts)
    return ".".join(parts).removesuffix(".__init__")


def _documented(module: str) -> bool:
    return not any(part == "cli" or part.startswith("_") for part in module.split("."))


def as_written(app, what, name, obj, options, lines: list[str]) -> None:
    """Escape bars, stars and a final _ in docstrings, and turn ids into links.

    Docstrings are also read in a terminal, so they contain these characters without escapes. A line ``name : text``
    becomes a term and its explanation.
    """
    shown: list[str] = []
    formula, fields = False, False
    for line, below in itertools.zip_longest(lines, lines[1:], fillvalue=""):
        if below and set(below) == {"-"}:
            fields = line in FIELDS
        if line.strip():
            formula = line.lstrip().startswith((".. math::", ">>>")) or (formula and line.startswith(" "))
        if not formula:
            parts = re.split("(``.*?``)", line)
            parts[::2] = [re.sub(r"([*|]|_(?!\w))", r"\\\1", part) for part in parts[::2]]
            line = CITED.sub(_reference, "".join(parts))
        term, colon, explained = line.partition(" : ")
        if fields and colon and not line.startswith(" "):
            shown += [term, f"    {explained}"]
        else:
            shown.append(line)
    lines[:] = shown


def _statement(match: re.Match) -> str:
    """A link in place of a quoted id, or the text itself if the id is not that of a statement."""
    try:
        return link(match[1], ledger.find(match[1]).id)
    except ValueError:
        return match[0]


def _reference(match: re.Match) -> str:
    item = ledger.find(match[1])
    return f":ref:`{match[1]} <{anchor(item.id)}>`"
