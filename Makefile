# Each target sets up what it needs; a fresh machine has Python >= 3.11 with venv, and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready

.PHONY: setup demo test test-long bench bench-accuracy tables vectors clean

# Made again when what is installed changes; reused otherwise.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "halftruth needs Python 3.11 or newer")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[aggregator,dev]'
	@touch $@

setup: $(READY)

demo: $(READY)
	$(BIN)/halftruth demo --out demo-output

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

test-long: $(READY)
	$(BIN)/python -m pytest -m long

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-accuracy: $(READY)
	$(BIN)/python -m benchmarks accuracy

# Write the computed tables of the docs anew; `make test` only checks that they are current.
tables: $(READY)
	$(BIN)/python -m tests.docs.tables

# Write the test vectors anew; `make test` only checks that they are current.
vectors: $(READY)
	$(BIN)/python -m tests.vectors.generate

clean:
	rm -rf $(VENV) demo-output
