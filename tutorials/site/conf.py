"""The settings of the site. `make site` builds it from the tutorials, the ledger, the results and the docstrings."""

import sys
from pathlib import Path

import nfa

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "nfa"
author = "the nfa authors"
copyright = "the nfa authors, MIT licence"
version = release = nfa.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    "site_pages",
    "repository_links",
    "notebooks",
    "alternatives",
    "lighter",
]
# Only scripts with names like NN_name.py are pages.
exclude_patterns = ["[!0-9]*.py", "assignments/*", "site/*"]
html_static_path = ["_static"]
html_theme = "furo"
html_title = f"nfa {release}"
html_css_files = ["site.css"]
moving = ("moving.js", "moving_epsilon.js", "moving_span.js", "moving_angles.js")
html_js_files = [
    (name, {"defer": "defer"}) for name in ("site.js", "finder.js", "reading_view.js", "glossary.js", *moving)
]
html_copy_source = False

# The tutorials are percent scripts. Sphinx reads them as notebooks. A cache keeps each run until the script changes.
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_cache_path = str(HERE.parents[1] / "build" / "tutorials")
nb_merge_streams = True

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

# A copy of MathJax with its fonts inside, so that no page loads anything from another machine.
mathjax_path = "tex-svg-full.js"

smartquotes = False  # so that -- in a command stays unchanged

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # otherwise, words in "(m, n_L) array" become names of objects
napoleon_use_ivar = True


def setup(app) -> None:
    """Add the level of the captions of the navigation, because furo marks them as headings without a level."""

    def levels(app, pagename, templatename, context, doctree) -> None:
        tree = context.get("furo_navigation_tree", "")
        context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')

    app.connect("html-page-context", levels, priority=900)  # after furo has made the navigation
