# Each target sets up what it needs; a fresh machine has Python >= 3.11 with venv, and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready

# Compiled modules are kept, whatever the shell asks for. Else each worker of each run rewrites the asserts of all tests
# anew, which is 10 s, and each command that a test starts compiles the project.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo page app lint types check docs laws test test-long fuzz bench bench-accuracy bench-forms bench-maps bench-numbers bench-peers tables results pictures vectors apk clean

# Made again when what is installed changes; reused otherwise.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "halftruth needs Python 3.11 or newer")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[aggregator,dask,s3,demo,keyring,dev]'
	@touch $@

setup: $(READY)

demo: $(READY)
	$(BIN)/halftruth demo --out demo-output

# The page of a small study, served on this machine and opened in a browser where there is one; stop it with ctrl-C.
page: $(READY)
	$(BIN)/halftruth demo --page --out demo-output

# The phone app in a window of this machine; its store is the system's place for it.
app: $(READY)
	$(BIN)/python -m demo_app

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# Lint, types, the mathematics and the device: tests/protocol and tests/edge_sdk, but for what is slow.
check: lint types
	$(BIN)/python -m pytest --dist load -m 'not long and not slow' tests/test_architecture.py tests/protocol tests/edge_sdk

# The documentation as a site in build/site, every link and every docstring of the API checked; no network is needed.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Every law in its short form.
laws: $(READY)
	$(BIN)/python -m pytest

# Tests wait for other processes now and then; the documentation and the types are checked meanwhile.
test: lint
	@$(MAKE) --no-print-directory --jobs 2 laws docs types || \
		{ echo 'make test failed; what failed (laws, docs or types) is in the lines above with ***' >&2; exit 1; }

# About an hour of both cores at most; each law's long form, and laws about any value with new examples.
test-long: $(READY)
	$(BIN)/python -m pytest -m 'long or hypothesis' --hypothesis-profile new --dist worksteal --durations 25

# Coverage-guided fuzzing, each target for so many seconds: make fuzz SECONDS=600 TARGETS="batch codec"
SECONDS ?= 60
TARGETS ?= codec batch report enrolment campaign signed-campaign edited-campaign
fuzz: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'atheris>=3'
	for target in $(TARGETS); do $(BIN)/python -m tests.fuzz $$target -max_total_time=$(SECONDS) || exit 1; done

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-accuracy: $(READY)
	$(BIN)/python -m benchmarks accuracy

# The error of a map, beside a grid of cells; writes a section of docs/BENCHMARKS.md anew:
# make bench-maps DATA=folder-of-data-sets
bench-maps: $(READY)
	$(BIN)/python -m benchmarks.maps "$(DATA)"

# Tables of a form's questions, beside no association; writes a section of docs/BENCHMARKS.md anew:
# make bench-forms DATA=folder-of-data-sets
bench-forms: $(READY)
	$(BIN)/python -m benchmarks.forms "$(DATA)"

# Distributions and means of numbers, beside published mechanisms; writes a section of docs/BENCHMARKS.md anew:
# make bench-numbers DATA=folder-of-data-sets
bench-numbers: $(READY)
	$(BIN)/python -m benchmarks.numbers "$(DATA)"

# Beside other libraries, which pip installs under .peers/; writes a section of docs/BENCHMARKS.md anew.
bench-peers: $(READY)
	$(BIN)/python -m benchmarks.peers

# Write the computed tables of the docs anew; `make test` only checks that they are current.
tables: $(READY)
	$(BIN)/python -m tests.docs.tables

# Run the papers' experiments quickly and write docs/RESULTS.md anew: make results DATA=folder-of-data-sets
results: $(READY)
	$(BIN)/python -m aggregator.reproduce "$(DATA)"

# Draw the pictures in README anew, by running what they show; the app's screens need Xvfb, as its tests do.
pictures: $(READY)
	$(BIN)/python -m tests.demo_app.pictures
	$(BIN)/python -m tests.web.pictures

# Write the test vectors anew; `make test` only checks that they are current.
vectors: $(READY)
	$(BIN)/python -m tests.vectors.generate

# The Android package, with buildozer, which downloads Android's SDK and NDK: see docs/APP.md.
apk:
	rm -rf build/android
	mkdir -p build/android
	cp -r protocol edge_sdk demo_app build/android
	cp demo_app/main.py build/android/main.py
	cd demo_app && MSGPACK_PUREPYTHON=1 buildozer android debug

clean:
	rm -rf $(VENV) demo-output build
