# The targets that the README names. Needs Python 3.11+, Java 17+ and make; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell find src -type f ! -path '*/__pycache__/*')
# An installation apart from .venv, in which the working tree stays as it is written.
COMPILED := build/compiled
# Each has a Spark of its own, and takes about 1 GB. A file of tests stays on one of them, in the order of conftest.py.
WORKERS ?= 2
PYTEST := $(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
THOROUGHLY := FRESHTIDE_TEST_THOROUGHLY=1
LOCKED := --quiet --disable-pip-version-check --no-deps --require-hashes

.PHONY: help demo test test-compiled test-postgresql test-slow try-queries simulate-faults chaos mutate-guards lint format bench wheel compiled lock audit-dependencies clean
.DEFAULT_GOAL := help

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/.installed ## Run a network-operations warehouse on generated data for a minute
	@$(BIN)/freshtide demo demo

test: .venv/.installed-dev lint ## Check the code and run the tests
	@$(PYTEST) -m "not slow and not compiled"

test-compiled: .venv/.installed-dev compiled ## Run the tests of what a wheel has compiled; needs a C compiler
	@$(THOROUGHLY) PYTHONPATH=$(COMPILED) $(PYTEST) --timeout 1200 -m "not slow" tests/compiled tests/core tests/guarantees tests/scheduling tests/simulation

test-postgresql: .venv/.installed-dev ## Run the tests that use a catalog on PostgreSQL; its server must be installed
	@$(BIN)/python -m tests.with_postgresql $(PYTEST) -m "not slow" tests/catalog tests/warehouse tests/cli

test-slow: .venv/.installed-dev ## Run the tests that take minutes, and try properties with all of their examples
	@$(THOROUGHLY) $(PYTEST) --timeout 1200 -m "(slow or hypothesis) and not alone"
	@$(BIN)/pytest -m alone

try-queries: .venv/.installed-dev ## Follow queries at random over tables that move: CASES=100, FIRST=0
	@$(BIN)/python -m tests.spark.incremental --cases $(or $(CASES),100) --first $(or $(FIRST),0)

simulate-faults: .venv/.installed-dev ## Run the real runtime in simulated worlds with faults: SEEDS=100, FIRST=0, JOBS=1
	@$(BIN)/python -m faults --seeds $(or $(SEEDS),100) --first $(or $(FIRST),0) --jobs $(or $(JOBS),1)

chaos: .venv/.installed-dev ## Kill a warehouse again and again and check what is left: MINUTES=10, SEED=1
	@$(BIN)/python -m chaos --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

mutate-guards: .venv/.installed-dev ## Take each guard of docs/guarantees.md out once; its test must fail. Takes 90 minutes: ONLY=text, PART=rows
	@$(BIN)/python -m guards $(if $(ONLY),--only "$(ONLY)") $(if $(PART),--part "$(PART)")

lint: .venv/.installed-dev ## Formatting, lint, types and the layering of the packages
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: .venv/.installed-dev ## Format the code
	@$(BIN)/ruff format --quiet
	@$(BIN)/ruff check --fix --quiet

bench: .venv/.installed-dev compiled ## Measure against Spark alone, Structured Streaming and SimPy
	@$(BIN)/python -m bench

wheel: dist/.built ## Build a wheel into dist/, the scheduler and the simulator compiled; needs a C compiler

compiled: $(COMPILED)/.installed

lock: .venv/.installed-dev ## Write locks/: the versions of constraints.txt with the hashes of their files
	@$(BIN)/python tools/dependencies.py lock

audit-dependencies: .venv/.installed-dev ## Check that what is installed is locked, and for known vulnerabilities where pip-audit is there
	@$(BIN)/python tools/dependencies.py audit
	@if command -v pip-audit >/dev/null; then pip-audit --disable-pip --require-hashes --requirement locks/dev.txt; \
		else echo "pip-audit is not installed: vulnerabilities that others know of were not looked up."; fi

clean: ## Remove the virtual environment, caches, builds and the demo
	rm -rf .venv demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache bench/results

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Freshtide needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12 ..."; exit 1; }
	@command -v java >/dev/null || [ -x "$$JAVA_HOME/bin/java" ] \
		|| { echo "Freshtide needs Java 17 or newer: install it (Debian: openjdk-17-jre-headless) or set JAVA_HOME."; exit 1; }
	@echo "Creating a virtual environment in .venv ..."
	@$(PYTHON) -m venv .venv

# Only files whose hashes are in locks/ are installed. What comes as sources is built with what is locked, too.
.venv/.installed: pyproject.toml locks/build.txt locks/run.txt | .venv/bin/pip
	@echo "Installing Freshtide and Spark into .venv (about 500 MB, a minute or two) ..."
	@$(BIN)/python -m pip install $(LOCKED) --requirement locks/build.txt
	@$(BIN)/python -m pip install $(LOCKED) --no-build-isolation --requirement locks/run.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.installed-dev: .venv/.installed locks/dev.txt
	@echo "Installing what the tests need ..."
	@$(BIN)/python -m pip install $(LOCKED) --no-build-isolation --requirement locks/dev.txt
	@touch $@

dist/.built: pyproject.toml $(SOURCES) | .venv/.installed-dev
	@command -v $${CC:-cc} >/dev/null \
		|| { echo "Compiling the scheduler needs a C compiler: install one (Debian: gcc) or set CC."; exit 1; }
	@echo "Building a wheel with the scheduler and the simulator compiled (about a minute) ..."
	@rm -rf dist && mkdir -p build
	@PIP_CONSTRAINT=constraints.txt HATCH_BUILD_HOOKS_ENABLE=1 $(BIN)/python -m build --outdir dist \
		>build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	@touch $@

$(COMPILED)/.installed: dist/.built
	@rm -rf $(COMPILED)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --target $(COMPILED) dist/*.whl
	@touch $@
