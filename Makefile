# Everything sets itself up in .venv, from Python (>= 3.11) and make alone.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := -m pip install --quiet --disable-pip-version-check
# What the command line needs, and beside it what the tests, the pages and the published experiments need.
READY := .venv/ready
WHOLE := .venv/whole
# Two test processes on two cores: more threads would only wait for each other. Bytecode is kept: tests start hundreds of programs.
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=

.PHONY: demo docs test test-oldest test-newest integrations fuzz mutate sdist-test dist release lint bench bench-scale defaults reproduce
.PHONY: reproduce-quick measure guide clean

demo: $(READY)
	$(BIN)/lapwing demo out

docs: $(WHOLE)
	$(BIN)/python $(INSTALL) --editable '.[docs]'
	$(THREADS) $(BIN)/python -m sphinx -W --keep-going -q -b html docs out/docs
	@echo 'open out/docs/index.html'

# The published experiments: all of them (about three hours on two cores), or a few repetitions of the cheap ones.
reproduce: $(WHOLE)
	$(BIN)/python -m lapwing_papers --all

reproduce-quick: $(WHOLE)
	$(BIN)/python -m lapwing_papers --quick --output out/evidence-quick

# What README and the pages of measurements quote, by parts: `make measure PART=speed` is one of them, `make measure` all that need
# no GPU. Stopped, it goes on where it was. It writes the pages; `python benchmarks/measure.py` lists the parts and what is kept.
PART ?= all
measure: $(WHOLE)
	$(BIN)/python $(INSTALL) --editable './papers[reproduce]'
	$(BIN)/python benchmarks/measure.py $(PART)

# lapwing beside its rivals, in five tasks: an hour on two cores.
guide:
	$(MAKE) measure PART=guide

test: $(WHOLE)
	$(THREADS) $(BIN)/python -m pytest -n 2 --dist worksteal

# The oldest releases that pyproject.toml allows: these need Python 3.11 or 3.12. They use what newer releases of their own
# dependencies call deprecated, which is no error here. The golden suite compares numbers alone, since its words are those of the
# releases that they were recorded with.
test-oldest: .venv-oldest/ready
	$(THREADS) LAPWING_GOLDEN=numbers .venv-oldest/bin/python -m pytest -n 2 --dist worksteal -W ignore::DeprecationWarning

.venv-oldest/ready: pyproject.toml papers/pyproject.toml tests/oldest.py
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in {(3, 11), (3, 12)} and "the oldest NumPy has no wheels for this Python: make PYTHON=python3.11 test-oldest")'
	$(PYTHON) -m venv --clear .venv-oldest
	.venv-oldest/bin/python tests/oldest.py > .venv-oldest/constraints.txt
	.venv-oldest/bin/python $(INSTALL) --constraint .venv-oldest/constraints.txt --editable '.[dev]' --editable ./papers
	touch $@

# The newest releases that there are, each time anew, on the newest Python at hand unless PYTHON=... names one. What is
# deprecated is told, and fails: warnings are errors. The golden suite compares numbers alone.
NEWEST = $(if $(filter file,$(origin PYTHON)),$(shell for p in python3.14 python3.13 $(PYTHON); do $$p -c '' 2> /dev/null && echo $$p && break; done),$(PYTHON))
test-newest:
	@$(NEWEST) -c 'import platform, sys; print("test-newest: Python", platform.python_version(), "" if sys.version_info >= (3, 13) else "(3.13 or 3.14 is not at hand: PYTHON=... names one)")'
	$(NEWEST) -m venv --clear .venv-newest
	.venv-newest/bin/python $(INSTALL) --upgrade --upgrade-strategy eager --editable '.[dev]' --editable ./papers
	.venv-newest/bin/python -m pip list --disable-pip-version-check | grep -iE '^(numpy|scipy|scikit-learn|pandas|polars|dask|zarr) '
	$(THREADS) LAPWING_GOLDEN=numbers LAPWING_COMPILED=1 .venv-newest/bin/python -m pytest -n 2 --dist worksteal

# The scripts of integrations/, on the real packages: an environment for each folder, whose requirements.txt says what is in it.
INTEGRATIONS := $(patsubst integrations/%/requirements.txt,.venv-integrations/%,$(wildcard integrations/*/requirements.txt))
integrations: $(INTEGRATIONS:=/ready)
	@set -e; for script in integrations/*/[!_]*.py; do \
		echo "== $$script"; start=$$(date +%s); folder=$$(basename $$(dirname $$script)); \
		.venv-integrations/$$folder/bin/python $$script; \
		echo "== $$script: $$(($$(date +%s) - start)) s"; \
	done

.venv-integrations/%/ready: integrations/%/requirements.txt pyproject.toml
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python $(INSTALL) --requirement $< --editable .
	touch $@

# The properties of tests/properties with fresh seeds, up to 10,000 examples each, for so many minutes in all (and no more).
MINUTES ?= 30
fuzz: $(WHOLE)
	$(THREADS) LAPWING_FUZZ_MINUTES=$(MINUTES) $(BIN)/python -m pytest -n 2 --dist worksteal tests/properties

# Do the tests notice 300 small errors in the library? About an hour on two idle cores; stopped, it goes on where it was.
mutate: $(WHOLE)
	$(THREADS) $(BIN)/python benchmarks/mutate.py

# The source distribution, unpacked elsewhere, runs its own tests.
sdist-test: $(WHOLE)
	rm -rf out/sdist && mkdir -p out/sdist
	$(BIN)/python -c 'from setuptools import build_meta; build_meta.build_sdist("out/sdist")'
	tar -xzf out/sdist/lapwing-*.tar.gz -C out/sdist --strip-components=1
	cd out/sdist && $(THREADS) PYTHONPATH=$(CURDIR)/out/sdist/src $(CURDIR)/$(BIN)/python -m pytest -n 2 --dist worksteal

# What is uploaded: the source distribution and, built from it, the wheel. Both are checked, and the wheel is installed and tried in
# an environment that has nothing else.
dist: $(WHOLE)
	rm -rf dist out/clean
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv out/clean
	out/clean/bin/python $(INSTALL) dist/lapwing-*.whl
	cd out && clean/bin/python ../tests/installed.py
	out/clean/bin/python $(INSTALL) "$$(echo dist/lapwing-*.whl)[cli]"
	cd out && clean/bin/python ../tests/installed.py --cli
	@ls dist

# Everything up to the upload: the version where it stands, lint, tests, pages, distributions, an installation from a local index, a
# commit and a tag.
release: $(WHOLE)
	$(BIN)/python tests/release.py "$(VERSION)"

lint: $(WHOLE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(WHOLE)
	$(BIN)/python benchmarks/speed.py

# 10^4 to 10^7 rows, on disk: about 20 minutes, 2.6 GB of scratch space.
bench-scale: $(WHOLE)
	$(BIN)/python benchmarks/scale.py

# About 40 minutes of one core, with the data sets of LAPWING_DATA; stopped, it goes on where it was. Writes docs/defaults.md.
defaults: $(WHOLE)
	$(BIN)/python benchmarks/defaults.py

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lapwing needs Python 3.11 or later: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) --editable '.[cli]'
	touch $@

$(WHOLE): $(READY) papers/pyproject.toml
	$(BIN)/python $(INSTALL) --editable '.[dev]' --editable ./papers
	touch $@

clean:
	rm -rf .venv .venv-oldest .venv-newest .venv-integrations build dist out *.egg-info src/*.egg-info papers/src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
