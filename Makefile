# `make run` and `make test` need only Python >= 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin

# Kinds of processors that every x86-64 can play, each with sums in another order; others by BLAS_CORES="Haswell Zen".
BLAS_CORES ?= Prescott Nehalem
# Examples of rooms with linear algebra, as they print digits; tests about ties, signs and what is rounding.
PORTABLE := $(addprefix src/plausible/,causal cpds decisions factors inference learn models) docs README.md \
	--ignore=docs/images.md --ignore=src/plausible/inference/optimization \
	tests/base/test_ranking.py tests/factors/test_definite.py \
	tests/causal/test_functional_equations.py tests/utilities/test_adaptive_elicitation.py tests/decisions/test_gai.py \
	tests/utilities/test_regret.py tests/learn/confidence/test_bootstrap.py tests/learn/gradients/test_curvature.py \
	tests/learn/incomplete_structures/test_rescoring.py tests/learn/undirected/test_markov.py

.PHONY: run test test-interpreted test-slow test-portable browser mutants check bench docs web clean

run: .venv/installed
	$(BIN)/plausible demo

# Tests ask a million small questions, for which compiling pays; `make test TIER=interpreted` tries the other tier.
TIER ?= compiled
test: .venv/installed-dev
	test $(TIER) != compiled || $(BIN)/plausible compile
	PLAUSIBLE_KERNELS=$(TIER) $(BIN)/python -m pytest -m "not slow" --numprocesses auto --dist worksteal

# What a machine without machine code runs: the engine, the tour and the guide.
test-interpreted: .venv/installed-dev
	PLAUSIBLE_KERNELS=interpreted $(BIN)/python -m pytest -m "not slow" --numprocesses auto --dist worksteal \
		tests/kernels tests/engine README.md docs/guide.md

test-slow: .venv/installed-dev
	PLAUSIBLE_KERNELS=$(TIER) $(BIN)/python -m pytest --numprocesses auto --dist worksteal

test-portable: .venv/installed-dev
	for core in $(BLAS_CORES); do \
		OPENBLAS_CORETYPE=$$core PLAUSIBLE_KERNELS=$(TIER) $(BIN)/python -m pytest -m "not slow" --numprocesses auto --dist loadfile $(PORTABLE) \
			|| exit 1; \
	done

# Pages as people click through them. It installs nothing; where there is no Chromium on the PATH, it says so.
browser:
	@test -f .venv/installed-dev || { echo "Tests are not installed yet: make test does that."; exit 1; }
	PLAUSIBLE_KERNELS=$(TIER) $(BIN)/python -m pytest -m "browser and not slow" -rs --numprocesses auto --dist loadfile tests/studio tests/plotting

# Faults put into the source, one at a time: which does no test convict? MUTANTS="--number 100 --seed 1 --only learn/scores"
MUTANTS ?=
mutants: .venv/installed-dev
	$(BIN)/plausible compile
	$(BIN)/python tests/mutants.py $(MUTANTS)

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/installed-dev
	$(BIN)/pip install --quiet -e ".[bench]"
	$(BIN)/pip install --quiet --no-deps "dowhy>=0.14"  # it asks for an older SciPy than it needs
	$(BIN)/python -m benchmarks
	$(BIN)/python docs/make_benchmarks.py

# The site, in build/site. It asks nothing of other hosts, and a link that leads nowhere ends the build.
docs: .venv/installed-dev
	$(BIN)/pip install --quiet -e ".[docs]"
	$(BIN)/python docs/make_site.py
	$(BIN)/zensical build --strict

# The widget's page, from `web` into the package, for those who change it; needs node 20 or newer, which nobody else does.
web: .venv/installed
	cd web && npm ci && npm run check && npm test && npm run build
	$(BIN)/python web/manifest.py

clean:
	rm -rf web/node_modules
	rm -rf .venv .mutants .cache build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "plausible needs Python 3.11 or newer; name one with: make run PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/installed-dev: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@ .venv/installed
