# Each target except apk and clean installs the Python packages that it needs. The machine needs make, and Python 3.11
# or newer with venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready

# Compiled modules are kept, even if the shell forbids it. Otherwise each worker of each run rewrites the asserts of all
# tests, which takes 10 s, and each command that a test starts compiles the project.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo page app lint types check docs short-tests test test-long fuzz bench bench-accuracy bench-forms bench-maps bench-numbers bench-peers tables results pictures vectors apk clean

# The environment is updated only if pyproject.toml, which lists the dependencies, has changed.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "halftruth needs Python 3.11 or newer")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[aggregator,dask,s3,demo,keyring,dev]'
	@touch $@

setup: $(READY)

demo: $(READY)
	$(BIN)/halftruth demo --out demo-output

# Serve the page of a small study on this machine, and open it in a browser if there is one; ctrl-C stops it.
page: $(READY)
	$(BIN)/halftruth demo --page --out demo-output

# Open the phone app in a window; its store is in the system's folder for the data of applications.
app: $(READY)
	$(BIN)/python -m demo_app

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# Check lint and types, and run the fast tests of the structure (tests/test_architecture.py), of the mathematics
# (tests/protocol) and of the device (tests/edge_sdk).
check: lint types
	$(BIN)/python -m pytest --dist load -m 'not long and not slow' tests/test_architecture.py tests/protocol tests/edge_sdk

# Build the documentation in build/site, and check its links and the docstrings of the API; no network is needed.
# There is no --quiet, because mkdocs counts only the warnings that it prints, and --strict would then never fail.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Run all tests in their short form.
short-tests: $(READY)
	$(BIN)/python -m pytest

# Tests sometimes wait for other processes, so documentation and types are checked at the same time.
test: lint
	@$(MAKE) --no-print-directory --jobs 2 short-tests docs types || \
		{ echo 'make test failed: the lines above with *** name the failed part (short-tests, docs or types)' >&2; exit 1; }

# Run the long tests, and property tests with new examples. This takes about an hour on two cores.
test-long: $(READY)
	$(BIN)/python -m pytest -m 'long or hypothesis' --hypothesis-profile new --dist worksteal --durations 25

# Fuzz each target for a number of seconds, guided by coverage: make fuzz SECONDS=600 TARGETS="batch codec"
SECONDS ?= 60
TARGETS ?= codec batch report enrolment campaign signed-campaign edited-campaign
fuzz: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'atheris>=3'
	for target in $(TARGETS); do $(BIN)/python -m tests.fuzz $$target -max_total_time=$(SECONDS) || exit 1; done

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-accuracy: $(READY)
	$(BIN)/python -m benchmarks accuracy

# Three comparisons: maps at several resolutions against a single grid of cells, a form's tables against tables that
# assume independent questions, and estimates of numbers against published mechanisms. Each target rewrites a section of
# docs/BENCHMARKS.md: make bench-maps DATA=folder-of-data-sets
bench-maps bench-forms bench-numbers: $(READY)
	$(BIN)/python -m benchmarks.$(@:bench-%=%) "$(DATA)"

# Compare with other libraries, which pip installs under .peers/, and rewrite a section of docs/BENCHMARKS.md.
bench-peers: $(READY)
	$(BIN)/python -m benchmarks.peers

# Rewrite the computed tables of the docs; `make test` only checks that they are current.
tables: $(READY)
	$(BIN)/python -m tests.docs.tables

# Run the quick form of the papers' experiments, and rewrite docs/RESULTS.md: make results DATA=folder-of-data-sets
results: $(READY)
	$(BIN)/python -m aggregator.reproduce "$(DATA)"

# Redraw the pictures of README and docs by running the programs that they show: make pictures DATA=folder-of-data-sets
# The app's screens need Xvfb.
pictures: $(READY)
	$(BIN)/python -m tests.demo_app.pictures
	$(BIN)/python -m tests.web.pictures
	$(BIN)/python -m benchmarks.map_pictures "$(DATA)"

# Rewrite the test vectors; `make test` only checks that they are current.
vectors: $(READY)
	$(BIN)/python -m tests.vectors.generate

# Build the Android package with buildozer, which downloads Android's SDK and NDK (docs/APP.md).
apk:
	rm -rf build/android
	mkdir -p build/android
	cp -r protocol edge_sdk demo_app build/android
	cp demo_app/main.py build/android/main.py
	cd demo_app && MSGPACK_PUREPYTHON=1 buildozer android debug

clean:
	rm -rf $(VENV) demo-output build
