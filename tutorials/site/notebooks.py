"""Every tutorial as a notebook to take along, as the build has run it, and all of them in one archive. An extension.

Nothing is run again: outputs come from the cache that the pages come from. What only the site understands, links to its
own pages, becomes plain text or a link to the other notebook.
"""

import re
import zipfile
from pathlib import Path

import jupytext
import nbformat
from jupyter_cache import get_cache
from lighter import smaller_outputs

TUTORIALS = Path(__file__).parents[1]
WHEELS = TUTORIALS.parent / "dist"
FOLDER, ARCHIVE = "_downloads", "nfa-tutorials.zip"
ROLE = re.compile(r"\{(\w+)\}`([^`]+)`")
LABEL = re.compile(r"^\([\w.-]+\)=\n", re.MULTILINE)
TIME = (1980, 1, 1, 0, 0, 0)  # the same in every archive, so that equal notebooks make equal archives

README = """The tutorials of nfa, run: figures and numbers are in them. To run and change them, in this folder:

python3 -m venv .venv
.venv/bin/pip install "./{wheel}[tutorials]" jupyterlab
.venv/bin/jupyter lab

The small data set, 6,000 images of Fashion-MNIST, is inside the wheel; nothing else is loaded. Each notebook ends with
exercises and an empty cell for yours; what to check your answer against stands beside each exercise.
"""


def setup(app) -> dict:
    """What Sphinx calls."""
    app.connect("html-page-context", _linked)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}


def names() -> list[str]:
    """The tutorials, without their endings."""
    return sorted(path.stem for path in TUTORIALS.glob("[0-9][0-9]_*.py"))


def _linked(app, pagename, templatename, context, doctree) -> None:
    """Two links at the top of a tutorial's page."""
    if pagename in names():
        notebook = f'<a href="{FOLDER}/{pagename}.ipynb" download>this page as a notebook, run</a>'
        every = f'<a href="{FOLDER}/{ARCHIVE}" download>all of them, with data and set-up</a>'
        context["body"] = f"<p>Take along: {notebook}; {every}.</p>{context['body']}"


def _write(app, exception) -> None:
    if exception is None and app.builder.name == "html":
        write(Path(app.outdir) / FOLDER, Path(app.config.nb_execution_cache_path))


def write(folder: Path, cache: Path) -> None:
    """Write notebooks and archive into a folder; the archive has the wheel that `make wheel` made.

    Raises
    ------
    FileNotFoundError : if there is not exactly one wheel
    KeyError : if the cache has no run of a tutorial as it stands
    """
    wheels = sorted(WHEELS.glob("*.whl"))
    if len(wheels) != 1:
        raise FileNotFoundError(f"{WHEELS} must have one wheel, made by make wheel; it has {len(wheels)}")
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names():
            _, run = get_cache(str(cache)).merge_match_into_notebook(jupytext.read(TUTORIALS / f"{name}.py"))
            text = nbformat.writes(to_take(run))
            (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
            archive.writestr(_entry(f"{name}.ipynb"), text)
        archive.writestr(_entry("README.txt"), README.format(wheel=wheels[0].name))
        archive.writestr(_entry(wheels[0].name), wheels[0].read_bytes())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(f"nfa-tutorials/{name}", TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def to_take(run: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A notebook without what only the site reads, and with an empty cell below its exercises."""
    cells = []
    for cell in run.cells:
        smaller_outputs(cell.get("outputs", []))
        if cell.cell_type == "markdown":
            cell.source = LABEL.sub("", ROLE.sub(_plain, cell.source))
        cells.append(cell)
        if cell.cell_type == "markdown" and re.search("^## Exercises", cell.source, re.MULTILINE):
            cells.append(nbformat.v4.new_code_cell("", id="yours"))
    run.cells = cells
    run.metadata.pop("jupytext", None)
    nbformat.validate(run)
    return run


def _plain(role: re.Match[str]) -> str:
    """A role in plain Markdown: a link where it leads to a notebook, else its text."""
    shown, _, target = " ".join(role[2].split()).partition(" <")
    target = (target.removesuffix(">") or shown).lstrip("/")
    return f"[{shown}]({target}.ipynb)" if role[1] == "doc" and target in names() else shown
