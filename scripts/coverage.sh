#!/bin/sh
# Measure the lines of Rust and Python that the tests run: see `make coverage`.
set -eu

PATH="$PWD/.venv/bin:$PATH"
eval "$(cargo llvm-cov show-env --sh)"
# Build cargo's tests and the module for pytest with the same settings, so that one report covers both.
export CARGO_PROFILE_DEV_OPT_LEVEL=2 CARGO_PROFILE_DEV_DEBUG_ASSERTIONS=false CARGO_PROFILE_DEV_OVERFLOW_CHECKS=true

cargo llvm-cov clean --workspace
cargo test --workspace --locked
maturin develop --locked --quiet
python -m pytest --numprocesses auto --dist worksteal --cov=hedgerow --cov-branch \
    --cov-report=html:coverage/python --cov-report=json:coverage/python.json --cov-report=term:skip-covered
cargo llvm-cov report --html --output-dir coverage/rust
cargo llvm-cov report --json --summary-only --output-path coverage/rust.json
cargo llvm-cov report --summary-only
python scripts/publish_coverage.py
# Make the next target that needs the engine rebuild it without instrumentation.
rm -f .venv/engine-built
