# `make` lists the targets. Each one sets up what it needs in .venv, once; nothing outside this folder is touched, but that
# site-check installs Chromium where there is no browser, if it may.
#   PYTHON=python3.12       the Python (>= 3.11) that .venv is made from
#   CONSTRAINTS=/dev/null   the newest versions that setup.cfg allows, instead of the pinned set
#   PYTEST="-k dfa"         more arguments for pytest in `make test`, `make ci-tests`, `make cores` and `make nightly`
#   BENCH="--only mlp"      arguments for `make bench`; BENCH=--help lists them

PYTHON      ?= python3
CONSTRAINTS ?= constraints.txt
PYTEST      ?=
BENCH       ?=

python  := .venv/bin/python
install := $(python) -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS)
# One process a core; each keeps its linear algebra to itself. Python's own compiled files are kept, in .venv: hundreds of
# processes would make them again.
kept    := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX="$(CURDIR)/.venv/pycache"
pytest  := OMP_NUM_THREADS=1 $(kept) $(python) -m pytest -n auto --dist worksteal
inputs  := setup.cfg setup.py pyproject.toml $(filter-out /dev/null,$(CONSTRAINTS))

.DEFAULT_GOAL := help
.PHONY: help demo test lint types check ci-tests nightly cores mutants site site-check bench fuzz packages wheel clean \
	say-demo say-test say-site

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*  ## ' Makefile | sed -E 's/:[^#]*  ## /|/' | while IFS='|' read -r name text; do \
		printf '  make %-10s %s\n' "$$name" "$$text"; done

# First of all a command says what it does and how long that takes, in the words of the list of targets.
say-demo say-test say-site:
	@sed -n 's/^$(@:say-%=%):.*  ## /make $(@:say-%=%): /p' Makefile

demo: say-demo .venv/.run  ## train 13 networks on real images, print a table, draw a picture (about four minutes on two idle cores)
	$(python) -m nfa demo

test: say-test .venv/.test  ## run the fast tests (about ten minutes on two idle cores)
	$(pytest) -m "not slow and not nightly" $(PYTEST)

lint: .venv/.dev  ## check style, format and the length and words of our sentences
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(python) -m tests.project.prose

# The package map of setup.cfg is invisible to a type checker: links show it the installed layout.
types: .venv/.dev  ## check the types of public signatures
	@rm -rf build/types && mkdir -p build/types/nfa
	@cd build/types/nfa && ln -s ../../../nfa/* . && ln -s ../../../kernels ../../../data .
	cd build/types && "../../$(python)" -m mypy --config-file ../../setup.cfg --cache-dir ../../.mypy_cache -p nfa

check: lint types  ## lint and types

ci-tests: .venv/.peers  ## run every test but the nightly ones, skipping none (NFA_DATA_HOME names the full data sets)
	$(pytest) --no-skips -m "not nightly" $(PYTEST)

nightly: .venv/.bench  ## run every test, skipping none, also full searches and long audits; then make cores and make mutants
	$(pytest) --no-skips $(PYTEST)
	$(MAKE) cores
	$(MAKE) mutants

cores: .venv/.peers  ## run every test but the nightly ones as on five kinds of processor core, one with AVX-512 (an hour)
	$(python) -m tests.project.cores --no-skips $(PYTEST)

mutants: .venv/.mutants  ## change the code in hundreds of places and see the fast tests fail (hours of a core)
	$(python) -m tests.trust.mutants --jobs $$(getconf _NPROCESSORS_ONLN) --out build/mutants.json
	$(python) -m tests.trust.marked --jobs $$(getconf _NPROCESSORS_ONLN) --out build/marked.json

site: say-site .venv/.site build/.wheel  ## run the tutorials, build the site in build/site and dist/site.zip (about ten minutes on two idle cores; then only what changed)
	OMP_NUM_THREADS=1 $(python) tutorials/site/run_all.py
	OMP_NUM_THREADS=1 $(python) -m sphinx -q -W --keep-going -j auto -b html -d build/doctrees -c tutorials/site tutorials build/site
	@$(python) tutorials/site/archive.py

site-check: .venv/.site-check  ## after make site: open every page in Chromium; formulas, links, phone width, dark mode
	PYTHONPATH=tutorials/site $(kept) $(python) -m pytest -q -rP -n auto --dist loadfile \
		$(wildcard tests/project/*_check.py) $(PYTEST)

bench: .venv/.bench  ## time nfa beside PyTorch, Opacus and JAX, into runs/bench (minutes; wants a quiet machine)
	$(python) -m tests.benchmarks $(BENCH)

fuzz: .venv/.fuzz  ## fuzz every reader of files with a million inputs each, into runs/fuzz (an hour or more)
	$(python) -m tests.trust.fuzz

packages: .venv/.packages  ## build sdist and wheel; try them on every Python here, with old and new libraries (an hour)
	$(python) -m tests.project.packages

wheel: build/.wheel  ## build dist/noisy_feedback_alignment-*.whl

# Every file in the wheel has the same time, so that equal files make an equal wheel.
build/.wheel: .venv/.run $(filter-out %.pyc,$(shell find nfa kernels data -type f)) README.md LICENSE
	@mkdir -p build && rm -rf build/lib build/bdist.* dist/*.whl
	SOURCE_DATE_EPOCH=315532800 $(python) -m pip wheel --quiet --no-deps --wheel-dir dist .
	@touch $@

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
	@echo "Installing nfa, NumPy, SciPy, numba, matplotlib and randomgen into .venv (about a minute, once)"
	@$(install) -e ".[secure]"
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
	@$(install) torch==2.13.0 -e ".[test,peers,opu,course,sweep,sklearn]"
	@$(install) --no-deps lightonml==1.4.3  # its own pins do not resolve
	@touch $@

# MathJax with its fonts inside one file: the site asks no other machine for anything.
.venv/.site: .venv/.run
	@echo "Installing Sphinx and MathJax into .venv (about a minute, once)"
	@$(install) -e ".[tutorials]"
	@cd .venv && tar -xzf "$$(npm pack --silent mathjax@3.2.2)" package/es5/tex-svg-full.js
	@mkdir -p tutorials/site/_static && mv .venv/package/es5/tex-svg-full.js tutorials/site/_static/
	@touch $@

# The browser is the system's own; Debian and its kin have a package.
.venv/.site-check: .venv/.site .venv/.test
	@echo "Installing playwright into .venv (once)"
	@$(install) -e ".[test,site-check]"
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
		command -v $$name >/dev/null && exit; done; \
	run=$$([ "$$(id -u)" = 0 ] || echo sudo -n); \
	echo "Installing Chromium with apt-get"; \
	$$run apt-get -qq update && $$run apt-get -qq install -y --no-install-recommends chromium >/dev/null || { \
		echo "make site-check needs a browser: put chromium or google-chrome into PATH" >&2; exit 1; }
	@touch $@

.venv/.fuzz: .venv/.test
	@echo "Installing the fuzzer atheris into .venv (once)"
	@$(install) -e ".[test,fuzz]"
	@touch $@

.venv/.mutants: .venv/.peers
	@echo "Installing mutmut and cosmic-ray, which change the code, into .venv (once)"
	@$(install) -e ".[test,mutants]"
	@touch $@

.venv/.packages: .venv/.made
	@echo "Installing uv and pip-audit into .venv (once)"
	@$(install) -e ".[packages]"
	@touch $@

.venv/.bench: .venv/.peers
	@echo "Installing JAX, to compare times with, into .venv (once)"
	@$(install) -e ".[bench]"
	@touch $@
