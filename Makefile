# Everything sets itself up in .venv, from Python (>= 3.11) and make alone.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
# Two test processes on two cores: more threads would only wait for each other.
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo docs test fuzz sdist-test lint bench bench-scale defaults reproduce reproduce-quick clean

demo: $(READY)
	$(BIN)/lapwing demo out

docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(THREADS) $(BIN)/python -m sphinx -W --keep-going -q -b html docs out/docs
	@echo 'open out/docs/index.html'

# The published experiments: all of them (about two hours), or a few repetitions of the cheap ones.
reproduce: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[reproduce]'
	$(BIN)/lapwing reproduce --all

reproduce-quick: $(READY)
	$(BIN)/lapwing reproduce --quick --output out/evidence-quick

test: $(READY)
	$(THREADS) $(BIN)/python -m pytest -n 2 --dist worksteal

# The properties of tests/properties with fresh seeds, up to 10,000 examples each, for so many minutes in all.
MINUTES ?= 30
fuzz: $(READY)
	$(THREADS) LAPWING_FUZZ_MINUTES=$(MINUTES) $(BIN)/python -m pytest -n 2 --dist worksteal tests/properties

# The source distribution, unpacked elsewhere, runs its own tests.
sdist-test: $(READY)
	rm -rf out/sdist && mkdir -p out/sdist
	$(BIN)/python -c 'from setuptools import build_meta; build_meta.build_sdist("out/sdist")'
	tar -xzf out/sdist/lapwing-*.tar.gz -C out/sdist --strip-components=1
	cd out/sdist && $(THREADS) PYTHONPATH=$(CURDIR)/out/sdist/src $(CURDIR)/$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/speed.py

# 10^4 to 10^7 rows, on disk: about 20 minutes, 2.6 GB of scratch space.
bench-scale: $(READY)
	$(BIN)/python benchmarks/scale.py

# About 40 minutes of one core, with the data sets of LAPWING_DATA; stopped, it goes on where it was. Writes docs/defaults.md.
defaults: $(READY)
	$(BIN)/python benchmarks/defaults.py

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lapwing needs Python 3.11 or later: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist out *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
