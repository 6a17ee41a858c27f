"""Output of `nfa eq` and `nfa errata`: statements of the ledger as text for readers, or as JSON for programs."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from nfa import __version__, __year__
from nfa.cli.layout import hanging, plain_table, right, unbroken
from nfa.ledger import OURS, VERDICTS, Header, Item, certificates, coverage, documents, header, source_of
from nfa.ledger.breaking import broken
from nfa.ledger.entries import in_the_clone
from nfa.ledger.formulas import in_text, spelled
from nfa.ledger.lines import lines_of, runs

COLOURS = {"holds": "green", "false": "bold red", "conjecture": "cyan", "ours": "blue"}
COLOURS |= dict.fromkeys(("pending", "not-executable"), "dim")
LABEL_WIDTH = 10


# The fields of a statement in the output of `--json`.
NAMES = """id kind where verdict printed claims right use number check certificate reason reviewed
    code places lines terms tests tutorial""".split()


def as_json(item: Item) -> dict[str, Any]:
    """Return the fields of an item. Formulas in texts are LaTeX, between ``$$`` or, in a sentence, between ``$``. The
    field ``printed`` is LaTeX without dollars.

    ``places`` has the place of each entry of ``code`` as ``file:line``. ``lines`` has the places of the lines that
    compute the equation, in the same form.
    """
    places, lines = [], []
    for entry in item.code:
        file, line, _ = source_of(entry)
        places.append(f"{file}:{line}")
        marked = [one.number for one in lines_of(entry, item.anchors_of(entry))[0] if one.marked]
        lines += [f"{file}:{number}" for number in marked]
    found = {"certificate": certificates.place(item), "places": places, "lines": lines}
    return {name: found[name] if name in found else getattr(item, name) for name in NAMES}


def the_certificate(chosen: dict[str, list[Item]]) -> dict[str, str]:
    """Return the id and the certificate of one statement. Raise ValueError unless exactly one statement is chosen."""
    items = [item for some in chosen.values() for item in some]
    if len(items) != 1:
        raise ValueError(f"--certificate needs exactly one statement, got {len(items)} statements")
    return {"id": items[0].id, "certificate": certificates.text(items[0])}


def bibtex(chosen: dict[str, list[Item]]) -> dict[str, str]:
    """Return BibTeX entries: one for each paper, and entries for this version of nfa.

    For each chosen statement, one entry cites nfa and has our verdict in its note. For a whole paper, one entry without
    verdicts cites nfa.

    Raises
    ------
    ValueError : if no statement and no paper was given
    """
    if not chosen:
        raise ValueError("--bibtex needs a statement or a paper: give an id such as lee2020:eq5")
    entries: dict[str, dict[str, str]] = {}
    for name, items in chosen.items():
        paper = items[0].id.partition(":")[0]
        if paper != OURS:
            entries[paper] = _cited(header(paper))
        whole = name in coverage()
        for item in items[:1] if whole else items:
            verdict = f"the statements of {name}" if whole else f"{item.id} ({item.where}), verdict: {item.verdict}"
            key = f"nfa-{name}" if whole else f"nfa-{item.id.replace(':', '-')}"
            title = "nfa: noisy feedback alignment"
            note = f"Version {__version__}; {verdict}"
            author = "{the nfa authors}"
            entries[key] = {"author": author, "title": title, "year": __year__, "note": _latex(note)}
    return {"bibtex": "\n".join(_entry(key, fields) for key, fields in entries.items())}


def _cited(paper: Header) -> dict[str, str]:
    names = [f"{{{_latex(name)}}}" if "(" in name else _latex(name) for name in paper.authors]
    fields = {"author": " and ".join(names), "title": _latex(paper.title), "howpublished": _latex(paper.version)}
    if year := re.search(r"\d{4}$", paper.paper):
        fields["year"] = year[0]
    if preprint := re.search(r"arXiv:(\d{4}\.\d{4,5})", paper.version):
        fields |= {"eprint": preprint[1], "archiveprefix": "arXiv"}
    if later := re.search(r"A later public version exists, arXiv:[\d.]+v\d+", " ".join(paper.caveats)):
        fields["note"] = later[0]  # no eprint, because we did not judge the statements of the later version
    return fields


def _entry(key: str, fields: dict[str, str]) -> str:
    kept = fields | {"title": f"{{{fields['title']}}}"}  # the braces keep the capitals, which styles remove
    return f"@misc{{{key},\n" + "".join(f"  {name} = {{{text}}},\n" for name, text in kept.items()) + "}\n"


def _latex(text: str) -> str:
    """Return the text with the special characters of LaTeX escaped."""
    signs = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    return re.sub(r"[\\^~&%$#_{}]", lambda sign: signs.get(sign[0], "\\" + sign[0]), " ".join(text.split()))


def show_coverage(console: Console) -> None:
    """Print the number of statements for each document and verdict, and the meanings of the verdicts."""
    counts = coverage()
    elsewhere = [paper for paper in counts if paper not in (*documents(), OURS)]
    columns = {paper: [paper] for paper in (*documents(), OURS)} | {"other": elsewhere}
    table = plain_table("verdict", *map(right, (*columns, "all")))
    for verdict in VERDICTS:
        row = [sum(counts[paper][verdict] for paper in papers) for papers in columns.values()]
        if sum(row):
            table.add_row(_verdict(verdict), *(str(n or "·") for n in row), str(sum(row)))
    totals = [sum(sum(counts[paper].values()) for paper in papers) for papers in columns.values()]
    table.add_section()
    table.add_row("all", *map(str, totals), str(sum(totals)))
    console.print(Text("Statements of the documents, with our verdicts", style="bold"))
    console.print()
    console.print(table)
    console.print()
    for verdict, meaning in VERDICTS.items():
        console.print(hanging(_verdict(verdict), meaning, 15))
    console.print()
    console.print(
        hanging("other", f"theorems from other documents that these documents need: {', '.join(elsewhere)}", 15)
    )
    console.print()
    for command, does in (
        ("nfa eq lee2020", "lists the statements of one document"),
        ("nfa eq lee2020:eq5", "shows one statement: verdict, code, tests"),
        ("nfa errata", "lists the statements that are not right as printed"),
    ):
        console.print(hanging(Text(command, style="bold"), does, 20))


def show_document(console: Console, paper: str, items: Iterable[Item]) -> None:
    """Print a document's header and one line for each of its items."""
    _show_header(console, header(paper))
    table = plain_table(*map(unbroken, ("statement", "verdict", "kind")), "where")
    for item in items:
        table.add_row(item.id, _verdict(item.verdict), item.kind, item.where)
    console.print(table)


