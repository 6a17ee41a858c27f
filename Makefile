# `make` lists the targets. Each one sets up what it needs in .venv, once; nothing outside this folder is touched.
#   PYTHON=python3.12       the Python (>= 3.11) that .venv is made from
#   CONSTRAINTS=/dev/null   the newest versions that setup.cfg allows, instead of the pinned set
#   PYTEST="-k dfa"         more arguments for pytest in `make test`, `make ci-tests` and `make nightly`
#   BENCH="--only mlp"      arguments for `make bench`; BENCH=--help lists them

PYTHON      ?= python3
CONSTRAINTS ?= constraints.txt
PYTEST      ?=
BENCH       ?=

python  := .venv/bin/python
install := $(python) -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS)
# One process a core; each keeps its linear algebra to itself.
pytest  := OMP_NUM_THREADS=1 $(python) -m pytest -n auto --dist worksteal
inputs  := setup.cfg pyproject.toml $(filter-out /dev/null,$(CONSTRAINTS))

.DEFAULT_GOAL := help
.PHONY: help demo test lint types check ci-tests nightly site wheel clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*  ## ' Makefile | sed -E 's/:[^#]*  ## /|/' | while IFS='|' read -r name text; do \
		printf '  make %-10s %s\n' "$$name" "$$text"; done

demo: .venv/.run  ## train feedback alignment and backprop on real images; prints a table, draws a picture
	$(python) -m nfa demo

test: .venv/.test  ## run the fast tests (under two minutes)
	$(pytest) -m "not slow and not nightly" $(PYTEST)

lint: .venv/.dev  ## check style and format
	$(python) -m ruff check .
	$(python) -m ruff format --check .

# The package map of setup.cfg is invisible to a type checker: links show it the installed layout.
types: .venv/.dev  ## check the types of public signatures
	@rm -rf build/types && mkdir -p build/types/nfa
	@cd build/types/nfa && ln -s ../../../nfa/* . && ln -s ../../../kernels ../../../data .
	cd build/types && "../../$(python)" -m mypy --config-file ../../setup.cfg --cache-dir ../../.mypy_cache -p nfa

check: lint types  ## lint and types

ci-tests: .venv/.peers  ## run every test but the nightly ones, skipping none (NFA_DATA_HOME names the full data sets)
	$(pytest) --no-skips -m "not nightly" $(PYTEST)

nightly: .venv/.peers  ## run every test, also the full searches and long audits
	$(pytest) $(PYTEST)

site: .venv/.site  ## build the site in build/site: every tutorial is run, a warning is an error
	$(python) -m sphinx -q -W --keep-going -b html tutorials build/site
	@echo "The site is in build/site/index.html"

bench: .venv/.bench  ## time nfa beside PyTorch, Opacus and JAX, into runs/bench (minutes; wants a quiet machine)
	$(python) -m tests.benchmarks $(BENCH)

wheel: .venv/.run  ## build dist/nfa-*.whl
	@rm -rf build/lib build/bdist.*
	$(python) -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:  ## remove .venv and everything that was built; results of runs in runs/ stay
	rm -rf .venv build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache .coverage htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up, one stamp each, so that a second call starts at once and a changed setup.cfg installs again.

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "nfa needs Python 3.11 or newer, and '$(PYTHON)' is not: run make again with PYTHON=python3.11, say" >&2; \
		exit 1; }
	@echo "Making a virtual environment in .venv"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.run: .venv/.made $(inputs)
	@echo "Installing nfa, NumPy, SciPy, numba and matplotlib into .venv (about a minute, once)"
	@$(install) -e .
	@touch $@

.venv/.test: .venv/.run
	@echo "Installing the test tools into .venv (once)"
	@$(install) -e ".[test]"
	@touch $@

.venv/.dev: .venv/.test
	@echo "Installing ruff, mypy and coverage into .venv (once)"
	@$(install) -e ".[test,dev]"
	@touch $@

# The peers are pinned here and not in constraints.txt, where their build's version would have to stand.
.venv/.peers: .venv/.test
	@echo "Installing the libraries to compare with, and nbgrader, into .venv (once, large)"
	@$(install) torch==2.13.0 -e ".[test,peers,opu,course,sweep]"
	@$(install) --no-deps lightonml==1.4.3  # its own pins do not resolve
	@touch $@

# MathJax with its fonts inside one file: the site asks no other machine for anything.
.venv/.site: .venv/.run
	@echo "Installing Sphinx and MathJax into .venv (about a minute, once)"
	@$(install) -e ".[tutorials]"
	@cd .venv && tar -xzf "$$(npm pack --silent mathjax@3.2.2)" package/es5/tex-svg-full.js
	@mkdir -p tutorials/_static && mv .venv/package/es5/tex-svg-full.js tutorials/_static/
	@touch $@

.venv/.bench: .venv/.peers
	@echo "Installing JAX, to compare times with, into .venv (once)"
	@$(install) -e ".[bench]"
	@touch $@
