"""Change functions of the engine and of memory roots with cargo-mutants, and list the changes that no test notices.

`--diff REVISION` tries every change of the lines that differ from a revision. `--sample N` tries N
changes of random functions, at most three in each, and prints the line that scripts/record_proof.py
reads. A sample depends only on its seed and on the names of functions and changes, so edits
elsewhere do not alter it.

Unit tests run first, without the slowest. Changes that they miss are tried again with all tests of
the crate. `--again` continues the last run. Exits with 1 if a change was missed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from itertools import groupby, islice
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target" / "mutants"
RESULTS = FOLDER / "mutants.out"
SECONDS = FOLDER / "seconds"

IN_A_FUNCTION = 3
"""The maximum of changes per function, so that a few long functions do not fill a sample."""

SLOW_TESTS = ("differential", "histories", "merge::tests", "a_batch_finds", "what_a_fast_search")
"""Names of the unit tests that take two thirds of the total time."""

FAST_TESTS = [
    "--cargo-arg=--lib",
    "--",
    "--",
    *(word for name in SLOW_TESTS for word in ("--skip", name)),
]
"""The arguments for unit tests without the slow ones."""

ALL_TESTS = ["--cargo-arg=--tests"]
"""The arguments for all tests of the changed crate."""


def rank(seed: int, *names: str) -> bytes:
    """Return the sort key of a function or a change for a seed."""
    return hashlib.sha256("\n".join((str(seed), *names)).encode()).digest()


def sample(mutants: list[dict[str, object]], size: int, seed: int) -> list[str]:
    """Return the names of `size` changes: the first few of each function, ordered by the seed."""

    def key(mutant: dict[str, object]) -> tuple[str, ...]:
        function = mutant["function"]
        name = function["function_name"] if isinstance(function, dict) else ""
        return str(mutant["file"]), str(name)

    def kind(mutant: dict[str, object]) -> str:
        # The line number changes with every edit above it.
        return re.sub(r":\d+:\d+:", "", str(mutant["name"]), count=1)

    ranked = sorted(
        mutants, key=lambda mutant: (rank(seed, *key(mutant)), rank(seed, kind(mutant)))
    )
    functions = groupby(ranked, key=key)
    few = (mutant for _, changes in functions for mutant in islice(changes, IN_A_FUNCTION))
    return [str(mutant["name"]) for mutant in islice(few, size)]


def names_in(*files: str) -> list[str]:
    """Return the names of changes in files of the last run. Empty if the run tried nothing."""
    paths = [RESULTS / f"{file}.txt" for file in files]
    return [
        name for path in paths if path.exists() for name in path.read_text("utf-8").splitlines()
    ]


def cargo_mutants(arguments: list[str], limit: float | None = None) -> None:
    """Try changes, and stop after `limit` seconds.

    Raises CalledProcessError if the tests fail without a change.
    """
    command = ["cargo", "mutants", "--iterate", "--output", str(FOLDER), *arguments]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait()
            return
    # 0: all were caught. 2: some were missed. 3: some tests timed out, which counts as caught.
    if code not in {0, 2, 3}:
        raise subprocess.CalledProcessError(code, command)


def run(
    selection: list[str], skipped: list[str], *, again: bool, limit: float | None
) -> tuple[int, set[str]]:
    """Try changes that are not skipped with the fast tests, and the missed ones with all tests.

    Returns the elapsed seconds, including those of the continued runs, and the names that were
    tried or skipped.
    """
    started = time.monotonic()
    earlier = int(SECONDS.read_text("utf-8")) if again else 0
    if not again:
        shutil.rmtree(RESULTS, ignore_errors=True)
        RESULTS.mkdir(parents=True)
    # --iterate skips the names in this file. cargo-mutants 27.1 tries some changes despite --re.
    with (RESULTS / "previously_caught.txt").open("a", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in skipped)
    os.environ.setdefault("CARGO_TARGET_DIR", str(FOLDER / "build"))
    # Building takes longer than the fast tests, so optimizations are off.
    os.environ.setdefault("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
    os.environ.setdefault("CARGO_PROFILE_DEV_DEBUG", "0")
    try:
        cargo_mutants([*selection, *FAST_TESTS], limit)
        tried = set(names_in("caught", "missed", "timeout", "unviable", "previously_caught"))
        if missed := names_in("missed"):
            cargo_mutants(["--re", f"^({'|'.join(map(re.escape, missed))})$", *ALL_TESTS])
    finally:
        # Also if the tests fail without a change: the next run continues this one.
        seconds = earlier + round(time.monotonic() - started)
        SECONDS.write_text(str(seconds), "utf-8")
    return seconds, tried


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--diff", metavar="REVISION", help="changes of the lines that differ from it"
    )
    which.add_argument("--sample", type=int, metavar="N", help="this number of random changes")
    parser.add_argument("--seed", type=int, default=1, help="the order of the random functions")
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="try no further change after this"
    )
    again = "continue the last run: what it missed, and what it did not come to"
    parser.add_argument("--again", action="store_true", help=again)
    options = parser.parse_args()
    proof = None
    if options.diff:
        FOLDER.mkdir(parents=True, exist_ok=True)
        diff = FOLDER / "changes.diff"
        with diff.open("wb") as file:
            command = ["git", "diff", options.diff]
            subprocess.run(command, cwd=ROOT, stdout=file, check=True)
        run(["--in-diff", str(diff)], [], again=options.again, limit=options.seconds)
    else:
        listing = ["cargo", "mutants", "--list", "--json"]
        output = subprocess.run(listing, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        mutants = json.loads(output)
        names = sample(mutants, options.sample, options.seed)
        print(f"{len(names)} of {len(mutants)} changes, seed {options.seed}", flush=True)
        others = [mutant["name"] for mutant in mutants if mutant["name"] not in names]
        seconds, tried = run([], others, again=options.again, limit=options.seconds)
        count = len(tried & set(names))
        print(f"{count} of the sample were tried")
        if count == 0:
            sys.exit("There was no time for a change: give more --seconds.")
        proof = {"name": "mutants", "seed": options.seed, "seconds": seconds, "count": count}
    for name in names_in("missed"):
        print(f"missed: {name}")
    if names_in("missed"):
        sys.exit("Add a test for each, or a reason in .cargo/mutants.toml.")
    if proof:
        print(f"proof {json.dumps(proof)}")


if __name__ == "__main__":
    main()
