# Two commands do everything: `make demo` shows the product, `make test` proves it.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help demo test lint types layers generated knowledge tests bench retrieval chaos generate clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      run the lifecycle in a scratch repository, narrated"
	@echo "make test      lint, types, layers, generated files, our own knowledge and all tests"
	@echo "make bench     measure, and write docs/benchmarks.md"
	@echo "make retrieval measure what search finds, and write docs/retrieval.md"
	@echo "make chaos     kill a thousand writers and look for damage"
	@echo "make generate  write schemas, reference and tables anew from the code"

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[semantic]' --group dev
	@touch $(STAMP)

demo: $(STAMP)
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/tour.sh

test: lint types layers generated knowledge tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

generated: $(STAMP)
	$(BIN)/python -m decapod_py.surfaces.generate --check

knowledge: $(STAMP)
	$(BIN)/decapod ledger verify
	$(BIN)/decapod rebuild --check
	$(BIN)/decapod validate

tests: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m "not slow"

bench: $(STAMP)
	$(BIN)/python benchmarks/bench.py

retrieval: $(STAMP)
	$(BIN)/python benchmarks/retrieval/measure.py

chaos: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m slow
	$(BIN)/python tests/durability/chaos.py --kills 1000

generate: $(STAMP)
	$(BIN)/python -m decapod_py.surfaces.generate

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