def show_item(console: Console, item: Item, *, code: bool = True, whole: bool = False) -> None:
    """Print the entry of an item in the ledger.

    Parameters
    ----------
    code : bool, whether to print the code, the tests and the tutorial of the item too
    whole : bool, whether to print the code with docstrings and checks
    """
    console.rule(Text(f"{item.id} · {item.kind}", style="bold"), align="left", style="dim")
    _show_field(console, "place", item.where)
    _show_field(console, "verdict", f"{item.verdict}: {VERDICTS[item.verdict]}", style=_colour(item.verdict))
    if code:
        _show_field(console, "also", ", ".join(item.aliases))
    _show_printed(console, item)
    for name in ("claims", "right", "use", "number", "check", "reason"):
        text = getattr(item, name)
        _show_field(console, name, in_the_clone(text) if name == "check" else text)
    if item.certificate:
        place = certificates.place(item)
        its = f"{place}, a counterexample that runs without nfa"
        _show_field(console, "proof", f"{its}: nfa eq {item.id} --certificate")
    if code:
        _show_computed(console, item, whole)
    console.print()


def _show_computed(console: Console, item: Item, whole: bool) -> None:
    for at, (formula, lines) in enumerate(item.terms):
        label = Text("" if at else "terms", style="cyan")
        console.print(hanging(label, f"{spelled(formula)}  is  {lines}", LABEL_WIDTH))
    for entry in item.code:
        _show_code(console, item, entry, whole)
    if item.tests:
        _show_field(console, "tests", in_the_clone(f"pytest --eq {item.id}"))
        for test in item.tests:
            console.print(hanging("", test, LABEL_WIDTH))
    _show_field(console, "tutorial", item.tutorial)


