"""Tests of the downloadable notebooks, after `make site`: they are complete, have outputs, and run after unpacking."""

import re
import shutil
import zipfile

import nbformat
import pytest
import run_all
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient import NotebookClient
from notebooks import ARCHIVE, FOLDER, SOLUTIONS, names

from tests.project.site_check import SITE


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(SITE / FOLDER / ARCHIVE) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    return folder / "nfa-tutorials"


@pytest.mark.parametrize("name", names())
def test_a_notebook_is_run_and_plain(unpacked, name):
    notebook = nbformat.read(unpacked / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert (SITE / FOLDER / f"{name}.ipynb").read_text() == (unpacked / f"{name}.ipynb").read_text()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any(output.output_type == "display_data" for cell in code for output in cell.outputs), "no figure"
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
    empty = [at for at, cell in enumerate(notebook.cells) if cell.cell_type == "code" and not cell.source]
    above = [re.match(r"(?:(?s:.*)## Exercises.*\n)?(\d+)\. \*\*", notebook.cells[at - 1].source) for at in empty]
    assert [int(exercise[1]) for exercise in above] == list(range(1, len(empty) + 1))
    assert len(empty) >= 4
    told = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert not re.search(r"\{\w+\}`|^:::|^\([\w.-]+\)=", told, re.MULTILINE), "markup that only the site reads"
    for other in re.findall(r"\]\((\w+)\.ipynb\)", told):
        assert (unpacked / f"{other}.ipynb").exists()


@pytest.mark.parametrize("name", names())
def test_solutions_are_run_apart_and_answer_every_exercise(unpacked, name):
    notebook = nbformat.read(unpacked / SOLUTIONS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert (SITE / f"{SOLUTIONS}/{name}.html").is_file()
    assert not [o for cell in notebook.cells for o in cell.get("outputs", ()) if o.output_type == "error"]
    told = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    asked = nbformat.read(unpacked / f"{name}.ipynb", as_version=4).cells
    exercises = [cell.source for cell in asked if cell.cell_type == "code"].count("")
    assert [int(number) for number in re.findall(r"^## (\d+)\. ", told, re.MULTILINE)] == list(range(1, exercises + 1))
    assert f"](../{name}.ipynb)" in told


def test_the_set_up_is_of_three_lines_and_of_what_is_there(unpacked):
    lines = [
        line for line in (unpacked / "README.txt").read_text().splitlines() if line.startswith(("python3", ".venv"))
    ]
    assert len(lines) == 3
    (wheel,) = re.findall(r'"\./([^"\[]+)\[tutorials\]"', lines[1])
    with zipfile.ZipFile(unpacked / wheel) as archive:
        assert [name for name in archive.namelist() if name.endswith("fashion-mnist-small.npz")]


def test_a_notebook_runs_where_it_was_unpacked(unpacked, tmp_path):
    shutil.copy(unpacked / f"{names()[0]}.ipynb", tmp_path)
    notebook = nbformat.read(tmp_path / f"{names()[0]}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    assert not [o for cell in notebook.cells for o in cell.get("outputs", ()) if o.output_type == "error"]


def test_what_was_run_before_the_build_is_found_by_it(tmp_path):
    """The build finds notebooks that were run before the build, so it does not run them again."""
    script = tmp_path / "01_short.py"
    script.write_text("# %% [markdown]\n# # Short\n\n# %%\nprint(1 + 1)\n", encoding="utf-8")
    _, notebook, _ = run_all.run(script)
    cache = get_cache(str(tmp_path / "cache"))
    cache.cache_notebook_bundle(CacheBundleIn(notebook, str(script)), check_validity=False)
    _, merged = cache.merge_match_into_notebook(run_all.read(script))
    assert [output.text for cell in merged.cells for output in cell.get("outputs", ())] == ["2\n"]


def test_each_tutorial_links_to_its_notebook_and_to_all():
    for name in names():
        page = (SITE / f"{name}.html").read_text(encoding="utf-8")
        assert f'href="{FOLDER}/{name}.ipynb"' in page
        assert f'href="{FOLDER}/{ARCHIVE}"' in page
        assert f'href="{SOLUTIONS}/{name}.html"' in page
