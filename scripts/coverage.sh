#!/bin/sh
# Which lines of Rust and of Python no test runs: see `make coverage`.
set -eu

PATH="$PWD/.venv/bin:$PATH"
eval "$(cargo llvm-cov show-env --sh)"
# One profile for cargo's tests and for pytest, so that one report has both; nobody waits for it.
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
# The next target that needs the engine builds the usual one.
rm -f .venv/engine-built