def _show_code(console: Console, item: Item, entry: str, whole: bool) -> None:
    """Print the source of an entry.

    A comment marks the lines that compute the equation, so the printed text is still valid Python.
    """
    lines, checked = lines_of(entry, item.anchors_of(entry), whole=whole)
    file, number, _ = source_of(entry)
    place = f"{file}:{number}  {entry.partition(':')[2]}"
    _show_field(console, "code", place + ("  (without its checks)" if checked else ""), style="bold")
    console.print()
    coloured = Syntax("", "python", theme="ansi_dark", background_color="default")
    for piece in runs(lines):
        marked = piece[0].marked
        text = "\n".join(line.text for line in piece)
        if marked:
            indent = " " * (len(text) - len(text.lstrip(" ")))
            count = f", {len(piece)} lines" if len(piece) > 1 else ""
            console.print(Text(f"{indent}# ↓ {item.id}{count}", style="bold cyan"), soft_wrap=True)
        shown = coloured.highlight(text)
        shown.rstrip()
        if marked:
            shown.stylize("bold")
        console.print(shown, soft_wrap=True)  # lines stay whole
    console.print()


def show_tally(console: Console, name: str | None, items: Iterable[Item], found: Iterable[Item]) -> None:
    """Print how many of these statements are findings, and how many hold, are not executable or are not judged yet."""
    of = Counter("finding" if item in found else item.verdict for item in items)
    counted = [f"findings: {of['finding']}", f"holds: {of['holds']}"]
    counted += [f"{verdict}: {of[verdict]}" for verdict in ("not-executable", "pending") if of[verdict]]
    console.print(Text(f"{name or 'all documents'}   {'   '.join(counted)}"))


def paragraphs(text: str) -> list[str]:
    """Return the lines of a ledger text for a terminal of any width: joined prose, and unchanged indented formulas.

    Examples
    --------
    >>> paragraphs("A network\\nmaps x to\\n    h = x.\\nThen on.")
    ['A network maps x to', '    h = x.', 'Then on.']
    """
    joined: list[str] = []
    prose = False
    for line in text.splitlines():
        if prose and line.strip() and not line.startswith(" "):
            joined[-1] += " " + line.strip()
        else:
            joined.append(line.rstrip())
        prose = bool(line.strip()) and not line.startswith(" ")
    return joined


def _show_header(console: Console, paper: Header) -> None:
    console.print(Text(paper.title, style="bold"))
    if paper.authors:
        console.print(Text(", ".join(paper.authors)))
    console.print(Text(f"judged: {paper.version}"))
    lists = {"What a reader must know": paper.essentials, "About the text that was judged": paper.caveats}
    for heading, points in lists.items():
        if paper.essentials:
            console.print(f"\n{heading}")
        for point in points:
            console.print(hanging("-", point, 2))
    console.print()


def _show_field(console: Console, label: str, text: str, style: str = "") -> None:
    """Print a label and, next to it, a text that wraps at the console's width. Print nothing if the text is empty."""
    for i, line in enumerate(paragraphs(spelled(text))):
        console.print(hanging(Text(label if i == 0 else "", style="cyan"), Text(line, style=style), LABEL_WIDTH))


def _show_printed(console: Console, item: Item) -> None:
    """Print the formulas of the document one after the other, with line breaks between their terms."""
    label = Text("printed", style="cyan")
    for latex in item.printed:
        for line in broken(in_text(latex), console.width - LABEL_WIDTH):
            console.print(hanging(label, Text(line), LABEL_WIDTH))
            label = Text()


def _colour(verdict: str) -> str:
    return COLOURS.get(verdict, "yellow")


def _verdict(verdict: str) -> Text:
    return Text(verdict, style=_colour(verdict))
