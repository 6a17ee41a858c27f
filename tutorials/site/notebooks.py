"""A Sphinx extension that offers every tutorial as a notebook with outputs, and all notebooks in one archive.

Nothing is run again, because outputs come from the cache of the pages. Links to other pages of the site become plain
text or links to other notebooks. Each exercise gets an empty cell. Solutions have their own notebooks.
"""

import re
import zipfile
from functools import partial
from pathlib import Path

import jupytext
import nbformat
from archive import add
from jupyter_cache import get_cache
from lighter import smaller_outputs

from nfa.ledger.entries import PAPER

TUTORIALS = Path(__file__).parents[1]
WHEELS = TUTORIALS.parent / "dist"
FOLDER, ARCHIVE, INSIDE, SOLUTIONS = "_downloads", "nfa-tutorials.zip", "nfa-tutorials", "solutions"
ROLE = re.compile(r"\{(\w+)\}`([^`]+)`")
LABEL = re.compile(r"^\([\w.-]+\)=(\n|\Z)", re.MULTILINE)
BOX = re.compile(r"^(:{3,})\{(\w+)\} ?(.*)\n((?s:.*?))\n\1$", re.MULTILINE)
OPTION = re.compile(r"^:\w+:.*\n", re.MULTILINE)
STATEMENT = re.compile(rf"{PAPER}:[A-Za-z0-9.%-]+")
EXERCISE = re.compile(r"^(?=\d+\. )", re.MULTILINE)

README = """The tutorials of nfa, run: figures and numbers are in them. To run and change them, in this folder:

python3 -m venv .venv
.venv/bin/pip install "./{wheel}[tutorials]" jupyterlab
.venv/bin/jupyter lab

The small data set, 6,000 images of Fashion-MNIST, is inside the wheel; nothing else is loaded. Each notebook ends with
exercises and an empty cell for each; what to check your answer against stands beside it. The folder solutions has ours,
run too. Names like lee2020:eq5 are statements of a paper: .venv/bin/nfa eq lee2020:eq5 prints one.
"""


def setup(app) -> dict:
    """Register the extension with Sphinx."""
    app.connect("doctree-read", _apart)
    app.connect("html-page-context", _linked)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}


def names() -> list[str]:
    """The names of the tutorials, without file extensions."""
    return sorted(path.stem for path in TUTORIALS.glob("[0-9][0-9]_*.py"))


def _apart(app, doctree) -> None:
    """Mark pages of solutions as orphans, because they are in no list of the navigation."""
    if app.env.docname.removeprefix(f"{SOLUTIONS}/") in names() and app.env.docname not in names():
        app.env.metadata[app.env.docname]["orphan"] = True


def _linked(app, pagename, templatename, context, doctree) -> None:
    """Add links to the notebooks and the solutions at the top of a tutorial's page."""
    if pagename in names():
        notebook = f'<a href="{FOLDER}/{pagename}.ipynb" download>this page as a notebook, run</a>'
        every = f'<a href="{FOLDER}/{ARCHIVE}" download>all of them, with data and set-up</a>'
        ours = f'<a href="{SOLUTIONS}/{pagename}.html">Solutions of its exercises</a>'
        context["body"] = f"<p>Take along: {notebook}; {every}. {ours}.</p>{context['body']}"


def _write(app, exception) -> None:
    if exception is None and app.builder.name == "html":
        write(Path(app.outdir) / FOLDER, Path(app.config.nb_execution_cache_path))


def write(folder: Path, cache: Path) -> None:
    """Write the notebooks and the archive into a folder. The archive has the wheel that `make wheel` made.

    Raises
    ------
    FileNotFoundError : if there is not exactly one wheel
    KeyError : if the cache has no run of the present version of a tutorial
    """
    wheels = sorted(WHEELS.glob("*.whl"))
    if len(wheels) != 1:
        raise FileNotFoundError(f"{WHEELS} must have one wheel, made by make wheel; it has {len(wheels)}")
    (folder / SOLUTIONS).mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / ARCHIVE, "w") as archive:
        for name in [*names(), *(f"{SOLUTIONS}/{name}" for name in names())]:
            _, run = get_cache(str(cache)).merge_match_into_notebook(jupytext.read(TUTORIALS / f"{name}.py"))
            text = nbformat.writes(to_take(run, "../" * name.count("/")))
            (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
            add(archive, f"{INSIDE}/{name}.ipynb", text)
        add(archive, f"{INSIDE}/README.txt", README.format(wheel=wheels[0].name))
        add(archive, f"{INSIDE}/{wheels[0].name}", wheels[0].read_bytes())


def to_take(run: nbformat.NotebookNode, up: str = "") -> nbformat.NotebookNode:
    """A notebook without markup of the site, with an empty cell below each exercise.

    ``up`` is the relative path from the notebook to the folder of the tutorials.
    """
    cells = []
    for cell in run.cells:
        smaller_outputs(cell.get("outputs", []))
        if cell.cell_type == "markdown":
            cell.source = LABEL.sub("", BOX.sub(_box, ROLE.sub(partial(_plain, up=up), cell.source)))
        if cell.cell_type == "markdown" and "## Exercises" in cell.source.splitlines():
            cells += _exercises(cell.source)
        else:
            cells.append(cell)
    run.cells = cells
    run.metadata.pop("jupytext", None)
    nbformat.validate(run)
    return run


def _exercises(source: str) -> list[nbformat.NotebookNode]:
    """The cells of the exercises: a text and an empty cell for each exercise, and a cell for the text after them."""
    before, heading, rest = source.partition("## Exercises")
    listed, line, after = rest.partition("\n## ")
    first, *exercises = EXERCISE.split(listed)
    texts = [before + heading + first, *exercises]
    cells = []
    for at, text in enumerate(texts):
        cells.append(nbformat.v4.new_markdown_cell(text.strip(), id=f"exercise-{at}"))
        cells += [nbformat.v4.new_code_cell("", id=f"yours-{at}")] if at else []
    return [*cells, nbformat.v4.new_markdown_cell((line + after).strip(), id="questions")] if after else cells


def _box(box: re.Match[str]) -> str:
    """A box in plain Markdown, with its title and its text as a quotation."""
    text = f"**{box[3] or box[2].capitalize()}**\n\n{OPTION.sub('', box[4]).strip()}"
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _plain(role: re.Match[str], up: str) -> str:
    """A role in plain Markdown: a link to a notebook, an id as code for `nfa eq`, or the text of the role."""
    shown, _, target = " ".join(role[2].split()).partition(" <")
    target = (target.removesuffix(">") or shown).lstrip("/")
    shown = shown.lstrip("/")
    if role[1] == "doc" and target in names():
        return f"[{shown}]({up}{target}.ipynb)"
    return f"`{shown}`" if STATEMENT.fullmatch(shown) else shown
