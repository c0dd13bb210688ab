# `make dev` shows the product, `make test` proves it. Both set themselves up in .venv.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready

.PHONY: help dev check format test test-debian test-all bench mutants models sql lock clean

help: ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(STAMP): requirements-dev.lock pyproject.toml
	@echo "Setting up .venv, about half a minute."
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Laneway needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11")'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

dev: $(STAMP) ## the product on its embedded PostgreSQL, with jobs of two tenants flowing
	$(BIN)/laneway dev

check: $(STAMP) ## format, lint, types, import contract, generated files: seconds
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/basedpyright --level warning
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/generate.py --check

format: $(STAMP) ## format and mend what a linter can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: check ## everything that must hold on each change
	$(BIN)/python -m pytest -n 2 --dist worksteal

DEBIAN ?= /usr/lib/postgresql/15/bin
test-debian: $(STAMP) ## the SQL and the interleavings on Debian's PostgreSQL 15
	$(BIN)/python tools/with_server.py $(DEBIAN) $(BIN)/python -m pytest -n 2 --dist worksteal tests/kit tests/sql tests/states tests/interleavings tests/faults

test-all: test test-debian models ## before a release: longer histories, every model
	LANEWAY_EXAMPLES=20000 LANEWAY_SEEDS=5 $(BIN)/python -m pytest -n 2 --dist worksteal tests/machine

bench: $(STAMP) ## the heart beside the bare loop, in one run; results under bench/results
	$(BIN)/python bench/run.py

mutants: $(STAMP) ## break the SQL on purpose: every mutant must be killed
	$(BIN)/python tests/mutants/run.py

models: ## the Promela models, right and wrong; needs spin and gcc
	$(PYTHON) models/run.py

sql: $(STAMP) ## write the snapshot of the catalogue and the pages made from the SQL
	$(BIN)/python tools/generate.py

lock: $(STAMP) ## write requirements-dev.lock anew
	$(PYTHON) -m venv .venv/lock
	.venv/lock/bin/python -m pip install --quiet pip-tools
	.venv/lock/bin/pip-compile --quiet --upgrade --extra dev --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file requirements-dev.lock pyproject.toml

clean: ## forget the environment; the data of `make dev` stays where it says
	rm -rf .venv
